#include "credentials/plugin_answers.h"

#include <algorithm>
#include <utility>

#include "base/on_exit.h"

namespace prefetch::credentials {

namespace {

std::string_view HostOf(std::string_view repository) {
  return repository.substr(0, repository.find('/'));
}

// Returns true for a failure of the executing caller's own: its time ran out, or it was stopped. Callers that
// wait have other deadlines, so such a failure is not shared.
bool IsCallerFailure(const base::Result<AnswerCache::Answer>& outcome, const base::Call& call) {
  return !outcome.ok() && (call.Stopped() || std::chrono::steady_clock::now() >= call.deadline);
}

// The key for all images of a registry together.
AnswerCache::Subject HostSubject(const AnswerCache::Subject& subject) {
  return {std::string(HostOf(subject.repository)), subject.identity};
}

}  // namespace

std::optional<CachingProvider::Outcome> CachingProvider::FindKnown(const AnswerCache::Subject& subject) {
  if (AnswerCache::Answer answer = cache_.Find(subject, clock_.Now())) return answer;
  // A plugin that hangs costs a minute each time. The known hang is returned as the answer until kHangBackOff
  // is over.
  auto hang = hangs_.find(HostSubject(subject));
  if (hang == hangs_.end() || clock_.Now() >= hang->second.until) return std::nullopt;
  return hang->second.error;
}

void CachingProvider::RememberHang(const AnswerCache::Subject& subject, const base::Error& failure) {
  const base::TimePoint now = clock_.Now();
  // Old hangs are removed here, so that the map does not grow with every registry of a long run.
  std::erase_if(hangs_, [now](const auto& one) { return now >= one.second.until; });
  hangs_.insert_or_assign(HostSubject(subject), Hang{now + kHangBackOff, failure});
}

std::optional<base::Result<AnswerCache::Answer>> CachingProvider::TryGet(const std::string& repository,
                                                                         const PluginIdentity& identity) {
  base::Lock lock(mutex_);
  return FindKnown({repository, identity.cache_key});
}

std::shared_ptr<CachingProvider::InFlightCall> CachingProvider::FindShareableCall(
    const AnswerCache::Subject& subject) const {
  // The plugin answers by image, so another image's answer would not help. Before its first answer, one for
  // the registry is assumed.
  if (last_type_ == CacheKeyType::kImage) return nullptr;
  for (const auto& [other, in_flight_call] : in_flight_) {
    // A27: answers for another account or other annotations are not shared.
    if (other.identity != subject.identity) continue;
    bool same_host = HostOf(other.repository) == HostOf(subject.repository);
    if (last_type_ == CacheKeyType::kGlobal || same_host) return in_flight_call;
  }
  return nullptr;
}

bool CachingProvider::Wait(const base::Call& call, InFlightCall& in_flight_call) {
  in_flight_call.waiting++;
  waiting_++;
  const bool done = base::WaitFor(call_done_, mutex_, call, [&] { return in_flight_call.done; });
  if (!done) {
    in_flight_call.waiting--;
    waiting_--;
  }
  return done;
}

int CachingProvider::waiting() const {
  base::Lock lock(mutex_);
  return waiting_;
}

CachingProvider::Outcome CachingProvider::Execute(const base::Call& call, const AnswerCache::Subject& subject,
                                                  const PluginIdentity& identity) {
  base::Result<PluginResponse> response = run_(call, provider_, context_, subject.repository, identity);
  if (!response) return std::move(response).error();
  auto answer = std::make_shared<const KeyIndex>(response->auth);
  std::chrono::nanoseconds duration = response->cache_duration.value_or(provider_.default_cache_duration);
  base::Lock lock(mutex_);
  cache_.Put(subject, response->cache_key_type, duration, answer, clock_.Now());
  last_type_ = response->cache_key_type;
  return AnswerCache::Answer(answer);
}

base::Result<AnswerCache::Answer> CachingProvider::Get(const base::Call& call, const std::string& repository,
                                                       std::optional<base::Duration>* ran_for,
                                                       const PluginIdentity& identity) {
  const AnswerCache::Subject subject{repository, identity.cache_key};
  auto in_flight_call = std::make_shared<InFlightCall>();
  {
    base::Lock lock(mutex_);
    bool waited_for_another = false;
    while (true) {
      // After each wait the cache is asked again: the execution that was awaited may have answered for this
      // image as well.
      if (std::optional<Outcome> known = FindKnown(subject)) return *known;
      auto same = in_flight_.find(subject);
      bool is_same = same != in_flight_.end();
      std::shared_ptr<InFlightCall> other = is_same ? same->second : nullptr;
      if (!is_same && !waited_for_another) other = FindShareableCall(subject);
      if (!other) break;
      // One wait for another image is enough. If its answer did not help, a second wait would not, either.
      waited_for_another = waited_for_another || !is_same;
      if (!Wait(call, *other)) {
        // The execution goes on for the other callers that wait for it.
        if (call.Stopped()) return base::Cancelled("a stop was requested");
        return base::DeadlineExceeded("did not answer in the time that was left");
      }
      if (is_same && other->shared) return *other->shared;
    }
    // Callers for the same image find this flight from now on. The lock is released while the plugin runs.
    in_flight_[subject] = in_flight_call;
  }
  const base::OnExit end([&] {
    base::Lock lock(mutex_);
    in_flight_.erase(subject);
    in_flight_call->done = true;
    waiting_ -= in_flight_call->waiting;  // they go on from here, as soon as they wake up
    call_done_.notify_all();
  });
  base::TimePoint started = clock_.Now();
  Outcome outcome = Execute(call, subject, identity);
  if (ran_for != nullptr) *ran_for = clock_.Now() - started;
  base::Lock lock(mutex_);
  if (!IsCallerFailure(outcome, call)) {
    in_flight_call->shared = outcome;
    // Only a timeout of the plugin's own is remembered: a refusal may be about this image alone.
    if (!outcome && outcome.error().code() == base::Code::kDeadlineExceeded) {
      RememberHang(subject, outcome.error());
    }
  }
  return outcome;
}

namespace {

constexpr std::chrono::minutes kSweepInterval{15};  // as kubelet

// Returns now + duration, or the latest possible time: a plugin may state centuries, and the sum must not
// become a time in the past.
base::TimePoint AddSaturated(base::TimePoint now, std::chrono::nanoseconds duration) {
  return duration > base::TimePoint::max() - now ? base::TimePoint::max() : now + duration;
}

}  // namespace

AnswerCache::Subject AnswerCache::KeyOf(const Subject& subject, CacheKeyType type) const {
  switch (type) {
    case CacheKeyType::kImage:
      return subject;
    case CacheKeyType::kRegistry:
      // The identity stays in each key: an answer for one account is never given to another (A27).
      return {subject.repository.substr(0, subject.repository.find('/')), subject.identity};
    case CacheKeyType::kGlobal:
      return {global_key_, subject.identity};
  }
  return subject;
}

AnswerCache::Answer AnswerCache::Find(const Subject& subject, base::TimePoint now) {
  SweepIfDue(now);
  // A12: the narrowest answer first.
  for (CacheKeyType type : {CacheKeyType::kImage, CacheKeyType::kRegistry, CacheKeyType::kGlobal}) {
    auto found = entries_.find(KeyOf(subject, type));
    if (found == entries_.end()) continue;
    if (now <= found->second.expires_at) return found->second.answer;
    entries_.erase(found);
  }
  return nullptr;
}

void AnswerCache::Put(const Subject& subject, CacheKeyType type, std::chrono::nanoseconds duration,
                      Answer answer, base::TimePoint now) {
  if (duration <= std::chrono::nanoseconds(0)) return;  // a negative one would be stored as already expired
  Subject key = KeyOf(subject, type);
  // A pod may name any number of images for which a plugin answers.
  if (entries_.size() >= kMaxAnswers && !entries_.contains(key)) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.expires_at < b.second.expires_at;
    }));
  }
  entries_[std::move(key)] = {std::move(answer), AddSaturated(now, duration)};
}

void AnswerCache::SweepIfDue(base::TimePoint now) {
  // A13. The first lookup only starts the interval, since nothing can have expired before it.
  if (!swept_at_) swept_at_ = now;
  if (now - *swept_at_ < kSweepInterval) return;
  swept_at_ = now;
  std::erase_if(entries_, [&](const auto& entry) { return now > entry.second.expires_at; });
}

}  // namespace prefetch::credentials
