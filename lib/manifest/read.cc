#include "manifest/read.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/kubernetes_stream.h"
#include "doc/node.h"
#include "doc/reader.h"
#include "doc/toml.h"
#include "image/reference.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {

namespace {

using doc::Need;
using doc::Node;
using doc::ObjectReader;
using doc::Reader;

// The type that the items of a list have if they name none: a PodList from the API server holds such Pods.
struct ImpliedType {
  std::string api_version, kind;
};

// Jenkins' configuration as code, which has no kind.
constexpr const char* kJenkins = "Jenkins configuration";
constexpr const char* kHookJob = "$job";  // the name of the job's own container in a hook template of ARC

// A manifest may contain any text as its kind.
constexpr std::size_t kLongestTypeShown = 200;

// "List" is always a list. For kubectl, every object with `items` is; a custom kind may be called
// "BlockList", so its items must look like objects.
bool IsList(const Node& object, const std::string& kind) {
  if (kind == "List") return true;
  const Node* items = object.Find("items");
  return items != nullptr && !items->items.empty() && items->items.front().kind == Node::Kind::kMapping;
}

// Returns true if the value is no object of Kubernetes. Directories contain YAML that is no manifest, such as
// values.yaml.
bool IsNoObject(const Node& value, const ImpliedType& implied) {
  if (value.kind != Node::Kind::kMapping) return true;
  if (!implied.kind.empty() || value.Find("kind") != nullptr) return false;
  // Chart.yaml of Helm has an apiVersion, and nothing else of an object.
  return value.Find("apiVersion") == nullptr ||
         (value.Find("spec") == nullptr && value.Find("metadata") == nullptr);
}

// Returns the type of the items of a list that name none.
ImpliedType ImpliedBy(const ImpliedType& list) {
  std::string kind = doc::KindOfItems(list.kind);
  return kind.empty() ? ImpliedType() : ImpliedType{list.api_version, std::move(kind)};
}

bool IsJenkins(const Node& value) {
  return value.Find("kind") == nullptr && doc::ValueAt(value, {"jenkins"}) != nullptr;
}

std::string TypeField(ObjectReader& object, std::string_view key, const std::string& implied) {
  std::optional<Reader> value = object.Find(key, implied.empty() ? Need::kRequired : Need::kOptional);
  if (!value) return implied;
  std::optional<std::string> text = value->String();
  if (text && text->empty()) value->Fail("must not be empty");
  return text.value_or("");
}

// Returns nullopt, with the problem added, if there is no good type.
std::optional<ImpliedType> ReadType(ObjectReader& object, const ImpliedType& implied) {
  // kubectl adds the type where both fields are missing.
  ImpliedType type = object.Has("apiVersion") || object.Has("kind") ? ImpliedType() : implied;
  type.api_version = TypeField(object, "apiVersion", type.api_version);
  type.kind = TypeField(object, "kind", type.kind);
  if (type.api_version.empty() || type.kind.empty()) return std::nullopt;
  if (std::ranges::count(type.api_version, '/') > 1) {
    object.Fail("apiVersion", "must be a version, or a group and a version");
    return std::nullopt;
  }
  return type;
}

void SetParameters(const Reader& holder, std::string_view path, const char* key, const std::string& prefix,
                   Variables& variables) {
  for (const Reader& item : AtPath(holder, path)) {
    const Node* name = item.node().Find("name");
    const Node* value = item.node().Find(key);
    if (name != nullptr && value != nullptr && value->items.empty() && value->members.empty() &&
        value->kind != Node::Kind::kNull) {
      variables.Set(prefix + name->text, value->text);
    }
  }
}

// A template for the pods of ARC's container hooks has the pod in `spec`, and names like "$job". Templates of
// others have variables for images, too.
bool IsHookTemplate(const Node& object) {
  const Node* containers = doc::ValueAt(object, {"spec", "containers"});
  if (containers == nullptr) return false;
  return std::ranges::any_of(containers->items, [](const Node& item) {
    const std::string name = doc::TextAt(item, {"name"});
    return name == kHookJob || (name.starts_with('$') && name.find_first_of("{(") == std::string::npos &&
                                doc::TextAt(item, {"image"}).find('$') == std::string::npos);
  });
}

// Returns the type of what needs none: Jenkins and ARC's hooks know none, and kustomize fills in that of its
// file, which it knows by its name.
ObjectType TypeByForm(const Reader& value) {
  const Node& node = value.node();
  if (node.kind != Node::Kind::kMapping) return {};
  std::string kind = doc::TextAt(node, {"kind"});
  if (kind.empty() && IsJenkins(node)) return {"", kJenkins};
  if (kind.empty() && IsHookTemplate(node)) return {"", "PodTemplate"};
  const std::string_view path = value.problems().source();
  const bool kustomize = base::IsOneOf(path.substr(path.rfind('/') + 1),
                                       {"kustomization.yaml", "kustomization.yml", "Kustomization"});
  if (!kustomize || (!kind.empty() && node.Find("apiVersion") != nullptr)) return {};
  return {"kustomize.config.k8s.io", kind.empty() ? "Kustomization" : std::move(kind)};
}

// Returns true for a kustomization after which pods may have other images than its resources name.
bool ChangesImages(const Node& object, const ObjectType& type) {
  if (type.group != "kustomize.config.k8s.io") return false;
  for (const char* key :
       {"images", "helmCharts", "helmChartInflationGenerator", "replacements", "transformers"}) {
    if (!doc::ItemsAt(object, {key}).empty()) return true;
  }
  for (const char* key : {"resources", "bases", "components"}) {
    for (const Node& item : doc::ItemsAt(object, {key})) {
      // A remote one has images that no file here has.
      const std::string& from = item.text;
      if (from.find_first_of(":?") != std::string::npos || from.find("//") != std::string::npos ||
          from.starts_with("github.com/"))
        return true;
    }
  }
  for (const char* key : {"patches", "patchesJson6902", "patchesStrategicMerge"}) {
    for (const Node& item : doc::ItemsAt(object, {key})) {
      const std::string& patch = item.kind == Node::Kind::kMapping ? doc::TextAt(item, {"patch"}) : item.text;
      // A patch in a file of its own is not known here.
      const bool in_a_file = item.kind != Node::Kind::kMapping && patch.find('\n') == std::string::npos;
      if (in_a_file || item.Find("path") != nullptr || patch.find("image") != std::string::npos) return true;
    }
  }
  return false;
}

// Returns true for a text that is to be read as manifests, whatever is in it.
bool IsMarked(std::string_view text) {
  return text.find("# prefetchctl: manifest") != std::string_view::npos;
}

// Returns true if a name in the text begins like this. A script may have "$job", too, but not as a name.
bool HasName(std::string_view text, std::string_view begin) {
  return std::ranges::any_of(
      std::array{"name: ", "name: '", "name: \"", "name\":\"", "name\": \""},
      [&](const std::string& key) { return text.find(key + std::string(begin)) != std::string_view::npos; });
}

// Returns true for a text with the marker, for what may be a hook template of ARC, and for Jenkins'
// configuration as code.
bool HoldsManifests(std::string_view text) {
  if (IsMarked(text) || text.starts_with("jenkins:") || text.find("\njenkins:") != std::string_view::npos)
    return true;
  if (text.starts_with("#!") || text.find("containers") == std::string_view::npos) return false;
  // The template need not have a kind, nor the job.
  return text.find("kind: PodTemplate") != std::string_view::npos || HasName(text, "$");
}

// Gives everything in an embedded text the position of that text.
void MoveTo(doc::Position at, Node& node) {
  node.at = at;
  for (Node& item : node.items) MoveTo(at, item);
  for (doc::Member& member : node.members) {
    member.at = at;
    MoveTo(at, member.value);
  }
}

// Gives all keys small letters. GitLab's runner takes them in any case.
void LowerKeys(Node& node) {
  for (Node& item : node.items) LowerKeys(item);
  for (doc::Member& member : node.members) {
    member.key = base::ToLower(member.key);
    LowerKeys(member.value);
  }
}

// Marks what has been read, so that no later search counts it again.
void Claim(const FoundTemplate& found, const Node* spec, const Node* image, Claimed& claimed) {
  if (found.shape == TemplateShape::kImage) {
    if (image != nullptr) claimed.insert(image);
    return;
  }
  if (found.origin != Origin::kShape) claimed.insert(&found.value.node());
  if (spec == nullptr) return;
  claimed.insert(spec);
  for (const doc::Member& member : spec->members) {
    // The items of the spec's lists are containers and volumes, which have been read.
    for (const Node& item : member.value.items) claimed.insert(&item);
  }
}

// Visits the objects of parsed manifests, and collects the images that their pods use. Not thread-safe. The
// documents must outlive it.
class ObjectVisitor {
 public:
  // `pods` may be null.
  ObjectVisitor(const ReadOptions& options, Manifests& manifests, std::vector<PodInTree>* pods)
      : options_(options), manifests_(manifests), pods_(pods) {}

