// ClientAuthenticator: identifies pods and fleet commands that ask over the network, by the ServiceAccount
// token in their request.
//
// The API server says whose token it is (TokenReview), at a bounded rate: any pod may send anything here.
// Tokens that its keys have not signed are refused without that. Its answers count for a minute, refusals
// too. The token of a pod that keeps asking is reviewed again in the background after half of that time. The
// old answer serves until that review ends, for half a minute more at most, so that the pod never waits for
// an API server that is only slow. During its outage, callers with such an answer go on, and others are told
// to come again: a guess admits no one. After an unanswered question, only one caller at a time asks again,
// after a pause.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "agent/metrics.h"
#include "base/call.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/token_bucket.h"
#include "base/workers.h"
#include "kube/api.h"
#include "kube/token_keys.h"
#include "plan/caller.h"

namespace prefetch::agent {

// IssuerKeys: detects forged ServiceAccount tokens with the API server's public keys, which it reads when
// they are needed.

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
  // Returns false if it is too early, which it is while another caller reads the keys.
  bool TakeTurn(bool unknown_key) PREFETCH_EXCLUDES(mutex_);
  void Read(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

  kube::Api& api_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  Keys keys_ PREFETCH_GUARDED_BY(mutex_);
  bool failed_ PREFETCH_GUARDED_BY(mutex_) = false;         // the newest reading
  base::TimePoint next_ PREFETCH_GUARDED_BY(mutex_);        // reading
  base::TimePoint next_early_ PREFETCH_GUARDED_BY(mutex_);  // for a token that names another key
};

// The rejection of a client, in terms of HTTP.
struct CallerError {
  int status = 401;  // 401, 403, 429 or 503
  std::string message;
  std::chrono::seconds retry_after{0};  // of 429 and 503
};

// Thread-safe. Keeps a salted hash of each token, and the token itself only until its review ends. Its
// arguments must outlive it.
class ClientAuthenticator {
 public:
  // Reviews by the API server, of all callers together: two hundred pods that start at once are one burst.
  static constexpr base::TokenRate kReviews{.per_second = 20, .burst = 250};
  // Reviews for one address: a client that sends forged tokens uses up no more than this. Pods on the host's
  // network share an address, and two hundred of them may start at once. A rejected token counts as
  // kRejectionCost reviews, so a forger gets ten at once, and eight forgers leave a part of kReviews to
  // others.
  static constexpr base::TokenRate kReviewsOfPeer{.per_second = 2, .burst = 200};
  static constexpr double kRejectionCost = 20;
  // Questions of the pods of one namespace: two hundred may start at once, each with a few images.
  static constexpr base::TokenRate kOfNamespace{.per_second = 50, .burst = 1000};

  // Reviews of fleet tokens are counted apart: neither kind of client can keep the other one out.
  static constexpr base::TokenRate kFleetReviews{.per_second = 5, .burst = 50};

  // Background reviews of tokens that are in use. Neither clients with new tokens nor a namespace with many
  // tokens keep others out.
  static constexpr base::TokenRate kRenewals{.per_second = 20, .burst = 250};
  static constexpr base::TokenRate kRenewalsOfNamespace{.per_second = 5, .burst = 200};
  static constexpr int kRenewalsAtOnce = 12;
  static constexpr std::size_t kMaxQueuedRenewals = 200;  // that wait, with their tokens

  // `rules`: of preflights. `fleet`: fleet tokens read the full status.
  ClientAuthenticator(plan::CallerRules rules, bool fleet, plan::AgentLocation location, kube::Api& api,
                      Metrics& metrics, const base::Clock& clock);
  // Stops background reviews, and waits until they have ended.
  ~ClientAuthenticator();

  // Call it before the first question. `report` is called on any thread: with the reason, when the API server
  // refuses reviews to this agent; with an empty text, once it no longer does.
  void OnProblem(std::function<void(std::string problem)> report) { report_ = std::move(report); }

  const plan::CallerRules& rules() const { return rules_; }
  bool Admits(plan::CallerPurpose purpose) const {
    return purpose == plan::CallerPurpose::kFleet ? fleet_ : rules_.AdmitsAnybody();
  }

  // A token that is worth a review.
  struct Token {
    plan::CallerPurpose purpose = plan::CallerPurpose::kPreflight;
    base::Secret secret;
    std::string key;  // its salted hash, and its purpose
    base::WallTime expires;
  };
  // Parses the header's value. Rejects malformed tokens, and tokens of other audiences or nodes, without an
  // API call. Never blocks.
  base::Result<Token, CallerError> Read(std::string_view authorization, plan::CallerPurpose purpose) const;

  // Returns Identify's result if the answer about the token is remembered, else nullopt. Never blocks. If the
  // answer is half a minute old, starts another review in the background.
  std::optional<base::Result<plan::Caller, CallerError>> Remembered(const Token& token)
      PREFETCH_EXCLUDES(mutex_);
  // Blocks while the API server is asked, for 8 s at most. A token that this cluster has not signed costs no
  // review once the cluster's keys are known. `peer`: the address that it came from.
  base::Result<plan::Caller, CallerError> Identify(const base::Call& call, const Token& token,
                                                   const std::string& peer) PREFETCH_EXCLUDES(mutex_);

