#include "agent/cluster/issuer_keys.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "kube/retry.h"

namespace prefetch::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Keys change seldom. A token that names an unknown key causes an earlier read, within kReadKeysForNewOne at
// most, so that forged names do not flood the API server.
constexpr minutes kReadKeysAgain{10};
constexpr seconds kReadKeysAfterFailure{30};
constexpr seconds kReadKeysForNewOne{10};
constexpr seconds kReadKeysLimit{3};

}  // namespace

IssuerKeys::Keys IssuerKeys::Newest() const {
  base::Lock lock(mutex_);
  return keys_;
}

bool IssuerKeys::TakeTurn(bool unknown_key) {
  base::Lock lock(mutex_);
  const base::TimePoint now = clock_.Now();
  if (reading_ || now < (unknown_key ? next_early_ : next_)) return false;
  reading_ = true;
  return true;
}

void IssuerKeys::Read(const base::Call& call) {
  auto json = api_.GetTokenKeys(call.Within(kReadKeysLimit));
  Keys keys;
  if (json) {
    if (auto parsed = kube::TokenKeys::Parse(*json)) {
      keys = std::make_shared<const kube::TokenKeys>(*std::move(parsed));
    } else {
      base::Debug("the API server's keys for tokens cannot be parsed", {});
    }
  } else {
    base::Debug("the API server's keys for tokens are not read", {{"error", json.failure().message}});
  }
  const bool refused = !json && kube::IsRefusal(json.failure().kind);
  base::Lock lock(mutex_);
  reading_ = false;
  const base::TimePoint now = clock_.Now();
  failed_ = keys == nullptr;
  const bool seldom = keys != nullptr || refused;
  next_ = now + (seldom ? base::Duration(kReadKeysAgain) : base::Duration(kReadKeysAfterFailure));
  next_early_ =
      now + (keys != nullptr ? base::Duration(kReadKeysForNewOne) : base::Duration(kReadKeysAfterFailure));
  if (keys != nullptr) keys_ = std::move(keys);  // else the old ones still tell what is genuine
}

IssuerKeys::TokenVerdict IssuerKeys::Verify(const base::Call& call, std::string_view token) {
  if (TakeTurn(false)) Read(call);
  Keys keys = Newest();
  // Without keys nothing can be ruled out; the review is the judge.
  if (keys == nullptr) return TokenVerdict::kReview;
  kube::Signature signature = keys->Verify(token);
  if (signature == kube::Signature::kUnknownKey) {
    bool read = TakeTurn(true);
    if (read) Read(call);
    keys = Newest();
    signature = keys->Verify(token);
    if (signature == kube::Signature::kUnknownKey) {
      base::Lock lock(mutex_);
      // The keys may be out of date, so the token may be genuine.
      if (failed_) return TokenVerdict::kReview;
      return read ? TokenVerdict::kForged : TokenVerdict::kLater;
    }
  }
  return signature == kube::Signature::kForged ? TokenVerdict::kForged : TokenVerdict::kReview;
}

}  // namespace prefetch::agent
