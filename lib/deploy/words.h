// Checks names by the rules of Kubernetes, and writes notes for the user of `generate`. Internal to deploy/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "deploy/daemon_set.h"
#include "deploy/generate.h"
#include "deploy/objects.h"

namespace prefetch::deploy {

constexpr std::string_view kNodeGate = "node-gate";  // folders of components/
constexpr std::string_view kControlPlane = "control-plane";
constexpr std::string_view kOpenShift = "openshift";  // a platform; "openshift-…" are components for it
constexpr std::string_view kLiveReload = "live-reload";
constexpr std::string_view kTouch = "touch";
constexpr std::string_view kPreflight = "preflight";
constexpr std::string_view kPolicy = "policy";
constexpr std::string_view kFleet = "fleet";
constexpr std::string_view kKubeletApi = "kubelet-api";
constexpr std::string_view kNoApiAccess = "no-api-access";

bool Contains(const std::vector<std::string>& names, std::string_view name);
// Returns the folders of components/ that the options select, relative to the tree's root.
std::vector<std::string> ComponentFolders(const GenerateOptions& options);
// Checks the options that every kind of installation has: platform, components, nodes, namespace…
base::Status CheckCommon(const Files& files, const GenerateOptions& options);
// Adds a note if the agent, which may be one of several on its node, is on the host's network and `options`
// have no port.
void AddPortNote(const GenerateOptions& options, const AgentDaemonSet& agent,
                 std::vector<std::string>& notes);
std::vector<std::string> NotesFor(const GenerateOptions& options, const Objects& objects,
                                  const AgentDaemonSet& agent);

}  // namespace prefetch::deploy
