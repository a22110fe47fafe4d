// The container image of this project, from a private registry, as the pod that a platform's overlay makes of
// it: unchanged but for the node's name, which no scheduler is here to choose.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/crio.h"
#include "cluster/real_node.h"

namespace prefetch::cluster {

// A platform, with the paths that its nodes have and its overlay names.
struct Platform {
  const char* name;
  NodePaths paths;
  std::vector<std::string> files = {};  // of type File, besides
  std::string runtime = "/run/containerd";
  std::string runtime_config = {};  // a copy of containerd's is there
  bool shows_processes = true;      // kubelet has a process of its own, which the agent may see
  std::string docker_config = {};   // kubelet's and the agent's logins
  bool on_crio = false;
};

void PrintTo(const Platform& platform, std::ostream* out);
std::string NameOfPlatform(const testing::TestParamInfo<Platform>& platform);

// The kubeadm-like node that most tests take.
Platform GenericPlatform();

inline constexpr const char* kAgentPods = "/api/v1/namespaces/prefetchd/pods";

std::string FromEnvironment(const char* name);

class AsShipped : public testing::TestWithParam<Platform> {
 protected:
  void SetUp() override;
  void TearDown() override;
  static bool HasProviders() { return !GetParam().paths.provider_config.empty(); }
  // Can the node log in to the registry that wants it, by what the overlay shows the agent?
  static bool HasLogins() { return HasProviders() || !GetParam().docker_config.empty(); }
  static void MakePaths();
  // An image that the agent may pull.
  std::string PushForAgent(const std::string& repository, std::uint64_t seed);
  // The runtime's folder where everybody looks for its socket.
  void MountRuntime();
  void Install(const std::string& list);
  // Gives pods that wait for a scheduler their node.
  void Schedule();
  // The pod that is ready and of this list, if there is one.
  std::optional<doc::Node> ReadyPod(const std::string& not_uid = "");
  std::optional<doc::Node> AwaitReady(const std::string& not_uid = "");
  // Nothing declares kubelet's version: the agent reads it from the Node, with the shipped right.
  static void ExpectLearntVersion();
  // The agent knows the size of the filesystem with the images.
  void ExpectMeasuredDisk();
  // An ordinary job's pod of namespace ci, with the init container that the page makes for it: how that
  // ended, and its last words.
  std::string Preflight(const std::string& image, const std::string& policy);
  // A finalizer keeps the pod, so that it can be read how its container ended: 137 after SIGKILL. The time
  // until the pod is gone would say nothing, for kubelet takes seconds of its own to see what has ended.
  std::string ExitCodeOfDeleted(const std::string& pod);
  std::string LogsOfAgent();
  // Its lines that are errors.
  std::string ErrorsOfAgent();
  // The folder of the agent's process in /proc; empty if there is none.
  static std::filesystem::path AgentProcess();
  // The value of `key` in the status of this process.
  static std::string StatusLine(const std::string& key);
  // Can this node's runtime filter system calls? A CRI-O may be built without.
  static bool RuntimeHasSeccomp();
  // The cgroup that limits its memory, of version 1 or 2.
  static std::filesystem::path MemoryCgroup();

  std::optional<OnCrio> on_crio_;
  std::optional<RealNode> node_;
  std::string image_, listed_, manifests_;
  int jobs_ = 0;
};

}  // namespace prefetch::cluster
