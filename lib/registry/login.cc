#include "registry/login.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "registry/response.h"

namespace prefetch::registry {

namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using image::RegistryDetail;

// A younger token that gets 400 or 403 has not expired: the answer is about the image (R19).
constexpr std::chrono::seconds kExpirySuspectedAfter{60};
// Maximum number of credentials for one server (R20).
constexpr std::size_t kMaxCredentials = 5;

RegistryAnswer NotAuthorized(RegistryDetail detail, std::string message) {
  return {.kind = image::RegistryAnswerKind::kAccessDenied, .detail = detail, .message = std::move(message)};
}

// The agent refuses this for safety, but the runtime may do it. Only a pull can tell.
RegistryAnswer DeferToPull(RegistryDetail detail, std::string message) {
  return {.kind = image::RegistryAnswerKind::kIndeterminate,
          .detail = detail,
          .only_by_pull = true,
          .message = std::move(message) + "; the agent checks by pulling"};
}

// The runtimes log in with a user and a password, and are anonymous without either.
bool IsLogin(const AuthConfig& credential) {
  return !credential.username.empty() && !credential.password.empty();
}

// Makes `refusal` the answer to a request. Returns false: there is no other authorization to try.
bool Refuse(Reply& reply, RegistryAnswer refusal) {
  reply = {.refusal = std::move(refusal)};
  return false;
}

// A mirror gets the image's credentials only if the operator trusts it (R38).
bool MayHaveCredentials(const ClientOptions& options, const ChainedHost& host) {
  if (host.own || options.trust_every_mirror) return true;
  const std::vector<std::string>& trusted = options.trusted_mirrors;
  return std::find(trusted.begin(), trusted.end(), host.host.server.HostPort()) != trusted.end() ||
         std::find(trusted.begin(), trusted.end(), host.host.server.host) != trusted.end();
}

}  // namespace

std::vector<const AuthConfig*> IdentitiesFor(const ClientOptions& options, const ChainedHost& host,
                                             const std::vector<AuthConfig>& credentials) {
  std::vector<const AuthConfig*> identities;
  if (MayHaveCredentials(options, host)) {
    for (const AuthConfig& credential : credentials) {
      if (identities.size() < kMaxCredentials)
        identities.push_back(IsLogin(credential) ? &credential : nullptr);
    }
  }
  // Anonymous requests only without any credential (R20).
  if (identities.empty()) identities.push_back(nullptr);
  return identities;
}

bool LoginIsWithheld(const ClientOptions& options, HostState& states, const ChainedHost& host,
                     const image::RegistryQuestion& question) {
  return options.IsForContainerd() && !MayHaveCredentials(options, host) &&
         std::any_of(question.credentials.begin(), question.credentials.end(), IsLogin) &&
         states.ChallengeOf(host.host.server.Origin(), question.reference.path());
}

void Session::Begin(const AuthConfig* credential) {
  credential_ = credential;
  authorization_ = CachedAuthorization();
}

// Never sends a request. Without a challenge of this repository, the first request goes out without a
// credential, so that a password is sent only to a server that has asked for it.
Session::Authorization Session::CachedAuthorization() {
  // Answering the last challenge in advance saves the round trip of a 401.
  auto challenge = state_.host_states.ChallengeOf(origin_, repository_);
  if (!challenge) return {};
  if (challenge->scheme == "basic") {
    if (credential_ == nullptr) return {};
    Authorization authorization = PasswordAuthorization();
    authorization.preemptive = true;
    return authorization;
  }
  std::string key = TokenKey(*challenge);
  auto cached = state_.tokens.Find(key);
  if (!cached) return {};
  sent_credential_ |= credential_ != nullptr;
  return {.value = http::BearerAuthorization(cached->text),
          .token_key = std::move(key),
          .token = cached->text,
          .from_cache = true,
          .age = cached->age};
}

Session::Authorization Session::PasswordAuthorization() {
  sent_credential_ = true;
  return {.value = http::BasicAuthorization(credential_->username, credential_->password)};
}

