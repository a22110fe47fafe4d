#include "deploy/words.h"

#include <algorithm>

#include "base/label_syntax.h"
#include "base/text.h"

namespace prefetch::deploy {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> ComponentFolders(const GenerateOptions& options) {
  std::vector<std::string> folders;
  for (const std::string& component : options.components) folders.push_back("components/" + component);
  // The option --include-control-plane and the component mean the same, so it is added once.
  if (options.nodes.control_plane && !Contains(options.components, kControlPlane)) {
    folders.push_back("components/" + std::string(kControlPlane));
  }
  return folders;
}

namespace {

// The components "openshift-…" are alternatives, and valid on OpenShift only.
base::Status CheckOpenShift(const GenerateOptions& options) {
  std::string chosen;
  for (const std::string& component : options.components) {
    if (!component.starts_with(std::string(kOpenShift) + "-") || component == chosen) continue;
    if (options.platform != kOpenShift) {
      return base::InvalidArgument("--component " + component + " needs --platform openshift");
    }
    if (!chosen.empty()) {
      return base::InvalidArgument("--component: " + chosen + " and " + component +
                                   " are alternatives: leave out one");
    }
    chosen = component;
  }
  return {};
}

}  // namespace

base::Status CheckPlatform(const Files& files, const std::string& platform) {
  const std::vector<std::string> platforms = Platforms(files);
  if (Contains(platforms, platform)) return {};
  return base::InvalidArgument("--platform must be one of " + base::Join(platforms, ", "));
}

base::Status CheckCommon(const Files& files, const GenerateOptions& options) {
  if (auto platform = CheckPlatform(files, options.platform); !platform) return platform;
  const std::vector<std::string> components = Components(files);
  for (const std::string& component : options.components) {
    if (!Contains(components, component)) {
      return base::InvalidArgument("--component must be one of " + base::Join(components, ", "));
    }
  }
  for (const std::string_view needs_api : {kFleet, kKubeletApi, kNodeGate, kPreflight, kTouch}) {
    if (Contains(options.components, kNoApiAccess) && Contains(options.components, needs_api)) {
      return base::InvalidArgument("--component no-api-access removes rights that " + std::string(needs_api) +
                                   " needs: leave out one of the two");
    }
  }
  if (auto fitting = CheckOpenShift(options); !fitting) return fitting;
  if (auto nodes = CheckNodeChoice(options.nodes); !nodes) return nodes;
  if (!options.name_space.empty() && !base::IsDnsLabel(options.name_space, 63)) {
    return base::InvalidArgument("--namespace must be small letters, digits and dashes");
  }
  for (const std::string& secret : options.image_pull_secrets) {
    if (!base::IsDnsSubdomain(secret)) {
      return base::InvalidArgument(
          "--image-pull-secret must be the name of a Secret: small letters, digits, "
          "dashes and dots");
    }
  }
  return CheckMonitors(options);
}

void AddPortNote(const GenerateOptions& options, const AgentDaemonSet& agent,
                 std::vector<std::string>& notes) {
  if (options.port || !agent.OnHostNetwork()) return;
  notes.emplace_back(
      "on the host's network, each instance needs its own port: give --port if another one runs there");
}

std::vector<std::string> NotesFor(const GenerateOptions& options, const Objects& objects,
                                  const AgentDaemonSet& agent) {
  std::vector<std::string> notes = NotesOnNodes(options.nodes, agent.pod_spec());
  if (options.image.empty()) {
    notes.emplace_back("no registry has the image that the manifests name: replace it before you apply them");
  }
  // Agents read their kubelet's version from the Node, which needs access to the API.
  const bool learns = !Contains(options.components, kNoApiAccess);
  if (options.kubelet_version.empty() && !learns) {
    notes.emplace_back(
        "--kubelet-version is not given, and with no-api-access no agent can learn it: nodes report "
        "FactsUnknown wherever versions of kubelet differ");
  }
  if (!options.kubelet_version.empty() && learns) {
    notes.emplace_back(
        "--kubelet-version counts on every node, also after an upgrade; without it each agent reads the "
        "version from its own Node");
  }
  if (!options.instance.empty()) AddPortNote(options, agent, notes);
  if (Contains(options.components, kPolicy)) {
    notes.emplace_back("policy judges namespaces that you label prefetchd.dev/policy=enforce");
    notes.emplace_back(
        "policy makes every API server watch all ConfigMaps: give aggregated API servers that right before "
        "you apply it, see deploy/docs/policy.md");
  }
  bool other_names = !options.instance.empty() || !options.name_space.empty();
  if (Contains(options.components, kTouch) && other_names) {
    notes.emplace_back(
        "where touch pods are made is not in here, its names are fixed: apply deploy/touch once, and bind "
        "this "
        "agent's account there, see deploy/docs/touch.md");
  }
  for (const std::string& secret : options.image_pull_secrets) {
    notes.push_back("the Secret " + secret + " must exist in the namespace " + agent.NameSpace() +
                    ", of the type kubernetes.io/dockerconfigjson; it serves the agent's own image only");
    if (Contains(options.components, kPreflight)) {
      notes.push_back("init containers with this image need a copy of the Secret " + secret +
                      " in their namespace: generate init-container --image-pull-secret " + secret);
    }
  }
  for (const std::string& secret : options.mounted_pull_secrets) {
    notes.push_back("the Secret " + secret + " must exist in the namespace " + agent.NameSpace() +
                    ", of the type kubernetes.io/dockerconfigjson: without it, no agent starts");
    notes.push_back("images that are pulled with the Secret " + secret +
                    " become usable by every pod of the node: see deploy/docs/node-pools.md");
  }
  for (const Object& object : objects.all) {
    if (object.Kind() != "ConfigMap" || ConfigMapBytes(object.body) <= kMostClientSideBytes) continue;
    notes.emplace_back("a list is larger than 256 KiB: kubectl apply needs --server-side");
    // One note is enough for all lists.
    break;
  }
  return notes;
}

}  // namespace prefetch::deploy
