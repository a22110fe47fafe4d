#include <algorithm>
#include <iterator>

#include "doc/node.h"
#include "doc/write.h"
#include "judges/ours.h"
#include "manifest/read.h"

namespace prefetch::judges {
namespace {

using doc::Node;

// The types of Kubernetes itself that have pods, as manifest::UnseenImage names them.
constexpr std::string_view kOwn[] = {"Pod",
                                     "PodTemplate",
                                     "CronJob.batch",
                                     "ReplicationController",
                                     "Deployment.apps",
                                     "StatefulSet.apps",
                                     "DaemonSet.apps",
                                     "ReplicaSet.apps",
                                     "Job.batch"};

bool IsOwnKind(std::string_view kind) {
  return std::any_of(std::begin(kOwn), std::end(kOwn),
                     [&](std::string_view type) { return type.substr(0, type.find('.')) == kind; });
}

// A kind of Kubernetes itself in another group is no object that its API server knows.
bool HasForeignGroup(const Node& object) {
  if (const Node* items = object.Find("items"); items != nullptr) {
    return std::any_of(items->items.begin(), items->items.end(), HasForeignGroup);
  }
  const std::string kind = doc::TextAt(object, {"kind"}), version = doc::TextAt(object, {"apiVersion"});
  const std::size_t slash = version.find('/');
  const std::string type =
      kind + (slash == 0 || slash == std::string::npos ? "" : "." + version.substr(0, slash));
  return IsOwnKind(kind) && !version.empty() &&
         std::find(std::begin(kOwn), std::end(kOwn), type) == std::end(kOwn);
}

Node NodeOf(const manifest::ImageUse& use) {
  const manifest::Pod& pod = *use.pod;
  std::vector<Node> secrets;
  for (const std::string& name : pod.image_pull_secrets) secrets.push_back(Node::String(name));
  Node node = Node::Mapping();
  node.Set("Kind", Node::String(pod.kind)).Set("Namespace", Node::String(pod.object_namespace));
  node.Set("Name", Node::String(pod.name)).Set("Container", Node::String(use.name));
  node.Set("Image", Node::String(use.image));
  node.Set("Policy", Node::String(std::string(base::EnumName(use.policy))));
  node.Set("Secrets", Node::Sequence(std::move(secrets)));
  node.Set("Account", Node::String(pod.service_account_name));
  return node;
}

// A text that begins like JSON is taken for YAML once it is none; the mistake told is that of JSON.
std::string AsYaml(std::string_view text) {
  if (text.starts_with("\xfe\xff") || text.starts_with("\xff\xfe")) return "; in UTF-16";
  if (const std::size_t begin = text.find_first_not_of(" \t\r\n"); begin == text.npos || text[begin] != '{')
    return "";
  doc::Problems problems("text");
  manifest::ReadManifests("---\n" + std::string(text), problems);
  return "; as YAML: " + (problems.empty() ? "no mistake" : problems.Lines().front());
}

// manifests: the images that the pods of a file of manifests ask for. Objects of other kinds say nothing
// here.
std::string ReadManifests(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  doc::Problems problems("text");
  const manifest::Manifests manifests = manifest::ReadManifests(text, problems);
  // kubectl ignores text behind a document, which is a mistake for us: any other one comes first.
  const std::vector<std::string> lines = problems.Lines();
  const auto other = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("does not read what is behind") == std::string::npos;
  });
  if (other != lines.end()) return Error(*other + AsYaml(text));
  if (!lines.empty()) return Error(lines.front());
  for (const Node& document : manifest::ParseManifests(text, problems)) {
    if (document.kind == Node::Kind::kSequence) return Error("a sequence of objects, which kubectl refuses");
    if (HasForeignGroup(document)) return Error("no such kind");
  }
  std::vector<Node> uses;
  for (const manifest::ImageUse& use : manifests.uses) {
    if (use.kind == manifest::UseKind::kField || !IsOwnKind(use.pod->kind)) continue;
    if (!use.reference) return Error("the image has no valid name");
    uses.push_back(NodeOf(use));
  }
  for (const manifest::UnseenImage& open : manifests.unresolved) {
    if (IsOwnKind(open.pod->kind)) return Error(open.why);
  }
  for (const manifest::UnseenImage& unread : manifests.unread) {
    if (std::find(std::begin(kOwn), std::end(kOwn), unread.type) != std::end(kOwn)) return Error(unread.why);
  }
  return Value(Node::Sequence(std::move(uses)));
}

}  // namespace

std::map<std::string, Family> ManifestFamilies() {
  return {{"manifests", ReadManifests}};
}

}  // namespace prefetch::judges
