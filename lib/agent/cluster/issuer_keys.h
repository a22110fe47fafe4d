// IssuerKeys: tells forged ServiceAccount tokens by the API server's public keys, which it reads when they
// are needed.
#pragma once

#include <memory>
#include <string_view>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/token_keys.h"

namespace prefetch::agent {

// Any thread may call. The keys are read once in ten minutes, and for a token that names another key at most
// once in ten seconds. Without the right to read them, or without an answer, every token is worth a review.
class IssuerKeys {
 public:
  enum class TokenVerdict {
    kReview,  // only the API server can tell
    kForged,
    kLater,  // it names a key that may be a new one; the keys were read a moment ago
  };

  // Both outlive it.
  IssuerKeys(kube::Api& api, const base::Clock& clock) : api_(api), clock_(clock) {}

  // Blocks while it reads keys, for 3 s at most. One caller reads them; the others use the known ones. `call`
  // is the process's own: a client that leaves at once would otherwise end the reading, again and again, and
  // the keys would be asked for without end and never be known.
  TokenVerdict Verify(const base::Call& call, std::string_view token) PREFETCH_EXCLUDES(mutex_);

 private:
  using Keys = std::shared_ptr<const kube::TokenKeys>;  // null: not known

  Keys Newest() const PREFETCH_EXCLUDES(mutex_);
  // Returns false if another caller is reading the keys, or if it is too early.
  bool TakeTurn(bool unknown_key) PREFETCH_EXCLUDES(mutex_);
  void Read(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

  kube::Api& api_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  Keys keys_ PREFETCH_GUARDED_BY(mutex_);
  bool reading_ PREFETCH_GUARDED_BY(mutex_) = false;
  bool failed_ PREFETCH_GUARDED_BY(mutex_) = false;         // the newest reading
  base::TimePoint next_ PREFETCH_GUARDED_BY(mutex_);        // reading
  base::TimePoint next_early_ PREFETCH_GUARDED_BY(mutex_);  // for a token that names another key
};

}  // namespace prefetch::agent
