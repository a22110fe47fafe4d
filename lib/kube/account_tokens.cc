#include "kube/account_tokens.h"

#include <algorithm>
#include <optional>

namespace prefetch::kube {
namespace {

using std::chrono::seconds;

constexpr seconds kTokenLifetime{3600};         // as kubelet
constexpr std::chrono::hours kMaxTokenAge{24};  // as kubelet: renewed by then, however long it would hold
constexpr std::chrono::minutes kPollInterval{1};
constexpr seconds kFailureTtl{10};
// A server whose clock is far from this one's may give a token that seems to have expired already. It counts
// for this long.
constexpr std::chrono::minutes kMinTokenLifetime{5};

}  // namespace

base::Result<AccountToken> AccountTokens::Get(const base::Call& call, const std::string& audience) {
  std::optional<CachedToken> before;
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = clock_.Now();
    if (auto cached = cached_.find(audience); cached != cached_.end()) before = cached->second;
    // A token serves until it has to be renewed (A25), or the account has to be looked at again.
    if (before && now < before->renew_at && now < before->recheck_at) return before->account;
    auto failed = failures_.find(audience);
    if (failed != failures_.end() && now < failed->second.until) {
      // The server has failed within the last seconds. A token that still holds is better than the same
      // question again.
      if (before && now < before->expires_at) return before->account;
      return failed->second.error;
    }
  }
  // The lock is released here: a question to the API server may take seconds, and other audiences must not
  // wait for it.
  base::Result<CachedToken> renewed = Renew(call, audience, before ? &*before : nullptr);
  base::Lock lock(mutex_);
  if (renewed) {
    failures_.erase(audience);
    cached_[audience] = *renewed;
    return renewed->account;
  }
  // A stop, or a caller's own deadline, says nothing about the server, so other callers may ask at once.
  const bool is_the_callers = call.Stopped() || renewed.error().code() == base::Code::kCancelled;
  if (!is_the_callers)
    failures_.insert_or_assign(audience, RecentFailure{renewed.error(), clock_.Now() + kFailureTtl});
  const bool is_an_answer = renewed.error().code() == base::Code::kNotFound ||
                            renewed.error().code() == base::Code::kPermissionDenied;
  if (is_an_answer) cached_.erase(audience);  // the account is gone, or no longer ours to speak for
  // The server is away, and the token still holds.
  if (!is_an_answer && before && clock_.Now() < before->expires_at) return before->account;
  return std::move(renewed).error();
}

base::Result<AccountTokens::CachedToken> AccountTokens::Renew(const base::Call& call,
                                                              const std::string& audience,
                                                              const CachedToken* cached) const {
  // The account comes first: its annotations are part of a plugin's request, and its uid shows whether the
  // token is its own.
  Answer<ServiceAccount> account = api_.GetServiceAccount(call, name_space_, name_);
  if (!account) return ToError(account.failure());
  const base::TimePoint now = clock_.Now();
  CachedToken out;
  // An account that was deleted and made anew has another uid, and the API server rejects tokens of the old
  // one.
  if (cached != nullptr && cached->account.uid == account->uid && now < cached->renew_at) {
    out = *cached;
  } else {
    auto token = api_.CreateToken(call, name_space_, name_, audience, kTokenLifetime.count());
    if (!token) return ToError(token.failure());
    const base::Duration life = std::max<base::Duration>(token->expires - clock_.Wall(), kMinTokenLifetime);
    out.account.token = std::move(token->token);
    // A25: a token is used for 80 % of its life, as by kubelet.
    out.renew_at = now + std::min<base::Duration>(life / 5 * 4, kMaxTokenAge);
    out.expires_at = now + life;
  }
  out.recheck_at = now + kPollInterval;
  out.account.uid = account->uid;
  out.account.annotations = account->annotations;
  return out;
}

}  // namespace prefetch::kube
