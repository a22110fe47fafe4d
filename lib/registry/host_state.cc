#include "registry/host_state.h"

#include <algorithm>

#include "image/reference.h"

namespace prefetch::registry {

namespace {

using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;
using std::chrono::milliseconds;

// Facts about a server expire, since the server may change.
constexpr std::chrono::hours kHeadFailsTtl{24};
constexpr std::chrono::hours kFactTtl{1};
// Maximum number of identities of one server whose limits are remembered. Each new password is another
// identity, so the number needs a bound.
constexpr std::size_t kMaxLimitedIdentities = 64;

bool IsDockerHub(std::string_view server) {
  return image::IsDockerHubServer(server.substr(server.find("://") + 3));
}

std::string KeyOf(HostState::Fact fact, const std::string& server, const std::string& identity) {
  return std::to_string(static_cast<int>(fact)) + "\n" + server + "\n" + identity;
}

}  // namespace

std::optional<RegistryAnswer> HostState::HoldReason(const std::string& server, const std::string& identity) {
  base::Lock lock(mutex_);
  return HoldOf(servers_.GetOrCreate(server), server, identity);
}

// A limit holds for the identity that met it (R27).
std::optional<RegistryAnswer> HostState::HoldOf(const ServerState& state, const std::string& server,
                                                const std::string& identity) const {
  const auto rate_limit = state.rate_limits.find(identity);
  const base::TimePoint now = clock_.Now();
  if (rate_limit == state.rate_limits.end() || now >= rate_limit->second.until) return std::nullopt;
  return RegistryAnswer{.kind = Kind::kRateLimited,
                        .detail = RegistryDetail::kOnHold,
                        .message = server + " limits requests: it gets none until the pause is over",
                        .retry_after = std::chrono::ceil<milliseconds>(rate_limit->second.until - now)};
}

// The hold of the identity is checked before the circuit of the server. Otherwise a held identity could
// become the probe, and no request would be sent.
std::optional<RegistryAnswer> HostState::RefusalReason(const std::string& server,
                                                       const std::string& identity) {
  base::Lock lock(mutex_);
  ServerState& state = servers_.GetOrCreate(server);
  if (auto hold = HoldOf(state, server, identity)) return hold;
  const base::TimePoint now = clock_.Now();
  if (!circuit_ || !image::kRegistryCircuit.IsOpen(state.failures)) return std::nullopt;
  if (now < state.circuit_open_until || state.probing) {
    base::Duration left = std::max<base::Duration>(state.circuit_open_until - now, std::chrono::seconds(1));
    return RegistryAnswer{
        .kind = Kind::kUnreachable,
        .detail = RegistryDetail::kCircuitOpen,
        .message = server + " has failed " + std::to_string(state.failures) +
                   " times in a row and is left alone for a while; last: " + state.last_failure,
        .retry_after = std::chrono::ceil<milliseconds>(left)};
  }
  // When the pause is over, a single request tests the server. The others wait for its result (R29).
  state.probing = true;
  return std::nullopt;
}

void HostState::NoteLimit(ServerState& state, const std::string& server, const std::string& identity,
                          const RegistryAnswer& answer) {
  // The holds of others are dropped rather than this one: this identity has just met a limit. The others meet
  // theirs again at the cost of one request each.
  if (state.rate_limits.size() >= kMaxLimitedIdentities && state.rate_limits.count(identity) == 0)
    state.rate_limits.clear();
  RateLimit& rate_limit = state.rate_limits[identity];
  const base::TimePoint now = clock_.Now();
  // Concurrent requests that hit the same limit count once.
  if (now >= rate_limit.until) rate_limit.consecutive++;
  const base::Circuit& limit = IsDockerHub(server) ? image::kDockerHubLimitCircuit : image::kRateLimitCircuit;
  base::Duration wait = limit.Pause(rate_limit.consecutive);
  if (answer.retry_after) wait = *answer.retry_after;
  // A later answer must not shorten an earlier pause.
  rate_limit.until = std::max(rate_limit.until, now + wait);
}

void HostState::NoteFailure(ServerState& state, const RegistryAnswer& answer) {
  state.failures++;
  state.last_failure = answer.message;
  if (!image::kRegistryCircuit.IsOpen(state.failures)) return;
  state.circuit_open_until = clock_.Now() + image::kRegistryCircuit.PauseAfter(state.failures);
}

void HostState::Note(const std::string& server, const std::string& identity, const RegistryAnswer& answer) {
  base::Lock lock(mutex_);
  ServerState& state = servers_.GetOrCreate(server);
  // Every end of a request ends the probe, so that a stopped one does not block the server forever.
  state.probing = false;
  if (answer.detail == RegistryDetail::kStopped || answer.detail == RegistryDetail::kOwnLimit)
    return;  // says nothing about the server
  if (answer.kind == Kind::kRateLimited) {
    NoteLimit(state, server, identity, answer);
  } else {
    state.rate_limits.erase(identity);
  }
  if (answer.kind == Kind::kUnreachable || answer.kind == Kind::kServerError) {
    NoteFailure(state, answer);
    return;
  }
  state.failures = 0;
}

void HostState::NoteSuccess(const std::string& server, const std::string& identity) {
  base::Lock lock(mutex_);
  ServerState& state = servers_.GetOrCreate(server);
  auto rate_limit = state.rate_limits.find(identity);
  if (rate_limit != state.rate_limits.end() && clock_.Now() >= rate_limit->second.until)
    state.rate_limits.erase(rate_limit);
}

bool HostState::Knows(Fact fact, const std::string& server, const std::string& identity) {
  base::Lock lock(mutex_);
  const base::TimePoint* until = known_until_.Find(KeyOf(fact, server, identity));
  return until != nullptr && clock_.Now() < *until;
}

void HostState::Learn(Fact fact, const std::string& server, const std::string& identity) {
  base::Lock lock(mutex_);
  known_until_.GetOrCreate(KeyOf(fact, server, identity)) =
      clock_.Now() + (fact == Fact::kHeadFails ? kHeadFailsTtl : kFactTtl);
}

std::optional<Challenge> HostState::ChallengeOf(const std::string& server, const std::string& path) {
  base::Lock lock(mutex_);
  Challenge* challenge = challenges_.Find(server + "/" + path);
  return challenge == nullptr ? std::nullopt : std::optional<Challenge>(*challenge);
}

void HostState::NoteChallenge(const std::string& server, const std::string& path,
                              const Challenge& challenge) {
  base::Lock lock(mutex_);
  challenges_.GetOrCreate(server + "/" + path) = challenge;
}

namespace {

constexpr std::size_t kMaxLanes = 512;  // Maximum number of lanes. Beyond it, idle ones are discarded.

}  // namespace

Throttle::Lane& Throttle::LaneFor(const std::string& host) {
  auto found = lanes_.find(host);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() >= kMaxLanes) {
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.in_flight == 0; });
  }
  return lanes_.emplace(host, Lane{.in_flight = 0, .budget = base::TokenBucket(limits_.rate)}).first->second;
}

