// AccountTokens: tokens of one service account, by audience, for credential providers with tokenAttributes
// (credentials' rules A24 and A25). Unlike kubelet's they are bound to no pod: an agent that pulls ahead has
// none to name.
#pragma once

#include <map>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/api.h"

namespace prefetch::kube {

struct AccountToken {
  std::string uid;
  std::map<std::string, std::string> annotations;
  base::Secret token;
};

// Owned by main; `api` and `clock` outlive it. Any thread may call, several at once: parallel calls for one
// audience may each ask the API server.
//
// Renews a token after 80 % of its life, and after a day at the latest. Reads the account again after a
// minute. While the API server is away, callers get a token that is still valid. All callers of the next ten
// seconds share a failure, so that forty images cause one request.
class AccountTokens {
 public:
  // Needs the rights get serviceaccounts and create serviceaccounts/token for this account, and, where the
  // cluster restricts audiences, request-serviceaccounts-token-audience for the audience.
  AccountTokens(Api& api, const base::Clock& clock, std::string name_space, std::string name)
      : api_(api), clock_(clock), name_space_(std::move(name_space)), name_(std::move(name)) {}

  // Blocks no longer than `call` allows. The Error names the request and has the server's message.
  base::Result<AccountToken> Get(const base::Call& call, const std::string& audience)
      PREFETCH_EXCLUDES(mutex_);

 private:
  struct CachedToken {
    AccountToken account;
    base::TimePoint renew_at, recheck_at, expires_at;
  };
  struct RecentFailure {
    base::Error error;
    base::TimePoint until;
  };

  base::Result<CachedToken> Renew(const base::Call& call, const std::string& audience,
                                  const CachedToken* cached) const;

  Api& api_;
  const base::Clock& clock_;
  const std::string name_space_, name_;
  base::Mutex mutex_;
  std::map<std::string, CachedToken> cached_ PREFETCH_GUARDED_BY(mutex_);      // by audience
  std::map<std::string, RecentFailure> failures_ PREFETCH_GUARDED_BY(mutex_);  // by audience
};

}  // namespace prefetch::kube
