#include "deploy/patches.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doc/edit.h"
#include "doc/path.h"

namespace prefetch::deploy {
namespace {

using Kind = doc::Node::Kind;

// Returns the member that identifies the items of a list (patchMergeKey of the Kubernetes API); empty if a
// patch replaces the list.
std::string_view MergeKey(std::string_view list) {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"containers", "name"},        {"env", "name"},
      {"initContainers", "name"},    {"ports", "containerPort"},
      {"volumeMounts", "mountPath"}, {"volumes", "name"}};
  for (const auto& [name, key] : kKeys) {
    if (name == list) return key;
  }
  return {};
}

bool IsDelete(const doc::Node& item) {
  return TextAt(item, {"$patch"}) == "delete";
}

void MergeLists(const doc::Node& patch, const std::string& key, doc::Node& list) {
  // The items of the patch come first, in its order; kustomize does so, and the tests compare with it.
  std::vector<doc::Node> merged;
  for (const doc::Node& item : patch.items) {
    auto same = std::find_if(list.items.begin(), list.items.end(), [&](const doc::Node& old) {
      const doc::Node* a = old.Find(key);
      const doc::Node* b = item.Find(key);
      return a != nullptr && b != nullptr && doc::SameContent(*a, *b);
    });
    doc::Node result = doc::Node::Mapping();
    if (same != list.items.end()) {
      result = std::move(*same);
      list.items.erase(same);
    }
    // The old item was removed above and is not added again.
    if (IsDelete(item)) continue;
    MergePatch(item, result);
    merged.push_back(std::move(result));
  }
  std::move(list.items.begin(), list.items.end(), std::back_inserter(merged));
  list.items = std::move(merged);
}

// Unescapes a part of a JSON pointer (RFC 6901): "~1" first, since "~01" is "~1" and not "/".
std::string Unescaped(std::string_view part) {
  return base::ReplaceAll(base::ReplaceAll(part, "~1", "/"), "~0", "~");
}

struct Place {
  doc::Node* parent = nullptr;
  std::string key;
};

// Returns the place to which a pointer leads. Its parent must exist.
base::Result<Place> Follow(doc::Node& object, std::string_view pointer) {
  auto none = [whole = std::string(pointer)] {
    return base::InvalidArgument("there is nothing at " + whole);
  };
  // RFC 6901: a pointer begins with "/". The empty pointer, which is the whole object, is not supported.
  if (!pointer.starts_with('/')) return none();
  doc::Node* at = &object;
  while (true) {
    pointer.remove_prefix(1);
    std::size_t slash = pointer.find('/');
    std::string key = Unescaped(pointer.substr(0, slash));
    if (slash == std::string_view::npos) return Place{at, std::move(key)};
    if (at->kind == Kind::kSequence) {
      auto index = base::ParseUint(key);
      if (!index || *index >= at->items.size()) return none();
      at = &at->items[*index];
    } else if (at = Find(*at, key); at == nullptr) {
      return none();
    }
    pointer.remove_prefix(slash);
  }
}

base::Status Operate(const std::string& operation, const Place& place, const doc::Node* value) {
  auto impossible = [&] { return base::InvalidArgument("cannot " + operation + " " + place.key); };
  doc::Node& parent = *place.parent;
  bool add = operation == "add", remove = operation == "remove";
  if ((!add && !remove && operation != "replace") || (!remove && value == nullptr)) return impossible();
  // RFC 6902: "replace" and "remove" need an existing member, "add" replaces one silently.
  if (parent.kind == Kind::kMapping) {
    if (!add && Find(parent, place.key) == nullptr) return impossible();
    remove ? Remove(parent, place.key) : Put(parent, place.key, *value);
    return {};
  }
  if (parent.kind != Kind::kSequence) return impossible();
  // "-" is the place after the last item.
  auto index = place.key == "-" && add ? parent.items.size() : base::ParseUint(place.key);
  if (!index || *index > parent.items.size() || (!add && *index == parent.items.size())) return impossible();
  auto at = parent.items.begin() + static_cast<std::ptrdiff_t>(*index);
  if (add) {
    parent.items.insert(at, *value);
  } else if (remove) {
    parent.items.erase(at);
  } else {
    *at = *value;
  }
  return {};
}

}  // namespace

void MergePatch(const doc::Node& patch, doc::Node& object) {
  for (const doc::Member& member : patch.members) {
    const doc::Node& value = member.value;
    doc::Node* old = Find(object, member.key);
    std::string_view key = MergeKey(member.key);
    // A list of plain values has no merge key, and is replaced.
    bool items_are_objects = !value.items.empty() && value.items.front().kind == Kind::kMapping;
    if (value.kind == Kind::kNull) {
      Remove(object, member.key);
    } else if (value.kind == Kind::kMapping) {
      if (old == nullptr || old->kind != Kind::kMapping) Put(object, member.key, doc::Node::Mapping());
      MergePatch(value, *Find(object, member.key));
    } else if (value.kind == Kind::kSequence && !key.empty() && items_are_objects) {
      if (old == nullptr || old->kind != Kind::kSequence) Put(object, member.key, doc::Node::Sequence({}));
      MergeLists(value, std::string(key), *Find(object, member.key));
    } else {
      Put(object, member.key, value);
    }
  }
}

base::Status JsonPatch(const doc::Node& operations, doc::Node& object) {
  for (const doc::Node& one : operations.items) {
    auto place = Follow(object, TextAt(one, {"path"}));
    if (!place) return place.error();
    auto done = Operate(TextAt(one, {"op"}), *place, one.Find("value"));
    if (!done) return done;
  }
  return {};
}

}  // namespace prefetch::deploy
