#include "agent/cluster/client_authenticator.h"

#include <algorithm>

#include "base/enum_name.h"
#include "base/log.h"
#include "base/on_exit.h"
#include "base/text.h"
#include "kube/answer.h"

namespace prefetch::agent {

namespace {

using std::chrono::seconds;

// Upper limit for a Retry-After of the API server. A proxy in front of it may name hours, and new clients
// would be shut out for that time.
constexpr seconds kLongestPause{30};
// Time limit for the review of a token. It is twice what a slow API server takes. A review that takes longer
// counts as a failure, and shuts new clients out for a while.
constexpr seconds kReviewLimit{5};
constexpr seconds kRenewalLimit{20};  // nobody waits for it
constexpr seconds kRemembered{60};
// The age from which the answer about a token in use is renewed.
constexpr seconds kRenewedAfter{30};
constexpr seconds kRememberedInRenewal{90};
static_assert(ClientAuthenticator::kRenewalsAtOnce * (kRememberedInRenewal - kRemembered) >=
                  100 * std::chrono::milliseconds(2500),
              "a hundred pods are renewed before the old answers end, though each review takes 2.5 s");
constexpr seconds kDefaultRetryAfter{5};
// More than the pods of a node. Beyond that, the entry that expires first is dropped.
constexpr std::size_t kMostKnown = 2000;
constexpr std::string_view kBearer = "Bearer ";
constexpr const char* kNoReview = "the API server could not be asked about the token";

CallerError NotReviewed(const kube::Failure& failure, plan::CallerPurpose purpose) {
  std::string why = failure.kind == kube::ApiError::kForbidden
                        ? "this agent may not review tokens: the component " +
                              std::string(purpose == plan::CallerPurpose::kFleet ? "fleet" : "preflight") +
                              " grants that right"
                        : kNoReview;
  return {
      .status = 503,
      .message = std::move(why),
      .retry_after = std::clamp(failure.retry_after.value_or(kDefaultRetryAfter), seconds(1), kLongestPause)};
}

}  // namespace

ClientAuthenticator::ClientAuthenticator(plan::CallerRules rules, bool fleet, plan::AgentLocation location,
                                         kube::Api& api, Metrics& metrics, const base::Clock& clock)
    : rules_(std::move(rules)),
      fleet_(fleet),
      location_(std::move(location)),
      api_(api),
      metrics_(metrics),
      clock_(clock),
      keys_(api, clock),
      reviews_(kReviews, kReviewsOfPeer),
      fleet_reviews_(kFleetReviews, kReviewsOfPeer) {}

ClientAuthenticator::~ClientAuthenticator() {
  stop_.request_stop();
}

CallerError ClientAuthenticator::Refuse(plan::RejectionReason refusal, plan::CallerPurpose purpose) const {
  metrics_.CallerAnswered(purpose, base::EnumName(refusal));
  return {.status = plan::IsAboutTheToken(refusal) ? 401 : 403,
          .message = std::string(plan::RejectionReasonText(refusal, purpose))};
}

// Takes one question from the namespace's budget, so that one namespace cannot use up the agent's threads.
base::Result<plan::Caller, CallerError> ClientAuthenticator::Admit(Identity identity,
                                                                   plan::CallerPurpose purpose) {
  if (!identity) return Refuse(identity.error(), purpose);
  const bool fleet = purpose == plan::CallerPurpose::kFleet;
  base::Lock lock(mutex_);
  const auto wait = budgets_.Take(fleet ? "" : identity->name_space, clock_.Now());
  if (!wait) {
    metrics_.CallerAnswered(purpose, "Admitted");
    return *std::move(identity);
  }
  metrics_.CallerAnswered(purpose, "TooMany");
  return CallerError{.status = 429,
                     .message = fleet ? "too many questions with fleet tokens"
                                      : "too many questions from pods of this namespace",
                     .retry_after = std::max(std::chrono::ceil<seconds>(*wait), seconds(1))};
}

// An answer that is being renewed may be used for longer. So a slow API server does not make clients wait
// whose tokens were just in use.
std::optional<ClientAuthenticator::Identity> ClientAuthenticator::Recall(const std::string& key) const {
  auto known = known_.find(key);
  if (known == known_.end()) return std::nullopt;
  const Known& answer = known->second;
  if (clock_.Now() >= (answer.renewing ? answer.renewed_until : answer.until)) return std::nullopt;
  return answer.identity;
}

void ClientAuthenticator::Remember(const Token& token, const Identity& identity) {
  // The end of a rejected token is a claim that nobody has checked, so it does not limit the memory.
  const auto at_most = [&](seconds limit) {
    return identity ? std::clamp<base::Duration>(token.expires - clock_.Wall(), base::Duration::zero(), limit)
                    : base::Duration(limit);
  };
  base::Lock lock(mutex_);
  const base::TimePoint now = clock_.Now();
  if (known_.size() >= kMostKnown) {
    std::erase_if(known_, [&](const auto& one) { return one.second.until <= now; });
  }
  if (known_.size() >= kMostKnown) {
    known_.erase(std::ranges::min_element(known_, {}, [](const auto& one) { return one.second.until; }));
  }
  known_.insert_or_assign(token.key, Known{.identity = identity,
                                           .until = now + at_most(kRemembered),
                                           .renewed_until = now + at_most(kRememberedInRenewal),
                                           .renew_at = now + kRenewedAfter});
}

// Returns nullopt if this client has to make the review itself. The order of the checks keeps load from the
// API server: wait for a review of the same token, use a known answer, respect an outage, and only then take
// one from the budget.
std::optional<base::Result<ClientAuthenticator::Identity, CallerError>> ClientAuthenticator::AwaitReview(
    const base::Call& call, const Token& token, const std::string& peer) {
  base::Lock lock(mutex_);
  // A pod that asks about many images sends its token many times at once. One review serves them all.
  const auto no_review = [&]() PREFETCH_REQUIRES(mutex_) { return !in_review_.contains(token.key); };
  if (!base::WaitFor(changed_, mutex_, call, no_review))
    return CallerError{.status = 503, .message = kNoReview, .retry_after = seconds(1)};
  const base::TimePoint now = clock_.Now();
  if (auto identity = Recall(token.key)) return *std::move(identity);
  // After a failure, one client probes the API server while the others are told to come again.
  if (IsApiServerDown(now)) {
    metrics_.CallerAnswered(token.purpose, "NotReviewed");
    const auto wait = std::chrono::ceil<seconds>(outage_->until - now);
    return CallerError{.status = 503, .message = outage_->why, .retry_after = std::max(wait, seconds(1))};
  }
  if (auto wait = ReviewsFor(token.purpose).Take(peer, now)) {
    metrics_.CallerAnswered(token.purpose, "TooManyReviews");
    return CallerError{.status = 429,
                       .message = "too many tokens to review: ask again in a moment",
                       .retry_after = std::max(std::chrono::ceil<seconds>(*wait), seconds(1))};
  }
  in_review_.emplace(token.key, ReviewKind::kCaller);
  return std::nullopt;
}

// After the pause, the first client becomes the probe; while its review runs, the server still counts as
// away.
bool ClientAuthenticator::IsApiServerDown(base::TimePoint now) const {
  if (!outage_) return false;
  // A renewal that began before the outage may take long to fail, and tries nothing.
  return now < outage_->until ||
         std::ranges::any_of(in_review_, [](const auto& one) { return one.second == ReviewKind::kCaller; });
}

void ClientAuthenticator::EndReview(const std::string& key) {
  {
    base::Lock lock(mutex_);
    in_review_.erase(key);
  }
  changed_.notify_all();
}

bool ClientAuthenticator::HasAnsweredSince(base::TimePoint time) {
  base::Lock lock(mutex_);
  return answered_at_ && *answered_at_ > time;
}

void ClientAuthenticator::RecordAnswer(std::optional<Outage> outage) {
  base::Lock lock(mutex_);
  outage_ = std::move(outage);
  if (!outage_) answered_at_ = clock_.Now();
}

void ClientAuthenticator::ReportProblem(std::string problem) {
  base::Lock lock(mutex_);
  if (!report_ || std::exchange(reported_problem_, problem) == problem) return;
  report_(std::move(problem));
}

base::Result<ClientAuthenticator::Identity, CallerError> ClientAuthenticator::Review(
    const base::Call& call, const Token& token, const std::string& peer) {
  if (auto decided = AwaitReview(call, token, peer)) return *std::move(decided);
  auto reviewed = ReviewNow(call.Within(kReviewLimit), token, ReviewKind::kCaller);
  if (!reviewed) metrics_.CallerAnswered(token.purpose, "NotReviewed");
  // A rejected token costs the budget of its address more than a good one, so that forged tokens use up the
  // address's budget and not the API server's time.
  if (reviewed && !*reviewed && reviewed->error() == plan::RejectionReason::kRejected) {
    base::Lock lock(mutex_);
    ReviewsFor(token.purpose).Penalize(peer, kRejectionCost - 1, clock_.Now());
  }
  return reviewed;
}

base::Result<ClientAuthenticator::Identity, CallerError> ClientAuthenticator::ReviewNow(
    const base::Call& call, const Token& token, ReviewKind review_kind) {
  const base::OnExit end([&] { EndReview(token.key); });
  const base::TimePoint began = clock_.Now();
  // A client whose own time is nearly over shows nothing about the API server.
  const bool hurried = call.HasShortDeadline(kReviewLimit);
  auto review = api_.ReviewToken(call, token.secret, std::string(plan::kCallerAudience));
  if (!review) {
    CallerError error = NotReviewed(review.failure(), token.purpose);
    // A client that went away must not close the door for the others, nor one review that fails while the API
    // server answers others, nor a review that nobody waits for.
    const kube::ApiError kind = review.failure().kind;
    const bool left = review_kind == ReviewKind::kRenewal || call.Stopped() ||
                      kind == kube::ApiError::kCancelled || (kind == kube::ApiError::kTimeout && hurried) ||
                      (!kube::IsRefusal(kind) && HasAnsweredSince(began));
    if (!left) RecordAnswer(Outage{clock_.Now() + error.retry_after, error.message});
    if (review.failure().kind == kube::ApiError::kForbidden)
      ReportProblem("pods and fleet commands that ask over the network get no answer: " + error.message);
    base::Warn("token not reviewed",
               {{"kind", kube::ApiErrorName(review.failure().kind)}, {"error", review.failure().message}});
    return error;
  }
  Identity identity = plan::EvaluateReview(*review, token.purpose, location_, rules_);
  Remember(token, identity);
  RecordAnswer(std::nullopt);
  ReportProblem("");
  return identity;
}

// Renews the answer about a token in use before it expires. Clients then never wait for a review, and an
// outage of the API server does not lock them out at once.
void ClientAuthenticator::RenewIfDue(const Token& token, Known& known) {
  const base::TimePoint now = clock_.Now();
  if (!known.identity || known.renewing || now < known.renew_at) return;
  if (in_review_.contains(token.key) || IsApiServerDown(now)) return;
  const std::string& name_space = known.identity->name_space;
  if (renewal_rate_.Take(name_space, now)) return;
  known.renewing = true;
  if (auto dropped = renewals_.Add(name_space, token)) {
    if (auto found = known_.find(dropped->value.key); found != known_.end()) {
      found->second.renewing = false;
      found->second.renew_at = now + kDefaultRetryAfter;
    }
    return;  // as many tokens wait, and as many workers are to come
  }
  renewers_.Submit([this] { RenewOne(); });
}

// If the API server was away and the pause is over, the renewal serves as the probe in place of a client.
std::optional<ClientAuthenticator::Renewal> ClientAuthenticator::BeginRenewal(const Token& token) {
  const base::TimePoint now = clock_.Now();
  auto known = known_.find(token.key);
  if (known == known_.end()) return std::nullopt;
  const base::TimePoint end = known->second.renewed_until;
  if (IsApiServerDown(now) || now >= end || in_review_.contains(token.key)) {
    known->second.renewing = false;
    if (outage_) known->second.renew_at = outage_->until;
    return std::nullopt;
  }
  const ReviewKind review_kind = outage_ ? ReviewKind::kCaller : ReviewKind::kRenewal;
  in_review_.emplace(token.key, review_kind);
  // Nobody waits for it: it ends no later than the old answer.
  return Renewal{std::min<base::Duration>(outage_ ? kReviewLimit : kRenewalLimit, end - now), review_kind};
}

void ClientAuthenticator::RenewOne() {
  std::optional<base::FairQueue<Token>::Item> next;
  std::optional<Renewal> renewal;
  {
    base::Lock lock(mutex_);
    next = renewals_.Take();
    if (next) renewal = BeginRenewal(next->value);
  }
  if (!next) return;
  bool failed = false;
  if (renewal) {
    const base::Call call = base::Call{.stop = stop_.get_token()}.Within(renewal->limit);
    failed = !ReviewNow(call, next->value, renewal->kind);
  }
  base::Lock lock(mutex_);
  renewals_.Done(next->party);
  if (auto known = known_.find(next->value.key); known != known_.end() && failed) {
    known->second.renewing = false;
    known->second.renew_at = clock_.Now() + kDefaultRetryAfter;
  }
}

base::Result<ClientAuthenticator::Token, CallerError> ClientAuthenticator::Read(
    std::string_view authorization, plan::CallerPurpose purpose) const {
  if (authorization.size() < kBearer.size() ||
      !base::EqualsIgnoreCase(authorization.substr(0, kBearer.size()), kBearer)) {
    return Refuse(plan::RejectionReason::kNotAToken, purpose);
  }
  const std::string_view token = base::TrimSpace(authorization.substr(kBearer.size()));
  auto claims = kube::ReadTokenClaims(token);
  if (!claims) return Refuse(plan::RejectionReason::kNotAToken, purpose);
  if (auto refusal = plan::CheckClaims(*claims, purpose, location_.node, clock_.Wall())) {
    return Refuse(*refusal, purpose);
  }
  // The key includes the purpose: an answer about a token holds for one purpose only.
  const char* kind = purpose == plan::CallerPurpose::kFleet ? "f" : "p";
  return Token{purpose, base::Secret(std::string(token)), kind + hash_.Of(token), *claims->expires};
}

std::optional<base::Result<plan::Caller, CallerError>> ClientAuthenticator::Remembered(const Token& token) {
  std::optional<Identity> identity;
  {
    base::Lock lock(mutex_);
    identity = Recall(token.key);
    if (identity) RenewIfDue(token, known_.at(token.key));
  }
  if (!identity) return std::nullopt;
  return Admit(*std::move(identity), token.purpose);
}

std::optional<CallerError> ClientAuthenticator::RefuseForged(const Token& token) {
  using enum IssuerKeys::TokenVerdict;
  const auto verdict = keys_.Verify({.stop = stop_.get_token()}, token.secret.Reveal());
  if (verdict == kReview) return std::nullopt;
  if (verdict == kForged) return Refuse(plan::RejectionReason::kRejected, token.purpose);
  metrics_.CallerAnswered(token.purpose, "NotReviewed");
  return CallerError{.status = 503, .message = kNoReview, .retry_after = kDefaultRetryAfter};
}

base::Result<plan::Caller, CallerError> ClientAuthenticator::Identify(const base::Call& call,
                                                                      const Token& token,
                                                                      const std::string& peer) {
  if (auto remembered = Remembered(token)) return *std::move(remembered);
  // Forged tokens must not use up the reviews, since those are limited for all clients together.
  if (auto error = RefuseForged(token)) return *std::move(error);
  auto reviewed = Review(call, token, peer);
  if (!reviewed) return std::move(reviewed).error();
  return Admit(*std::move(reviewed), token.purpose);
}

namespace {

using std::chrono::minutes;

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
  if (now < (unknown_key ? next_early_ : next_)) return false;
  // Longer than a reading takes. One that ends without a result, for want of memory, is repeated then.
  next_ = next_early_ = now + kReadKeysAfterFailure;
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
