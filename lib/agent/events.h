// The events of the loop, and Decision, by which a worker waits for the loop.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "agent/cluster/touch_pods.h"
#include "agent/credential_lookups.h"
#include "agent/lease_manager.h"
#include "agent/observe.h"
#include "agent/observe_kubelet.h"
#include "agent/perform.h"
#include "base/call.h"
#include "cri/content_service.h"
#include "image/registry_answer.h"
#include "plan/desired.h"

namespace prefetch::agent {

// Lets a worker wait until the loop has decided about its pull. If the pull may not go on, it is stopped,
// which ends the wait as well. Any thread may call.
class Decision {
 public:
  void Made() { made_.request_stop(); }
  // Blocks until it was made, or `call` was stopped.
  void Await(const base::Call& call) {
    std::stop_callback stopped(call.stop, [this] { Made(); });
    base::Pause({.stop = made_.get_token()}, base::Duration::max() / 4);
  }

 private:
  std::stop_source made_;
};

// A worker's job ends with one event. A pull may post four more on its way: PullUnprotected, SizeKnown,
// ContentFetched and PullReturned. Watches, credential look-ups and servers post events, too.

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
  PullOutcome outcome;
  plan::DiskSpace disk = {};  // measured after one that ended well
};

struct ProgressSeen {
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
struct SizeKnown {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  std::uint64_t bytes = 0;
  plan::DiskSpace disk;
  std::shared_ptr<Decision> decision;
};

// A registry was asked for the compressed size of an image that waits for its pull.
struct SizeReceived {
  std::string name;         // the entry's normalised name
  std::uint64_t bytes = 0;  // 0: no answer
};

// The runtime has ended a pull well; what came is still to be looked at.
struct PullReturned {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
};

// The agent has fetched all content of a pull's image; the runtime's own pull of it follows.
struct ContentFetched {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
};

// A pull goes on without the lease under which it was to be.
struct PullUnprotected {
  std::string name;  // the entry's normalised name
  std::uint64_t run = 0;
  cri::CallError error;
};

// A registry was asked.
struct CheckDone {
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
struct RetryRequested {
  std::vector<std::string> names;  // of entries, normalised
};

// The watch has reported changed files of kubelet.
struct KubeletRecordsChanged {
  kubelet::FileChanges changes;
};

// The runtime tells that some image has come, gone or changed.
struct RuntimeImagesChanged {};

struct KubeletPolled {
  std::optional<KubeletPoll> poll;  // none: a glance has told that nothing has moved
};

// A call for a touch pod has been answered.
struct TouchAdvanced {
  TouchReport report;
};

// A thread beside the loop cannot do its work, and no single image suffers; or it can again.
struct ProblemReported {
  std::string of;       // the thread's work
  std::string problem;  // a sentence; empty: it is over
};

// This Node was read.
struct NodeLabelsRead {
  std::optional<image::NodeLabels> labels;  // none: it cannot be read
};

// The runtime has pinned or unpinned images, or said which are pinned: what was asked of it.
struct PinsChanged {
  std::optional<std::set<std::string>> found;  // the names that this agent has pinned, if it was asked
  std::vector<std::string> pinned, unpinned;
  std::vector<std::string> had_none;          // names that were to be unpinned, and had no pin of this agent
  std::map<std::string, std::string> errors;  // by name
  // The runtime itself has failed: what is not named above was not tried. Empty: it has not.
  std::string runtime_error;
  bool unsupported = false;
};

struct Wake {};  // nothing but a turn

using Event =
    std::variant<Wake, ListChanged, RuntimePolled, PullDone, ProgressSeen, SizeKnown, SizeReceived,
                 ContentFetched, PullReturned, LeasesUpdated, PullUnprotected, KubeletRecordsChanged,
                 RuntimeImagesChanged, KubeletPolled, TouchAdvanced, CheckDone, PullRequested, RetryRequested,
                 LookupFinished, ProblemReported, NodeLabelsRead, PinsChanged>;

}  // namespace prefetch::agent
