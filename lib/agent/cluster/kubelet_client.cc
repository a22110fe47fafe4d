#include "agent/cluster/kubelet_client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "kube/retry.h"

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

KubeletClient::KubeletClient(KubeletPort port, std::shared_ptr<LearntSettings> learnt,
                             std::shared_ptr<SeenStart> start, const base::Clock& clock, std::uint64_t seed)
    : port_(std::move(port)),
      learnt_(std::move(learnt)),
      start_(std::move(start)),
      clock_(clock),
      started_at_(clock.Now()),
      random_(seed),
      now_(started_at_),
      next_config_(now_),
      next_metrics_(now_) {}

void KubeletClient::Start() {
  thread_.emplace([this](const base::Call& call) { return Turn(call); });
  start_->OnChange(thread_->Waker());
}

base::Duration KubeletClient::Failed(const kube::Failure& failure) {
  // The agent stops; kubelet has not failed.
  if (failure.kind == kube::ApiError::kCancelled) return kAskConfigAgain;
  failures_++;
  // A refusal does not pass by itself, so the loop must not wait for an answer.
  if (kube::IsRefusal(failure.kind)) learnt_->GiveUp();
  const double spread = std::uniform_real_distribution<double>(0, 1)(random_);
  const kube::Retry retry = kube::NextTry(failure, failures_, spread);
  const bool never = retry.step == kube::Step::kGiveUp && retry.after.count() == 0;
  // A new kubelet needs some seconds until its port answers. Until then, the usual doubling would make its
  // settings late.
  const bool starting = kubelet_ && now_ < kubelet_->seen_at + plan::kUnconfirmedLimit &&
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
  std::shared_ptr<const kubelet::ReportedByKubelet> before = learnt_->Get();
  if (!answered_at_ || now_ - *answered_at_ > kAnswerLifetime) {
    if (before) learnt_->Set(nullptr);
    if (now_ >= started_at_ + kLearnLimit) learnt_->GiveUp();
    return;
  }
  kubelet::ReportedByKubelet reported{
      .config = config_, .gate = metrics_.ensure_secret_pulled_images, .remarks = {}};
  std::string remark = ProviderRemark(port_.provider_config_hash(), metrics_.credential_provider_hash);
  if (!remark.empty()) reported.remarks.push_back(std::move(remark));
  // Set wakes the loop, so only news is set.
  if (before && *before == reported) return;
  learnt_->Set(std::make_shared<const kubelet::ReportedByKubelet>(std::move(reported)));
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
  if (learnt_->Pending()) next = std::min(next, std::max(started_at_ + kLearnLimit, now_ + seconds(1)));
  if (answered_at_ && learnt_->Get()) next = std::min(next, *answered_at_ + kAnswerLifetime + seconds(1));
  return next;
}

}  // namespace prefetch::agent
