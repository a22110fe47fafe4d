#include "manifest/object_visitor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/path.h"
#include "image/name_pattern.h"

namespace prefetch::manifest {
namespace {

using doc::Need;
using doc::Node;
using doc::ObjectReader;
using doc::Reader;

constexpr std::size_t kLongestTypeShown = 200;

// "List" is one always; "PodList" is one of Pods, but other objects may be called something like "BlockList".
bool IsList(const Node& object, const std::string& kind) {
  if (kind == "List") return true;
  const Node* items = object.Find("items");
  return kind.ends_with("List") && items != nullptr && !items->items.empty() &&
         items->items.front().kind == Node::Kind::kMapping;
}

bool IsStranger(const Node& value, const Implied& implied) {
  if (value.kind != Node::Kind::kMapping) return true;
  if (!implied.kind.empty() || value.Find("kind") != nullptr) return false;
  // Chart.yaml of Helm has an apiVersion, and nothing else of an object.
  return value.Find("apiVersion") == nullptr ||
         (value.Find("spec") == nullptr && value.Find("metadata") == nullptr);
}

bool IsJenkins(const Node& value) {
  return value.Find("kind") == nullptr && doc::ValueAt(value, {"jenkins"}) != nullptr;
}

}  // namespace

void ObjectVisitor::Visit(const Reader& value, const Implied& implied) {
  if (value.node().kind == Node::Kind::kSequence) {
    for (const Reader& item : value.Items()) Visit(item, implied);
    return;
  }
  if (IsJenkins(value.node())) {
    ObjectReader object(value);
    return VisitCustom(object, {"", kJenkins});
  }
  if (options_.strangers == UnknownOwners::kPassOver && IsStranger(value.node(), implied)) return;
  ObjectReader object(value);
  if (value.node().kind != Node::Kind::kMapping) return;  // that was its mistake
  std::string api_version = TypeField(object, "apiVersion", implied.api_version);
  std::string kind = TypeField(object, "kind", implied.kind);
  if (api_version.empty() || kind.empty()) return;
  if (IsList(value.node(), kind)) {
    VisitItems(object, api_version, kind);
  } else {
    VisitObject(object, TypeOf(api_version, kind));
  }
}

std::string ObjectVisitor::TypeField(ObjectReader& object, std::string_view key, const std::string& implied) {
  std::optional<Reader> value = object.Find(key, implied.empty() ? Need::kRequired : Need::kOptional);
  if (!value) return implied;
  std::optional<std::string> text = value->String();
  if (text && text->empty()) value->Fail("must not be empty");
  return text.value_or("");
}

void ObjectVisitor::VisitItems(ObjectReader& list, const std::string& api_version, const std::string& kind) {
  Implied implied;
  if (kind != "List") implied = {api_version, kind.substr(0, kind.size() - 4)};
  for (const Reader& item : list.Items("items")) Visit(item, implied);
}

void ObjectVisitor::VisitObject(ObjectReader& object, const ObjectType& type) {
  if (const BuiltInKind* kind = FindBuiltIn(type)) return VisitBuiltIn(object, type, *kind);
  if (type.kind == "Template" && (type.group.empty() || type.group == "template.openshift.io")) {
    return VisitTemplate(object);
  }
  VisitCustom(object, type);
}

void ObjectVisitor::VisitTemplate(ObjectReader& object) {
  Variables inner = variables_ ? *variables_ : Variables();
  SetParameters(object.reader(), "parameters", "value", "", inner);
  const auto outer = std::exchange(variables_, std::make_shared<const Variables>(std::move(inner)));
  for (const Reader& item : object.Items("objects")) Visit(item, {});
  variables_ = outer;
}

void ObjectVisitor::SetParameters(const Reader& holder, std::string_view path, const char* key,
                                  const std::string& prefix, Variables& variables) {
  for (const Reader& item : AtPath(holder, path)) {
    const Node* name = item.node().Find("name");
    const Node* value = item.node().Find(key);
    if (name != nullptr && value != nullptr && value->items.empty() && value->members.empty() &&
        value->kind != Node::Kind::kNull) {
      variables.Set(prefix + name->text, value->text);
    }
  }
}

void ObjectVisitor::VisitBuiltIn(ObjectReader& object, const ObjectType& type, const BuiltInKind& kind) {
  const Pod pod = Describe(object, type);
  const std::size_t mistakes = object.reader().problems().count(), seen = Seen();
  std::optional<Reader> value = BuiltInTemplate(object.reader(), kind);
  FoundTemplate found{.value = value.value_or(object.reader()), .variables = variables_};
  if (!value && IsHookTemplate(object.reader().node(), type)) {
    found.origin = Origin::kKnownKind;
    value = object.reader();
  }
  if (value) ReadTemplate(found, pod, object.reader(), nullptr);
  if (Seen() > seen || object.reader().problems().count() > mistakes) return;
  for (const auto& [key, member] : object.reader().Members()) {
    if (key == "status") continue;
    if (auto stray = FirstContainerList(member)) {
      stray->Fail("containers here are no part of a " + type.kind + ", whose pod " +
                  (kind.path.empty() ? "is in spec" : "template is in " + std::string(kind.path)));
      return;
    }
  }
  AddUnread(object, type, pod, "has no container with an image here; render patches first");
}

bool ObjectVisitor::IsHookTemplate(const Node& object, const ObjectType& type) {
  const Node* containers = doc::ValueAt(object, {"spec", "containers"});
  if (type.kind != "PodTemplate" || containers == nullptr) return false;
  return std::any_of(containers->items.begin(), containers->items.end(),
                     [](const Node& item) { return doc::TextAt(item, {"name"}).starts_with('$'); });
}

void ObjectVisitor::VisitCustom(ObjectReader& object, const ObjectType& type) {
  doc::Problems nobodys("");
  ObjectReader leniently(Reader(object.reader().node(), nobodys));
  Pod pod = Describe(leniently, type);
  pod.source = object.reader().problems().source();
  const bool podless = IsPodless(type);
  const std::size_t seen = Seen(), pods = manifests_.pods;
  const std::size_t mistakes = object.reader().problems().count();
  Claimed claimed;
  std::optional<Workflow> workflow = FindWorkflow(object.reader(), type, variables_);
  if (workflow) VisitWorkflow(*workflow, pod, object.reader(), claimed);
  for (const KnownPlace& place : KnownPlaces()) {
    if (place.kind == type.kind && place.group == type.group)
      VisitPlace(place, pod, object.reader(), claimed);
  }
  for (const std::string& path : options_.pod_template_paths) {
    for (const Reader& value : AtPath(object.reader(), path)) {
      if (claimed.contains(&value.node())) manifests_.paths_met.insert(path);
      FoundTemplate found{.value = value, .origin = Origin::kCustomPath, .variables = variables_};
      if (ReadTemplate(found, pod, object.reader(), &claimed)) manifests_.paths_met.insert(path);
    }
  }
  if (!podless) VisitShapes(object.reader(), type, pod, claimed);
  VisitTexts(object.reader(), type, pod);
  if (Seen() > seen || manifests_.pods > pods || object.reader().problems().count() > mistakes) return;
  manifests_.passed_over[base::Truncate(TypeName(type), kLongestTypeShown)]++;
  if (podless || type.kind.ends_with("List")) return;
  const bool refers = workflow && type.kind != "Task" && type.kind != "ClusterTask";
  if (refers) return AddReferring(object, pod);
  AddUnread(object, type, pod, "may run pods, and no image of it was found here");
}

void ObjectVisitor::AddReferring(ObjectReader& object, const Pod& pod) {
  manifests_.open.push_back(
      {.why = PodTitle(pod) + " names no image here: they are in the objects that it refers to",
       .at = object.KeyAt("kind").value_or(object.reader().node().at),
       .holder_at = object.reader().node().at,
       .pod = std::make_shared<const Pod>(pod)});
}

bool ObjectVisitor::ReadTemplate(const FoundTemplate& found, const Pod& pod, const Reader& object,
                                 Claimed* claimed) {
  const Node* image = nullptr;
  if (found.shape == TemplateShape::kImage) image = found.value.node().Find(std::string(found.place->image));
  if (claimed != nullptr &&
      (claimed->contains(&found.value.node()) || (image != nullptr && claimed->contains(image))))
    return false;
  const std::size_t first = manifests_.uses.size();
  const auto spec = ReadPodImages(found, pod, options_.policy, manifests_);
  if (!spec) return false;
  if (claimed != nullptr) Claim(found, *spec, image, *claimed);
  if (found.shape != TemplateShape::kImage && found.shape != TemplateShape::kArgoDefaults) manifests_.pods++;
  // Changes are made in pods' own specs only.
  const bool sure = found.origin != Origin::kShape && found.shape == TemplateShape::kPod;
  if (pods_ != nullptr && sure && texts_.empty() && first < manifests_.uses.size()) {
    const auto uses = manifests_.uses.begin() + static_cast<std::ptrdiff_t>(first);
    pods_->push_back({&object.node(), *spec, {uses, manifests_.uses.end()}});
  }
  return true;
}

void ObjectVisitor::Claim(const FoundTemplate& found, const Node* spec, const Node* image, Claimed& claimed) {
  if (found.shape == TemplateShape::kImage) {
    if (image != nullptr) claimed.insert(image);
    return;
  }
  if (found.origin != Origin::kShape) claimed.insert(&found.value.node());
  if (spec == nullptr) return;
  claimed.insert(spec);
  for (const doc::Member& member : spec->members) {
    for (const Node& item : member.value.items) claimed.insert(&item);
  }
}

void ObjectVisitor::AddUnread(ObjectReader& object, const ObjectType& type, const Pod& pod,
                              const std::string& why) {
  const std::string name = TypeName(type);
  const bool allowed = std::any_of(options_.allow_unread.begin(), options_.allow_unread.end(),
                                   [&](const std::string& pattern) {
                                     return pattern == type.kind || image::MatchesPattern(pattern, name);
                                   });
  if (allowed) return;
  manifests_.unread.push_back({.type = base::Truncate(name, kLongestTypeShown),
                               .why = why,
                               .at = object.KeyAt("kind").value_or(object.reader().node().at),
                               .pod = std::make_shared<const Pod>(pod)});
}

std::size_t ObjectVisitor::Seen() const {
  return manifests_.uses.size() + manifests_.references.size() + manifests_.open.size() + visited_;
}

Pod ObjectVisitor::Describe(ObjectReader& object, const ObjectType& type) const {
  Pod pod{.source = object.reader().problems().source(),
          .kind = base::Truncate(type.kind, kLongestTypeShown)};
  pod.from_template = type != ObjectType{"", "Pod"};
  if (std::optional<ObjectReader> metadata = object.Object("metadata")) {
    pod.object_namespace = metadata->String("namespace").value_or("");
    pod.name = metadata->String("name").value_or("");
    std::string generated = metadata->String("generateName").value_or("");
    if (pod.name.empty() && !generated.empty()) pod.name = generated + "*";
  }
  if (variables_) pod.name = variables_->Resolve(pod.name).text;
  return pod;
}

}  // namespace prefetch::manifest
