#include "kube/account_tokens.h"

#include <algorithm>
#include <optional>

namespace prefetch::kube {
namespace {

using std::chrono::seconds;

constexpr seconds kWantedLife{3600};       // as kubelet
constexpr std::chrono::hours kOldest{24};  // as kubelet: renewed by then, however long it would hold
constexpr std::chrono::minutes kPollInterval{1};
constexpr seconds kFailureHolds{10};
// A server whose clock is far from this one's may give a token that seems to have expired already. It counts
// for this long.
constexpr std::chrono::minutes kShortestLife{5};

}  // namespace

base::Result<AccountToken> AccountTokens::Get(const base::Call& call, const std::string& audience) {
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = clock_.Now();
    // A token serves until it has to be renewed (A25), or the account has to be looked at again.
    auto held = held_.find(audience);
    if (held != held_.end() && now < held->second.renew_at && now < held->second.look_again_at) {
      return held->second.account;
    }
    auto failed = failed_.find(audience);
    if (failed != failed_.end() && now < failed->second.until) {
      // The server has failed within the last seconds. A token that still holds is better than the same
      // question again.
      if (held != held_.end() && now < held->second.dies_at) return held->second.account;
      return failed->second.error;
    }
  }
  // The lock is released here: a question to the API server may take seconds, and other audiences must not
  // wait for it.
  return Ask(call, audience);
}

base::Result<AccountToken> AccountTokens::Ask(const base::Call& call, const std::string& audience) {
  std::optional<Held> before;
  {
    base::Lock lock(mutex_);
    if (auto found = held_.find(audience); found != held_.end()) before = found->second;
  }
  base::Result<Held> now_held = Renewed(call, audience, before ? &*before : nullptr);
  base::Lock lock(mutex_);
  if (now_held) {
    failed_.erase(audience);
    held_[audience] = *now_held;
    return now_held->account;
  }
  // A stop, or a caller's own deadline, says nothing about the server, so other callers may ask at once.
  const bool is_the_callers = call.Stopped() || now_held.error().code() == base::Code::kCancelled;
  if (!is_the_callers)
    failed_.insert_or_assign(audience, Failed{now_held.error(), clock_.Now() + kFailureHolds});
  const bool is_an_answer = now_held.error().code() == base::Code::kNotFound ||
                            now_held.error().code() == base::Code::kPermissionDenied;
  if (is_an_answer) held_.erase(audience);  // the account is gone, or no longer ours to speak for
  // The server is away, and the token still holds.
  if (!is_an_answer && before && clock_.Now() < before->dies_at) return before->account;
  return std::move(now_held).error();
}

base::Result<AccountTokens::Held> AccountTokens::Renewed(const base::Call& call, const std::string& audience,
                                                         const Held* held) const {
  // The account comes first: its annotations are part of a plugin's request, and its uid shows whether the
  // token is its own.
  Answer<ServiceAccount> account = api_.GetServiceAccount(call, name_space_, name_);
  if (!account) return ToError(account.failure());
  const base::TimePoint now = clock_.Now();
  Held out;
  // An account that was deleted and made anew has another uid, and the API server rejects tokens of the old
  // one.
  if (held != nullptr && held->account.uid == account->uid && now < held->renew_at) {
    out = *held;
  } else {
    auto token = api_.CreateToken(call, name_space_, name_, audience, kWantedLife.count());
    if (!token) return ToError(token.failure());
    const base::Duration life = std::max<base::Duration>(token->expires - clock_.Wall(), kShortestLife);
    out.account.token = std::move(token->token);
    // A25: a token is used for 80 % of its life, as by kubelet.
    out.renew_at = now + std::min<base::Duration>(life / 5 * 4, kOldest);
    out.dies_at = now + life;
  }
  out.look_again_at = now + kPollInterval;
  out.account.uid = account->uid;
  out.account.annotations = account->annotations;
  return out;
}

}  // namespace prefetch::kube
