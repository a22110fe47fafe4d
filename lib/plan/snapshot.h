// Snapshot: an immutable picture of everything, with its readiness. The only thing that other threads than
// the loop can see; /readyz, /v1/status, /metrics and prefetchctl show it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/shared.h"
#include "image/registry_access.h"
#include "image/registry_answer.h"
#include "kubelet/gc_forecast.h"
#include "kubelet/settings.h"
#include "kubelet/verdict.h"
#include "plan/desired.h"
#include "plan/reason.h"
#include "plan/spellings.h"
#include "plan/touch.h"
#include "plan/unlisted.h"

namespace prefetch::plan {

// Progress. Slow is not failed: Progressing may take long and needs no action. Failing needs an operator's
// action or an external change, and has its reason.
enum class Phase { kReady, kProgressing, kFailing };
// Returns true if waiting longer for this entry would change nothing, although it is not ready. A settled
// entry may be ready, too. `phase`: nullopt if it is not known.
bool KeepsFailing(bool settled, std::optional<Phase> phase);

enum class PullState {
  kNone,    // nothing was pulled by this agent, and nothing is due
  kQueued,  // due, waits for a slot
  kPulling,
  kUnpacking,  // all bytes are here
  kWaiting,    // failed; tried again at next_attempt_at
  kDone,
  kFailed,  // its reason is never retried by itself (Retry::kNever)
};

// With which kind of credential an image got here, if we pulled it.
enum class PulledWith { kUnknown, kAnonymous, kProvider, kDockerConfig, kPullSecret };

// More about the agent's own pull of an image. It goes from the end of the pull to the status document as it
// is.
struct PullOrigin {
  std::optional<base::WallTime> pulled_at;  // when that pull ended
  PulledWith with = PulledWith::kUnknown;
  std::string credential;         // the name of the provider or file that worked: "acme-login"
  bool exposed = false;           // pulled with a credential that is not the node's own, usable by every pod
  bool fetched_by_agent = false;  // the agent itself downloaded all of it, before PullImage (--fetch=auto)

  friend bool operator==(const PullOrigin&, const PullOrigin&) = default;
};

struct PullStatus {
  PullState state = PullState::kNone;
  int attempts = 0;  // since the image last vanished, or since the agent started
  // Bytes as the registry counts them. 0 of 0 where the runtime does not tell (`bytes_known` false).
  bool bytes_known = false;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  double bytes_per_second = 0;               // over the last seconds; 0 if not known
  std::optional<base::WallTime> started_at;  // of the newest attempt
  std::optional<base::WallTime> finished_at;
  std::string last_error;  // scrubbed; empty if the newest attempt did not fail
  std::optional<base::WallTime> next_attempt_at;
  // It is queued, and waits for the end of a hold: its registry's, or that of a full disk.
  bool held = false;
  std::optional<base::WallTime> retry_requested_at;  // by an operator or a preflight, and not over yet
  bool lacked_credential = false;                    // History::lacked_credential
};

// The registry's answers about one image.
struct RegistryView {
  std::optional<image::RegistryAnswerKind> answer;  // none: not asked since the start
  std::string detail;                               // "Tls", "NotAsked": RegistryAnswer::detail
  std::string message;                              // one sentence for a person
  std::string digest;                               // the tag's target; empty: not known
  std::string answered_by;
  std::optional<base::WallTime> checked_at;
  std::optional<base::WallTime> confirmed_at;  // when it agreed last
  std::optional<base::WallTime> next_check_at;
  bool fresh = false;
  bool acceptable = true;  // what the entry's directives make of the answer does not keep it from being ready
  // The registry's result for a pod with Always (plan/freshness.h), and a sentence about an obstacle.
  bool agrees = false;
  Reason always_reason = Reason::kNotChecked;
  std::string always_message;
  Reason reason = Reason::kNotChecked;  // why it is not fresh, or not ready
  int silent = 0;                       // checks in a row without an answer
  bool restricted = false;  // the answer is for a credential that not every pod has (Freshness::restricted)
  // The newest change that this agent pulled.
  std::string changed_from;
  std::optional<base::WallTime> changed_at;
};

struct ImageState {
  base::Shared<DesiredImage> desired;  // the list's own
  bool applies = true;                 // false: its platforms or nodeSelector exclude this node
  bool present = false;
  bool usable = false;  // present, and nothing is in the way but what kubelet may say
  std::string image_id;
  std::string digest;                      // the repo digest for this repository
  std::vector<std::string> other_digests;  // further ones: Local::other_digests
  std::uint64_t size_bytes = 0;
  bool ready = false;
  Phase phase = Phase::kProgressing;
  Reason reason = Reason::kFactsUnknown;
  std::string message;  // one sentence for a person
  PullOrigin origin;
  PullStatus pull;
  // Nothing is worth waiting for: History::settled, and its touch, too. False again while a vanished image
  // can come back (EvaluateAbsent).
  bool settled = false;
  // For the pod of the entry's readyAs, by default one without a secret or service account of its own; the
  // worst if there are several pods; null if not known yet, or if there is no kubelet here.
  VerdictsPtr verdicts;
  SpellingsPtr spellings;  // what `verdicts` is the worst of; null: the entry has one pod
  base::Shared<TouchStatus> touch;
  bool pinned = false;
  std::string pin_problem;  // why it is not pinned, though its entry asks for that; empty: no obstacle
  // Which one of the list kubelet's garbage collection takes first, second, …, as far as it can be told;
  // none: it leaves this one alone, or it is not known.
  std::optional<std::size_t> gc_order;
  // Other names of the same image id, in the runtime.
  std::vector<std::string> aliases;
  std::shared_ptr<const RegistryView> registry;  // null: its registry is not asked about it
  base::TimePoint requested_at;  // requests of preflights up to this poll are taken into account
};

// The verdicts for one of the entry's pods (PodsOf); null: not known.
const kubelet::Verdicts* VerdictsOfPod(const ImageState& image, const PodProfile& pod);

// One registry, as this node asks it.
struct RegistryStatus {
  std::string name;
  std::uint64_t entries = 0;              // whose digest it is asked for
  std::uint64_t checks_per_hour = 0;      // of these, as planned; rounded up
  std::uint64_t requests_per_second = 0;  // at most
  std::uint64_t requests_left = 0;        // that may be sent at once
  std::uint64_t requests = 0;             // since the start
  // Since when it does not answer; none: it does, or was not asked.
  std::optional<base::WallTime> unreachable_since;
  std::optional<std::uint64_t> unreachable_for_seconds;    // in a document, at its time
  std::string trouble;                                     // "Unreachable"; empty: none
  std::string message;                                     // of the newest trouble
  std::optional<base::WallTime> held_until;                // it is not asked before
  std::optional<std::uint64_t> pulls_left, pulls_allowed;  // none: it does not report them
  bool updates_wait = false;                               // updates wait, since few pulls are left

