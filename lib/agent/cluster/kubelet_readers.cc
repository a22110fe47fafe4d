#include "agent/cluster/kubelet_readers.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace prefetch::agent {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes kAskConfigAgain{1};
constexpr minutes kAskMetricsAgain{10};
constexpr seconds kAskStarting{1};
// After this time without an answer, kubelet may have restarted with other settings.
constexpr minutes kAnswerLifetime{3};
constexpr seconds kPortLimit{15};

// The hash is over the bytes of the files, so another hash means another configuration.
std::string ProviderRemark(const std::string& ours, const std::optional<std::string>& kubelets) {
  if (!kubelets || ours.empty() || ours == *kubelets) return "";
  return "kubelet runs with another credential provider configuration than the one that is read here (its "
         "hash is " +
         *kubelets + ", here it is " + ours +
         "): name kubelet's with --image-credential-provider-config, or "
         "restart kubelet";
}

}  // namespace

KubeletClient::KubeletClient(KubeletPort port, std::shared_ptr<LatestKubeletSettings> learnt,
                             std::shared_ptr<LatestKubeletStart> start, const base::Clock& clock,
                             std::uint64_t seed)
    : port_(std::move(port)),
      latest_(std::move(learnt)),
      start_(std::move(start)),
      clock_(clock),
      started_at_(clock.Now()),
      random_(seed),
      now_(started_at_),
      next_config_(now_),
      next_metrics_(now_) {}

base::Duration KubeletClient::Failed(const kube::Failure& failure) {
  // The agent stops; kubelet has not failed.
  if (failure.kind == kube::ApiError::kCancelled) return kAskConfigAgain;
  failures_++;
  // A refusal does not pass by itself, so the loop must not wait for an answer.
  if (kube::IsRefusal(failure.kind)) latest_->GiveUp();
  const double spread = std::uniform_real_distribution<double>(0, 1)(random_);
  const kube::Retry retry = kube::NextTry(failure, failures_, spread);
  const bool never = retry.step == kube::Step::kGiveUp && retry.after.count() == 0;
  // A new kubelet needs some seconds until its port answers. Until then, the usual doubling would make its
  // settings late.
  const bool starting = kubelet_ && now_ < kubelet_->seen_at + plan::kConfirmationTimeout &&
                        !kube::IsRefusal(failure.kind) && !failure.retry_after;
  const base::Duration wait = starting ? base::Duration(kAskStarting)
                              : never  ? base::Duration(kAskMetricsAgain)
                                       : std::max<base::Duration>(retry.after, seconds(1));
  // A failure that lasts is logged once.
  if (std::exchange(last_failure_, failure.message) != failure.message) {
    base::Warn("kubelet's port does not return its settings; the agent reads its files",
               {{"kind", kube::ApiErrorName(failure.kind)}, {"error", failure.message}, {"retryIn", wait}});
  }
  return wait;
}

void KubeletClient::AskConfig(const base::Call& call) {
  auto text = port_.config(call.Within(kPortLimit));
  if (!text) {
    next_config_ = now_ + Failed(text.failure());
    return;
  }
  failures_ = 0;
  if (!std::exchange(last_failure_, "").empty()) base::Info("kubelet's port returns its settings again");
  answered_at_ = now_;
  next_config_ = now_ + kAskConfigAgain;
  // The text is compared, since it is the same for hours.
  if (*text == config_text_ && config_) return;
  config_text_ = *std::move(text);
  next_metrics_ = now_;  // another kubelet, or the same one started again
  auto config = kubelet::DecodeConfigz(config_text_);
  if (config) {
    config_ = *std::move(config);
  } else {
    config_.reset();
    base::Warn("kubelet's settings cannot be parsed", {{"error", config.error().message()}});
  }
}

void KubeletClient::AskMetrics(const base::Call& call) {
  next_metrics_ = now_ + kAskMetricsAgain;
  auto metrics = port_.metrics(call.Within(kPortLimit));
  if (metrics) {
    metrics_ = *std::move(metrics);
    return;
  }
  // Metrics only add to the configuration, and the right to read them may be missing.
  metrics_ = {};
  base::Debug("kubelet's metrics are not read", {{"error", metrics.failure().message}});
}

void KubeletClient::Publish() {
  std::shared_ptr<const kubelet::KubeletReport> before = latest_->Get();
  if (!answered_at_ || now_ - *answered_at_ > kAnswerLifetime) {
    if (before) latest_->Set(nullptr);
    if (now_ >= started_at_ + kFirstAnswerTimeout) latest_->GiveUp();
    return;
  }
  kubelet::KubeletReport reported{
      .config = config_, .gate = metrics_.ensure_secret_pulled_images, .remarks = {}};
  std::string remark = ProviderRemark(port_.provider_config_hash(), metrics_.credential_provider_hash);
  if (!remark.empty()) reported.remarks.push_back(std::move(remark));
  // Set wakes the loop, so only news is set.
  if (before && *before == reported) return;
  latest_->Set(std::make_shared<const kubelet::KubeletReport>(std::move(reported)));
}

base::TimePoint KubeletClient::Turn(const base::Call& call) {
  one_thread_.Check();
  now_ = clock_.Now();
  if (std::optional<plan::KubeletStart> newest = start_->Get(); newest != kubelet_) {
    kubelet_ = newest;
    next_config_ = next_metrics_ = now_;
  }
  if (now_ >= next_config_) AskConfig(call);
  // Asked only right after the configuration came: a kubelet that is away would cost a second time limit.
  if (answered_at_ == now_ && now_ >= next_metrics_) AskMetrics(call);
  Publish();
  base::TimePoint next = next_config_;
  if (latest_->Pending())
    next = std::min(next, std::max(started_at_ + kFirstAnswerTimeout, now_ + seconds(1)));
  if (answered_at_ && latest_->Get()) next = std::min(next, *answered_at_ + kAnswerLifetime + seconds(1));
  return next;
}

namespace {

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

VersionReader::VersionReader(std::string node, std::shared_ptr<LatestNodeReport> learnt,
                             std::shared_ptr<LatestKubeletStart> start, kube::Api& api,
                             const base::Clock& clock, std::uint64_t seed)
    : node_(std::move(node)),
      latest_(std::move(learnt)),
      start_(std::move(start)),
      api_(api),
      clock_(clock),
      started_at_(clock.Now()),
      random_(seed),
      now_(started_at_),
      next_(started_at_) {}

bool VersionReader::AwaitsConfirmation() const {
  return kubelet_ && now_ < kubelet_->seen_at + plan::kConfirmationTimeout &&
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
  if (!latest_->Pending()) report_ = latest_->Get();  // the NodeGate may have read more by now
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
  const base::TimePoint give_up_at = started_at_ + kFirstAnswerTimeout;
  const bool pending = latest_->Pending();
  const bool waits = pending && report_.silent_since && !report_.refused && now_ < give_up_at;
  if (!waits && (asks || pending)) latest_->Set(report_);
  return waits ? std::min(next_, give_up_at) : next_;
}

}  // namespace prefetch::agent
