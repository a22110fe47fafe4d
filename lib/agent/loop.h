// Loop: state that the parts of the Agent share: the time of the turn, random numbers, the inbox, the number
// of jobs, and whether anything has changed. This header also declares all events.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/cluster/touch_pods.h"
#include "agent/observe.h"
#include "agent/observe_kubelet.h"
#include "base/call.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/workers.h"
#include "cri/content_service.h"
#include "image/registry_answer.h"
#include "plan/desired.h"
#include "plan/schedule.h"
#include "pulling/change_pins.h"
#include "pulling/credential_lookups.h"
#include "pulling/lease_manager.h"
#include "pulling/perform.h"

namespace prefetch::agent {

// ---- Events of the loop

// Lets a worker wait until the loop has decided about its pull. If the pull may not go on, it is stopped,
// which ends the wait as well. Any thread may call.
class AdmissionDecision {
 public:
  void Set() { made_.request_stop(); }
  // Blocks until it was made, or `call` was stopped.
  void Await(const base::Call& call) {
    std::stop_callback stopped(call.stop, [this] { Set(); });
    base::Pause({.stop = made_.get_token()}, base::Duration::max() / 4);
  }

 private:
  std::stop_source made_;
};

// A worker's job ends with one event. A pull may post four more on its way: PullUnprotected, PullSizeKnown,
// ContentFetched and PullReturned. Watches, credential lookups and servers post events, too.

struct ListChanged {
  std::shared_ptr<const plan::ImageList> list;
};

struct RuntimePolled {
  std::uint64_t list_epoch = 0;  // the list that was in force; an answer for an older list is discarded
  std::uint64_t sequence = 0;    // the number of the poll
  RuntimePoll poll;
  credentials::KeyringHealth credentials;
  std::vector<std::string> stale_mounts;  // a sentence each
};

struct PullDone {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  pulling::PullOutcome outcome;
  plan::DiskSpace disk = {};  // measured after one that ended well
};

struct ProgressPolled {
  struct One {
    std::string name;
    std::uint64_t run = 0;
    cri::PullProgress progress;
  };
  std::vector<One> pulls;
  bool unsupported = false;  // this runtime does not show progress
  plan::DiskSpace disk;
};

// A pull has learnt the compressed size of its image, and waits for the decision whether there is room.
struct PullSizeKnown {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  std::uint64_t bytes = 0;
  plan::DiskSpace disk;
  std::shared_ptr<AdmissionDecision> decision;
};

// A registry was asked for the compressed size of an image that waits for its pull.
struct SizeQueryDone {
  std::string name;         // the entry's normalised name
  std::uint64_t bytes = 0;  // 0: no answer
};

// PullImage has succeeded; the new image is still to be verified.
struct PullReturned {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
};

// How far the agent's download of a pull's image is (pulling::DownloadJob).
struct ContentFetched {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  plan::FetchPhase phase = plan::FetchPhase::kFetched;
  std::shared_ptr<AdmissionDecision> decision;  // kFetched: its PullImage waits for it
};

// A pull goes on without the lease under which it was to be.
struct PullUnprotected {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  cri::CallError error;
};

// A registry check has ended.
struct RegistryCheckDone {
  std::string name;  // the entry's normalised name
  std::string registry;
  image::RegistryAnswer answer;
};

// A preflight wants an image pulled that was not here when it was looked at.
struct PullRequested {
  image::Reference reference;
  base::TimePoint observed_at;
};

// An operator wants images tried at once.
struct OperatorRetry {
  std::vector<std::string> names;  // of entries, normalised
};

// The watch has reported changed files of kubelet.
struct KubeletRecordsChanged {
  kubelet::FileChanges changes;
};

// The runtime tells that some image has come, gone or changed.
struct RuntimeImagesChanged {};

struct KubeletPolled {
  std::optional<KubeletPoll> poll;  // none: a quick poll has found no change
};

// A call for a touch pod has been answered.
struct TouchCallDone {
  TouchReport report;
};

// A thread beside the loop cannot do its work, and no single image suffers; or it can again.
struct ProblemReported {
  std::string component;  // the thread's work
  std::string problem;    // a sentence; empty: it is over
};

// This Node was read.
struct NodeLabelsRead {
  std::optional<image::NodeLabels> labels;  // none: it cannot be read
};

struct Wake {};  // nothing but a turn

using Event = std::variant<Wake, ListChanged, RuntimePolled, PullDone, ProgressPolled, PullSizeKnown,
                           SizeQueryDone, ContentFetched, PullReturned, pulling::LeasesUpdated,
                           PullUnprotected, KubeletRecordsChanged, RuntimeImagesChanged, KubeletPolled,
                           TouchCallDone, RegistryCheckDone, PullRequested, OperatorRetry,
                           pulling::LookupFinished, ProblemReported, NodeLabelsRead, pulling::PinsChanged>;

// Maximum time between two polls of the runtime, whether it sends events or not. A vanished image must be
// noticed within 10 s.
constexpr std::chrono::seconds kPollInterval{8};

// The thread of the first turn alone calls it (base/mutex.h), but for Push and what reads the clock.
// `clock` outlives it.
class Loop {
 public:
  Loop(const base::Clock& clock, std::uint64_t seed) : clock_(clock), random_(seed), now_(clock.Now()) {}

