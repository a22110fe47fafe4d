#include "registry/token_cache.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/on_exit.h"
#include "base/redactor.h"
#include "base/sha256.h"
#include "doc/duration.h"
#include "doc/go_types.h"
#include "doc/json.h"

namespace prefetch::registry {

std::optional<TokenCache::Cached> TokenCache::Find(const std::string& key) {
  base::Lock lock(mutex_);
  return FindLocked(key);
}

std::optional<TokenCache::Cached> TokenCache::FindLocked(const std::string& key) {
  Entry* entry = entries_.Find(key);
  if (entry == nullptr) return std::nullopt;
  base::TimePoint now = clock_.Now();
  if (now < entry->until) return Cached{.text = entry->text, .age = now - entry->since};
  entries_.Erase(key);
  return std::nullopt;
}

void TokenCache::Drop(const std::string& key, const base::Secret& refused) {
  base::Lock lock(mutex_);
  Entry* entry = entries_.Find(key);
  // Another thread may have replaced the rejected token already.
  if (entry != nullptr && entry->text.SameAs(refused)) entries_.Erase(key);
}

// Returns a call that has ended, or a new one that this caller has to carry out (`is_leader`); nullptr if
// `call` ended first. One request serves all threads that need the same token: the first one fetches it, and
// the others wait.
std::shared_ptr<TokenCache::InFlightCall> TokenCache::JoinOrLead(const base::Call& call,
                                                                 const std::string& key, bool& is_leader) {
  base::Lock lock(mutex_);
  while (true) {
    if (auto cached = FindLocked(key)) {  // It arrived after the caller's own Find.
      auto arrived = std::make_shared<InFlightCall>();
      arrived->shared = TokenOutcome{.token = Token{.text = std::move(cached->text)}};
      return arrived;
    }
    auto& in_flight_call = in_flight_[key];
    is_leader = in_flight_call == nullptr;
    if (is_leader) in_flight_call = std::make_shared<InFlightCall>();
    std::shared_ptr<InFlightCall> mine = in_flight_call;
    if (is_leader) return mine;
    if (!base::WaitFor(call_done_, mutex_, call, [&] { return mine->done; })) return nullptr;
    // The fetching thread was stopped for reasons of its own, so a waiting one tries.
    if (mine->shared) return mine;
  }
}

TokenOutcome TokenCache::Fetch(const base::Call& call, const std::string& key,
                               const std::function<TokenOutcome()>& fetch) {
  bool is_leader = false;
  std::shared_ptr<InFlightCall> in_flight_call = JoinOrLead(call, key, is_leader);
  if (in_flight_call == nullptr) {
    return {.refusal = {
                .kind = image::RegistryAnswerKind::kUnreachable,
                .detail = call.Stopped() ? image::RegistryDetail::kStopped : image::RegistryDetail::kTimeout,
                .message = "the token did not come in time"}};
  }
  if (!is_leader) {
    base::Lock lock(mutex_);
    return *in_flight_call->shared;
  }
  // The flight is removed even if it failed, so that the next caller sends a new request.
  const base::OnExit end([&] {
    base::Lock lock(mutex_);
    in_flight_call->done = true;
    in_flight_.erase(key);
    call_done_.notify_all();
  });
  TokenOutcome outcome = fetch();
  const bool stopped = call.Stopped() || std::chrono::steady_clock::now() >= call.deadline;
  base::Lock lock(mutex_);
  // Only tokens are stored: a refusal may be over by the next question.
  if (outcome.token) {
    base::TimePoint now = clock_.Now();
    entries_.GetOrCreate(key) = {
        .text = outcome.token->text, .since = now, .until = now + UsableFor(outcome.token->lifetime)};
  }
  if (outcome.token || !stopped) in_flight_call->shared = outcome;
  return outcome;
}

namespace {

constexpr doc::Limits kTokenLimits{.bytes = 1 << 20, .depth = 1000, .nodes = 100'000};
constexpr std::size_t kMaxTokenBytes = 64 * 1024;
constexpr std::chrono::seconds kDefaultLifetime{60};
constexpr std::chrono::seconds kLongestLifetime{24 * 3600};
constexpr std::chrono::seconds kMargin{30};

// Returns the first JSON value of the text. Go's decoder reads no further, so bytes behind it are no mistake.
std::string_view FirstValue(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (quoted) {
      if (text[i] == '\\') {
        i++;
      } else if (text[i] == '"') {
        quoted = false;
      }
      continue;
    }
    if (text[i] == '"') quoted = true;
    if (text[i] == '{' || text[i] == '[') depth++;
    if (text[i] == '}' || text[i] == ']') depth--;
    if (depth == 0 && (text[i] == '}' || text[i] == ']')) return text.substr(0, i + 1);
  }
  return text;
}

// `expires_in` may be missing (R17). It is untrusted input, so a long lifetime is cut.
std::chrono::seconds LifetimeOf(std::int64_t seconds) {
  return seconds <= 0 ? kDefaultLifetime : std::min(std::chrono::seconds(seconds), kLongestLifetime);
}

bool IsHeaderText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

// The margin keeps a token from expiring on its way to the registry. It would leave little or nothing of a
// short life, so a token that lives less than twice the margin is used for half of its life (R18).
std::chrono::seconds UsableFor(std::chrono::seconds lifetime) {
  return std::max(lifetime - kMargin, lifetime / 2);
}

base::Result<Token> ParseTokenResponse(std::string_view body, TokenRequestForm form) {
  doc::Problems problems("the token service's answer");
  bool beyond_limits = false;
  auto parsed =
      doc::ParseJson(FirstValue(body), problems, doc::JsonRules::kGo, kTokenLimits, {1, 1}, &beyond_limits);
  if (!parsed && beyond_limits) {
    return base::ResourceExhausted(
        "the token service's answer has more levels or values, or a larger number, than is read here");
  }
  if (!parsed) return base::InvalidArgument("the token service's answer is no JSON");
  doc::SecretNode root(std::move(*parsed));
  const doc::Reader object(root.node, problems);
  // Go's decoder also reads members that are not used here, because a wrong type in any of them makes it
  // fail.
  const bool gets = form == TokenRequestForm::kGet;
  base::Secret text(doc::GoText(object, "access_token"));
  base::Secret other(doc::GoText(object, gets ? "token" : "scope"));
  const base::Secret unused(doc::GoText(object, "refresh_token"));
  doc::ForEachGoMember(object, "issued_at", [](const doc::Reader& value) {
    if (!value.IsNull() && !doc::ParseTimestamp(value.String().value_or(""))) value.Fail("is no time");
  });
  std::int64_t expires_in = 0;
  doc::ForEachGoMember(object, "expires_in", [&](const doc::Reader& value) {
    if (!value.IsNull()) expires_in = value.Int().value_or(0);
  });
  if (!problems.empty()) {
    return base::InvalidArgument("the token service's answer is not one that can be read");
  }
  if (text.empty() && gets) text = std::move(other);
  if (text.empty()) return base::InvalidArgument("the token service's answer has no token");
  if (!IsHeaderText(text.Reveal())) {
    return base::InvalidArgument("the token service's token cannot be sent in a header");
  }
  if (text.Reveal().size() > kMaxTokenBytes) {
    return base::ResourceExhausted("the token service's token is longer than is sent from here");
  }
  base::RememberSecret(text, base::SecretOrigin::kReceived);
  return Token{.text = std::move(text), .lifetime = LifetimeOf(expires_in)};
}

std::string IdentityOf(const image::AuthConfig* credential) {
  // The identity is a key in memory and must not reveal the password, not even to a guess.
  static const base::SaltedHash hash;
  return credential == nullptr ? "anonymous" : hash.OfLogin(credential->username, credential->password);
}

}  // namespace prefetch::registry
