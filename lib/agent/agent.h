// Agent: the loop. It alone owns changing state; workers bring it events, readers see its Snapshots.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/board.h"
#include "agent/cluster/touch_pods.h"
#include "agent/entries.h"
#include "agent/kubelet_view.h"
#include "agent/loop.h"
#include "agent/metrics.h"
#include "agent/pinning.h"
#include "agent/pulls.h"
#include "agent/registry_checks.h"
#include "agent/runtime_view.h"
#include "agent/touching.h"
#include "base/clock.h"
#include "base/token_bucket.h"
#include "base/workers.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/platform.h"
#include "kube/api.h"
#include "plan/check.h"
#include "plan/desired.h"
#include "plan/limits.h"
#include "pulling/credential_lookups.h"
#include "pulling/fetching.h"
#include "pulling/query_registry.h"

namespace prefetch::agent {

// An Agent's options and its parts.

struct Options {
  plan::Limits limits;
  image::Platform platform = image::Platform::Host();
  std::string node;      // the node's name, shown in status
  std::string endpoint;  // the runtime's socket, shown in status and in the log
  // Tells this agent's leases from those of another one on the same node.
  std::string instance;
  // --fetch=auto: the agent may fetch content itself (pulling/fetching.h).
  bool fetch = false;
  // --once: Run returns when every entry is settled (History::settled).
  bool once = false;
  // --unpin: no entry is pinned. UnpinAll removes existing pins (agent/pinning.h).
  bool unpin = false;
  // This node's kubelet; none: presence is the verdict.
  std::optional<KubeletOptions> kubelet;
  // --touch; only with a kubelet and with Parts::api.
  std::optional<TouchOptions> touch;
  // Patterns of images that no list needs to have (image/reference.h): plan/unlisted.h passes them over.
  std::vector<std::string> audit_ignore;
  // Where this process's mounts are listed; empty: replaced files among them are not noticed.
  std::string mountinfo;
  // Agent::SetNodeLabels is called once this Node was read, or could not be read for a minute.
  bool reads_labels = false;
  std::uint64_t seed = std::random_device{}();  // of the jitter
};

// The agent's tools; everything outlives it.
struct Parts {
  cri::ImageService& images;
  cri::ContentService& content;
  credentials::Keyring& keyring;
  const base::Clock& clock;
  DiskProbe disk = nullptr;  // null: ProbeDisk with a deadline (WithDeadline)
  kube::Api* api = nullptr;  // for touching; none: this is no cluster, or it is not enabled
  pulling::RegistryResolver registry = nullptr;  // empty: no registry is asked
  pulling::RegistryAccessFor access = nullptr;
  pulling::ContentSourceFor contents = nullptr;
};

class Agent {
 public:
  Agent(Options options, Parts parts);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Any thread: a new list is in force from the next turn on.
  void SetList(std::shared_ptr<const plan::ImageList> list);
  // Any thread: files of kubelet have changed. For callers without a watch (KubeletOptions::watch).
  void RecordsChanged(kubelet::FileChanges changes);
  // Any thread: the runtime tells that some image has come, gone or changed (agent/runtime_view.h).
  void ImagesChanged();
  // Any thread: a client waits for an image that was absent at `observed_at`. It is pulled before others; an
  // unlisted one with the node's own credentials (Snapshot::requested). The request lasts
  // plan::kRequestLifetime.
  void RequestPull(const image::Reference& reference, base::TimePoint observed_at);
  // Any thread: the back-off of these entries of the list, by their normalised names, is skipped once.
  void Retry(std::vector<std::string> names);
  // Any thread: the labels of this Node; nullopt: they cannot be read.
  void SetNodeLabels(std::optional<image::NodeLabels> labels);
  // Any thread: adds the problem of a component to those of status. An empty `problem` removes it.
  void ReportProblem(std::string component, std::string problem);

  // Runs the loop on the calling thread until `stop` or `deadline`. With Options::once it also ends when no
  // result is awaited; and it ends when MustRestart is true. Running pulls are then cancelled and awaited;
  // their leases keep the bytes.
  void Run(const std::stop_token& stop, base::TimePoint deadline = base::TimePoint::max());

  // The folder with kubelet's records was replaced, and this process still has the old one mounted.
  bool MustRestart() const { return kubelet_ && kubelet_->records_replaced(); }

