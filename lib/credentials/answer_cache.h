// AnswerCache: what one plugin answered, as long as it holds (A12, A13).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "credentials/key_index.h"
#include "credentials/plugin_protocol.h"
#include "credentials/version_rules.h"

namespace prefetch::credentials {

// Not thread-safe: its owner locks. The time is an argument.
class AnswerCache {
 public:
  using Answer = std::shared_ptr<const KeyIndex>;

  explicit AnswerCache(image::KubeletVersion version) : global_key_(GlobalCacheKey(version)) {}

  // The image and the identity (PluginIdentity::cache_key; empty: none) that the plugin was asked for.
  struct Subject {
    std::string repository;
    std::string identity;

    friend auto operator<=>(const Subject&, const Subject&) = default;
  };

  // Returns the answer for `subject`: one for the image, else one for its registry, else a global one.
  // Returns nullptr if none is valid. An answer may have no credentials.
  Answer Find(const Subject& subject, base::TimePoint now);
  static constexpr std::size_t kMostAnswers = 6000;  // more than a list has repositories
  // Stores `answer` under the key of its cache type, if `duration` is positive. If there would be more than
  // kMostAnswers, drops the one that expires first.
  void Put(const Subject& subject, CacheKeyType type, std::chrono::nanoseconds duration, Answer answer,
           base::TimePoint now);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Answer answer;
    base::TimePoint expires_at;
  };

  Subject KeyOf(const Subject& subject, CacheKeyType type) const;
  void SweepIfDue(base::TimePoint now);

  std::string global_key_;
  std::map<Subject, Entry> entries_;
  std::optional<base::TimePoint> swept_at_;
};

}  // namespace prefetch::credentials
