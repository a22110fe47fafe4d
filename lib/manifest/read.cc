#include "manifest/read.h"

#include <optional>
#include <utility>

#include "doc/kubernetes_stream.h"
#include "manifest/object_visitor.h"

namespace prefetch::manifest {

using doc::Node;
using doc::Reader;

std::vector<Node> ParseManifests(std::string_view text, doc::Problems& problems, const doc::Limits& limits) {
  return doc::ReadKubernetesDocuments(text, problems, limits).value_or(std::vector<Node>());
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
