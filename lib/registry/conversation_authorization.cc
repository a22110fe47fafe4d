// How a Conversation authenticates: its memory of a host, challenges, passwords and tokens.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "registry/conversation.h"
#include "registry/realm.h"
#include "registry/token_cache.h"
#include "registry/token_service.h"

namespace prefetch::registry {
namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using image::RegistryDetail;

constexpr std::chrono::seconds kOldToken{60};

RegistryAnswer NotAuthorized(RegistryDetail detail, std::string message) {
  return {.kind = image::RegistryAnswerKind::kAccessDenied, .detail = detail, .message = std::move(message)};
}

}  // namespace

// The authorization that this host demanded last, if no request is needed for it.
Conversation::Authorization Conversation::Remembered(const AuthConfig* credential) {
  auto challenge = parts_.book.ChallengeOf(origin_, question_.reference.path());
  if (!challenge) return {};
  if (challenge->scheme == "basic") {
    if (credential == nullptr || credential->username.empty()) return {};
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

std::string Conversation::TokenKey(const Challenge& challenge, const AuthConfig* credential) const {
  std::vector<std::string> scopes = PullScopes(challenge.Get("scope"), question_.reference.path());
  return base::Join({origin_, std::string(challenge.Get("realm")), std::string(challenge.Get("service")),
                     base::Join(scopes, " "), IdentityOf(credential)},
                    "\n");
}

// A request was refused: is there something else to send? nullopt: the refusal stands.
std::optional<Conversation::Authorized> Conversation::AfterRefusal(const Reply& reply,
                                                                   const Authorization& used,
                                                                   const AuthConfig* credential) {
  int status = reply.response->status;
  // Registries tell of a token that has ended in other ways, too: ECR by 403, its public one by 400.
  bool old = used.from_cache && used.age > kOldToken && (status == 403 || status == 400);
  if ((status != 401 && !old) || reply.elsewhere) return std::nullopt;
  if (used.sent() && !used.from_cache && !used.remembered) return std::nullopt;
  auto challenge = ChooseChallenge(reply.response->headers.All("WWW-Authenticate"));
  if (!challenge)
    return Authorized{.authorization = std::nullopt,
                      .refusal = NotAuthorized(RegistryDetail::kBadChallenge, challenge.error().message())};
  if (*challenge) {
    parts_.book.NoteChallenge(origin_, question_.reference.path(), **challenge);
  } else if (used.from_cache) {
    *challenge = parts_.book.ChallengeOf(origin_, question_.reference.path());
  }
  // The password was not the right one, unless the server asks for something else now.
  if (used.remembered && (!*challenge || (*challenge)->scheme == "basic")) return std::nullopt;
  if (!*challenge) {
    return Authorized{.authorization = std::nullopt,
                      .refusal = NotAuthorized(RegistryDetail::kNoChallenge,
                                               host_.host.server.Authority() +
                                                   " refuses without naming an authentication scheme")};
  }
  if (used.from_cache && (*challenge)->Get("error") == "insufficient_scope") return std::nullopt;
  if (used.from_cache) parts_.tokens.Drop(used.token_key, used.token);
  return Answer(**challenge, credential);
}

Conversation::Authorized Conversation::Answer(const Challenge& challenge, const AuthConfig* credential) {
  if (challenge.scheme == "bearer") return AnswerBearer(challenge, credential);
  if (credential == nullptr || credential->username.empty() || credential->password.empty()) {
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

Conversation::Authorized Conversation::AnswerBearer(const Challenge& challenge,
                                                    const AuthConfig* credential) {
  auto realm = JudgeRealm(challenge.Get("realm"), session_.Server(), parts_.options.trusted_realms);
  if (!realm)
    return {.authorization = std::nullopt,
            .refusal = NotAuthorized(RegistryDetail::kBadChallenge, realm.error().message())};
  realm->trusted |= parts_.options.trust_every_realm;
  if (credential != nullptr && !realm->trusted) {
    return {.authorization = std::nullopt,
            .refusal = NotAuthorized(RegistryDetail::kUntrustedRealm,
                                     host_.host.server.Authority() + " wants the password sent to " +
                                         realm->url.Authority() + ", which is not known to belong to it")};
  }
  TokenRequest request{.realm = std::move(*realm),
                       .service = std::string(challenge.Get("service")),
                       .scopes = PullScopes(challenge.Get("scope"), question_.reference.path()),
                       .credential = credential};
  sent_credential_ |= credential != nullptr;
  std::string key = TokenKey(challenge, credential);
  TokenOutcome outcome =
      parts_.tokens.Fetch(call_, key, [&] { return AskForToken(session_, request, parts_.clock.Wall()); });
  if (!outcome.token) return {.authorization = std::nullopt, .refusal = std::move(outcome.refusal)};
  return {.authorization = Authorization{.value = http::BearerAuthorization(outcome.token->text),
                                         .token_key = std::move(key),
                                         .token = {}},
          .refusal = {}};
}

}  // namespace prefetch::registry
