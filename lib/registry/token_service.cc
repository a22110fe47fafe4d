#include "registry/token_service.h"

#include <algorithm>
#include <utility>

#include "base/foreign_text.h"
#include "base/redactor.h"
#include "base/text.h"
#include "http/url.h"
#include "registry/content_type.h"
#include "registry/oci_error.h"
#include "registry/retry_after.h"

namespace prefetch::registry {

namespace {

using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

// Maximum size of an answer in bytes.
constexpr std::size_t kMaxTokenBody = 1 << 20;

Reply Post(Session& session, const TokenRequest& request) {
  Question question{.method = "POST",
                    .url = request.realm.url,
                    .accept = "application/json",
                    .form = PasswordForm(*request.credential, request.service, request.scopes),
                    .max_body_bytes = kMaxTokenBody,
                    .gzip = true};
  // Before it is sent: the service may repeat it in its answer.
  base::RememberSecret(request.credential->password, base::SecretOrigin::kSent);
  Reply reply = session.AskTokenService(question, request.realm.trusted);
  base::WipeString(question.form);
  return reply;
}

Reply Get(Session& session, const TokenRequest& request) {
  Question question{.method = "GET",
                    .url = {},
                    .accept = "application/json",
                    .max_body_bytes = kMaxTokenBody,
                    .gzip = true};
  auto url = http::ParseAbsoluteUrl(TokenUrl(request.realm.url, request.service, request.scopes));
  if (!url) {
    return {.response = std::nullopt,
            .refusal = {.kind = Kind::kIndeterminate,
                        .detail = RegistryDetail::kBadChallenge,
                        .only_by_pull = true,
                        .message = "the token service cannot be asked: " + url.error().message()}};
  }
  question.url = std::move(*url);
  if (request.credential != nullptr) {
    question.authorization =
        http::BasicAuthorization(request.credential->username, request.credential->password);
  }
  return session.AskTokenService(question, request.realm.trusted);
}

// Statuses of token services that do not support POST (R16).
bool FallsBackToGet(const Reply& reply) {
  if (!reply.response) return false;
  int status = reply.response->status;
  return status == 400 || status == 401 || status == 404 || status == 405;
}

image::RegistryAnswer OfStatus(int status, bool credential) {
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

TokenOutcome Refused(const TokenRequest& request, const http::Response& response, base::WallTime now) {
  TokenOutcome outcome{.token = std::nullopt,
                       .refusal = OfStatus(response.status, request.credential != nullptr)};
  std::vector<const base::Secret*> secrets;
  if (request.credential != nullptr) secrets.push_back(&request.credential->password);
  std::string said = base::ForeignText(ParseOciError(response.body).message, kLongestWords, secrets);
  outcome.refusal.message = "token service " + http::DisplayUrl(request.realm.url.ToString()) + " answered " +
                            std::to_string(response.status) + (said.empty() ? "" : ": " + said);
  if (auto wait = response.headers.Get("Retry-After")) {
    outcome.refusal.retry_after = ParseRetryAfter(*wait, response.headers.Get("Date").value_or(""), now);
  }
  return outcome;
}

}  // namespace

TokenOutcome AskForToken(Session& session, const TokenRequest& request, base::WallTime now) {
  TokenRequestForm form = request.post_first ? TokenRequestForm::kPost : TokenRequestForm::kGet;
  Reply reply = request.post_first ? Post(session, request) : Get(session, request);
  if (request.post_first && FallsBackToGet(reply)) {
    form = TokenRequestForm::kGet;
    reply = Get(session, request);
  }
  if (!reply.response) {
    // The challenge named this address, and the agent does not follow it there (R41). The runtime does. A pod
    // must not learn from it which addresses are this node's.
    if (reply.fault == http::Fault::kAddress && !session.untrusted_name()) {
      reply.refusal.kind = Kind::kIndeterminate;
      reply.refusal.only_by_pull = true;
      reply.refusal.detail = RegistryDetail::kUntrustedRealm;
    }
    reply.refusal.message = "token service: " + reply.refusal.message;
    return {.token = std::nullopt, .refusal = std::move(reply.refusal)};
  }
  // For the runtimes, a 3xx without a usable Location is no refusal: they read its body.
  if (reply.response->status >= 400) return Refused(request, *reply.response, now);
  auto token = IsPlainOrGzip(*reply.response)
                   ? ParseTokenResponse(reply.response->body, form)
                   : base::Result<Token>(base::InvalidArgument("the answer is encoded in an unknown way"));
  base::WipeString(reply.response->body);
  if (token) {
    return {.token = std::move(*token),
            .refusal = {},
            .post_fails = request.post_first && form == TokenRequestForm::kGet};
  }
  // The runtimes have larger limits, so only a pull can tell.
  const bool ours = token.error().code() == base::Code::kResourceExhausted;
  return {.token = std::nullopt,
          .refusal = {
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
    url += http::PercentEncode(value);
    separator = '&';
  };
  if (!service.empty()) append("service", service);
  for (const std::string& scope : scopes) append("scope", scope);
  return url;
}

std::string PasswordForm(const image::AuthConfig& credential, std::string_view service,
                         const std::vector<std::string>& scopes) {
  std::string password = http::PercentEncode(credential.password.Reveal());
  std::string form =
      "grant_type=password&client_id=prefetchd&scope=" + http::PercentEncode(base::Join(scopes, " ")) +
      "&service=" + http::PercentEncode(service) + "&username=" + http::PercentEncode(credential.username);
  // Reserved at once, so that a growing string leaves no copy of the password in memory.
  form.reserve(form.size() + password.size() + 32);
  form += "&password=";
  form += password;
  base::WipeString(password);
  return form;
}

}  // namespace prefetch::registry
