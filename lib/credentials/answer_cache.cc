#include "credentials/answer_cache.h"

#include <algorithm>
#include <utility>

namespace prefetch::credentials {
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
  if (entries_.size() >= kMostAnswers && !entries_.contains(key)) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.expires_at < b.second.expires_at;
    }));
  }
  entries_[std::move(key)] = {std::move(answer), AddSaturated(now, duration)};
}

void AnswerCache::SweepIfDue(base::TimePoint now) {
  // A13. The first look-up only starts the interval, since nothing can have expired before it.
  if (!swept_at_) swept_at_ = now;
  if (now - *swept_at_ < kSweepInterval) return;
  swept_at_ = now;
  std::erase_if(entries_, [&](const auto& entry) { return now > entry.second.expires_at; });
}

}  // namespace prefetch::credentials
