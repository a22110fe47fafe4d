// Decision: lets a worker wait until the loop has decided about its pull. If the pull may not go on, it is
// stopped, which ends the wait as well.
#pragma once

#include <stop_token>

#include "base/call.h"

namespace prefetch::agent {

// Any thread may call.
class Decision {
 public:
  void Made() { made_.request_stop(); }
  // Blocks until it was made, or `call` was stopped.
  void Await(const base::Call& call) {
    std::stop_callback stopped(call.stop, [this] { Made(); });
    base::Pause({.stop = made_.get_token()}, base::Duration::max() / 4);
  }

 private:
  std::stop_source made_;
};

}  // namespace prefetch::agent
