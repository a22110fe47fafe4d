#include "list/diff.h"

#include <map>
#include <set>

#include "base/text.h"
#include "doc/write.h"
#include "image/pod_coordinates.h"
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
  // Texts appear without the quotes of JSON, as people write them in a list.
  return value->kind == doc::Node::Kind::kString ? value->text : doc::WriteJson(*value);
}

// By their written names.
using References = std::map<std::string, image::Reference>;

References SpellingsOf(const plan::DesiredImage& image) {
  References spellings = {{image.reference.written(), image.reference}};
  for (const plan::PodProfile& other : image.other_pods)
    spellings.emplace(other.reference.written(), other.reference);
  return spellings;
}

std::string Joined(const References& spellings) {
  std::vector<std::string> names;
  for (const auto& [name, reference] : spellings) names.push_back(name);
  return base::Join(names, " ");
}

std::set<std::string> Canonical(const References& spellings) {
  std::vector<image::Reference> references;
  for (const auto& [name, reference] : spellings) references.push_back(reference);
  const std::vector<std::string> names = CanonicalNames(references);
  return {names.begin(), names.end()};
}

std::string ReadyAsTexts(const plan::DesiredImage& image) {
  auto text = [](const image::PodCredentialRefs& pod) {
    return pod.empty() ? "default" : image::TextOf(pod);
  };
  std::set<std::string> texts = {text(image.ready_as)};
  for (const plan::PodProfile& other : image.other_pods) texts.insert(text(other.ready_as));
  return base::Join({texts.begin(), texts.end()}, "; ");
}

// Returns the members that differ, each once. The name is not compared, since lists may spell one image
// differently. Spellings and readyAs are compared over all pods of the image, because an agent judges each of
// them.
std::vector<FieldChange> FieldsOf(const plan::DesiredImage& from, const plan::DesiredImage& to) {
  doc::Node before = CanonicalEntry(from), after = CanonicalEntry(to);
  std::vector<FieldChange> fields;
  auto compare = [&](const std::string& field) {
    FieldChange change{field, Written(before.Find(field)), Written(after.Find(field))};
    const bool reported_below = field == "image" || field == "readyAs";
    if (!reported_below && change.from != change.to) fields.push_back(std::move(change));
  };
  for (const doc::Member& member : before.members) compare(member.key);
  // The canonical form omits defaults, so each of the two entries may have members that the other lacks.
  for (const doc::Member& member : after.members) {
    if (before.Find(member.key) == nullptr) compare(member.key);
  }
  FieldChange ready_as{"readyAs", ReadyAsTexts(from), ReadyAsTexts(to)};
  if (ready_as.from != ready_as.to) fields.push_back(std::move(ready_as));
  const References had = SpellingsOf(from), has = SpellingsOf(to);
  bool several = !from.other_pods.empty() || !to.other_pods.empty();
  if (several && Canonical(had) != Canonical(has)) fields.push_back({"spellings", Joined(had), Joined(has)});
  return fields;
}

}  // namespace

std::vector<ListChange> DiffLists(const plan::ImageList& from, const plan::ImageList& to) {
  // Keyed by the normalised name, which also gives the result its order.
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
