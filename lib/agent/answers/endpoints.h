// Endpoints: the agent's answers over HTTP (lib/README.md).
#pragma once

#include "agent/answers/inquiry.h"
#include "agent/answers/retries.h"
#include "agent/board.h"
#include "agent/cluster/client_authenticator.h"
#include "agent/metrics.h"
#include "base/clock.h"
#include "http/handler.h"

namespace prefetch::agent {

// Callers of an endpoint. Neighbours on the pod network see status::View::kPublic; users of the unix socket
// see everything, single images included.
enum class Audience { kPodNetwork, kLocal };

// The handler of one listener. Its arguments must outlive it. It reads the newest Snapshot and never blocks;
// slow work (`inquiry`) is left to the server as Deferred. Checks of anonymous clients have a rate limit (429
// beyond it), since an answer costs more than a look at the Snapshot. The burst is for jobs that start at
// once, and leaves room in the server's queue for pods that show a token.
constexpr int kChecksPerSecond = 20;
constexpr int kChecksAtOnce = 200;
constexpr unsigned kPodNetworkQueueLimit = 256;
// Threads for each kind of questions from the pod network, and of these for one address or namespace.
constexpr unsigned kPodNetworkThreads = 12;
constexpr unsigned kPodNetworkThreadsPerClient = 2;

// `authenticator`: clients that show a token are answered as that allows, at the rates of
// ClientAuthenticator: pods their preflights, fleet tokens the full status. Null: they are refused.
http::Handler Endpoints(const Board& board, const Metrics& metrics, const Inquiry& inquiry, Retries& retries,
                        const base::Clock& clock, Audience audience,
                        ClientAuthenticator* authenticator = nullptr);

}  // namespace prefetch::agent
