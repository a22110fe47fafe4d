#include "fakes/json_patch.h"

#include <algorithm>

#include "doc/node.h"

namespace prefetch::tests {
namespace {

using Kind = doc::Node::Kind;

void PatchAt(PatchKind kind, const std::string& path, const doc::Node& patch, doc::Node& object);

void MergeByType(const doc::Node& patch, doc::Node& list) {
  if (list.kind != Kind::kSequence) list = doc::Node::Sequence({});
  for (const doc::Node& item : patch.items) {
    auto same = std::find_if(list.items.begin(), list.items.end(), [&](const doc::Node& old) {
      return TextAt(old, {"type"}) == TextAt(item, {"type"});
    });
    if (TextAt(item, {"$patch"}) == "delete") {
      if (same != list.items.end()) list.items.erase(same);
    } else if (same == list.items.end()) {
      list.items.push_back(item);
    } else {
      PatchAt(PatchKind::kMerge, "", item, *same);
    }
  }
}

void PatchAt(PatchKind kind, const std::string& path, const doc::Node& patch, doc::Node& object) {
  if (patch.kind != Kind::kMapping) {
    object = patch;
    return;
  }
  if (object.kind != Kind::kMapping) object = doc::Node::Mapping();
  for (const doc::Member& member : patch.members) {
    std::string below = path + "." + member.key;
    if (member.value.kind == Kind::kNull) {
      Remove(object, member.key);
    } else if (kind == PatchKind::kStrategic && below == ".status.conditions") {
      MergeByType(member.value, Sub(object, member.key));
    } else {
      if (Find(object, member.key) == nullptr) object.Set(member.key, doc::Node());
      PatchAt(kind, below, member.value, *Find(object, member.key));
    }
  }
}

}  // namespace

void Patch(PatchKind kind, const doc::Node& patch, doc::Node& object) {
  PatchAt(kind, "", patch, object);
}

}  // namespace prefetch::tests
