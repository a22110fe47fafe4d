// RealWorld: a node of real parts as the faults find it: containerd with its content on a small filesystem,
// two registries behind proxies, a credential plugin, the agent. It asks containerd for the truth. kubelet is
// its files alone, and the API server a model over TLS; the agent's clock can be set.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fakes/fake_kubelet.h"
#include "system/cluster.h"
#include "system/fetch_parts.h"
#include "system/node.h"

namespace prefetch::tests::real_faults {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Bytes a second of each registry: the list takes about three seconds, while most faults begin.
constexpr std::uint64_t kLink = 2'500'000;

// Distance of the registries. The agent downloads from far ones itself (containerd 2.1 or later).
enum class Distance { kNear, kFar };

// Parts of the node that the agent opens.
enum class Part { kRuntime, kList, kRecords, kPlugin };

class RealWorld {
 public:
  // A failed start fails the test.
  explicit RealWorld(Distance distance = Distance::kNear);

  const std::vector<std::string>& images() const { return images_; }
  const std::set<std::string>& listed() const { return listed_; }
  std::uint64_t BytesOf(const std::string& image) const;
  std::uint64_t BytesOfAll() const;
  // Those that both registries have sent.
  std::uint64_t BytesSent() const;
  // The registry of the image.
  system::Host& HostOf(const std::string& image);
  // Does it ask for a password?
  bool IsClosed(const std::string& image) const { return image.starts_with(closed_->host()); }
  system::Node& node() { return node_; }
  // By itself, where its registries are far and the runtime lets it.
  bool agent_downloads() const { return agent_downloads_; }
  tests::FakeApiServer& api() { return cluster_.api(); }
  // The label that says of the Node whether it is ready.
  std::string NodeLabel() const { return cluster_.OfNode({"metadata", "labels", "prefetchd.dev/prefetchd"}); }
  void ApiServerIs(bool away);
  bool api_server_is_away() const { return api_server_is_away_; }

  void Unlist(const std::string& image);
  void Relist(const std::string& image);
  void BreakList();
  void WriteList();

  void StopRuntime();    // SIGTERM
  void KillRuntime();    // SIGKILL
  void FreezeRuntime();  // SIGSTOP
  // Undoes each of these.
  void RuntimeIsBack();
  bool runtime_answers() const { return runtime_answers_; }

  // The plugin's script in the place of the good one; "" puts that back.
  void PluginIs(const std::string& script);

  // By kubelet's record of it, once the image is here: for the pod alone that pulled it, for nobody, for
  // each.
  void CloseRecord(const std::string& image);
  void BreakRecord(const std::string& image);
  void OpenRecord(const std::string& image);
  // Listed images that kubelet would refuse to a pod with policy Never.
  const std::set<std::string>& refused() const { return refused_; }
  // Untruly, so that a test of the rules sees them notice it.
  void PretendRefused(const std::string& image) { refused_.insert(image); }
  void PretendListed(const std::string& image) {
    listed_.insert(image);
    removed_.insert(image);
  }

  // The agent gets no more memory than it has; it may end for that.
  void LimitMemory();
  void MemoryIsBack();
  bool has_memory() const { return has_memory_; }
  // Starts the agent again, as kubelet does, if it exited because gRPC could not start a thread
  // (cri/call_deadlines.h). An agent whose memory never gave out must not exit and is left alone.
  void RestartAfterLackOfMemory();
  bool exited_after_lack_of_memory() { return lacked_memory_ && has_memory_ && !node_.agent().Running(); }

  // Another user gets the part, and alone may open it: the agent is root without a capability, as deployed.
  // Files that the agent has opened stay open.
  void Deny(Part part);
  void Allow(Part part);

  // So far from the right time the agent's clock is.
  void ClockIsOff(std::chrono::seconds by);

  // A registry stops giving bytes: an agent that downloads gives its ranges up that are not next in their
  // blobs (lib/DESIGN.md).
  void BreaksDownloads();
  void FreezeAgent();  // SIGSTOP
  void ThawAgent();
  // It answers nobody, and nothing can be held against it.
  bool agent_is_frozen() const { return agent_frozen_; }
  void KillAgent();
  // SIGTERM; it goes within a second, or the test fails.
  void StopAgent();
  // By the runtime's own client, as kubelet's garbage collection would.
  void Remove(const std::string& image);
  // All that is there goes, with its bytes; not counted as destroyed. Another agent finds an empty node.
  void RemoveEveryName();
  // Not one more byte of content, until it is emptied.
  void FillDisk();
  void EmptyDisk();

  // Counts bytes that a fault may destroy, and that may be fetched again.
  void Destroyed(std::uint64_t bytes) { destroyed_ += bytes; }
  // Bytes that the end of a process may destroy each time.
  std::uint64_t OfAnEnd() const;
  std::uint64_t destroyed() const { return destroyed_; }
  // Images that were removed since the last call.
  std::set<std::string> TakeRemoved() { return std::exchange(removed_, {}); }
  std::chrono::steady_clock::time_point agent_since() const { return agent_since_; }

 private:
  std::string PathOf(Part part);
  void StartAgent();
  void RecordPull(const std::string& image, const PullCredential& credential);

  const Distance distance_;
  system::Node node_;
  const bool agent_downloads_ = distance_ == Distance::kFar && system::IsFetchedFor(node_.containerd());
  system::Cluster cluster_{node_, {"node-gate"}};
  bool api_server_is_away_ = false;
  base::SystemClock clock_;
  FakeKubelet kubelet_{node_.scratch() / "kubelet", clock_};
  std::map<std::string, std::string> ids_;  // by image
  std::set<std::string> refused_;
  bool has_memory_ = true, lacked_memory_ = false;
  std::unique_ptr<system::Host> closed_, open_;
  std::vector<std::string> images_;
  std::set<std::string> listed_, removed_;
  std::string good_plugin_;
  bool runtime_answers_ = true, runtime_frozen_ = false;
  bool agent_frozen_ = false;
  std::uint64_t destroyed_ = 0;
  std::chrono::steady_clock::time_point agent_since_;
};

}  // namespace prefetch::tests::real_faults
