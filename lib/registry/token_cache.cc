#include "registry/token_cache.h"

#include <utility>

namespace prefetch::registry {

std::optional<TokenCache::Cached> TokenCache::Find(const std::string& key) {
  base::Lock lock(mutex_);
  return FindLocked(key);
}

std::optional<TokenCache::Cached> TokenCache::FindLocked(const std::string& key) {
  Entry* entry = entries_.Find(key);
  if (entry == nullptr) return std::nullopt;
  base::TimePoint now = clock_.Now();
  if (now < entry->until) return Cached{.text = entry->text, .age = now - entry->since};
  entries_.Erase(key);
  return std::nullopt;
}

void TokenCache::Drop(const std::string& key, const base::Secret& refused) {
  base::Lock lock(mutex_);
  Entry* entry = entries_.Find(key);
  // Another thread may have replaced the rejected token already.
  if (entry != nullptr && entry->text.SameAs(refused)) entries_.Erase(key);
}

// Returns a flight that has ended, or one that this caller has to fly (`pilot`). nullptr if the call ended
// first. One request serves all threads that need the same token: the first one fetches, and the others wait.
std::shared_ptr<TokenCache::Flight> TokenCache::Board(const base::Call& call, const std::string& key,
                                                      bool& pilot) {
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    landed_.notify_all();
  });
  base::Lock lock(mutex_);
  while (true) {
    if (auto cached = FindLocked(key)) {  // It arrived after the caller's own Find.
      auto arrived = std::make_shared<Flight>();
      arrived->outcome.token = Token{.text = std::move(cached->text)};
      return arrived;
    }
    auto& flight = flights_[key];
    pilot = flight == nullptr;
    if (pilot) flight = std::make_shared<Flight>();
    std::shared_ptr<Flight> mine = flight;
    if (pilot) return mine;
    while (!mine->landed) {
      if (call.Stopped() || std::chrono::steady_clock::now() >= call.deadline) return nullptr;
      if (call.deadline == base::TimePoint::max()) {
        landed_.wait(mutex_);
      } else {
        landed_.wait_until(mutex_, call.deadline);
      }
    }
    // The fetching thread was stopped for reasons of its own, so a waiting one tries.
    if (!mine->stopped) return mine;
  }
}

// The flight is removed even if it failed, so that the next caller sends a new request.
void TokenCache::Land(const std::string& key, const std::shared_ptr<Flight>& flight, TokenOutcome outcome,
                      bool stopped) {
  base::Lock lock(mutex_);
  // Only tokens are stored: a refusal may be over by the next question.
  if (outcome.token) {
    base::TimePoint now = clock_.Now();
    Entry& entry = entries_.At(key);
    entry = {.text = outcome.token->text, .since = now, .until = now + UsableFor(outcome.token->lifetime)};
  }
  flight->outcome = std::move(outcome);
  flight->landed = true;
  flight->stopped = stopped;
  flights_.erase(key);
  landed_.notify_all();
}

TokenOutcome TokenCache::Fetch(const base::Call& call, const std::string& key,
                               const std::function<TokenOutcome()>& fetch) {
  bool pilot = false;
  std::shared_ptr<Flight> flight = Board(call, key, pilot);
  if (flight == nullptr) {
    return {.token = std::nullopt,
            .refusal = {
                .kind = image::RegistryAnswerKind::kUnreachable,
                .detail = call.Stopped() ? image::RegistryDetail::kStopped : image::RegistryDetail::kTimeout,
                .message = "the token did not come in time"}};
  }
  if (pilot) {
    TokenOutcome outcome = fetch();
    bool stopped = call.Stopped() || std::chrono::steady_clock::now() >= call.deadline;
    Land(key, flight, outcome, stopped && !outcome.token);
    return outcome;
  }
  base::Lock lock(mutex_);
  return flight->outcome;
}

}  // namespace prefetch::registry
