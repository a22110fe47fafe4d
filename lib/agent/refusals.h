// Refusals: remembers the credentials that a registry has refused. Otherwise, a wrong password of forty
// entries would become two hundred log-in attempts and a locked account (runtime rule C7: one PullImage sends
// a refused credential up to five times).
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "image/auth_config.h"
#include "image/reference.h"

namespace prefetch::agent {

// Is a refusal in these words about the credential itself (401), not about this one repository (403, or a
// scope that the identity does not have)? Pure.
bool IsAboutTheCredential(const std::string& message, const image::Reference& reference);

// Owned by the Agent; any thread may call. Keeps a salted hash of each credential, never the credential.
class Refusals {
 public:
  // The registry refused this credential for this image.
  void Refused(const image::Reference& reference, const image::AuthConfig& auth, base::TimePoint now)
      PREFETCH_EXCLUDES(mutex_);
  // The registry took it: whatever was refused before was about something else.
  void Worked(const image::Reference& reference, const image::AuthConfig& auth) PREFETCH_EXCLUDES(mutex_);
  // Should it not be sent to this registry just now?
  bool Held(const image::Reference& reference, const image::AuthConfig& auth, base::TimePoint now) const
      PREFETCH_EXCLUDES(mutex_);

 private:
  struct Record {
    std::set<std::string> images;  // normalised names it was refused for
    base::TimePoint newest;
  };
  std::string Key(const image::Reference& reference, const image::AuthConfig& auth) const;

  const base::SaltedHash hash_;
  mutable base::Mutex mutex_;
  std::map<std::string, Record> records_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
