// RegistryStory: one image that is here, and what its registry said of it, told in order:
//
//   RegistryStory(Changed()).Same("a", s(0)).Unreachable(min(60)).Unreachable(min(62))
//
// Times count from the start of the agent. Digests are single letters; "a" is on the node.
#pragma once

#include <string>

#include "plan/freshness.h"

namespace prefetch::plan {

class RegistryStory {
 public:
  explicit RegistryStory(DesiredImage desired) : want_(std::move(desired)) {
    here.digest = "a";
    past = PlanFirstCheck({}, want_, At({}), 0.5);
  }

  RegistryStory& Same(const std::string& digest, base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kSame, .digest = digest}, at);
  }
  RegistryStory& Moved(const std::string& digest, base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kMoved, .digest = digest}, at);
  }
  RegistryStory& Missing(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kTagMissing}, at);
  }
  RegistryStory& Denied(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kAccessDenied}, at);
  }
  RegistryStory& Unreachable(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kUnreachable}, at);
  }
  RegistryStory& Limited(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kRateLimited}, at);
  }
  RegistryStory& ServerError(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kServerError}, at);
  }
  RegistryStory& Unclear(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kIndeterminate}, at);
  }
  RegistryStory& OnlyByPull(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kIndeterminate, .only_by_pull = true}, at);
  }
  // The registry has answered in a way that only the runtime can judge.
  RegistryStory& LeftToAPull(base::Duration at) {
    return Said({.kind = image::RegistryAnswerKind::kIndeterminate, .only_by_pull = true, .requests = 1}, at);
  }
  RegistryStory& Said(const image::RegistryAnswer& answer, base::Duration at) {
    past = AfterAnswer(std::move(past), want_, here, answer, {At(at), {}}, random_);
    return *this;
  }
  RegistryStory& NotAsked(base::Duration at) {
    past = AfterSkippedCheck(std::move(past), want_, {.kind = image::RegistryAnswerKind::kUnreachable},
                             {At(at), {}}, random_);
    return *this;
  }
  // A pull ended well and brought `digest`.
  RegistryStory& Pulled(const std::string& digest, base::Duration at) {
    Local before = here;
    here.digest = digest;
    past = AfterPulled(std::move(past), want_, before, here, {At(at), {}}, random_);
    return *this;
  }
  RegistryStory& PullFailed(Reason reason, base::Duration at) {
    return PullFailed(PullFailure{.reason = reason, .error = "it failed"}, at);
  }
  RegistryStory& PullFailed(const PullFailure& failure, base::Duration at) {
    past = AfterUpdateFailed(std::move(past), want_, failure, {At(at), {}}, random_);
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

  RefreshDecision Decided(base::Duration at) const { return DecideRefresh(want_, here, past, At(at)); }
  base::Duration NextCheck() const { return past.next_check - At({}); }

  static base::TimePoint At(base::Duration at) { return base::TimePoint(std::chrono::hours(100)) + at; }

  Local here;
  Freshness past;

 private:
  DesiredImage want_;
  double random_ = 0.5;
};

}  // namespace prefetch::plan