  // Visits an object, or a sequence of objects.
  void Visit(const Reader& value, const ImpliedType& implied) {
    if (value.node().kind == Node::Kind::kSequence) {
      for (const Reader& item : value.Items()) Visit(item, implied);
      return;
    }
    // This comes before kind and apiVersion are required.
    if (const ObjectType type = TypeByForm(value); !type.kind.empty()) {
      ObjectReader object(value);
      return VisitObject(object, type);
    }
    if (IsSkipped(value.node(), implied)) return;
    ObjectReader object(value);
    if (value.node().kind != Node::Kind::kMapping) return;  // ObjectReader has reported the mistake.
    const std::optional<ImpliedType> type = ReadType(object, implied);
    if (!type) return;
    if (IsList(value.node(), type->kind)) {
      for (const Reader& item : object.Items("items")) Visit(item, ImpliedBy(*type));
    } else {
      VisitObject(object, TypeOf(type->api_version, type->kind));
    }
  }

  // Visits the runners of a GitLab configuration. A text at 1:1 is the file itself.
  void VisitRunners(const Reader& text, const Pod& pod) {
    const std::string& written = text.node().text;
    auto config = doc::ReadToml(variables_ ? variables_->Resolve(written).text : written);
    const bool is_file = text.node().at == doc::Position{1, 1};
    if (!config) {
      const std::string why = "cannot be read as TOML: " + config.error().message();
      return is_file ? text.Fail(why) : AddUnreadText(text, pod, why);
    }
    LowerKeys(*config);
    if (!is_file) MoveTo(text.node().at, *config);
    for (const Node& runner : doc::ItemsAt(*config, {"runners"})) {
      const Node* kubernetes = runner.Find("kubernetes");
      if (kubernetes == nullptr) continue;
      for (const ImageField& field : FindRunnerImages(*kubernetes)) AddField(field, pod);
      for (const Node& spec : doc::ItemsAt(*kubernetes, {"pod_spec"})) {
        const Reader holder(spec, text.problems(), "runners.kubernetes.pod_spec");
        ObjectReader patches(holder);
        if (auto path = patches.Find("patch_path")) AddUnreadText(*path, pod, "is in another file");
        if (auto patch = patches.Find("patch")) {
          VisitText({.value = *patch}, pod, [&](const Reader& part, const Pod& job) {
            if (part.node().kind != Node::Kind::kMapping) return VisitPatch(part, job);
            ReadTemplate({.value = part, .origin = Origin::kShape}, job, holder, nullptr);
          });
        }
      }
    }
  }