  friend bool operator==(const RegistryStatus&, const RegistryStatus&) = default;
};

struct RuntimeStatus {
  std::string name, version, endpoint;
  bool up = false;
  std::string error;                    // why it is not up
  image::RuntimeRegistries registries;  // as it reports them
  // The way in which the agent asks them; none: it is not known yet, or no registry is asked.
  std::optional<image::RegistryAccess> access;

  image::RuntimeInfo Info() const { return {name, version, registries}; }
  friend bool operator==(const RuntimeStatus&, const RuntimeStatus&) = default;
};

struct DiskStatus {
  std::string path;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t kept_free_bytes = 0;  // of those that are available, by the disk rule
  std::uint64_t needed_bytes = 0;     // for absent images, as far as sizes are known
  bool pressure = false;              // a pull waits for room

  friend bool operator==(const DiskStatus&, const DiskStatus&) = default;
};

// The agent's knowledge of this node's kubelet.
struct KubeletStatus {
  std::string version;  // "1.36.2"; empty: not known
  bool newer = false;   // than all rules that may be taken for it: most verdicts are Unknown
  std::string rules;    // "1.37": taken for it, as the operator wants; empty: its own
  // The API server, or kubelet's own port, is being asked for more, and neither has answered nor refused yet.
  bool learning = false;
  std::string verification;  // imagePullCredentialsVerificationPolicy; empty: not known
  std::vector<std::string> allowlist;
  std::string root;
  // Where each fact is from: {"verification", "/var/lib/kubelet/config.yaml"}, {"version", "declared"}.
  std::vector<std::pair<std::string, std::string>> sources;
  std::optional<bool> records_readable;  // none: not looked yet
  std::string records_note;              // the problem with the records' folder; empty: none
  std::string runtime_note;              // why its records do not work with this runtime; empty: they do
  // Declarations that a file contradicts, one sentence each.
  std::vector<std::string> contradictions;
  // Its image garbage collection.
  std::optional<kubelet::GcRules> gc;  // none: not known
  // Warnings about images that it will remove, a sentence each.
  std::vector<std::string> gc_warnings;

  friend bool operator==(const KubeletStatus&, const KubeletStatus&) = default;
};

struct Readiness {
  bool ready = false;
  Phase phase = Phase::kProgressing;
  Reason reason = Reason::kFactsUnknown;
  std::string message;
  std::size_t required = 0;        // required entries that apply to this node
  std::size_t required_ready = 0;  // of those, ready
  // Beside an invalid list, which comes first: the trouble of the node itself, with its runtime or its
  // credentials. Empty: none.
  std::string node_problem;
  Reason node_reason = Reason::kFactsUnknown;  // of `node_problem`
};

struct Snapshot {
  std::string node;
  base::WallTime time;
  Readiness readiness;
  ImageList list;  // but for its images, which are below with all that is known of them
  RuntimeStatus runtime;
  bool disk_known = false;         // the image filesystem can be measured from here
  DiskStatus disk;                 // otherwise only what the images need
  std::vector<ImageState> images;  // in the list's order
  // Images that are on no list, and are pulled since a preflight has asked for them (plan/check.h). They
  // do not count for readiness.
  std::vector<ImageState> requested;
  // None: --kubelet=none declares that there is no kubelet here, and presence is the verdict.
  std::optional<KubeletStatus> kubelet;
  // Every kubelet that may run here, for questions that the verdicts below do not answer; null: not known
  // yet, or no kubelet.
  std::shared_ptr<const std::vector<kubelet::KubeletSettings>> possible_kubelets;
  std::vector<RegistryStatus> registries;  // those that are asked, by name
  // Images that came and are on no list; null: the runtime was not looked at yet.
  std::shared_ptr<const Unlisted> unlisted;
  // kubelet's credential providers that the agent was not given.
  std::size_t providers_not_given = 0;
  // Problems that hurt no single image: a broken credential provider configuration, for one.
  std::vector<std::string> problems;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// The state of an entry of the list; nullptr if the list does not name the image. As long as the Snapshot.
const ImageState* FindImage(const Snapshot& snapshot, const image::Reference& reference);

}  // namespace prefetch::plan
