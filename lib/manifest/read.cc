#include "manifest/read.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/yaml.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {
namespace {

using doc::Need;
using doc::Node;
using doc::ObjectReader;
using doc::Reader;

constexpr std::size_t kLongestTypeShown = 200;

// A text that begins like JSON may be YAML all the same ("{a: b}", or JSON documents with `---` between
// them).
bool HasYamlMarker(std::string_view text) {
  return text.starts_with("---") || text.find("\n---") != std::string_view::npos;
}

// "List" is one always; "PodList" is one of Pods, but other objects may be called something like "BlockList".
bool IsList(const Node& object, const std::string& kind) {
  if (kind == "List") return true;
  const Node* items = object.Find("items");
  return kind.ends_with("List") && items != nullptr && !items->items.empty() &&
         items->items.front().kind == Node::Kind::kMapping;
}

// The type that the items of a list have if they name none: a PodList from the API server holds such Pods.
struct Implied {
  std::string api_version, kind;
};

bool IsStranger(const Node& value, const Implied& implied) {
  if (value.kind != Node::Kind::kMapping) return true;
  return implied.kind.empty() && value.Find("apiVersion") == nullptr && value.Find("kind") == nullptr;
}

class ObjectVisitor {
 public:
  // `pods` may be null.
  ObjectVisitor(const ReadOptions& options, Manifests& manifests, std::vector<PodInTree>* pods)
      : options_(options), manifests_(manifests), pods_(pods) {}

  // An object, or a sequence of them.
  void Visit(const Reader& value, const Implied& implied) {
    if (value.node().kind == Node::Kind::kSequence) {
      for (const Reader& item : value.Items()) Visit(item, implied);
      return;
    }
    if (options_.strangers == Strangers::kPassOver && IsStranger(value.node(), implied)) return;
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

 private:
  static std::string TypeField(ObjectReader& object, std::string_view key, const std::string& implied) {
    std::optional<Reader> value = object.Find(key, implied.empty() ? Need::kRequired : Need::kOptional);
    if (!value) return implied;
    std::optional<std::string> text = value->String();
    if (text && text->empty()) value->Fail("must not be empty");
    return text.value_or("");
  }

  void VisitItems(ObjectReader& list, const std::string& api_version, const std::string& kind) {
    Implied implied;
    if (kind != "List") implied = {api_version, kind.substr(0, kind.size() - 4)};
    for (const Reader& item : list.Items("items")) Visit(item, implied);
  }

  void VisitObject(ObjectReader& object, const ObjectType& type) {
    auto templates = FindTemplates(object.reader(), type, options_.pod_template_paths);
    std::size_t pods = 0;
    if (templates) {
      Pod pod = Describe(object, type);
      for (const FoundTemplate& found : *templates) {
        const std::size_t first = manifests_.uses.size();
        auto spec = ReadPodImages(found, pod, options_.policy, manifests_.uses, manifests_.references);
        if (!spec) continue;
        pods++;
        // Changes are made in pods' own specs only.
        if (pods_ != nullptr && found.shape == TemplateShape::kPod && first < manifests_.uses.size()) {
          const auto uses = manifests_.uses.begin() + static_cast<std::ptrdiff_t>(first);
          pods_->push_back({&object.reader().node(), *spec, {uses, manifests_.uses.end()}});
        }
      }
      manifests_.pods += pods;
    }
    bool custom = templates && !templates->empty() && templates->front().by_custom_path;
    if (!templates || (custom && pods == 0)) {
      manifests_.passed_over[base::Truncate(TypeName(type), kLongestTypeShown)]++;
    }
  }

  static Pod Describe(ObjectReader& object, const ObjectType& type) {
    Pod pod{.source = object.reader().problems().source(), .kind = type.kind};
    pod.from_template = type != ObjectType{"", "Pod"};
    if (std::optional<ObjectReader> metadata = object.Object("metadata")) {
      pod.object_namespace = metadata->String("namespace").value_or("");
      pod.name = metadata->String("name").value_or("");
      std::string generated = metadata->String("generateName").value_or("");
      if (pod.name.empty() && !generated.empty()) pod.name = generated + "*";
    }
    return pod;
  }

  const ReadOptions& options_;
  Manifests& manifests_;
  std::vector<PodInTree>* pods_;
};

}  // namespace

std::vector<Node> ParseManifests(std::string_view text, doc::Problems& problems, const doc::Limits& limits) {
  std::string_view begin = base::TrimSpace(text.substr(0, 1024));
  bool json = (begin.starts_with("{") || begin.starts_with("[")) && !HasYamlMarker(text);
  if (json) {
    doc::Problems as_json(problems.source());
    std::optional<Node> root = doc::ParseJson(text, as_json, doc::JsonRules::kStrict, limits);
    if (root && as_json.empty()) return {*std::move(root)};
    // Flow-style YAML is rare, and JSON that is cut off is not: the latter's own message is the better one.
    doc::Problems as_yaml(problems.source());
    auto documents = doc::ParseYamlDocuments(text, as_yaml, limits, doc::YamlRules::kAsKubernetes);
    if (documents && as_yaml.empty()) return *std::move(documents);
    if (std::optional<Node> again = doc::ParseJson(text, problems, doc::JsonRules::kStrict, limits)) {
      return {*std::move(again)};
    }
    return {};
  }
  return doc::ParseYamlDocuments(text, problems, limits, doc::YamlRules::kAsKubernetes)
      .value_or(std::vector<Node>());
}

std::vector<PodInTree> FindPods(const std::vector<Node>& documents, doc::Problems& problems,
                                const ReadOptions& options) {
  Manifests manifests;
  std::vector<PodInTree> pods;
  ObjectVisitor visitor(options, manifests, &pods);
  for (const Node& document : documents) visitor.Visit(Reader(document, problems), {});
  return pods;
}

Manifests ReadManifests(std::string_view text, doc::Problems& problems, const ReadOptions& options) {
  Manifests manifests;
  ObjectVisitor visitor(options, manifests, nullptr);
  for (const Node& document : ParseManifests(text, problems, options.limits)) {
    visitor.Visit(Reader(document, problems), {});
  }
  return manifests;
}

}  // namespace prefetch::manifest
