// DecideCheck, for preflights: would a pod start here now with this image? Known facts → the decision, or the
// next fact that it depends on. (Registry checks are agent/registry_checks.h.) `agent/answers/check_round`
// finds the facts, `status` prints the decision. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/token_bucket.h"
#include "image/reference.h"
#include "image/registry_answer.h"
#include "kubelet/verdict.h"
#include "plan/decide.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

// Reasons that only a question about one pod has: no entry of a list is in such a state.
enum class PodReason {
  kInvalidImageName,  // kubelet refuses the name itself
  kNotListed,         // the image is on no list, and the client may not hear more
};

// Why. A closed set: it is a field of JSON, and scripts decide by it.
using CheckReason = std::variant<Reason, PodReason>;
std::string_view CheckReasonName(CheckReason reason);  // "ImageAbsent"
// The names of all reasons: those of images and nodes, and of one pod alone.
std::vector<std::string> CheckReasonNames();
CheckReason CheckReasonFor(kubelet::VerdictReason reason);

// The caller's rights to facts and actions.
struct CheckRights {
  bool unlisted = false;  // hear of images that are on no list
  bool registry = false;  // have the registry asked, with this node's credentials
  bool pull = false;      // have the agent pull an image that is not here
};

// The container runtime's answer to this question.
struct CheckRuntime {
  std::optional<std::string> error;  // why it did not answer
  // The image as it is now; without an answer, as the list has it. None: unlisted, and no answer.
  std::optional<ImageState> image;
};

// Returns true if the runtime has not reported yet whether it has an image of the list, or has been away for
// longer than its last report counts (`runtime_down`).
bool IsUnreported(const ImageState& image, bool runtime_down);

enum class CheckKubelet {
  kNone,      // there is none here: presence decides
  kNotKnown,  // nothing is known of it yet
  kKnown,
};

struct CheckFacts {
  // Known from the start: the question, the client, the newest Snapshot.
  std::string image;  // as the pod writes it
  image::PullPolicy policy = image::PullPolicy::kNever;
  bool own_credentials = false;  // the pod has pull secrets or a service account, which the agent cannot use
  CheckRights rights;
  // The client is a pod: messages quote no registry, runtime, plugin or API server.
  bool redact_messages = false;
  std::optional<image::Reference> reference;  // none: it is no name, and `name_error` says why
  std::string name_error;
  bool listed = false;
  bool asks_registries = false;  // this agent does
  bool runtime_down = false;     // the node is not ready since the runtime is away
  std::string runtime_error;     // of the newest poll; empty: there was none yet
  CheckKubelet kubelet = CheckKubelet::kNotKnown;
  // Found when DecideCheck asks for it.
  std::optional<CheckRuntime> runtime;
  std::optional<kubelet::Verdict> verdict;  // kubelet's, of this pod, by its files as they are now
  std::optional<image::RegistryAnswer> registry;
};

// The fact that a decision needs next.
enum class CheckNeed {
  kNothing,   // the decision is there
  kRuntime,   // CheckFacts::runtime
  kVerdict,   // CheckFacts::verdict
  kRegistry,  // CheckFacts::registry
  kPull,      // the image is not here: request its pull, and answer with DecisionForPull
};

struct CheckDecision {
  bool ok = false;       // the pod starts, or it pulls and the registry has just said that it can
  bool listed = false;   // as in CheckFacts
  bool pending = false;  // it is being pulled, and nothing is decided
  kubelet::VerdictResult result = kubelet::VerdictResult::kUnknown;
  CheckReason reason = Reason::kFactsUnknown;
  std::string rule;  // the step of kubelet's procedure that decided; empty: none did
  std::string message;
  std::optional<PullStatus> progress;  // of a pull that runs, where its bytes can be seen
};

struct CheckStep {
  CheckNeed need = CheckNeed::kNothing;
  CheckDecision decision;  // if nothing is needed
};

// Returns the decision, or the next fact that it needs. It asks for each fact once, so that a loop that
// fetches them ends.
CheckStep DecideCheck(const CheckFacts& facts);

// Judges an image that was not here and that the agent was asked to pull. `image` is the entry of the list,
// or of the request (plan::FindRequestedImage); null while it waits for a slot. Returns nullopt once the
// image is here, and DecideCheck then decides anew.
std::optional<CheckDecision> DecisionForPull(const CheckFacts& facts, const ImageState* image);

// ---- Requested images: images that a preflight asked the agent to pull (`prefetchctl check --pull`). These
// functions decide which of them are pulled, and when a request and its result expire. Pure.

// A request ends if it is not repeated for this long: its client has an answer, or has gone. Clients that
// wait repeat it with each question, a few seconds apart.
constexpr std::chrono::seconds kRequestLifetime{15};
// The maximum number of unlisted images with a request; further requests wait for a slot.
constexpr std::size_t kMaxRequestedImages = 16;
// The agent remembers a pull's result at most this long after the last request for it.
constexpr std::chrono::hours kRequestMemory{1};

// Limit for requests that skip a back-off on one node: three at once, then one a minute, so that no client
// can hammer a registry. Operators and preflights have a limit each.
constexpr base::TokenRate kRetryRequestRate{.per_second = 1.0 / 60, .burst = 3};

// Returns true if the same question may get another answer from the registry soon.
bool IsWorthAnotherCheck(image::RegistryAnswerKind kind);

// Returns true if this entry of the list waits for its next try, or for another answer of its registry.
bool AwaitsRetry(const ImageState& image);

// Decides about an image that is on no list. `requested_until`: the end of its newest request. No pull starts
// for a request that is over, but a running pull goes on to its end.
Action DecideRequested(const Observation& seen, const History& past, base::TimePoint requested_until,
                       base::TimePoint now);

// Returns the time from which the agent may forget a requested image that is not being pulled. The agent
// remembers a failure until its next try is due (at most kRequestMemory), so that repeated requests do not
// reach the registry.
base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint requested_until);

// Returns the state that answers a request made at `requested_at`: that of the list's entry, or of a request
// that is not older. Returns nullptr while the request waits for a slot, or the loop has not seen it.
const ImageState* FindRequestedImage(const Snapshot& snapshot, const image::Reference& reference,
                                     base::TimePoint requested_at);

// The state of a request for a pull.
enum class RequestedState {
  kPending,  // it is being pulled, waits for a slot, or is tried again after a transient error
  kPresent,
  kFailed,  // another try is not worth waiting for
};
// `image` is on the list, or requested.
RequestedState StateOfRequested(const ImageState& image);

}  // namespace prefetch::plan
