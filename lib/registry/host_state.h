// Throttle: limits this node's requests to registries (R29).
// HostState: recent facts about each server that was asked (R6, R14, R23, R27, R29).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/call.h"
#include "base/clock.h"
#include "base/lru_map.h"
#include "base/mutex.h"
#include "base/token_bucket.h"
#include "image/registry_answer.h"
#include "registry/challenge.h"

namespace prefetch::registry {

// Maximum number of concurrent checks for clients, beside the agent's own: one for each thread that answers
// clients.
constexpr int kClientChecks = 16;

struct ThrottleLimits {
  int checks = image::kChecksAtOnce + kClientChecks;  // at once, over all registries
  // Maximum number of concurrent requests to one host: one more than the agent's own checks, or those for its
  // clients, use.
  int requests_per_host = image::kRequestsPerRegistry + 1;
  base::TokenRate rate = image::kRegistryRequests;  // of requests to one host
};

// Limits this node's requests to registries (R29). Thread-safe. It outlives its Permits.
class Throttle {
 public:
  explicit Throttle(ThrottleLimits limits) : limits_(limits) {}
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

  // The last copy frees the place.
  using Permit = std::shared_ptr<const void>;

  // Waits for its turn: for a whole check, or for one request to `host`. nullptr: the call ended first.
  Permit AcquireCheck(const base::Call& call) { return Acquire(call, ""); }
  Permit AcquireHost(const base::Call& call, const std::string& host) { return Acquire(call, host); }

 private:
  struct Lane {
    int in_flight = 0;
    base::TokenBucket budget;
  };
  Permit Acquire(const base::Call& call, const std::string& host) PREFETCH_EXCLUDES(mutex_);
  void Release(const std::string& host) PREFETCH_EXCLUDES(mutex_);
  // Returns when `lane` admits the next one: now or earlier, at a time, or never before another one leaves.
  base::TimePoint NextAdmission(const std::string& host, const Lane& lane, base::TimePoint now) const;
  Lane& LaneFor(const std::string& host) PREFETCH_REQUIRES(mutex_);

  const ThrottleLimits limits_;
  base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Lane> lanes_ PREFETCH_GUARDED_BY(mutex_);  // "" is that of the checks
};

// Any thread may call. `server` is a server's origin, "https://quay.io"; `identity` tells credentials apart.
class HostState {
 public:
  // `circuit`: ClientOptions::circuit.
  explicit HostState(const base::Clock& clock, bool circuit = true) : clock_(clock), circuit_(circuit) {}
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

  // Returns why `server` must not be asked now: it has rate-limited this identity (kRateLimited), or has
  // failed five times in a row (kUnreachable, "CircuitOpen"). After the pause, one caller at a time gets
  // nullopt and is the probe; it ends with Note().
  std::optional<image::RegistryAnswer> RefusalReason(const std::string& server, const std::string& identity)
      PREFETCH_EXCLUDES(mutex_);
  // Returns why this identity must not send anything to `server` now: it was rate-limited. Never makes the
  // caller a probe, so downloads use it.
  std::optional<image::RegistryAnswer> HoldReason(const std::string& server, const std::string& identity)
      PREFETCH_EXCLUDES(mutex_);
  // Notes the answer of a server.
  void Note(const std::string& server, const std::string& identity, const image::RegistryAnswer& answer)
      PREFETCH_EXCLUDES(mutex_);

  // Notes that the server has sent a part of a blob. Many requests run at once, so this does not end a hold
  // that began in the meantime.
  void NoteSuccess(const std::string& server, const std::string& identity) PREFETCH_EXCLUDES(mutex_);

  // Facts about a server. Knows() returns true for an hour after Learn(), since the server may change;
  // kHeadFails holds for 24 hours.
  enum class Fact {
    kHeadFails,    // HEAD does not work there, so GET is used
    kPostFails,    // the token service gives this identity tokens by GET alone, so it gets no POST
    kIsRegistry,   // the server is a registry, so its 404 counts
    kSpeaksHttps,  // of a server that may speak either; it counts before kSpeaksHttp
    kSpeaksHttp,
  };
  bool Knows(Fact fact, const std::string& server, const std::string& identity = "")
      PREFETCH_EXCLUDES(mutex_);
  void Learn(Fact fact, const std::string& server, const std::string& identity = "")
      PREFETCH_EXCLUDES(mutex_);

  // The last challenge of `server` for a repository, which it will probably repeat.
  std::optional<Challenge> ChallengeOf(const std::string& server, const std::string& path)
      PREFETCH_EXCLUDES(mutex_);
  void NoteChallenge(const std::string& server, const std::string& path, const Challenge& challenge)
      PREFETCH_EXCLUDES(mutex_);

 private:
  struct RateLimit {
    base::TimePoint until;
    int consecutive = 0;
  };
  struct ServerState {
    int failures = 0;  // in a row
    base::TimePoint circuit_open_until;
    bool probing = false;
    std::string last_failure;
    std::map<std::string, RateLimit> rate_limits;  // by identity
  };
  std::optional<image::RegistryAnswer> HoldOf(const ServerState& state, const std::string& server,
                                              const std::string& identity) const PREFETCH_REQUIRES(mutex_);
  void NoteLimit(ServerState& state, const std::string& server, const std::string& identity,
                 const image::RegistryAnswer& answer) PREFETCH_REQUIRES(mutex_);
  void NoteFailure(ServerState& state, const image::RegistryAnswer& answer) PREFETCH_REQUIRES(mutex_);

  const base::Clock& clock_;
  const bool circuit_;
  base::Mutex mutex_;
  base::LruMap<ServerState> servers_ PREFETCH_GUARDED_BY(mutex_){256};
  base::LruMap<Challenge> challenges_ PREFETCH_GUARDED_BY(mutex_){4096};
  base::LruMap<base::TimePoint> known_until_ PREFETCH_GUARDED_BY(mutex_){2048};  // by KeyOf()
};

}  // namespace prefetch::registry
