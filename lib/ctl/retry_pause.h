// RetryPause: when a preflight asks an agent again that was away, or busy. Pure.
#pragma once

#include <optional>

#include "base/clock.h"

namespace prefetch::ctl {

// The pauses between the tries of one question, which is given up at `deadline`.
//
// An agent that is away is asked twice a second. One that sends Retry-After is asked after that time and a
// random part more: jobs that started at once come back one after the other. Where the deadline is earlier,
// the agent is asked a last time shortly before it.
class RetryPause {
 public:
  explicit RetryPause(base::TimePoint deadline) : deadline_(deadline) {}

  // The pause before the next try. `retry_after`: the agent's Retry-After; zero: none. `spread`: a random
  // number from [0, 1). nullopt: there is no time for another try.
  std::optional<base::Duration> Next(base::TimePoint now, base::Duration retry_after, double spread);

 private:
  base::TimePoint deadline_;
  bool last_ = false;  // the last try has been announced
};

}  // namespace prefetch::ctl
