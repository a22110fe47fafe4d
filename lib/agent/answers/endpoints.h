// Endpoints: the agent's answers over HTTP (lib/README.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/answers/image_queries.h"
#include "agent/board.h"
#include "agent/cluster/client_authenticator.h"
#include "agent/metrics.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/token_bucket.h"
#include "http/handler.h"
#include "plan/check.h"
#include "status/retry_document.h"

namespace prefetch::agent {

// Retries: requests of operators to try at once what waits for a back-off or a hold (POST /v1/retry).

// Any thread may call. One object serves all listeners, which share the limit of plan::kRetryRequestRate. The
// constructor's arguments outlive it.
class Retries {
 public:
  // Receives normalised names: Agent::Retry.
  using Retry = std::function<void(std::vector<std::string> names)>;

  Retries(const Board& board, const base::Clock& clock, Retry retry)
      : board_(board), clock_(clock), retry_(std::move(retry)) {}

  // Requests a retry of these images of the list that wait for one, by the newest Snapshot. A request that
  // finds none costs no token. The error is the time until the agent takes another request, if there were
  // too many.
  base::Result<status::RetryResult, base::Duration> Request(const status::RetryRequest& request)
      PREFETCH_EXCLUDES(mutex_);

 private:
  const Board& board_;
  const base::Clock& clock_;
  const Retry retry_;
  base::Mutex mutex_;
  base::TokenBucket tokens_ PREFETCH_GUARDED_BY(mutex_){plan::kRetryRequestRate};
};

// Clients of an endpoint. Clients on the pod network see status::View::kPublic; users of the unix socket see
// everything, single images included.
enum class Audience { kPodNetwork, kLocal };

// The handler of one listener. Its arguments must outlive it. It reads the newest Snapshot and never blocks;
// slow work (`image_queries`) is left to the server as Deferred. Checks of anonymous clients have a rate
// limit (429 beyond it), since an answer costs more than a look at the Snapshot. The burst is for jobs that
// start at once, and leaves room in the server's queue for pods that show a token.
constexpr int kChecksPerSecond = 20;
constexpr int kChecksAtOnce = 200;
constexpr unsigned kPodNetworkQueueLimit = 256;
// Threads for each kind of questions from the pod network, and of these for one address or namespace.
constexpr unsigned kPodNetworkThreads = 12;
constexpr unsigned kPodNetworkThreadsPerClient = 2;

// `authenticator`: clients that show a token are answered as that allows, at the rates of
// ClientAuthenticator: pods their preflights, fleet tokens the full status. Null: they are refused.
http::Handler Endpoints(const Board& board, const Metrics& metrics, const ImageQueryService& image_queries,
                        Retries& retries, const base::Clock& clock, Audience audience,
                        ClientAuthenticator* authenticator = nullptr);

}  // namespace prefetch::agent
