#include "list/diff.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "doc/write.h"
#include "list/canonical.h"

namespace prefetch::list {
namespace {

using ByName = std::map<std::string, const plan::DesiredImage*>;

ByName Index(const plan::ImageList& list) {
  ByName index;
  for (const plan::DesiredImage& image : list.images) index.emplace(image.reference.Normalized(), &image);
  return index;
}

std::string PlaceOf(const plan::DesiredImage& image) {
  return image.from.empty() ? "" : image.from.front();
}

std::string Written(const doc::Node* value) {
  if (value == nullptr) return "default";
  return value->kind == doc::Node::Kind::kString ? value->text : doc::WriteJson(*value);
}

std::string Spellings(const plan::DesiredImage& image) {
  std::vector<std::string> names = {image.reference.written()};
  for (const image::Reference& other : image.other_spellings) names.push_back(other.written());
  std::sort(names.begin(), names.end());
  return base::Join(names, " ");
}

// Members that differ, each once. The name is not one: lists may spell one image differently. An agent judges
// each of several spellings.
std::vector<FieldChange> FieldsOf(const plan::DesiredImage& from, const plan::DesiredImage& to) {
  doc::Node before = CanonicalEntry(from), after = CanonicalEntry(to);
  std::vector<FieldChange> fields;
  auto compare = [&](const std::string& field) {
    FieldChange change{field, Written(before.Find(field)), Written(after.Find(field))};
    if (field != "image" && change.from != change.to) fields.push_back(std::move(change));
  };
  for (const doc::Member& member : before.members) compare(member.key);
  for (const doc::Member& member : after.members) {
    if (before.Find(member.key) == nullptr) compare(member.key);
  }
  bool several = !from.other_spellings.empty() || !to.other_spellings.empty();
  FieldChange spellings{"spellings", Spellings(from), Spellings(to)};
  if (several && spellings.from != spellings.to) fields.push_back(std::move(spellings));
  return fields;
}

}  // namespace

std::vector<ListChange> DiffLists(const plan::ImageList& from, const plan::ImageList& to) {
  using Kind = ListChange::Kind;
  ByName before = Index(from), after = Index(to);
  std::map<std::string, ListChange> changes;
  for (const auto& [name, image] : before) {
    auto now = after.find(name);
    if (now == after.end()) {
      changes[name] = {Kind::kRemoved, image->reference.written(), {}, PlaceOf(*image)};
      continue;
    }
    std::vector<FieldChange> fields = FieldsOf(*image, *now->second);
    if (fields.empty()) continue;
    changes[name] = {Kind::kChanged, now->second->reference.written(), std::move(fields),
                     PlaceOf(*now->second)};
  }
  for (const auto& [name, image] : after) {
    if (!before.contains(name))
      changes[name] = {Kind::kAdded, image->reference.written(), {}, PlaceOf(*image)};
  }
  std::vector<ListChange> sorted;
  for (auto& [name, change] : changes) sorted.push_back(std::move(change));
  return sorted;
}

}  // namespace prefetch::list
