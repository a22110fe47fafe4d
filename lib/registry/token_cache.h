// Bearer tokens: ParseTokenResponse reads a token service's answer (R17), and TokenCache keeps the tokens in
// memory, each for one identity (R18).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/clock.h"
#include "base/lru_map.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/secret.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"

namespace prefetch::registry {

struct Token {
  base::Secret text;  // printable ASCII without blanks: fits a header
  // The service's expires_in, or 60 s, from now on. Nothing reads `issued_at`: clocks differ, and a token
  // that is refused before its time is replaced once anyway.
  std::chrono::seconds lifetime{60};
};

// HTTP method of the token request (R16). containerd ignores `token` in the answer to a POST.
enum class TokenRequestForm { kGet, kPost };

// Returns the time for which a token is used: until 30 s before its end, or for half of its life if that is
// longer.
std::chrono::seconds UsableFor(std::chrono::seconds lifetime);

// Parses a token service's answer, which is untrusted. Pure.
// InvalidArgument: no JSON object, no `access_token` in it, and no `token` for kGet, or one that cannot stand
// in a header. ResourceExhausted: it is beyond our own limits, which are 1,000 levels, 100,000 values, 1 MiB,
// and 64 KiB for a token; or has a number beyond those of Go. The runtimes may read it.
base::Result<Token> ParseTokenResponse(std::string_view body, TokenRequestForm form = TokenRequestForm::kGet);

// A token, or the answer that replaces it: of any kind except kSame and kMoved.
struct TokenOutcome {
  std::optional<Token> token;
  image::RegistryAnswer refusal;
  bool post_fails = false;  // only GET gave it
};

// Thread-safe. Tokens are wiped when they are discarded.
class TokenCache {
 public:
  explicit TokenCache(const base::Clock& clock) : clock_(clock) {}
  TokenCache(const TokenCache&) = delete;
  TokenCache& operator=(const TokenCache&) = delete;

  struct Cached {
    base::Secret text;
    base::Duration age{0};
  };
  // A key contains everything that a token is for: server, realm, service, scopes and identity.
  std::optional<Cached> Find(const std::string& key) PREFETCH_EXCLUDES(mutex_);
  // Discards `refused`, which a server has rejected, but not a token that has replaced it since.
  void Drop(const std::string& key, const base::Secret& refused) PREFETCH_EXCLUDES(mutex_);

  // Returns the token in the cache, or a new one from `fetch`, which is stored. If several threads need the
  // same token, one fetches it and the others share its outcome. If that thread was stopped, the next one
  // tries.
  TokenOutcome Fetch(const base::Call& call, const std::string& key,
                     const std::function<TokenOutcome()>& fetch) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Entry {
    base::Secret text;
    base::TimePoint since, until;
  };
  struct InFlightCall {
    bool done = false;
    std::optional<TokenOutcome> shared;  // none: its thread gave up for reasons of its own
  };
  std::optional<Cached> FindLocked(const std::string& key) PREFETCH_REQUIRES(mutex_);
  std::shared_ptr<InFlightCall> JoinOrLead(const base::Call& call, const std::string& key, bool& is_leader)
      PREFETCH_EXCLUDES(mutex_);

  const base::Clock& clock_;
  base::Mutex mutex_;
  base::Condition call_done_;
  base::LruMap<Entry> entries_ PREFETCH_GUARDED_BY(mutex_){1024};
  std::map<std::string, std::shared_ptr<InFlightCall>> in_flight_ PREFETCH_GUARDED_BY(mutex_);
};

// Distinguishes credentials in keys, without containing one.
// Salted with what differs in every process, so that it is worth nothing outside; "anonymous" for nullptr.
std::string IdentityOf(const image::AuthConfig* credential);

}  // namespace prefetch::registry
