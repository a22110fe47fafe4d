// CachingProvider: one provider's answers, from its cache or from an execution that many clients share.
// AnswerCache: that cache.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "credentials/match.h"
#include "credentials/plugin.h"
#include "credentials/provider_config.h"

namespace prefetch::credentials {

// The answers of one plugin, each until it expires (A12, A13). Not thread-safe: its owner locks. The time is
// an argument.
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
  static constexpr std::size_t kMaxAnswers = 6000;  // more than a list has repositories
  // Stores `answer` under the key of its cache type, if `duration` is positive. If there would be more than
  // kMaxAnswers, drops the one that expires first.
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

constexpr std::chrono::seconds kHangBackOff{60};

// A resource. Any thread may call, many at once. `clock` outlives it.
//
// kubelet shares an execution among requests for the same image (A13). Here a client also waits, once, for an
// execution on behalf of another image of the same registry: most plugins answer for the whole registry, and
// ten images pulled at once should not be ten executions. It does not wait for plugins that are known to
// answer by image. A failure is shared with the same image only, except for a plugin that did not answer
// within its time: it is assumed to hang for that registry, and is not asked again for kHangBackOff.
class CachingProvider {
 public:
  CachingProvider(Provider provider, PluginContext context, const base::Clock& clock,
                  PluginRunner run = RunPlugin)
      : provider_(std::move(provider)),
        context_(std::move(context)),
        clock_(clock),
        run_(std::move(run)),
        cache_(context_.kubelet_version) {}
  CachingProvider(const CachingProvider&) = delete;
  CachingProvider& operator=(const CachingProvider&) = delete;

  const Provider& provider() const { return provider_; }

  // An Error: none now. An empty index: the plugin has no credentials for it. If this very call ran the
  // plugin, `ran_for` is set to the time that it took.
  base::Result<AnswerCache::Answer> Get(const base::Call& call, const std::string& repository,
                                        std::optional<base::Duration>* ran_for = nullptr,
                                        const PluginIdentity& identity = {}) PREFETCH_EXCLUDES(mutex_);

  // The answer of Get, if it is known; nullopt: the plugin has to run.
  std::optional<base::Result<AnswerCache::Answer>> TryGet(const std::string& repository,
                                                          const PluginIdentity& identity = {})
      PREFETCH_EXCLUDES(mutex_);

  // Returns the number of calls of Get that wait for another call's execution.
  int waiting() const PREFETCH_EXCLUDES(mutex_);

 private:
  using Outcome = base::Result<AnswerCache::Answer>;
  // One execution. Lives as long as a call waits for it.
  struct InFlightCall {
    bool done = false;
    int waiting = 0;                // number of calls that wait for it
    std::optional<Outcome> shared;  // none: it failed for reasons of the caller's own (stopped, out of time)
  };

  std::optional<Outcome> FindKnown(const AnswerCache::Subject& subject) PREFETCH_REQUIRES(mutex_);
  void RememberHang(const AnswerCache::Subject& subject, const base::Error& failure)
      PREFETCH_REQUIRES(mutex_);
  std::shared_ptr<InFlightCall> FindShareableCall(const AnswerCache::Subject& subject) const
      PREFETCH_REQUIRES(mutex_);
  // Waits for the end of the execution. Returns false if the caller's time is over first.
  bool Wait(const base::Call& call, InFlightCall& in_flight_call) PREFETCH_REQUIRES(mutex_);
  Outcome Execute(const base::Call& call, const AnswerCache::Subject& subject, const PluginIdentity& identity)
      PREFETCH_EXCLUDES(mutex_);

  const Provider provider_;
  const PluginContext context_;
  const base::Clock& clock_;
  const PluginRunner run_;
  mutable base::Mutex mutex_;
  base::Condition call_done_;
  AnswerCache cache_ PREFETCH_GUARDED_BY(mutex_);
  std::map<AnswerCache::Subject, std::shared_ptr<InFlightCall>> in_flight_ PREFETCH_GUARDED_BY(mutex_);
  std::optional<CacheKeyType> last_type_ PREFETCH_GUARDED_BY(mutex_);
  int waiting_ PREFETCH_GUARDED_BY(mutex_) = 0;
  // Registries for which it did not answer, by host and identity.
  struct Hang {
    base::TimePoint until;
    base::Error error;
  };
  std::map<AnswerCache::Subject, Hang> hangs_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::credentials