  const Board& board() const { return board_; }
  const Metrics& metrics() const { return metrics_; }
  Metrics& metrics() { return metrics_; }

  // Runs one iteration of the loop with at most one event. For tests with a clock of their own.
  void Turn(std::optional<Event> event);
  // Lets another thread than that of the earlier turns run the loop.
  void Release() const;
  // Returns the number of turns that went through all entries.
  std::uint64_t turns() const { return turns_; }
  std::optional<Event> TryPop() { return loop_.TryPop(); }  // does not wait
  // Returns the time of the next turn without an event.
  base::TimePoint NextTurn() const { return next_turn_; }
  // Returns the number of jobs whose event has not been handled yet. Credential lookups that wait for a
  // thread do not count.
  int jobs_under_way() const { return loop_.jobs() + lookups_.on_threads(); }

 private:
  bool IsFinished(base::TimePoint started) const;

  // Events in. The functions that return a bool return false if nothing has changed.
  void ApplyList(std::shared_ptr<const plan::ImageList> list);
  bool ApplyPoll(RuntimePolled event);
  bool ApplyKubeletPoll(KubeletView::Polled polled);
  void ApplyPullRequest(const image::Reference& reference, base::TimePoint observed_at);
  void ApplyRetry(const std::vector<std::string>& names);
  // Whether the back-off of a pull that a preflight waits for is skipped.
  bool MaySkipBackoffFor(const Entry& entry);
  bool ApplyNodeLabels(std::optional<image::NodeLabels> labels);
  void ApplyCredentials(credentials::KeyringHealth health);
  void ApplyLocal(Entry& entry, std::optional<plan::Local> local);

  void ProcessEntries();
  void DecideAll();
  bool MayPullAnyTime(const Entry& entry) const;
  base::Duration DelayOfOpening(const Entry& entry);
  bool MayTouch() const;
  void StartTouchIfDue();
  void StopAll();
  void ForgetLookups();
  void ReturnMemoryIfIdle();
  base::TimePoint NextTurnTime() const;
  base::TimePoint NextWakeTime() const;

  // Snapshots out.
  void Publish();
  plan::ImageState EvaluateImage(const Entry& entry, base::WallTime wall) const;
  void AddImages(plan::Snapshot& snapshot) const;
  void AddProblems(plan::Snapshot& snapshot) const;

  Options options_;
  const Parts parts_;
  const base::TimePoint started_at_;
  Loop loop_;
  pulling::RejectedCredentials refusals_;
  Board board_;
  plan::WindowStates windows_;
  std::optional<double> window_fraction_;  // of the start jitter, drawn once
  Metrics metrics_;
  std::shared_ptr<const plan::ImageList> list_;
  std::uint64_t list_epoch_ = 0;
  credentials::KeyringHealth credentials_;
  // Problems of threads beside the loop, by the name of their work.
  std::map<std::string, std::string> component_problems_;
  Entries entries_;
  base::TokenBucket backoff_skips_{plan::kRetryRequestRate};  // of preflights, to skip a back-off
  bool settled_ = false;                                      // every entry has been settled once
  bool was_ready_ = false;
  base::TimePoint published_at_;
  base::TimePoint return_memory_at_ = base::TimePoint::max();
  base::TimePoint forget_at_;
  // The loop wakes up more often than it goes through all entries. A wake-up without news costs no such turn,
  // however long the list is. A due poll of the runtime causes one. Its answer causes one only if something
  // has changed or an entry waits. Polls of kubelet cause one only if they bring news.
  base::TimePoint all_entries_at_;  // the next turn through all entries, if nothing happens
  std::uint64_t turns_ = 0;         // that went through all entries
  base::TimePoint next_turn_;

  // Each owns its state; the later ones know the ones before.
  pulling::CredentialLookups lookups_;
  RuntimeView runtime_;
  std::unique_ptr<KubeletView> kubelet_;  // null: no kubelet runs here
  RegistryChecks checks_;
  Pinning pinning_;
  std::optional<pulling::Fetcher> fetcher_;  // none: the runtime fetches everything
  std::optional<Pulls> pulls_;               // always; made after the kubelet
  std::optional<Touching> touching_;
  base::Workers poll_workers_;  // last: its threads use what stands above
};

}  // namespace prefetch::agent
