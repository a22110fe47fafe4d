// Generate: the manifests of one platform with the operator's own list, image and instance. They equal the
// kustomization that deploy/docs shows for each case; tests/deploy compares them.
// PolicyConfigMap: the images of components/policy.
// GenerateTouchDaemonSets: touches without created pods.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/kustomization.h"
#include "deploy/objects.h"
#include "doc/node.h"

namespace prefetch::deploy {

// The validationActions of the binding of components/policy, for a request that uses an image of the list
// with Always.
enum class PolicyAction { kWarn, kAudit, kDeny };

// Returns the ConfigMap of components/policy with these images, one a line, in their order. Returns
// InvalidArgument if they are too many, or too large for a ConfigMap.
base::Result<doc::Node> PolicyConfigMap(const std::vector<std::string>& images);

// One file of the list. The caller has validated it.
struct ListFile {
  std::string name;  // "images.yaml": the source's name, and the ConfigMap's key
  std::string text;
};

// The parts of components/node-gate.
enum class GatePart { kLabel, kCondition, kTaint };

// Selects nodes of a cluster. By default, all Linux nodes except control planes, whatever their taints are.
struct NodeChoice {
  std::vector<std::string> selectors;    // "KEY=VALUE", each a label that the nodes have
  std::vector<std::string> tolerations;  // "KEY[=VALUE][:EFFECT]": only nodes whose taints are among these
  bool control_plane = false;            // control planes, too
};

struct GenerateOptions {
  std::string platform;                 // a folder of overlays/
  std::vector<std::string> components;  // folders of components/
  std::string agent_config;             // the text of agent.yaml; empty: the tree's own
  std::vector<ListFile> lists;          // the first becomes prefetchd-list; each a ConfigMap of its own
  // All names end with it, and so does the folder below /run. Empty: this agent is the only one on its nodes.
  std::string instance;
  std::string name_space;                       // empty: prefetchd, or prefetchd-INSTANCE
  std::string image;                            // empty: as the tree has it
  std::string kubelet_version;                  // empty: not declared
  std::optional<std::uint16_t> port;            // else 9477
  std::vector<std::string> monitor_labels;      // KEY=VALUE each, of PodMonitor and PrometheusRule
  std::vector<std::string> image_pull_secrets;  // of the agent's own image
  // Secrets that are mounted for `pullSecrets` of agent.yaml, each at FolderOfPullSecret(name).
  std::vector<std::string> mounted_pull_secrets;
  NodeChoice nodes;
  std::string startup_taint_key;  // beside the agent's own; empty: none
  std::vector<GatePart> gate;     // empty: all; of a second instance on the same nodes: the label
  // The spellings of the list's images in pods, sorted, for component policy.
  std::vector<std::string> policy_images;
  std::optional<PolicyAction> policy_action;  // else Warn
};

struct Generated {
  std::vector<doc::Node> documents;  // in the order in which they can be created
  std::vector<std::string> notes;    // for the user, a sentence each
};

std::vector<std::string> Platforms(const Files& files);
std::vector<std::string> Components(const Files& files);
// Returns InvalidArgument if `platform` is empty or unknown.
base::Status CheckPlatform(const Files& files, const std::string& platform);

// Returns the folder of a mounted pull secret in the agent's container.
std::string FolderOfPullSecret(const std::string& name);

// Returns whether the manifests have an extra list with the agent's own image.
bool ListsOwnImage(const GenerateOptions& options);

// With component preflight and an image, an extra list has that image, not required. Returns InvalidArgument,
// with what to do, for an unknown platform or component, for an instance or a file name that Kubernetes
// rejects, and for a list that is too large for a ConfigMap.
base::Result<Generated> Generate(const Files& files, const GenerateOptions& options);

// Returns the manifests of touches without created pods: DaemonSets with the images of a list, whose
// containers never run (deploy/touch-daemonset, deploy/docs/touch.md).
//
// The result has the namespace of touch pods, and a DaemonSet for every 20 images. `images` are spelled as in
// pods. InvalidArgument: there is none, or more than 2000; or CheckNodeChoice rejects `nodes`.
base::Result<Generated> GenerateTouchDaemonSets(const Files& files, const std::vector<std::string>& images,
                                                const NodeChoice& nodes = {});

}  // namespace prefetch::deploy