 private:
  using Identity = base::Result<plan::Caller, plan::RejectionReason>;
  struct Known {
    Identity identity;
    base::TimePoint until;
    base::TimePoint renewed_until;  // instead of it, while its renewal waits or runs
    base::TimePoint renew_at;       // of an admitted client
    bool renewing = false;
  };
  enum class ReviewKind {
    kCaller,   // a caller waits for the review
    kRenewal,  // none does: an old answer serves meanwhile
  };
  // How the review of a token in use runs.
  struct Renewal {
    base::Duration limit{};                  // from its begin
    ReviewKind kind = ReviewKind::kRenewal;  // kCaller: it tries whether the API server is back
  };

  // Returns the error for a token that is forged or cannot be judged yet; nullopt if it is worth a review.
  std::optional<CallerError> RefuseForged(const Token& token);
  base::Result<Identity, CallerError> Review(const base::Call& call, const Token& token,
                                             const std::string& peer) PREFETCH_EXCLUDES(mutex_);
  base::Result<plan::Caller, CallerError> Admit(Identity identity, plan::CallerPurpose purpose)
      PREFETCH_EXCLUDES(mutex_);
  // Asks the API server. AwaitReview or BeginRenewal must have admitted the caller; this ends that review. A
  // failed renewal does not reject new callers.
  base::Result<Identity, CallerError> ReviewNow(const base::Call& call, const Token& token, ReviewKind kind)
      PREFETCH_EXCLUDES(mutex_);
  // Submits the token of a remembered client to a worker, if its next review is due.
  void RenewIfDue(const Token& token, Known& known) PREFETCH_REQUIRES(mutex_);
  // Begins the review of a token in use. nullopt: it is not needed any more, or the API server is away.
  std::optional<Renewal> BeginRenewal(const Token& token) PREFETCH_REQUIRES(mutex_);
  void RenewOne() PREFETCH_EXCLUDES(mutex_);
  // Reports whether new questions must wait: for the end of a pause, or for the one that tries.
  bool IsApiServerDown(base::TimePoint now) const PREFETCH_REQUIRES(mutex_);
  CallerError Refuse(plan::RejectionReason refusal, plan::CallerPurpose purpose) const;
  std::optional<Identity> Recall(const std::string& key) const PREFETCH_REQUIRES(mutex_);
  // The remembered answer, or the answer to another question about the same token, for which it waits.
  // nullopt: send this one to the API server now, then call EndReview.
  std::optional<base::Result<Identity, CallerError>> AwaitReview(const base::Call& call, const Token& token,
                                                                 const std::string& peer)
      PREFETCH_EXCLUDES(mutex_);
  // Returns the rates at which tokens of that purpose are sent to the API server, by the addresses that they
  // come from.
  base::PeerRateLimiter& ReviewsFor(plan::CallerPurpose purpose) PREFETCH_REQUIRES(mutex_) {
    return purpose == plan::CallerPurpose::kFleet ? fleet_reviews_ : reviews_;
  }
  // The API server did not answer, and is left alone for a while.
  struct Outage {
    base::TimePoint until;
    std::string why;  // what callers are told meanwhile
  };
  // `outage`: none if the API server answered.
  void RecordAnswer(std::optional<Outage> outage) PREFETCH_EXCLUDES(mutex_);
  // Reports whether the API server has reviewed a token since then.
  bool HasAnsweredSince(base::TimePoint time) PREFETCH_EXCLUDES(mutex_);
  void EndReview(const std::string& key) PREFETCH_EXCLUDES(mutex_);
  void ReportProblem(std::string problem) PREFETCH_EXCLUDES(mutex_);
  void Remember(const Token& token, const Identity& identity) PREFETCH_EXCLUDES(mutex_);

  const plan::CallerRules rules_;
  const bool fleet_;
  const plan::AgentLocation location_;
  kube::Api& api_;
  Metrics& metrics_;
  const base::Clock& clock_;
  const base::SaltedHash hash_;
  IssuerKeys keys_;
  std::function<void(std::string problem)> report_;  // may be null
  base::Mutex mutex_;
  base::Condition changed_;
  base::PeerRateLimiter reviews_ PREFETCH_GUARDED_BY(mutex_);
  base::PeerRateLimiter fleet_reviews_ PREFETCH_GUARDED_BY(mutex_);
  std::string reported_problem_ PREFETCH_GUARDED_BY(mutex_);  // the problem that stands; empty: none
  std::map<std::string, ReviewKind> in_review_ PREFETCH_GUARDED_BY(mutex_);  // by the token's hash
  std::optional<Outage> outage_ PREFETCH_GUARDED_BY(mutex_);  // none: the API server answered last
  std::optional<base::TimePoint> answered_at_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ PREFETCH_GUARDED_BY(mutex_);  // by the token's hash
  // By namespace; "": of fleet tokens. No limit holds for all of them.
  base::PeerRateLimiter budgets_ PREFETCH_GUARDED_BY(mutex_){base::TokenRate(), kOfNamespace};
  base::PeerRateLimiter renewal_rate_ PREFETCH_GUARDED_BY(mutex_){kRenewals, kRenewalsOfNamespace};
  // By namespace: one with many tokens leaves room and workers to the others.
  base::FairQueue<Token> renewals_ PREFETCH_GUARDED_BY(mutex_){kMaxQueuedRenewals};
  std::stop_source stop_;
  base::Workers renewers_{kRenewalsAtOnce};  // last: its threads use all of the above
};

}  // namespace prefetch::agent