  // Returns the type of the items of a list, which come one by one.
  ImpliedType TypeOfItems(const Reader& list) const {
    if (list.node().kind != Node::Kind::kMapping || IsSkipped(list.node(), {})) return {};
    ObjectReader object(list);
    return ImpliedBy(ReadType(object, {}).value_or(ImpliedType()));
  }

 private:
  // Folders contain YAML that is no manifest, which is passed over there.
  bool IsSkipped(const Node& value, const ImpliedType& implied) const {
    return options_.non_manifests == NonManifests::kSkip && IsNoObject(value, implied);
  }

  void VisitObject(ObjectReader& object, const ObjectType& type) {
    if (const BuiltInKind* kind = FindBuiltIn(type)) return VisitBuiltIn(object, type, *kind);
    if (type.kind == "Template" && (type.group.empty() || type.group == "template.openshift.io")) {
      return VisitTemplate(object);
    }
    VisitCustom(object, type);
  }

  // Visits the objects of OpenShift's Template, with the values of its parameters.
  void VisitTemplate(ObjectReader& object) {
    Variables inner = variables_ ? *variables_ : Variables();
    // Parameters apply only within the template, so the outer variables are restored below.
    SetParameters(object.reader(), "parameters", "value", "", inner);
    const auto outer = std::exchange(variables_, std::make_shared<const Variables>(std::move(inner)));
    for (const Reader& item : object.Items("objects")) Visit(item, {});
    variables_ = outer;
  }

