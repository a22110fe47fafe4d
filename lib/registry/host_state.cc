#include "registry/host_state.h"

#include <algorithm>

namespace prefetch::registry {

namespace {

using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;
using std::chrono::milliseconds;

// Facts about a server expire, since the server may change.
constexpr std::chrono::hours kHeadFailsFor{24};
constexpr std::chrono::hours kKnownFor{1};
// Maximum number of identities of one server whose limits are remembered. Each new password is another
// identity, so the number needs a bound.
constexpr std::size_t kMaxHolds = 64;

bool IsDockerHub(const std::string& server) {
  return server == "https://registry-1.docker.io";
}

}  // namespace

// The hold of the identity is checked before the circuit of the server. Otherwise a held identity could
// become the probe, and no request would be sent.
std::optional<RegistryAnswer> HostState::RefusalReason(const std::string& server,
                                                       const std::string& identity) {
  base::Lock lock(mutex_);
  Page& page = pages_.At(server);
  base::TimePoint now = clock_.Now();
  // A limit holds for the identity that met it (R27).
  auto hold = page.holds.find(identity);
  if (hold != page.holds.end() && now < hold->second.until) {
    return RegistryAnswer{.kind = Kind::kRateLimited,
                          .detail = RegistryDetail::kOnHold,
                          .message = server + " limits requests: it gets none until the pause is over",
                          .retry_after = std::chrono::ceil<milliseconds>(hold->second.until - now)};
  }
  if (!circuit_ || !image::kSilentRegistry.IsOpen(page.failures)) return std::nullopt;
  if (now < page.open_until || page.probing) {
    base::Duration left = std::max<base::Duration>(page.open_until - now, std::chrono::seconds(1));
    return RegistryAnswer{
        .kind = Kind::kUnreachable,
        .detail = RegistryDetail::kCircuitOpen,
        .message = server + " has failed " + std::to_string(page.failures) +
                   " times in a row and is left alone for a while; last: " + page.last_failure,
        .retry_after = std::chrono::ceil<milliseconds>(left)};
  }
  // When the pause is over, a single request tests the server. The others wait for its result (R29).
  page.probing = true;
  return std::nullopt;
}

void HostState::NoteLimit(Page& page, const std::string& server, const std::string& identity,
                          const RegistryAnswer& answer) {
  // The holds of others are dropped rather than this one: this identity has just met a limit. The others meet
  // theirs again at the cost of one request each.
  if (page.holds.size() >= kMaxHolds && page.holds.count(identity) == 0) page.holds.clear();
  Hold& hold = page.holds[identity];
  const base::TimePoint now = clock_.Now();
  // Concurrent requests that hit the same limit count once.
  if (now >= hold.until) hold.in_a_row++;
  const base::Circuit& limit = IsDockerHub(server) ? image::kLimitedDockerHub : image::kLimitedRegistry;
  base::Duration wait = limit.Pause(hold.in_a_row);
  if (answer.retry_after) wait = *answer.retry_after;
  // A later answer must not shorten an earlier pause.
  hold.until = std::max(hold.until, now + wait);
}

void HostState::NoteFailure(Page& page, const RegistryAnswer& answer) {
  page.failures++;
  page.last_failure = answer.message;
  if (!image::kSilentRegistry.IsOpen(page.failures)) return;
  page.open_until = clock_.Now() + image::kSilentRegistry.PauseAfter(page.failures);
}

void HostState::Note(const std::string& server, const std::string& identity, const RegistryAnswer& answer) {
  base::Lock lock(mutex_);
  Page& page = pages_.At(server);
  // Every end of a request ends the probe, so that a stopped one does not block the server forever.
  page.probing = false;
  if (answer.detail == RegistryDetail::kStopped || answer.detail == RegistryDetail::kOwnLimit)
    return;  // says nothing about the server
  if (answer.kind == Kind::kRateLimited) {
    NoteLimit(page, server, identity, answer);
  } else {
    page.holds.erase(identity);
  }
  if (answer.kind == Kind::kUnreachable || answer.kind == Kind::kServerError) {
    NoteFailure(page, answer);
    return;
  }
  page.failures = 0;
}

void HostState::NoteServed(const std::string& server, const std::string& identity) {
  base::Lock lock(mutex_);
  Page& page = pages_.At(server);
  auto hold = page.holds.find(identity);
  if (hold != page.holds.end() && clock_.Now() >= hold->second.until) page.holds.erase(hold);
}

bool HostState::HeadFails(const std::string& server) {
  base::Lock lock(mutex_);
  return clock_.Now() < pages_.At(server).head_fails_until;
}

void HostState::NoteHeadFails(const std::string& server) {
  base::Lock lock(mutex_);
  pages_.At(server).head_fails_until = clock_.Now() + kHeadFailsFor;
}

bool HostState::PostFails(const std::string& service, const std::string& identity) {
  base::Lock lock(mutex_);
  const base::TimePoint* until = post_fails_until_.Find(service + "\n" + identity);
  return until != nullptr && clock_.Now() < *until;
}

void HostState::NotePostFails(const std::string& service, const std::string& identity) {
  base::Lock lock(mutex_);
  post_fails_until_.At(service + "\n" + identity) = clock_.Now() + kKnownFor;
}

bool HostState::IsRegistry(const std::string& server) {
  base::Lock lock(mutex_);
  return clock_.Now() < pages_.At(server).registry_until;
}

void HostState::NoteRegistry(const std::string& server) {
  base::Lock lock(mutex_);
  pages_.At(server).registry_until = clock_.Now() + kKnownFor;
}

HostState::Protocol HostState::SchemeOf(const std::string& server) {
  base::Lock lock(mutex_);
  Page& page = pages_.At(server);
  return clock_.Now() < page.protocol_until ? page.protocol : Protocol::kUnknown;
}

void HostState::NoteScheme(const std::string& server, Protocol what) {
  base::Lock lock(mutex_);
  Page& page = pages_.At(server);
  page.protocol = what;
  page.protocol_until = clock_.Now() + kKnownFor;
}

std::optional<Challenge> HostState::ChallengeOf(const std::string& server, const std::string& path) {
  base::Lock lock(mutex_);
  Challenge* challenge = challenges_.Find(server + "/" + path);
  return challenge == nullptr ? std::nullopt : std::optional<Challenge>(*challenge);
}

void HostState::NoteChallenge(const std::string& server, const std::string& path,
                              const Challenge& challenge) {
  base::Lock lock(mutex_);
  challenges_.At(server + "/" + path) = challenge;
}

namespace {

constexpr std::size_t kMaxLanes = 512;  // Maximum number of lanes. Beyond it, idle ones are discarded.

}  // namespace

Throttle::Lane& Throttle::QueueOf(const std::string& host) {
  auto found = lanes_.find(host);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() >= kMaxLanes) {
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.inside == 0; });
  }
  return lanes_.emplace(host, Lane{.inside = 0, .budget = base::TokenBucket(limits_.rate)}).first->second;
}