  // Ends the program if it is called by another thread than the loop's. The other parts of the loop call it,
  // too.
  void Check() const PREFETCH_TSA(assert_capability(thread_)) { thread_.Check(); }
  // The loop ends, or has not begun: another thread may go on.
  void Release() const { thread_.Release(); }

  void BeginTurn() {
    Check();
    now_ = clock_.Now();
  }
  // All decisions of one turn use this time.
  base::TimePoint now() const {
    Check();
    return now_;
  }
  base::WallTime Wall() const { return clock_.Wall(); }
  double Random() {
    Check();
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }

  // Something has changed that a Snapshot shows.
  void Changed() { ChangedIf(true); }
  void ChangedIf(bool changed) {
    Check();
    changed_ = changed_ || changed;
  }
  // The published Snapshot overstates readiness, or is of an earlier list. The next one is published in this
  // turn, without waiting for its interval.
  void PublishAtOnce() {
    Check();
    changed_ = at_once_ = true;
  }
  bool changed() const {
    Check();
    return changed_;
  }
  bool at_once() const {
    Check();
    return at_once_;
  }
  void Published() {
    Check();
    changed_ = at_once_ = false;
  }

  // Any thread.
  void Push(Event event) { inbox_.Push(std::move(event)); }
  std::optional<Event> TryPop() { return inbox_.TryPop(); }
  std::optional<Event> PopUntil(base::TimePoint deadline) { return inbox_.PopUntil(deadline); }

  // Runs `job` on `pool`. The job's event arrives through the inbox; the part that absorbs it calls JobEnded.
  void Submit(base::Workers& pool, std::function<Event()> job) {
    JobBegan();
    pool.Submit([this, job = std::move(job)] { Push(job()); });
  }
  void JobBegan() {
    Check();
    jobs_++;
  }
  void JobEnded() {
    Check();
    jobs_--;
  }
  int jobs() const {
    Check();
    return jobs_;
  }

  // Stops every job.
  std::stop_token stopping() const { return stopping_.get_token(); }
  void Stop() { stopping_.request_stop(); }

 private:
  const base::Clock& clock_;
  base::ThreadChecker thread_;
  std::mt19937_64 random_ PREFETCH_GUARDED_BY(thread_);
  base::TimePoint now_ PREFETCH_GUARDED_BY(thread_);
  bool changed_ PREFETCH_GUARDED_BY(thread_) = true;
  bool at_once_ PREFETCH_GUARDED_BY(thread_) = false;
  int jobs_ PREFETCH_GUARDED_BY(thread_) = 0;
  base::Channel<Event> inbox_;
  std::stop_source stopping_;
};

}  // namespace prefetch::agent