std::string Session::TokenKey(const Challenge& challenge) const {
  // A token serves one server, realm, service, set of scopes and credential (R18).
  std::vector<std::string> scopes = PullScopes(challenge.Get("scope"), repository_);
  return base::Join({origin_, std::string(challenge.Get("realm")), std::string(challenge.Get("service")),
                     base::Join(scopes, " "), IdentityOf(credential_)},
                    "\n");
}

// Decides whether a refused request is worth a second one. The early returns come in this order: the refusal
// is not about the authorization, the authorization was new and so is wrong, the challenge cannot be read,
// the challenge asks again for what was just refused. Each saves a request that the server would refuse as
// well.
bool Session::AnswersChallenge(Reply& reply) {
  const Authorization& used = authorization_;
  int status = reply.response->status;
  // Some registries report an expired token in other ways: ECR by 403, its public registry by 400 (R19).
  bool old = used.from_cache && used.age > kExpirySuspectedAfter && (status == 403 || status == 400);
  if ((status != 401 && !old) || reply.redirected) return false;
  // The server rejected a credential or token that was made for its challenge. Another answer to the same
  // challenge would be rejected as well.
  if (!used.value.empty() && !used.from_cache && !used.preemptive) return false;
  auto challenge = ChooseChallenge(reply.response->headers.All("WWW-Authenticate"));
  if (!challenge)
    return Refuse(reply, DeferToPull(RegistryDetail::kBadChallenge, challenge.error().message()));
  if (*challenge) {
    state_.host_states.NoteChallenge(origin_, repository_, **challenge);
  } else if (used.from_cache) {
    // A registry that reports an expired token by 400 or 403 sends no challenge with it. The last one still
    // names the token service.
    *challenge = state_.host_states.ChallengeOf(origin_, repository_);
  }
  // The password was wrong, unless the server now asks for something else.
  if (used.preemptive && (!*challenge || (*challenge)->scheme == "basic")) return false;
  if (!*challenge) {
    return Refuse(reply, NotAuthorized(RegistryDetail::kNoChallenge,
                                       host_.host.server.Authority() +
                                           " refuses without naming an authentication scheme"));
  }
  // A new token would have the same scope, so it would be refused for the same reason.
  if (used.from_cache && (*challenge)->Get("error") == "insufficient_scope") return false;
  if (used.from_cache) state_.tokens.Drop(used.token_key, used.token);
  return Answers(**challenge, reply);
}

bool Session::Answers(const Challenge& challenge, Reply& reply) {
  if (challenge.scheme == "bearer") return AnswersBearer(challenge, reply);
  if (credential_ == nullptr) {
    return Refuse(reply, NotAuthorized(RegistryDetail::kNoCredentials,
                                       host_.host.server.Authority() + " asks for a password"));
  }
  authorization_ = PasswordAuthorization();
  return true;
}

// The realm is validated before the credential is touched: it is untrusted input, and decides to which server
// a password goes.
bool Session::AnswersBearer(const Challenge& challenge, Reply& reply) {
  auto realm = ValidateRealm(challenge.Get("realm"), Server(), state_.options.trusted_realms);
  if (!realm) return Refuse(reply, DeferToPull(RegistryDetail::kBadChallenge, realm.error().message()));
  realm->trusted |= state_.options.trust_every_realm;
  // A password only goes to a token service that belongs to the registry (R21).
  if (credential_ != nullptr && !realm->trusted) {
    return Refuse(reply, DeferToPull(RegistryDetail::kUntrustedRealm,
                                     host_.host.server.Authority() + " wants the password sent to " +
                                         base::Redact(realm->url.Authority()) +
                                         ", which is not known to belong to it"));
  }
  TokenRequest request{.realm = std::move(*realm),
                       .service = std::string(challenge.Get("service")),
                       .scopes = PullScopes(challenge.Get("scope"), repository_),
                       .credential = credential_};
  const std::string service = request.realm.url.ToString(), identity = IdentityOf(credential_);
  request.post_first = credential_ != nullptr && state_.options.IsForContainerd() &&
                       !state_.host_states.Knows(HostState::Fact::kPostFails, service, identity);
  sent_credential_ |= credential_ != nullptr;
  std::string key = TokenKey(challenge);
  TokenOutcome outcome =
      // Threads that need the same token at once share one request.
      state_.tokens.Fetch(call_, key, [&] { return RequestToken(*this, request, state_.clock.Wall()); });
  if (outcome.post_fails) state_.host_states.Learn(HostState::Fact::kPostFails, service, identity);
  if (!outcome.token) return Refuse(reply, std::move(outcome.refusal));
  authorization_ = {.value = http::BearerAuthorization(outcome.token->text), .token_key = std::move(key)};
  return true;
}

