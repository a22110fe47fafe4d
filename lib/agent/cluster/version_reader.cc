#include "agent/cluster/version_reader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "kube/retry.h"

namespace prefetch::agent {
namespace {

using std::chrono::seconds;

constexpr seconds kReadVersionAgain{60};
constexpr double kVersionJitter = 0.2;  // of it, so that a fleet's nodes do not ask together
// A new kubelet writes its Node some seconds after its start; while the version before is held, each second
// counts.
constexpr seconds kReadWhileHeld{1};
constexpr seconds kReadUntilConfirmed{3};
// A server that drops packets must not hold the version that it told before for longer than a verdict is held
// (plan::kHoldVersion). One that is merely slow gets more time at the next try, and from then on: a question
// without an answer makes the last known version count, so a verdict would flap between two questions.
constexpr seconds kFirstCallLimit{2};
constexpr seconds kVersionCallLimit{10};
constexpr seconds kFastAnswer{1};  // well below kFirstCallLimit

}  // namespace

plan::NodeReport NodeReportOf(const kube::Node& node) {
  plan::NodeReport learnt;
  learnt.labels = node.labels;
  learnt.addresses = node.addresses;
  if (auto version = image::KubeletVersion::Parse(node.kubelet_version)) {
    learnt.version = *version;
    learnt.version_text = version->ToString();
  }
  // kubelet writes all its conditions at once; others write theirs when they like.
  for (const kube::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready") learnt.heartbeat = condition.last_heartbeat;
  }
  return learnt;
}

VersionReader::VersionReader(std::string node, std::shared_ptr<LearntVersion> learnt,
                             std::shared_ptr<SeenStart> start, kube::Api& api, const base::Clock& clock,
                             std::uint64_t seed)
    : node_(std::move(node)),
      learnt_(std::move(learnt)),
      start_(std::move(start)),
      api_(api),
      clock_(clock),
      started_at_(clock.Now()),
      random_(seed),
      now_(started_at_),
      next_(started_at_) {}

void VersionReader::Start() {
  thread_.emplace([this](const base::Call& call) { return Turn(call); });
  start_->OnChange(thread_->Waker());
}

bool VersionReader::AwaitsConfirmation() const {
  return kubelet_ && now_ < kubelet_->seen_at + plan::kUnconfirmedLimit &&
         !plan::Confirms(report_, *kubelet_);
}

// Until the next question, after an answer.
base::Duration VersionReader::Pause() {
  if (AwaitsConfirmation()) {
    return now_ < kubelet_->seen_at + plan::kHoldVersion ? kReadWhileHeld : kReadUntilConfirmed;
  }
  const base::Duration minute = kReadVersionAgain;
  return std::chrono::duration_cast<base::Duration>(minute *
                                                    (1 - kVersionJitter / 2 + kVersionJitter * Spread()));
}

base::Duration VersionReader::Limit() const {
  return failures_ == 0 && !slow_ ? kFirstCallLimit : kVersionCallLimit;
}

void VersionReader::Failed(const kube::Failure& failure) {
  if (failure.kind == kube::ApiError::kCancelled) return;
  failures_++;
  slow_ = false;                                      // it had the time of a slow one, or was never slow
  if (!learnt_->Pending()) report_ = learnt_->Get();  // the NodeGate may have read more by now
  kube::Retry retry = kube::NextTry(failure, failures_, Spread());
  next_ = now_ + (retry.after.count() > 0 ? base::Duration(retry.after) : base::Duration(kReadVersionAgain));
  report_.refused = kube::IsRefusal(failure.kind);
  // The text of an outage varies, and a refusal names the missing right.
  report_.trouble = report_.refused ? failure.message : std::string(kube::ApiErrorName(failure.kind));
  if (!report_.silent_since) report_.silent_since = now_;
  if (std::exchange(last_failure_, report_.trouble) != report_.trouble) {
    base::Warn(
        "kubelet's version not read",
        {{"kind", kube::ApiErrorName(failure.kind)}, {"error", failure.message}, {"retryIn", next_ - now_}});
  }
}

void VersionReader::Ask(const base::Call& call) {
  auto node = api_.GetNode(call.Within(Limit()), node_);
  const base::Duration took = clock_.Now() - std::exchange(now_, clock_.Now());
  if (!node) return Failed(node.failure());
  slow_ = took > kFastAnswer;
  report_ = NodeReportOf(*node);
  failures_ = 0;
  if (!std::exchange(last_failure_, "").empty()) base::Info("kubelet's version read again");
  next_ = now_ + Pause();
}

base::TimePoint VersionReader::Turn(const base::Call& call) {
  one_thread_.Check();
  now_ = clock_.Now();
  if (std::optional<plan::KubeletStart> newest = start_->Get(); newest != kubelet_) {
    kubelet_ = newest;
    if (!kubelet_ || !plan::Confirms(report_, *kubelet_)) {
      failures_ = 0;
      next_ = now_;
    }
  }
  const bool asks = now_ >= next_;
  if (asks) Ask(call);
  // An API server that is away at the start may be back in a moment.
  const base::TimePoint give_up_at = started_at_ + kLearnLimit;
  const bool pending = learnt_->Pending();
  const bool waits = pending && report_.silent_since && !report_.refused && now_ < give_up_at;
  if (!waits && (asks || pending)) learnt_->Set(report_);
  return waits ? std::min(next_, give_up_at) : next_;
}

}  // namespace prefetch::agent
