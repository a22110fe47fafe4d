#include "registry/authenticator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "registry/realm.h"
#include "registry/token_cache.h"
#include "registry/token_service.h"

namespace prefetch::registry {
namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using image::RegistryDetail;

// A younger token that gets 400 or 403 has not expired: the answer is about the image (R19).
constexpr std::chrono::seconds kOldToken{60};
// Maximum number of credentials for one server (R20).
constexpr std::size_t kMaxCredentials = 5;

RegistryAnswer NotAuthorized(RegistryDetail detail, std::string message) {
  return {.kind = image::RegistryAnswerKind::kAccessDenied, .detail = detail, .message = std::move(message)};
}

// The agent refuses this for safety, but the runtime may do it. Only a pull can tell.
RegistryAnswer LeftToPulls(RegistryDetail detail, std::string message) {
  return {.kind = image::RegistryAnswerKind::kIndeterminate,
          .detail = detail,
          .only_by_pull = true,
          .message = std::move(message) + "; the agent checks by pulling"};
}

// The runtimes log in with a user and a password, and are anonymous without either.
bool IsLogin(const AuthConfig& credential) {
  return !credential.username.empty() && !credential.password.empty();
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

bool Withholds(const ClientOptions& options, const ChainedHost& host,
               const std::vector<AuthConfig>& credentials) {
  return !MayHaveCredentials(options, host) && std::any_of(credentials.begin(), credentials.end(), IsLogin);
}

Authenticator::Authenticator(Parts parts, const base::Call& call, const ChainedHost& host, Session& session,
                             std::string repository)
    : parts_(parts),
      call_(call),
      host_(host),
      session_(session),
      repository_(std::move(repository)),
      origin_(host.host.server.Origin()) {}

// Never sends a request. Without a challenge of this repository, the first request goes out without a
// credential, so that a password is sent only to a server that has asked for it.
Authenticator::Authorization Authenticator::Remembered(const AuthConfig* credential) {
  // Answering the last challenge in advance saves the round trip of a 401.
  auto challenge = parts_.host_states.ChallengeOf(origin_, repository_);
  if (!challenge) return {};
  if (challenge->scheme == "basic") {
    if (credential == nullptr) return {};
    sent_credential_ = true;
    return {.value = http::BasicAuthorization(credential->username, credential->password),
            .token_key = {},
            .token = {},
            .remembered = true};
  }
  std::string key = TokenKey(*challenge, credential);
  auto cached = parts_.tokens.Find(key);
  if (!cached) return {};
  sent_credential_ |= credential != nullptr;
  return {.value = http::BearerAuthorization(cached->text),
          .token_key = std::move(key),
          .token = cached->text,
          .from_cache = true,
          .age = cached->age};
}

std::string Authenticator::TokenKey(const Challenge& challenge, const AuthConfig* credential) const {
  // A token serves one server, realm, service, set of scopes and credential (R18).
  std::vector<std::string> scopes = PullScopes(challenge.Get("scope"), repository_);
  return base::Join({origin_, std::string(challenge.Get("realm")), std::string(challenge.Get("service")),
                     base::Join(scopes, " "), IdentityOf(credential)},
                    "\n");
}

// Decides whether a refused request is worth a second one. The early returns come in this order: the refusal
// is not about the authorization, the authorization was new and so is wrong, the challenge cannot be read,
// the challenge asks again for what was just refused. Each saves a request that the server would refuse as
// well.
std::optional<Authenticator::Authorized> Authenticator::AfterRefusal(const Reply& reply,
                                                                     const Authorization& used,
                                                                     const AuthConfig* credential) {
  int status = reply.response->status;
  // Some registries report an expired token in other ways: ECR by 403, its public registry by 400 (R19).
  bool old = used.from_cache && used.age > kOldToken && (status == 403 || status == 400);
  if ((status != 401 && !old) || reply.elsewhere) return std::nullopt;
  // The server rejected a credential or token that was made for its challenge. Another answer to the same
  // challenge would be rejected as well.
  if (used.sent() && !used.from_cache && !used.remembered) return std::nullopt;
  auto challenge = ChooseChallenge(reply.response->headers.All("WWW-Authenticate"));
  if (!challenge)
    return Authorized{.authorization = std::nullopt,
                      .refusal = LeftToPulls(RegistryDetail::kBadChallenge, challenge.error().message())};
  if (*challenge) {
    parts_.host_states.NoteChallenge(origin_, repository_, **challenge);
  } else if (used.from_cache) {
    // A registry that reports an expired token by 400 or 403 sends no challenge with it. The last one still
    // names the token service.
    *challenge = parts_.host_states.ChallengeOf(origin_, repository_);
  }
  // The password was wrong, unless the server now asks for something else.
  if (used.remembered && (!*challenge || (*challenge)->scheme == "basic")) return std::nullopt;
  if (!*challenge) {
    return Authorized{.authorization = std::nullopt,
                      .refusal = NotAuthorized(RegistryDetail::kNoChallenge,
                                               host_.host.server.Authority() +
                                                   " refuses without naming an authentication scheme")};
  }
  // A new token would have the same scope, so it would be refused for the same reason.
  if (used.from_cache && (*challenge)->Get("error") == "insufficient_scope") return std::nullopt;
  if (used.from_cache) parts_.tokens.Drop(used.token_key, used.token);
  return Answer(**challenge, credential);
}

Authenticator::Authorized Authenticator::Answer(const Challenge& challenge, const AuthConfig* credential) {
  if (challenge.scheme == "bearer") return AnswerBearer(challenge, credential);
  if (credential == nullptr) {
    return {.authorization = std::nullopt,
            .refusal = NotAuthorized(RegistryDetail::kNoCredentials,
                                     host_.host.server.Authority() + " asks for a password")};
  }
  sent_credential_ = true;
  return {.authorization =
              Authorization{.value = http::BasicAuthorization(credential->username, credential->password),
                            .token_key = {},
                            .token = {}},
          .refusal = {}};
}

// The realm is validated before the credential is touched: it is untrusted input, and decides to which server
// a password goes.
Authenticator::Authorized Authenticator::AnswerBearer(const Challenge& challenge,
                                                      const AuthConfig* credential) {
  auto realm = ValidateRealm(challenge.Get("realm"), session_.Server(), parts_.options.trusted_realms);
  if (!realm)
    return {.authorization = std::nullopt,
            .refusal = LeftToPulls(RegistryDetail::kBadChallenge, realm.error().message())};
  realm->trusted |= parts_.options.trust_every_realm;
  // A password only goes to a token service that belongs to the registry (R21).
  if (credential != nullptr && !realm->trusted) {
    return {.authorization = std::nullopt,
            .refusal = LeftToPulls(RegistryDetail::kUntrustedRealm,
                                   host_.host.server.Authority() + " wants the password sent to " +
                                       base::Redact(realm->url.Authority()) +
                                       ", which is not known to belong to it")};
  }
  TokenRequest request{.realm = std::move(*realm),
                       .service = std::string(challenge.Get("service")),
                       .scopes = PullScopes(challenge.Get("scope"), repository_),
                       .credential = credential};
  const std::string service = request.realm.url.ToString(), identity = IdentityOf(credential);
  request.post_first = credential != nullptr && parts_.options.IsForContainerd() &&
                       !parts_.host_states.PostFails(service, identity);
  sent_credential_ |= credential != nullptr;
  std::string key = TokenKey(challenge, credential);
  TokenOutcome outcome =
      // Threads that need the same token at once share one request.
      parts_.tokens.Fetch(call_, key, [&] { return AskForToken(session_, request, parts_.clock.Wall()); });
  if (outcome.post_fails) parts_.host_states.NotePostFails(service, identity);
  if (!outcome.token) return {.authorization = std::nullopt, .refusal = std::move(outcome.refusal)};
  return {.authorization = Authorization{.value = http::BearerAuthorization(outcome.token->text),
                                         .token_key = std::move(key),
                                         .token = {}},
          .refusal = {}};
}

}  // namespace prefetch::registry
