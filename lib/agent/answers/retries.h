// Retries: requests of operators to try at once what waits for its back-off (POST /v1/retry).
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "agent/board.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/token_bucket.h"
#include "plan/requested.h"
#include "status/retry_document.h"

namespace prefetch::agent {

// Any thread may call. One object serves all listeners, which share the limit of plan::kRetries. The
// constructor's arguments outlive it.
class Retries {
 public:
  // Receives normalised names: Agent::Retry.
  using Retry = std::function<void(std::vector<std::string> names)>;

  Retries(const Board& board, const base::Clock& clock, Retry retry)
      : board_(board), clock_(clock), retry_(std::move(retry)) {}

  // Requests a retry of these images of the list that wait for one, by the newest Snapshot. A request that
  // finds none costs no token. The time until the agent takes another request, if there were too many.
  std::variant<status::RetryResult, base::Duration> Request(const status::RetryRequest& request)
      PREFETCH_EXCLUDES(mutex_);

 private:
  const Board& board_;
  const base::Clock& clock_;
  const Retry retry_;
  base::Mutex mutex_;
  base::TokenBucket tokens_ PREFETCH_GUARDED_BY(mutex_){plan::kRetries};
};

}  // namespace prefetch::agent
