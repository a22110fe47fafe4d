#include "manifest/read.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/yaml.h"
#include "manifest/object_visitor.h"

namespace prefetch::manifest {
namespace {

using doc::Node;
using doc::Reader;

// A text that begins like JSON may be YAML all the same ("{a: b}", or JSON documents with `---` between
// them).
bool HasYamlMarker(std::string_view text) {
  return text.starts_with("---") || text.find("\n---") != std::string_view::npos;
}

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
  if (IsRunnerConfig(text)) {
    const Pod owner{.source = problems.source(), .kind = "GitLab runner", .from_template = true};
    ReadRunnerConfig(text, {1, 1}, owner, options.policy, manifests);
    return manifests;
  }
  ObjectVisitor visitor(options, manifests, nullptr);
  for (const Node& document : ParseManifests(text, problems, options.limits)) {
    visitor.Visit(Reader(document, problems), {});
  }
  return manifests;
}

Manifests ReadObject(const Node& object, doc::Problems& problems, const ReadOptions& options) {
  Manifests manifests;
  ObjectVisitor(options, manifests, nullptr).Visit(Reader(object, problems), {});
  return manifests;
}

}  // namespace prefetch::manifest
