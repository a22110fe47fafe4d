#include "ctl/retry_pause.h"

#include <algorithm>
#include <chrono>

namespace prefetch::ctl {
namespace {

using base::Duration;

constexpr std::chrono::milliseconds kAskAgain{500};
constexpr std::chrono::seconds kMostSpread{5};
// The minimum time for the answer to a last try.
constexpr std::chrono::milliseconds kLastTry{500};

Duration Part(Duration span, double part) {
  return std::chrono::duration_cast<Duration>(span * part);
}

}  // namespace

std::optional<Duration> RetryPause::Next(base::TimePoint now, Duration retry_after, double spread) {
  if (retry_after <= Duration::zero()) {
    if (last_ || now + kAskAgain >= deadline_) return std::nullopt;
    return kAskAgain;
  }
  // The random part lets jobs that started together come back one after the other. It is limited, so that a
  // long wait does not become much longer.
  const Duration pause =
      std::max<Duration>(retry_after, kAskAgain) + Part(std::min<Duration>(retry_after, kMostSpread), spread);
  if (now + pause <= deadline_ - kLastTry) return pause;
  // The last try comes as late as possible, and at slightly different moments for pods with the same
  // deadline.
  const Duration last = deadline_ - kLastTry - Part(kLastTry, spread) - now;
  if (last_ || last <= Duration::zero()) return std::nullopt;
  last_ = true;
  return last;
}

}  // namespace prefetch::ctl
