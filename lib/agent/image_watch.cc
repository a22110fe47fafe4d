#include "agent/image_watch.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "plan/poll_trigger.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::milliseconds kEventReportInterval{250};

}  // namespace

ImageWatch::ImageWatch(cri::ContentService& content, std::function<void()> changed)
    : content_(content),
      changed_(std::move(changed)),
      thread_([this](const base::Call& call) { return Turn(call); }) {}

base::TimePoint ImageWatch::Turn(const base::Call& call) {
  using Clock = std::chrono::steady_clock;
  const base::TimePoint started = Clock::now();
  cri::CallError ended = content_.WatchImages(call, [this] {
    const base::TimePoint now = Clock::now();
    if (now - reported_at_ < kEventReportInterval) return;
    reported_at_ = now;
    changed_();
  });
  const base::TimePoint now = Clock::now();
  base::Duration wait = plan::ReconnectDelay(now - started, failures_,
                                             ended.error_class == image::ErrorClass::kRuntimeUnsupported);
  failures_ = plan::WasStable(now - started) ? 0 : failures_ + 1;
  if (!call.Stopped()) {
    base::Debug("runtime sends no image events", {{"error", ended.message}, {"retryIn", wait}});
  }
  return now + wait;
}

}  // namespace prefetch::agent
