// ImageWatch: hears from the runtime, on a thread of its own, that some image has come, gone or changed.
// Runtimes that cannot tell are asked seldom whether they can.
#pragma once

#include <functional>

#include "agent/cluster/periodic_thread.h"
#include "base/call.h"
#include "base/clock.h"
#include "cri/content_service.h"

namespace prefetch::agent {

// One owner. `content` outlives it, and what `changed` uses does.
class ImageWatch {
 public:
  // `changed` is called on that thread, at most four times a second: changes within 250 ms after a call cause
  // no further call, so the callee looks again after that time.
  ImageWatch(cri::ContentService& content, std::function<void()> changed);

 private:
  base::TimePoint Turn(const base::Call& call);

  cri::ContentService& content_;
  const std::function<void()> changed_;
  int failures_ = 0;  // in a row
  base::TimePoint reported_at_;
  PeriodicThread thread_;  // the last member: its turns use the others
};

}  // namespace prefetch::agent
