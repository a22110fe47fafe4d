// Freshness: the registry's answers about one image on the node, and their consequences over time (registry
// rules R10, R12, R23 and R45). A value: the loop keeps one for each entry whose registry is asked.
//
// Only monotonic time decides here. Wall time is carried along for status and logs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "image/registry_answer.h"
#include "plan/desired.h"
#include "plan/history.h"
#include "plan/observation.h"
#include "plan/reason.h"

namespace prefetch::plan {

// Minimum time between two answers after which a tag is called missing. Silence counts after two checks and
// this time.
constexpr std::chrono::seconds kConfirmAfter{60};
// Minimum time between two pulls of an image whose registry gives no answer that can be compared: such a pull
// is the check.
constexpr std::chrono::hours kUndecidedPullInterval{24};
// The first check of an entry that is not ready before the registry was asked.
constexpr std::chrono::seconds kFirstUrgentCheck{10};

struct AnswerTime {
  base::TimePoint at;
  base::WallTime wall;
};

struct Freshness {
  // ---- the newest answer
  std::optional<image::RegistryAnswer> newest;
  std::optional<base::WallTime> answered_wall;  // of the newest for which the registry was asked

  // ---- state derived from the answers
  std::string remote_digest;  // the tag's target, by the registry's last answer; empty: not known
  AnswerTime named;           // when the registry named it
  bool denied = false;        // until a registry answers something else
  bool missing = false;       // confirmed
  bool undecided = false;
  std::optional<base::TimePoint> missing_since;  // first of the answers that the tag is missing
  int checks_without_answer = 0;                 // in a row; a 429 counts
  base::TimePoint silent_since;
  int denials = 0;  // in a row

  // ---- the last positive confirmation: Same, or a pull that ended well
  std::optional<base::TimePoint> confirmed_at;
  std::optional<base::WallTime> confirmed_wall;
  // maxAge counts from here if nothing was confirmed: the first poll of this agent. min() after a denial: it
  // is over then.
  base::TimePoint age_from;
  // The newest answer about the tag is for a credential that not every pod has (RegistryAnswer::restricted).
  bool restricted = false;
  // The credentials, or the local image, have changed since the confirmation: it does not count for more than
  // kConfirmAfter.
  std::optional<base::TimePoint> invalidated_at;

  // ---- pulls that an answer asked for
  std::optional<Reason> update_failure;  // of the newest one, where no answer of a registry says the same
  std::string update_error;
  std::string lag_digest;  // a pull did not bring this one: the runtime pulls from elsewhere
  int lags = 0;
  base::TimePoint lag_until;
  bool pull_due = false;  // a pull is the check
  std::optional<base::TimePoint> pulled_undecided_at;
  // The digest that the last pull replaced, for status and events.
  std::string changed_from;
  std::optional<base::WallTime> changed_wall;

  base::TimePoint next_check;  // default: none is planned yet
};

// Returns true if the agent checks this entry with its registry: for `refresh` (tags only), or for `readyFor:
// Always` (digests too, for access).
bool NeedsRegistryCheck(const DesiredImage& desired);
// Returns true if the entry is not ready before its registry has answered.
bool NeedsFirstAnswer(const DesiredImage& desired);
// Returns true if a registry that does not answer makes the entry unready, sooner or later: NeedsFirstAnswer,
// or `onUnreachable: NotReady`. "Readiness needs it" means this.
bool ReadinessNeedsAnswers(const DesiredImage& desired);
// Returns true if the local image has this digest.
bool HasDigest(const Local& local, const std::string& digest);
// Returns true if these are different images, by their digests. If one of them was imported, it has no digest
// for its name, and the ids count.
bool IsDifferentImage(const Local& before, const Local& now);

// The entry is here, and no check is planned yet: within one jittered interval, sooner if
// NeedsFirstAnswer. `random` is uniform in [0, 1) here and below.
Freshness PlanFirstCheck(Freshness past, const DesiredImage& desired, base::TimePoint now, double random);
// The entry's demands have changed: asks again within the new interval at the latest.
Freshness AfterDesiredChanged(Freshness past, const DesiredImage& desired, base::TimePoint now,
                              double random);

// The registry has answered about the tag, or has stayed silent. `random` is uniform in [0, 1).
Freshness AfterAnswer(Freshness past, const DesiredImage& desired, const Local& local,
                      const image::RegistryAnswer& answer, AnswerTime when, double random);
// The registry is held (plan/registry_pace.h), and was not asked: no answer, without a request.
Freshness AfterSkippedCheck(Freshness past, const DesiredImage& desired, const image::RegistryAnswer& why,
                            AnswerTime when, double random);
// A pull of ours has ended well: `before` is the image that it replaced, if any.
Freshness AfterPulled(Freshness past, const DesiredImage& desired, const std::optional<Local>& before,
                      const Local& now_local, AnswerTime when, double random);
// A pull that should have replaced the local image has failed. If the registry is the reason, the failure
// counts as that answer to a check, and plans the next one.
Freshness AfterUpdateFailed(Freshness past, const DesiredImage& desired, const PullFailure& failure,
                            AnswerTime when, double random);
// Another program has put another image under the name (kubelet, for a pod with Always; an operator).
Freshness AfterReplacedByOthers(Freshness past, const Local& now_local, base::TimePoint now);
// The node's credentials have changed: confirmations by the old ones must be repeated, now.
Freshness AfterNewCredentials(Freshness past, base::TimePoint now);

// ---- DecideRefresh: a registry's answers about a present image -> whether to pull it again, and the effect
// on readiness. Registry rules R44 and R45; the table is refresh_test.cc. Pure.
//
// Digests have no order (R13): a tag has *changed*, never is anything newer. Nothing here ever removes an
// image, and while it is being pulled again, and when that fails, the local image stays in use.

struct RefreshDecision {
  bool pull = false;  // due, but for back-off
  Reason pull_reason = Reason::kTagMoved;
  // Nothing that the registry said, or did not say, stands against using the local image, by the directives.
  bool ready = true;
  // A pod with Always would pass: the tag is there, access is given, it points to what is here, and all that
  // was confirmed within 2 x refreshInterval.
  bool agrees = false;
  bool fresh = false;  // the registry agreed lately
  // Why it is not ready, or not fresh; kUpToDate if it is both; kPresent where the registry is not asked.
  Reason reason = Reason::kPresent;
  // Why `agrees` is false; kUpToDate if it is true.
  Reason always_reason = Reason::kNotChecked;

  friend bool operator==(const RefreshDecision&, const RefreshDecision&) = default;
};

RefreshDecision DecideRefresh(const DesiredImage& desired, const Local& local, const Freshness& past,
                              base::TimePoint now);

// When the decision may change though nothing is heard: a directive's time, an age; max(): never.
base::TimePoint NextRefreshChange(const DesiredImage& desired, const Freshness& past, base::TimePoint now);

}  // namespace prefetch::plan
