// AgentDaemonSet: changes the agent's DaemonSet for one installation.
// LabelMonitors and its kin: change the objects of components/monitoring.
// CheckNodeChoice and ChooseNodes: the nodes of a DaemonSet.
// Internal to deploy/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"
#include "deploy/objects.h"
#include "doc/node.h"

namespace prefetch::deploy {

// The agent's DaemonSet; Build() of any platform of the tree has one. One owner; `objects` outlives it and
// keeps its size meanwhile.
class AgentDaemonSet {
 public:
  explicit AgentDaemonSet(Objects& objects);

  doc::Node& body() { return *body_; }
  doc::Node& pod_spec() { return *pod_spec_; }
  const doc::Node& pod_spec() const { return *pod_spec_; }
  doc::Node& container() { return *container_; }
  bool OnHostNetwork() const;
  std::string NameSpace() const;

  // Replaces an existing `--flag=value`, or appends it.
  void SetArg(const std::string& flag, const std::string& value);
  void RemoveArg(std::string_view flag);
  void SetEnv(const std::string& name, const std::string& value);
  // Mounts a read-only volume with the files of a Secret, before the other volumes, where a patch by name
  // puts it.
  void MountSecret(const std::string& volume, const std::string& secret, const std::string& folder);
  // Sets the options that every kind of installation has: image, kubelet's version, port, pull secrets.
  void SetCommon(const GenerateOptions& options);
  // Sets the instance's name, and with it the folder of the local socket, on the host and in the container.
  void SetInstance(const std::string& name);
  // Sets the list's volume: one ConfigMap, or several as one folder.
  void SetListMaps(const std::vector<std::string>& config_maps);

 private:
  void SetPort(std::uint16_t port);

  doc::Node* body_;
  doc::Node* pod_spec_;
  doc::Node* container_;
};

// The functions below change the objects of components/monitoring for one installation.

constexpr std::string_view kMonitoring = "monitoring";  // folders of components/
constexpr std::string_view kMonitoringGke = "monitoring-gke";

// Returns InvalidArgument for options that contradict each other, and for labels that are not KEY=VALUE.
base::Status CheckMonitors(const GenerateOptions& options);

// Sets labels (KEY=VALUE each) on PodMonitor and PrometheusRule. The Prometheus operator selects them by its
// podMonitorSelector and ruleSelector.
void LabelMonitors(const std::vector<std::string>& labels, Objects& objects);

// Makes the alerts use this instance's label of Nodes.
void AlertOnLabelOf(const std::string& instance, Objects& objects);

// Makes the alerts select this DaemonSet instead of all with "prefetchd" in their names.
void AlertOnDaemonSet(const std::string& name, Objects& objects);

// The functions below handle a NodeChoice: the nodes that a DaemonSet is for, as options of a command. Pure.

// Returns InvalidArgument with the first choice that Kubernetes would reject, or that no node can satisfy.
base::Status CheckNodeChoice(const NodeChoice& choice);

// Adds to the selector, and replaces the existing tolerations. Call it after CheckNodeChoice().
void ChooseNodes(const NodeChoice& choice, doc::Node& pod_spec);

// Returns a sentence for each choice that leaves no node, because the affinity of `pod_spec` excludes it.
std::vector<std::string> NotesOnNodes(const NodeChoice& choice, const doc::Node& pod_spec);

}  // namespace prefetch::deploy
