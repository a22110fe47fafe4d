// A node for system tests: a real runtime, private registries behind counting proxies, the node's
// credentials as a kubelet would have them, and our own binaries.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rig/containerd.h"
#include "rig/images.h"
#include "rig/process.h"
#include "rig/proxy.h"
#include "rig/registry.h"
#include "rig/scratch.h"
#include "status/documents.h"

namespace prefetch::system {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A registry with its proxy, known to the node's runtime as HOST.
class Host {
 public:
  // If `user` is empty, the registry asks nobody for a password.
  Host(const rig::Scratch& scratch, rig::Runtime& runtime, std::string host, const rig::User& user,
       const std::vector<rig::User>& others = {});

  // The beginning of references: the name that was asked for, or an address (rig::Runtime::AddRegistry).
  const std::string& host() const { return host_; }
  rig::Registry& registry() { return registry_; }
  rig::Proxy& proxy() { return *proxy_; }

  // Pushes an image past the proxy; returns its reference. A failed push fails the test.
  std::string Push(const std::string& repository, const std::string& tag, std::vector<rig::Layer> layers,
                   rig::ManifestKind kind = rig::ManifestKind::kDocker);
  // How many requests logged in as this user.
  std::size_t RequestsAs(const rig::User& user) const;

 private:
  std::string host_;
  rig::User user_;
  rig::Registry registry_;
  std::unique_ptr<rig::Proxy> proxy_;
};

// The beginning of kubelet's configuration file. The disk of the machine that runs the tests may be nearly
// full.
inline constexpr const char* kKubeletConfig =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 99\n";

// One thread owns it; everything goes with it.
class Node {
 public:
  // The runtime of all nodes to come, whose data is in the folder `root`, or where it likes if that is empty.
  using MakeRuntime = std::unique_ptr<rig::Runtime> (*)(const rig::Scratch& scratch, const std::string& root);
  // It keeps what it downloads in `downloads` below its root.
  static void UseRuntime(MakeRuntime make, const std::string& downloads);
  // As at the start.
  static void UseContainerd();

  // The part of the runtime's data that is on a filesystem of `bytes`; the rest is on the machine's.
  enum class Small { kNothing, kEverything, kContent };
  // Starts the runtime, by default a containerd. A failure fails the test.
  explicit Node(Small small = Small::kNothing, std::uint64_t bytes = 0);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  rig::Runtime& runtime() { return *runtime_; }
  // The node's runtime must be a containerd.
  rig::Containerd& containerd() { return dynamic_cast<rig::Containerd&>(*runtime_); }
  const rig::Scratch& scratch() const { return scratch_; }
  std::unique_ptr<Host> AddRegistry(const std::string& host, const rig::User& user,
                                    const std::vector<rig::User>& others = {});

  // The node's credentials: a plugin that answers for `host`, a docker config file with logins for hosts.
  void HasPlugin(const std::string& host, const rig::User& user);
  void HasDockerConfig(const std::string& host, const rig::User& user);
  // Sets the flags that describe the node's kubelet to the agent; by default, they say that there is none.
  void HasKubelet(std::vector<std::string> flags) { kubelet_flags_ = std::move(flags); }
  // The program that runs the agent, with its arguments, such as strace. It has to become the agent.
  void RunsAgentBy(std::vector<std::string> words) { runner_ = std::move(words); }
  // Another one, which those before become first.
  void RunsAgentAlsoBy(const std::vector<std::string>& words) {
    runner_.insert(runner_.end(), words.begin(), words.end());
  }
  // `limits` of the agent's configuration, as a YAML flow mapping.
  void HasLimits(const std::string& limits);
  // The list that the agent reads; a plain text one.
  void HasList(const std::vector<std::string>& images);
  void HasListFile(const std::string& name, const std::string& text);

  // The agent with everything above, plus `more` flags.
  rig::Command Agent(const std::vector<std::string>& more) const;
  // `prefetchd --once` to its end.
  rig::Ran Once(const std::vector<std::string>& more = {});
  // Starts the daemon; returns when its local socket answers.
  void StartAgent(const std::vector<std::string>& more = {});
  rig::Process& agent() { return agent_; }
  std::string AgentLog() const;
  // Where the agent that was started last listens for neighbours.
  std::string NeighbourUrl() const;

  // Hears of every output in JSON of Ctl.
  using Hearer = void (*)(const std::string& out);
  static void OnPrinted(Hearer hearer);

  rig::Ran Ctl(std::vector<std::string> args,
               std::chrono::milliseconds limit = std::chrono::minutes(1)) const;
  status::StatusDocument Status() const;
  // The image of the status document; a default one if it is not there.
  status::StatusImage StatusOf(const std::string& image) const;
  // The status code and body of a GET on the local socket.
  struct Answer {
    int status = 0;
    std::string body;
  };
  Answer Get(const std::string& path) const;
  // Waits until the agent says that the node is ready.
  bool BecomesReady(seconds limit) const {
    return rig::Eventually(limit, [&] { return Get("/readyz").status == 200; });
  }
  // Waits until the status gives `reason` for the image.
  bool Becomes(const std::string& image, const std::string& reason) const {
    return rig::Eventually(seconds(40), [&] { return StatusOf(image).reason.text() == reason; });
  }
  std::string socket() const { return scratch_ / "agent.sock"; }
  // Does the runtime have it under this name?
  bool Has(const std::string& image) const;

 private:
  // Adds to a log that outlives the test: tests/run searches all of them for passwords.
  void Keep(const std::string& log, const std::string& text) const;

  rig::Scratch scratch_;
  std::unique_ptr<rig::Runtime> runtime_;
  std::vector<std::string> kubelet_flags_ = {"--kubelet=none"};
  std::vector<std::string> runner_;
  rig::Process agent_;
};

}  // namespace prefetch::system
