// Changes the agent's DaemonSet for one installation. Internal to deploy/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/objects.h"

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
  void AddSwitch(const std::string& flag);
  void RemoveArg(std::string_view flag);
  void SetEnv(const std::string& name, const std::string& value);
  void SetImage(const std::string& image);
  void SetImagePullSecrets(const std::vector<std::string>& names);
  // Mounts a read-only volume with the files of a Secret, before the other volumes, where a patch by name
  // puts it.
  void MountSecret(const std::string& volume, const std::string& secret, const std::string& folder);
  void SetPort(std::uint16_t port);
  // Sets the folder of the local socket, on the host and in the container.
  void SetRunFolder(const std::string& folder);
  // Sets the list's volume: one ConfigMap, or several as one folder.
  void SetListMaps(const std::vector<std::string>& config_maps);

 private:
  doc::Node* body_;
  doc::Node* pod_spec_;
  doc::Node* container_;
};

}  // namespace prefetch::deploy
