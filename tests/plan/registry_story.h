// RegistryStory: one image that is here, and what its registry said of it, told in order:
//
//   RegistryStory(desired).Same().Unreachable(60min).Unreachable(62min)
//
// Times count from the start of the agent, which is the default. Digests are single letters; "a" is on the
// node.
#pragma once

#include <string>

#include "plan/freshness.h"

namespace prefetch::plan {

class RegistryStory {
 public:
  using Kind = image::RegistryAnswerKind;

  explicit RegistryStory(DesiredImage desired) : want(std::move(desired)) {
    here.digest = "a";
    past = PlanFirstCheck({}, want, At({}), 0.5);
  }

  RegistryStory& Same(const std::string& digest = "a", base::Duration at = {}) {
    return Said({.kind = Kind::kSame, .digest = digest}, at);
  }
  RegistryStory& Moved(const std::string& digest = "b", base::Duration at = {}) {
    return Said({.kind = Kind::kMoved, .digest = digest}, at);
  }
  RegistryStory& Missing(base::Duration at = {}) { return Said({.kind = Kind::kTagMissing}, at); }
  RegistryStory& Denied(base::Duration at = {}) { return Said({.kind = Kind::kAccessDenied}, at); }
  RegistryStory& Unreachable(base::Duration at = {}) { return Said({.kind = Kind::kUnreachable}, at); }
  RegistryStory& Limited(base::Duration at) { return Said({.kind = Kind::kRateLimited}, at); }
  RegistryStory& ServerError(base::Duration at) { return Said({.kind = Kind::kServerError}, at); }
  RegistryStory& Unclear(base::Duration at = {}) { return Said({.kind = Kind::kIndeterminate}, at); }
  RegistryStory& OnlyByPull(base::Duration at) {
    return Said({.kind = Kind::kIndeterminate, .only_by_pull = true}, at);
  }
  // The registry has answered in a way that only the runtime can judge.
  RegistryStory& LeftToAPull(base::Duration at) {
    return Said({.kind = Kind::kIndeterminate, .only_by_pull = true, .requests = 1}, at);
  }
  RegistryStory& Said(const image::RegistryAnswer& answer, base::Duration at) {
    past = AfterAnswer(std::move(past), want, here, answer, {At(at), {}}, random_);
    return *this;
  }
  RegistryStory& NotAsked(base::Duration at = {}) {
    past = AfterSkippedCheck(std::move(past), want, {.kind = Kind::kUnreachable}, {At(at), {}}, random_);
    return *this;
  }
  // A pull ended well and brought `digest`.
  RegistryStory& Pulled(const std::string& digest, base::Duration at) {
    Local before = here;
    here.digest = digest;
    past = AfterPulled(std::move(past), want, before, here, {At(at), {}}, random_);
    return *this;
  }
  RegistryStory& PullFailed(Reason reason, base::Duration at) {
    return PullFailed(PullFailure{.reason = reason, .error = "it failed"}, at);
  }
  RegistryStory& PullFailed(const PullFailure& failure, base::Duration at) {
    past = AfterUpdateFailed(std::move(past), want, failure, {At(at), {}}, random_);
    return *this;
  }
  RegistryStory& NewCredentials(base::Duration at) {
    past = AfterNewCredentials(std::move(past), At(at));
    return *this;
  }
  // Somebody else has changed what is here.
  RegistryStory& Replaced(const std::string& digest, base::Duration at) {
    here.digest = digest;
    past = AfterReplacedByOthers(std::move(past), here, At(at));
    return *this;
  }
  // From the start.
  RegistryStory& Here(const std::string& digest) {
    here.digest = digest;
    return *this;
  }

  RefreshDecision Decided(base::Duration at) const { return DecideRefresh(want, here, past, At(at)); }
  base::Duration NextCheck() const { return past.next_check - At({}); }

  static base::TimePoint At(base::Duration at) { return base::TimePoint(std::chrono::hours(100)) + at; }

  DesiredImage want;
  Local here;
  Freshness past;

 private:
  double random_ = 0.5;
};

}  // namespace prefetch::plan
