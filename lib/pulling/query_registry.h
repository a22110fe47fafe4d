// QueryRegistry: one registry check, start to end: the credentials that a pull would try, in its order, and
// the local image to compare with. RejectedCredentials: credentials that registries have rejected lately.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "credentials/keyring.h"
#include "image/platform.h"
#include "image/reference.h"
#include "image/registry_access.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
#include "plan/observation.h"

namespace prefetch::pulling {

// Returns true if the message says that the credential itself is wrong (401), not that it lacks access to one
// repository (403, or a missing scope). Pure.
bool IsAuthenticationFailure(const std::string& message, const image::Reference& reference);

// Remembers the credentials that a registry has rejected (401). Otherwise, a wrong password of forty entries
// would become two hundred log-in attempts and a locked account (runtime rule C7: one PullImage sends a
// rejected credential up to five times).
//
// Owned by the Agent; any thread may call. Keeps a salted hash of each credential, never the credential.
class RejectedCredentials {
 public:
  // The registry has rejected this credential for this image.
  void RecordRejection(const image::Reference& reference, const image::AuthConfig& auth, base::TimePoint now)
      PREFETCH_EXCLUDES(mutex_);
  // The registry has accepted it, so earlier rejections were about something else, and are forgotten.
  void RecordSuccess(const image::Reference& reference, const image::AuthConfig& auth)
      PREFETCH_EXCLUDES(mutex_);
  // Returns true if this credential must not be sent to this registry now.
  bool IsSuppressed(const image::Reference& reference, const image::AuthConfig& auth,
                    base::TimePoint now) const PREFETCH_EXCLUDES(mutex_);

 private:
  struct Record {
    std::set<std::string> images;  // normalised names it was rejected for
    base::TimePoint newest;
  };
  std::string Key(const image::Reference& reference, const image::AuthConfig& auth) const;

  const base::SaltedHash hash_;
  mutable base::Mutex mutex_;
  std::map<std::string, Record> records_ PREFETCH_GUARDED_BY(mutex_);
};

// Asks without pulling. Blocks, at most a minute; any thread may call, many at once; whatever goes wrong is
// an answer. Injected: main has the client for it, tests have registries that keep state. Empty: this agent
// asks no registry.
using RegistryResolver = std::function<image::RegistryAnswer(
    const base::Call& call, const image::RegistryQuestion& question, const image::RuntimeInfo& runtime)>;

// How registries are asked for such a runtime, with the source of that. Looks for folders; sends nothing.
// Empty: as RegistryResolver.
using RegistryAccessFor = std::function<image::RegistryAccess(const image::RuntimeInfo& runtime)>;

// Returns true if the answer tells nothing about the registry: the question was stopped, or the agent's own
// limits came first.
bool IsLocalFailure(const image::RegistryAnswer& answer);

struct RegistryQueryJob {
  image::Reference reference;
  std::shared_ptr<const credentials::Lookup> credentials;  // those that a pull would try
  std::optional<plan::Local> local;                        // the image on the node, if any
  image::RuntimeInfo runtime;
  bool untrusted_name = false;  // RegistryQuestion::untrusted_name
  bool for_pods = false;        // the answer is for a pod: without the errors of plugins
};

// All that a question needs. Everything outlives the worker that uses it.
struct RegistryQueryDependencies {
  const RegistryResolver& resolver;
  RejectedCredentials* refusals;  // null: rejected credentials are not counted
  const base::Clock& clock;
  image::Platform node;
};

// A denial counts as no answer (kUnreachable, kCredentials) if no credential was found, and a provider
// has failed. Never shows a registry a credential that it has refused for several images just now.
image::RegistryAnswer QueryRegistry(const base::Call& call, const RegistryQueryDependencies& parts,
                                    const RegistryQueryJob& job);

}  // namespace prefetch::pulling