base::TimePoint Throttle::NextAdmission(const std::string& host, const Lane& lane,
                                        base::TimePoint now) const {
  // The empty name is the lane of whole checks, which has no rate (R29).
  int most = host.empty() ? limits_.checks : limits_.requests_per_host;
  if (lane.in_flight >= most) return base::TimePoint::max();
  return host.empty() ? now : now + lane.budget.WaitAt(now);
}

Throttle::Permit Throttle::Acquire(const base::Call& call, const std::string& host) {
  {
    // The callback takes the lock, so that a stop cannot occur unnoticed between the check below and the
    // wait.
    std::stop_callback wake(call.stop, [this] {
      base::Lock lock(mutex_);
      changed_.notify_all();
    });
    base::Lock lock(mutex_);
    while (true) {
      auto now = std::chrono::steady_clock::now();
      if (call.Stopped() || now >= call.deadline) return nullptr;
      Lane& lane = LaneFor(host);
      base::TimePoint opens = NextAdmission(host, lane, now);
      if (opens <= now) {
        lane.in_flight++;
        lane.budget.Take(1, now);
        break;
      }
      base::WaitUntil(changed_, mutex_, std::min(opens, call.deadline));
    }
  }
  return Permit(this, [this, host](const void*) { Release(host); });
}

void Throttle::Release(const std::string& host) {
  base::Lock lock(mutex_);
  auto found = lanes_.find(host);
  if (found != lanes_.end()) found->second.in_flight--;
  changed_.notify_all();
}

}  // namespace prefetch::registry
