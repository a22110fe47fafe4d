// ReadManifests: reads Kubernetes manifests for the images that their pods will ask for.
//
// The reader is strict about the fields that it reads: a wrong type, an unknown policy or a missing image is
// a mistake with its place. It skips all other fields, since older and newer clusters know other ones.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doc/problems.h"
#include "manifest/image_use.h"

namespace prefetch::manifest {

// The handling of documents with neither apiVersion nor kind. In a file that the user named, such a document
// is a mistake; folders may have such files (values.yaml).
enum class NonManifests { kError, kSkip };

struct ReadOptions {
  PolicyRules policy;
  // Where pod templates stand in objects that are not Kubernetes' own: "spec.template",
  // "spec.tasks.template" (a sequence on the way is walked through), "spec.replicaSpecs.*.template".
  std::vector<std::string> pod_template_paths;
  // Kinds that may stay unread: "JobSet", "JobSet.jobset.x-k8s.io", or a pattern of the latter ("*.acme.io").
  std::vector<std::string> allow_unread;
  NonManifests non_manifests = NonManifests::kError;
  // Limits of one text. The schemas of custom resources, which are skipped, nest deeply.
  doc::Limits limits{.bytes = 10 << 20, .depth = 100, .nodes = 2'000'000};
};

struct Manifests : PodImages {
  std::size_t pods = 0;  // pods and pod templates
  std::vector<UnseenImage> unread;
  std::set<std::string> matched_paths;  // those of pod_template_paths that led to a pod
  // Objects without pods, how many of each type: {"Service", 2}, {"Certificate.cert-manager.io", 1}.
  std::map<std::string, std::size_t> skipped;

  // Returns true if a list of prefetchd is among them.
  bool HasList() const { return skipped.contains("ImageList.prefetchd.dev"); }
};

// The documents of a text, as ReadManifests reads them, but with one budget for all. Pure.
std::vector<doc::Node> ParseManifests(std::string_view text, doc::Problems& problems,
                                      const doc::Limits& limits = ReadOptions().limits);

// A pod, or a pod template, in a document.
struct PodInTree {
  const doc::Node* object = nullptr;  // the Pod, the Job: a part of the documents, as `spec`
  const doc::Node* spec = nullptr;    // the pod's own, with its containers
  std::vector<ImageUse> uses;         // never empty
};

// The pods of parsed documents that ask for images, as ReadManifests finds them, but for those of Tekton and
// Argo, whose containers have other places. `all` gets what ReadManifests finds. Pure.
std::vector<PodInTree> FindPods(const std::vector<doc::Node>& documents, doc::Problems& problems,
                                const ReadOptions& options = {}, Manifests* all = nullptr);

// Returns true for a GitLab runner's config.toml (https://docs.gitlab.com/runner/executors/kubernetes/).
// Pure.
bool IsRunnerConfig(std::string_view text);

// The objects of one text: YAML with any number of documents, or JSON; a List (or PodList …) and a plain
// sequence of objects are each of their objects. Pods: Pod, PodTemplate, Deployment, StatefulSet, DaemonSet,
// ReplicaSet, ReplicationController, Job, CronJob, OpenShift's DeploymentConfig, and by `pod_template_paths`;
// of Tekton, Tasks, StepActions, Pipelines and their runs; of Argo, Workflows, their templates and
// CronWorkflows. There an image or policy with a variable in it is no use, and the pods' pull secrets are not
// looked for. `problems` names the text (its source() stands in every Pod) and gets all mistakes; if there is
// one, the result is good to show, not to decide by. Pure.
Manifests ReadManifests(std::string_view text, doc::Problems& problems, const ReadOptions& options = {});

// Reads one parsed object in the same way. Pure.
Manifests ReadObject(const doc::Node& object, doc::Problems& problems, const ReadOptions& options = {});

// Appends the next bytes of a text, and returns false at its end.
using ReadMore = std::function<bool(std::string& text)>;

// Reads a text of up to doc::kMostSavedBytes; `options` limit each of its parts. `text` is its beginning. A
// list in JSON is read item by item and is never in memory as a whole; of YAML, `text` gets all bytes, and
// each document is a part.
Manifests ReadLongManifests(std::string& text, const ReadMore& more, doc::Problems& problems,
                            const ReadOptions& options = {});

}  // namespace prefetch::manifest