namespace {

using Kind = image::RegistryAnswerKind;

// Maximum size of an answer in bytes.
constexpr std::size_t kMaxTokenBody = 1 << 20;

http::Request TokenHttpRequest() {
  return {.headers = {{"Accept", "application/json"}}, .max_body_bytes = kMaxTokenBody, .gzip = true};
}

Reply Post(Session& session, const TokenRequest& request) {
  SessionRequest session_request{.url = request.realm.url, .http = TokenHttpRequest()};
  session_request.http.method = "POST";
  session_request.http.headers.Add("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
  session_request.http.body = PasswordForm(*request.credential, request.service, request.scopes);
  // Before it is sent: the service may repeat it in its answer.
  base::RememberSecret(request.credential->password, base::SecretOrigin::kSent);
  Reply reply = session.AskTokenService(session_request, request.realm.trusted);
  base::WipeString(session_request.http.body);
  return reply;
}

Reply Get(Session& session, const TokenRequest& request) {
  auto url = http::ParseAbsoluteUrl(TokenUrl(request.realm.url, request.service, request.scopes));
  if (!url) {
    return {.refusal = {.kind = Kind::kIndeterminate,
                        .detail = RegistryDetail::kBadChallenge,
                        .only_by_pull = true,
                        .message = "the token service cannot be asked: " + url.error().message()}};
  }
  SessionRequest session_request{.url = std::move(*url), .http = TokenHttpRequest()};
  if (request.credential != nullptr) {
    session_request.http.authorization =
        http::BasicAuthorization(request.credential->username, request.credential->password);
  }
  return session.AskTokenService(session_request, request.realm.trusted);
}

// Statuses of token services that do not support POST (R16).
bool FallsBackToGet(const Reply& reply) {
  if (!reply.response) return false;
  int status = reply.response->status;
  return status == 400 || status == 401 || status == 404 || status == 405;
}

image::RegistryAnswer AnswerForStatus(int status, bool credential) {
  switch (status) {
    case 400:
      return {.kind = Kind::kAccessDenied, .detail = RegistryDetail::kBadRequest};
    case 401:
    case 403:
      return {.kind = Kind::kAccessDenied,
              .detail = credential ? RegistryDetail::kBadCredentials : RegistryDetail::kUnauthenticated};
    case 404:
      return {.kind = Kind::kServerError, .detail = RegistryDetail::kBadRealm};
    case 407:
      return {.kind = Kind::kUnreachable, .detail = RegistryDetail::kProxyAuth};
    case 429:
      return {.kind = Kind::kRateLimited, .detail = RegistryDetail::kTokenService};
    default:
      return {.kind = Kind::kServerError, .detail = RegistryDetail::Status(status)};
  }
}

TokenOutcome RefusalAnswer(const TokenRequest& request, const http::Response& response, base::WallTime now) {
  TokenOutcome outcome{.refusal = AnswerForStatus(response.status, request.credential != nullptr)};
  std::vector<const base::Secret*> secrets;
  if (request.credential != nullptr) secrets.push_back(&request.credential->password);
  std::string said = base::SanitizedText(ParseOciError(response.body).message, kMaxQuotedBytes, secrets);
  outcome.refusal.message = "token service " + http::DisplayUrl(request.realm.url.ToString()) + " answered " +
                            std::to_string(response.status) + (said.empty() ? "" : ": " + said);
  outcome.refusal.retry_after = RetryAfterOf(response, now);
  return outcome;
}

}  // namespace

TokenOutcome RequestToken(Session& session, const TokenRequest& request, base::WallTime now) {
  TokenRequestForm form = request.post_first ? TokenRequestForm::kPost : TokenRequestForm::kGet;
  Reply reply = request.post_first ? Post(session, request) : Get(session, request);
  if (request.post_first && FallsBackToGet(reply)) {
    form = TokenRequestForm::kGet;
    reply = Get(session, request);
  }
  if (!reply.response) {
    // The challenge named this address, and the agent does not follow it there (R41). The runtime does. A pod
    // must not learn from it which addresses are this node's.
    if (reply.fault == http::Fault::kExcludedAddress && !session.untrusted_name()) {
      reply.refusal.kind = Kind::kIndeterminate;
      reply.refusal.only_by_pull = true;
      reply.refusal.detail = RegistryDetail::kUntrustedRealm;
    }
    reply.refusal.message = "token service: " + reply.refusal.message;
    return {.refusal = std::move(reply.refusal)};
  }
  // For the runtimes, a 3xx without a usable Location is no refusal: they read its body.
  if (reply.response->status >= 400) return RefusalAnswer(request, *reply.response, now);
  auto token = IsPlainOrGzip(*reply.response)
                   ? ParseTokenResponse(reply.response->body, form)
                   : base::Result<Token>(base::InvalidArgument("the answer is encoded in an unknown way"));
  base::WipeString(reply.response->body);
  if (token) {
    return {.token = std::move(*token), .post_fails = request.post_first && form == TokenRequestForm::kGet};
  }
  // The runtimes have larger limits, so only a pull can tell.
  const bool ours = token.error().code() == base::Code::kResourceExhausted;
  return {.refusal = {
              .kind = ours ? Kind::kIndeterminate : Kind::kServerError,
              .detail = ours ? RegistryDetail::kTooLong : RegistryDetail::kNoToken,
              .only_by_pull = ours,
              .message = http::DisplayUrl(request.realm.url.ToString()) + ": " + token.error().message()}};
}

namespace {

constexpr std::size_t kMaxScopes = 16;

// Returns the scope with `pull` as its only action (R15); empty if it has no `pull`. The agent must never
// hold a token that can push.
std::string PullOnly(std::string_view scope) {
  std::size_t first = scope.find(':'), last = scope.rfind(':');
  if (first == last) return std::string(scope);
  for (std::string_view action : base::Split(scope.substr(last + 1), ',')) {
    if (action == "pull") return std::string(scope.substr(0, last)) + ":pull";
  }
  return "";
}

}  // namespace

std::vector<std::string> PullScopes(std::string_view challenge_scope, std::string_view path) {
  std::vector<std::string> scopes = {"repository:" + std::string(path) + ":pull"};
  for (std::string_view part : base::Split(challenge_scope, ' ')) {
    std::string scope = PullOnly(part);
    if (!scope.empty() && scopes.size() < kMaxScopes) scopes.push_back(std::move(scope));
  }
  // Sorted, since the scopes are part of the cache key.
  std::sort(scopes.begin(), scopes.end());
  scopes.erase(std::unique(scopes.begin(), scopes.end()), scopes.end());
  return scopes;
}

std::string TokenUrl(const http::AbsoluteUrl& realm, std::string_view service,
                     const std::vector<std::string>& scopes) {
  std::string url = realm.ToString();
  // The query of the realm itself stays (R16).
  char separator = url.find('?') == std::string::npos ? '?' : '&';
  auto append = [&](std::string_view name, std::string_view value) {
    url += separator;
    url += name;
    url += '=';
    url += base::PercentEncode(value);
    separator = '&';
  };
  if (!service.empty()) append("service", service);
  for (const std::string& scope : scopes) append("scope", scope);
  return url;
}

std::string PasswordForm(const image::AuthConfig& credential, std::string_view service,
                         const std::vector<std::string>& scopes) {
  std::string password = base::PercentEncode(credential.password.Reveal());
  std::string form =
      "grant_type=password&client_id=prefetchd&scope=" + base::PercentEncode(base::Join(scopes, " ")) +
      "&service=" + base::PercentEncode(service) + "&username=" + base::PercentEncode(credential.username);
  // Reserved at once, so that a growing string leaves no copy of the password in memory.
  form.reserve(form.size() + password.size() + 32);
  form += "&password=";
  form += password;
  base::WipeString(password);
  return form;
}

}  // namespace prefetch::registry