  // Kubernetes' own kinds have their pods in one known place. If nothing is found there, the object must
  // explain itself: by a mistake, by containers in a wrong place, or as unread.
  void VisitBuiltIn(ObjectReader& object, const ObjectType& type, const BuiltInKind& kind) {
    const Pod pod = Describe(object, type);
    const std::size_t mistakes = object.reader().problems().count(), seen = ResultCount();
    std::optional<Reader> value = BuiltInTemplate(object.reader(), kind);
    FoundTemplate found{.value = value.value_or(object.reader()), .variables = variables_};
    if (!value && type.kind == "PodTemplate" && (in_text_ || IsHookTemplate(object.reader().node()))) {
      found.origin = Origin::kKnownKind;
      value = object.reader();
    }
    if (value) ReadTemplate(found, pod, object.reader(), nullptr);
    // Nothing was found, and no mistake explains it. Containers in the wrong place are the usual reason.
    if (ResultCount() > seen || object.reader().problems().count() > mistakes) return;
    // The API server writes `status`, so containers in it are no mistake of the author.
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

  void VisitCustom(ObjectReader& object, const ObjectType& type) {
    // Fields of custom resources may have any type, so only known places report mistakes.
    doc::Problems ignored_problems("");
    ObjectReader leniently(Reader(object.reader().node(), ignored_problems));
    Pod pod = Describe(leniently, type);
    pod.source = object.reader().problems().source();
    const bool podless = IsPodless(type);
    const std::size_t seen = ResultCount(), pods = manifests_.pods;
    const std::size_t mistakes = object.reader().problems().count();
    Claimed claimed;
    std::optional<Workflow> workflow = FindWorkflow(object.reader(), type, variables_);
    if (workflow) VisitWorkflow(*workflow, pod, object.reader(), claimed);
    // Known places come first and claim their nodes, so that the search by shape below does not count the
    // same image twice.
    for (const KnownPlace& place : KnownPlaces()) {
      if (place.kind == type.kind && place.group == type.group)
        VisitPlace(place, pod, object.reader(), claimed);
    }
    for (const std::string& path : options_.pod_template_paths) {
      for (const Reader& value : AtPath(object.reader(), path)) {
        // A path to a place that is known already is right, although it finds nothing new.
        if (claimed.contains(&value.node())) manifests_.matched_paths.insert(path);
        FoundTemplate found{.value = value, .origin = Origin::kCustomPath, .variables = variables_};
        if (ReadTemplate(found, pod, object.reader(), &claimed)) manifests_.matched_paths.insert(path);
      }
    }
    // A Trigger mostly refers to its template, but may also contain it.
    if (!podless || TypeName(type) == "Trigger.triggers.tekton.dev")
      VisitShapes(object.reader(), type, pod, claimed);
    VisitTexts(object.reader(), type, pod);
    if (ResultCount() > seen && workflow && !MayStayUnread(type)) {
      // Beside them, its own images could pass for all.
      std::set<std::string> named;
      for (const Reader& reference : workflow->references) {
        const std::string name = doc::TextAt(reference.node(), {"name"}), path = reference.path();
        if (!name.empty() && !named.insert(path.substr(path.rfind('.')) + name).second) continue;
        AddOpen(PodTitle(pod) + " also has images elsewhere: " + path +
                    (name.empty() ? "" : " names " + base::Truncate(name, 200)),
                reference.node().at, pod);
      }
    }
    if (ResultCount() > seen || manifests_.pods > pods || object.reader().problems().count() > mistakes)
      return;
    if (ChangesImages(object.reader().node(), type) && !MayStayUnread(type)) {
      return manifests_.unresolved.push_back(
          Unseen(object, pod, "may change images when it is built: read the output of kubectl kustomize"));
    }
    manifests_.skipped[base::Truncate(TypeName(type), kLongestTypeShown)]++;
    // Jenkins' pods are in its clouds, which may be in another file.
    const bool cloudless =
        type.kind == kJenkins && doc::ValueAt(object.reader().node(), {"jenkins", "clouds"}) == nullptr;
    if (podless || cloudless || type.kind.ends_with("List")) return;
    // A run or a pipeline that only names other objects is complete. A Task has its own steps, so one without
    // images is unread.
    const bool refers = workflow && type.kind != "Task" && type.kind != "ClusterTask";
    if (!refers) return AddUnread(object, type, pod, "may run pods, and no image of it was found here");
    if (!MayStayUnread(type)) {
      manifests_.unresolved.push_back(
          Unseen(object, pod, "names no image here: they are in the objects that it refers to"));
    }
  }

  // Returns true if there is a pod. Adds its nodes to `claimed`, so that no other search looks at them.
  bool ReadTemplate(const FoundTemplate& found, const Pod& pod, const Reader& object, Claimed* claimed) {
    const Node* image = nullptr;
    if (found.shape == TemplateShape::kImage) image = found.value.node().Find(found.place->image);
    if (claimed != nullptr &&
        (claimed->contains(&found.value.node()) || (image != nullptr && claimed->contains(image))))
      return false;
    const std::size_t first = manifests_.uses.size();
    const auto spec = ReadPodImages(found, pod, options_.policy, manifests_);
    if (!spec) return false;
    if (claimed != nullptr) Claim(found, *spec, image, *claimed);
    if (found.shape != TemplateShape::kImage && found.shape != TemplateShape::kArgoDefaults)
      manifests_.pods++;
    // Callers change only real specs of pods. A shape may be a coincidence, and the documents of an embedded
    // text are copies.
    const bool sure = found.origin != Origin::kShape && found.shape == TemplateShape::kPod;
    if (pods_ != nullptr && sure && !in_text_ && first < manifests_.uses.size()) {
      const auto uses = manifests_.uses.begin() + static_cast<std::ptrdiff_t>(first);
      pods_->push_back({&object.node(), *spec, {uses, manifests_.uses.end()}});
    }
    return true;
  }

  void AddUnread(ObjectReader& object, const ObjectType& type, const Pod& pod, const std::string& why) {
    if (MayStayUnread(type)) return;
    manifests_.unread.push_back(Unseen(object, pod, why));
    manifests_.unread.back().type = base::Truncate(TypeName(type), kLongestTypeShown);
  }

  void AddOpen(const std::string& why, doc::Position at, const Pod& pod) {
    manifests_.unresolved.push_back(
        {.why = why, .at = at, .holder_at = at, .pod = std::make_shared<const Pod>(pod)});
  }

  bool MayStayUnread(const ObjectType& type) const {
    return std::ranges::any_of(options_.allow_unread, [&](const std::string& pattern) {
      return pattern == type.kind || image::MatchesPattern(pattern, TypeName(type));
    });
  }

  // Returns the whole object as one without an image. `why` follows its title.
  static UnseenImage Unseen(ObjectReader& object, const Pod& pod, const std::string& why) {
    const doc::Position begin = object.reader().node().at;
    return {.why = PodTitle(pod) + " " + why,
            .at = object.KeyAt("kind").value_or(begin),
            .holder_at = begin,
            .pod = std::make_shared<const Pod>(pod)};
  }

  // Returns a number that grows with everything that was found. Callers compare it to learn whether an object
  // had anything.
  std::size_t ResultCount() const {
    return manifests_.uses.size() + manifests_.references.size() + manifests_.unresolved.size() + visited_;
  }

  Pod Describe(ObjectReader& object, const ObjectType& type) const {
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

  void VisitPlace(const KnownPlace& place, const Pod& pod, const Reader& object, Claimed& claimed) {
    for (const Reader& value : AtPath(object, place.path)) {
      FoundTemplate found{
          .value = value, .origin = Origin::kKnownKind, .place = &place, .variables = variables_};
      if (place.form == PlaceForm::kImage) found.shape = TemplateShape::kImage;
      if (!place.policy_path.empty()) {
        const std::vector<Reader> holders = AtPath(object, place.policy_path);
        if (!holders.empty()) found.defaults = holders.front();
      }
      ReadTemplate(found, pod, object, &claimed);
    }
  }

  void VisitWorkflow(const Workflow& workflow, const Pod& pod, const Reader& object, Claimed& claimed) {
    for (const FoundTemplate& found : workflow.templates) ReadTemplate(found, pod, object, &claimed);
    for (const FoundTemplate& text : workflow.texts)
      VisitText(text, pod, [&](const Reader& value, const Pod& part) { VisitPart(value, part); });
    for (const FoundTemplate& text : workflow.parts)
      VisitText(text, pod, [&](const Reader& value, const Pod& part) { VisitPatch(value, part); });
    for (const FoundTemplate& text : workflow.patches) {
      VisitText(text, pod, [&](const Reader& value, const Pod& part) {
        if (value.node().kind != Node::Kind::kMapping) return;
        ReadTemplate({.value = value, .origin = Origin::kShape, .variables = text.variables}, part, object,
                     nullptr);
      });
    }
  }

  void VisitShapes(const Reader& object, const ObjectType& type, const Pod& pod, Claimed& claimed) {
    const Shapes shapes = FindShapes(object, claimed);
    for (FoundTemplate found : shapes.pods) {
      found.variables = variables_;
      if (type.kind == kJenkins) found.shape = TemplateShape::kJenkins;
      ReadTemplate(found, pod, object, &claimed);
    }
    for (const ImageField& field : shapes.fields) AddField(field, pod);
    if (shapes.objects.empty()) return;
    Variables inner = variables_ ? *variables_ : Variables();
    if (type.kind == "TriggerTemplate") SetParameters(object, "spec.params", "default", "tt.params.", inner);
    if (type.kind == "Trigger") {
      SetParameters(object, "spec.template.spec.params", "default", "tt.params.", inner);
      // The value of a binding comes before the default, and is known only with the event.
      for (const Reader& item : AtPath(object, "spec.bindings"))
        inner.Unset("tt.params." + doc::TextAt(item.node(), {"name"}));
    }
    const auto outer = std::exchange(variables_, std::make_shared<const Variables>(std::move(inner)));
    for (const Reader& value : shapes.objects) {
      visited_++;
      Visit(value, {});
    }
    variables_ = outer;
  }

  // Visits a document of an embedded text: an object, or what looks like none.
  void VisitPart(const Reader& value, const Pod& pod) {
    if (IsNoObject(value.node(), {})) return VisitPatch(value, pod);
    Visit(value, {});
  }

  // Visits a part of an object. Its images show by their shape, and it need not have any.
  void VisitPatch(const Reader& value, const Pod& pod) {
    // A JSON patch is a sequence of operations.
    if (value.node().kind == Node::Kind::kSequence) {
      for (const Reader& item : value.Items()) VisitPatch(item, pod);
    } else if (value.node().kind == Node::Kind::kMapping) {
      Claimed claimed;
      VisitShapes(value, {}, pod, claimed);
    }
  }

  // Adds an image whose pod a controller makes. Its policy is known only if it stands beside it.
  void AddField(const ImageField& field, const Pod& owner) {
    auto pod = std::make_shared<Pod>(owner);
    pod->identity_elsewhere = true;
    ImageUse use{.image = field.image, .kind = UseKind::kField, .name = field.path};
    if (field.unresolved && variables_) use.image = variables_->Resolve(field.image).text;
    if (auto reference = image::Reference::Parse(use.image)) use.reference = *std::move(reference);
    // A field with a variable names no image until the variable has a value.
    if (field.unresolved && !use.reference) {
      manifests_.unresolved.push_back(
          {.why = field.path + " of " + PodTitle(owner) +
                  " has a variable for its image: " + base::Truncate(field.image, 200),
           .at = field.key_at,
           .holder_at = field.holder_at,
           .pod = pod});
      return;
    }
    use.explicit_policy = field.policy;
    // The controller decides about the policy, so it is known only if it stands in the manifest, if the user
    // has named the controller's default, or if the cluster overrides all policies.
    const PolicyRules& rules = options_.policy;
    use.policy_known = field.policy || rules.default_policy || rules.assume_always_pull;
    use.policy = EffectivePolicy(field.policy, use.reference, rules);
    use.at = field.at;
    use.key_at = field.key_at;
    use.holder_at = field.holder_at;
    use.path = field.path;
    use.pod = std::move(pod);
    manifests_.uses.push_back(std::move(use));
  }

  // Visits manifests in texts of a ConfigMap, a Secret or Jenkins' templates.
  void VisitTexts(const Reader& object, const ObjectType& type, const Pod& pod) {
    if (type.kind != "ConfigMap" && type.kind != "Secret" && type.kind != kJenkins) return;
    std::vector<Reader> texts;
    std::deque<Node> decoded;  // those of a Secret
    if (type.kind == kJenkins) {
      for (const Reader& value : AtPath(object, "jenkins.clouds.kubernetes.templates")) {
        for (const auto& [key, text] : value.Members()) {
          if (key == "yaml") texts.push_back(text);
          if (key != "yamls" || text.node().kind != Node::Kind::kSequence) continue;
          for (const Reader& item : text.Items()) texts.push_back(item);
        }
      }
    } else {
      for (const char* key : {"data", "stringData"}) {
        for (const Reader& data : AtPath(object, key)) {
          const bool encoded = type.kind == "Secret" && key == std::string_view("data");
          for (const auto& [name, text] : data.Members()) {
            if (encoded) decoded.push_back(Decoded(text.node()));
            texts.push_back(encoded ? Reader(decoded.back(), text.problems(), text.path()) : text);
          }
          if (type.kind == "Secret") continue;
          for (const ImageField& field : FindDataImages(data)) AddField(field, pod);
        }
      }
    }
    for (const Reader& text : texts) {
      if (text.node().kind != Node::Kind::kString) continue;
      // Any other text of a ConfigMap may contain image names by chance, and is only read on request.
      if (IsRunnerConfig(text.node().text)) {
        VisitRunners(text, pod);
      } else if (type.kind == kJenkins || HoldsManifests(text.node().text)) {
        const bool asked = type.kind == kJenkins || IsMarked(text.node().text);
        const bool has_job = HasName(text.node().text, kHookJob);
        const auto take = [&](const Reader& value, const Pod& part) {
          const Node& node = value.node();
          // Jenkins takes the text for a part of a pod, whether or not a type stands in it.
          if (type.kind == kJenkins && node.kind == Node::Kind::kMapping) return VisitPatch(value, part);
          // A text that was taken for a hook template by its words need not be one.
          const std::string kind = doc::TextAt(node, {"kind"});
          const bool hook = IsHookTemplate(node) && (kind.empty() || has_job);
          if (asked || IsJenkins(node) || kind == "PodTemplate" || hook) Visit(value, {});
        };
        // Many a script has a variable for a name, and is no manifest.
        const FoundTemplate found{.value = text, .variables = variables_};
        VisitText(found, pod, take, asked || has_job ? Unreadable::kIsOpen : Unreadable::kHasNoImages);
      }
    }
  }

  // Returns a text of a Secret, which is in base64.
  static Node Decoded(const Node& text) {
    Node plain = Node::String(doc::DecodeGoBase64(text.text).value_or(""));
    plain.at = text.at;
    return plain;
  }

  void AddUnreadText(const Reader& text, const Pod& pod, const std::string& why) {
    AddOpen("the text in " + text.path() + " of " + PodTitle(pod) + " " + why, text.node().at, pod);
  }

  using TakeDocument = std::function<void(const Reader&, const Pod&)>;

  enum class Unreadable { kIsOpen, kHasNoImages };

  // Passes on each document of a text. A text that cannot be read may count as an image that is not known.
  void VisitText(const FoundTemplate& found, Pod pod, const TakeDocument& take,
                 Unreadable unreadable = Unreadable::kIsOpen) {
    const Node& node = found.value.node();
    if (node.kind != Node::Kind::kString) return;
    doc::Problems problems(found.value.problems().source());
    const std::string text = found.variables ? found.variables->Resolve(node.text).text : node.text;
    // They go with this call: a list of a whole cluster has many such texts.
    std::vector<Node> documents = ParseManifests(text, problems, options_.limits);
    if (!problems.empty()) {
      if (unreadable == Unreadable::kIsOpen) AddUnreadText(found.value, pod, "cannot be read as a manifest");
      return;
    }
    // A document that is no object is a part of a pod, whose other parts have its secrets and its account.
    pod.identity_elsewhere = true;
    const auto outer = std::exchange(variables_, found.variables);
    const bool outer_is_text = std::exchange(in_text_, true);
    for (Node& document : documents) {
      // Positions inside an embedded text do not match lines of the file.
      MoveTo(node.at, document);
      take(Reader(document, found.value.problems(), found.value.path()), pod);
    }
    in_text_ = outer_is_text;
    variables_ = outer;
  }

  const ReadOptions& options_;
  Manifests& manifests_;
  std::vector<PodInTree>* pods_;
  std::shared_ptr<const Variables> variables_;  // of the object around; nullptr: there are none
  bool in_text_ = false;                        // the visited document is of an embedded text
  std::size_t visited_ = 0;                     // objects within objects
};

// Reads the items of a list one by one, as the objects of a whole cluster may not fit in memory as one tree.
void ReadJsonList(std::string& text, const ReadMore& more, doc::Problems& problems,
                  const ReadOptions& options, ObjectVisitor& visitor) {
  std::optional<ImpliedType> implied;
  std::size_t number = 0, total = 0;
  doc::JsonItems* list = nullptr;
  doc::JsonItems items(options.limits.bytes, [&](std::string_view item, doc::Position at) {
    if (!implied) {
      // Items that name no type get that of the list, which is still incomplete and closed here.
      doc::Problems ignored_problems("");
      const auto begun = doc::ParseJson(list->rest() + "]}", ignored_problems, doc::JsonRules::kLenient);
      implied = begun ? visitor.TypeOfItems(doc::Reader(*begun, ignored_problems)) : ImpliedType();
    }
    // Each item is freed before the next one is read, so the list is never in memory as a whole.
    const auto node = doc::ParseJson(item, problems, doc::JsonRules::kLenient, options.limits, at);
    const std::string path = "items[" + std::to_string(number++) + "]";
    if (node) visitor.Visit(doc::Reader(*node, problems, path), *implied);
  });
  list = &items;
  do {
    total += text.size();
    if (total > doc::kMostSavedBytes) return problems.Add({}, "", doc::TooLong(doc::kMostSavedBytes));
    items.Feed(text);
    text.clear();
  } while (!problems.Full() && more(text));
  // An item beyond the limit would have been read only in part.
  if (items.truncated()) return problems.Add({}, "", "a part of it " + doc::TooLong(options.limits.bytes));
  if (problems.Full()) return;
  const auto rest = doc::ParseJson(items.rest(), problems, doc::JsonRules::kLenient, options.limits);
  if (!rest) return;
  const doc::Reader whole(*rest, problems);
  if (items.has_no_items()) return visitor.Visit(whole, {});
  // Adds the mistakes in the list's own type.
  visitor.TypeOfItems(whole);
}

}  // namespace

std::vector<Node> ParseManifests(std::string_view text, doc::Problems& problems, const doc::Limits& limits) {
  return doc::ReadKubernetesDocuments(text, problems, limits).value_or(std::vector<Node>());
}

std::vector<PodInTree> FindPods(const std::vector<Node>& documents, doc::Problems& problems,
                                const ReadOptions& options, Manifests* all) {
  Manifests unwanted;
  std::vector<PodInTree> pods;
  ObjectVisitor visitor(options, all != nullptr ? *all : unwanted, &pods);
  for (const Node& document : documents) visitor.Visit(Reader(document, problems), {});
  return pods;
}

bool IsRunnerConfig(std::string_view text) {
  if (text.starts_with(doc::kByteOrderMark)) text.remove_prefix(doc::kByteOrderMark.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string begin = base::ToLower(line.substr(0, 40));
    if (!begin.starts_with("[[") && !begin.starts_with("runners")) continue;
    std::erase_if(begin, [](char c) { return c == ' ' || c == '\t'; });
    if (begin.starts_with("[[runners]]") || begin.starts_with("runners=[")) return true;
  }
  return false;
}

Manifests ReadManifests(std::string_view text, doc::Problems& problems, const ReadOptions& options) {
  Manifests manifests;
  if (IsRunnerConfig(text)) {
    const Pod owner{.source = problems.source(), .kind = "GitLab runner", .from_template = true};
    Node config = Node::String(std::string(text));
    config.at = {1, 1};
    ObjectVisitor(options, manifests, nullptr).VisitRunners(Reader(config, problems), owner);
    return manifests;
  }
  if (text.size() > options.limits.bytes) {
    problems.Add({}, "", doc::TooLong(options.limits.bytes));
    return manifests;
  }
  ObjectVisitor visitor(options, manifests, nullptr);
  // Each document has limits of its own, as it is dropped before the next.
  doc::KubernetesStream stream(text, problems, options.limits, doc::LimitScope::kDocument);
  while (std::optional<Node> document = stream.Next()) visitor.Visit(Reader(*document, problems), {});
  return manifests;
}

Manifests ReadObject(const Node& object, doc::Problems& problems, const ReadOptions& options) {
  Manifests manifests;
  ObjectVisitor(options, manifests, nullptr).Visit(Reader(object, problems), {});
  return manifests;
}

// JSON is read in pieces. YAML is read whole, up to a limit, and then document by document.
Manifests ReadLongManifests(std::string& text, const ReadMore& more, doc::Problems& problems,
                            const ReadOptions& options) {
  Manifests manifests;
  ObjectVisitor visitor(options, manifests, nullptr);
  // The format shows at the beginning.
  if (text.empty()) more(text);
  const std::string_view begin = base::TrimSpace(std::string_view(text).substr(0, 1024));
  if (begin.starts_with("{") || begin.starts_with("[")) {
    ReadJsonList(text, more, problems, options, visitor);
    return manifests;
  }
  while (text.size() <= doc::kMostSavedBytes && more(text)) {
  }
  if (text.size() > doc::kMostSavedBytes) {
    problems.Add({}, "", doc::TooLong(doc::kMostSavedBytes));
  } else {
    doc::KubernetesStream stream(text, problems, options.limits, doc::LimitScope::kDocument);
    while (std::optional<Node> document = stream.Next()) visitor.Visit(Reader(*document, problems), {});
  }
  return manifests;
}

}  // namespace prefetch::manifest