base::TimePoint Throttle::Opens(const std::string& host, const Lane& lane, base::TimePoint now) const {
  // The empty name is the lane of whole checks, which has no rate (R29).
  int most = host.empty() ? limits_.checks : limits_.requests_per_host;
  if (lane.inside >= most) return base::TimePoint::max();
  return host.empty() ? now : now + lane.budget.WaitAt(now);
}

Throttle::Pass Throttle::Enter(const base::Call& call, const std::string& host) {
  // The callback takes the lock, so that a stop cannot occur unnoticed between the check below and the wait.
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    changed_.notify_all();
  });
  base::Lock lock(mutex_);
  while (true) {
    auto now = std::chrono::steady_clock::now();
    if (call.Stopped() || now >= call.deadline) return {};
    Lane& lane = QueueOf(host);
    base::TimePoint opens = Opens(host, lane, now);
    if (opens <= now) {
      lane.inside++;
      lane.budget.Take(1, now);
      return {this, host};
    }
    base::TimePoint until = std::min(opens, call.deadline);
    if (until == base::TimePoint::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(mutex_, until);
    }
  }
}

void Throttle::Leave(const std::string& host) {
  base::Lock lock(mutex_);
  auto found = lanes_.find(host);
  if (found != lanes_.end()) found->second.inside--;
  changed_.notify_all();
}

}  // namespace prefetch::registry
