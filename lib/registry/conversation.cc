#include "registry/conversation.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/foreign_text.h"
#include "base/large_text.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doc/json.h"
#include "image/digest.h"
#include "registry/content_type.h"
#include "registry/host.h"
#include "registry/index_choice.h"
#include "registry/oci_error.h"
#include "registry/redirect.h"
#include "registry/retry_after.h"
#include "registry/status_class.h"
#include "registry/token_cache.h"

namespace prefetch::registry {
namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

constexpr int kMaxTurns = 3;  // requests for one identity, tokens apart

bool IsDockerHub(const Host& host) {
  return host.server.host == "registry-1.docker.io";
}

// Returns whether another attempt within the check is useful (R25): the failure is transient, and the server
// named no time.
bool IsWorthAnotherTry(const RegistryAnswer& answer) {
  return !answer.retry_after && IsTransient(answer);
}

bool IsJsonObject(std::string_view text) {
  const base::OneLargeText turn(text.size());
  doc::Problems problems("manifest");
  auto root = doc::ParseJson(text, problems, doc::JsonRules::kLenient, kManifestLimits);
  return root && root->kind == doc::Node::Kind::kMapping;
}

// Nodes of a fleet see the same failure at the same moment. Without jitter they would also retry at the same
// moment.
std::chrono::milliseconds Jittered(std::chrono::milliseconds delay) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> factor(0.75, 1.25);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(delay.count()) * factor(random)));
}

}  // namespace

Conversation::Conversation(Parts parts, const base::Call& call, const ChainedHost& host,
                           const image::RegistryQuestion& question)
    : parts_(parts),
      call_(call),
      host_(host),
      question_(question),
      origin_(host.host.server.Origin()),
      session_(parts, call, host),
      authenticator_(parts, call, host, session_, question.reference.path()) {}

RegistryAnswer Conversation::Run() {
  RegistryAnswer answer;
  for (const AuthConfig* credential : IdentitiesFor(parts_.options, host_, question_.credentials)) {
    answer = RunAs(credential);
    // Only a denial can depend on the credential (R20).
    if (answer.kind != Kind::kAccessDenied) break;
  }
  answer.requests = session_.requests();
  answer.allowance = allowance_;
  if (answer.requests > 0) answer.answered_by = host_.host.server.Authority();
  return answer;
}

RegistryAnswer Conversation::RunAs(const AuthConfig* credential) {
  std::string identity = IdentityOf(credential);
  if (auto not_now = parts_.book.RefusalReason(origin_, identity)) return std::move(*not_now);
  RegistryAnswer answer = Once(credential);
  for (std::chrono::milliseconds delay : parts_.options.times.retries) {
    if (!IsWorthAnotherTry(answer) || !Pause(Jittered(delay))) break;
    answer = Once(credential);
  }
  parts_.book.Note(origin_, identity, answer);
  return answer;
}

// Waits. Returns false if the call ends first.
bool Conversation::Pause(std::chrono::milliseconds delay) const {
  auto until = std::chrono::steady_clock::now() + delay;
  if (until >= call_.deadline) return false;
  base::Mutex mutex;
  base::Condition stopped;
  std::stop_callback wake(call_.stop, [&] {
    base::Lock lock(mutex);
    stopped.notify_all();
  });
  base::Lock lock(mutex);
  while (!call_.Stopped() && std::chrono::steady_clock::now() < until) stopped.wait_until(mutex, until);
  return !call_.Stopped();
}

RegistryAnswer Conversation::Once(const AuthConfig* credential) {
  // HEAD costs the registry less, and Docker Hub does not count it as a pull (R28).
  std::string method = parts_.book.HeadFails(origin_) ? "GET" : "HEAD";
  Authorization authorization = authenticator_.Remembered(credential);
  for (int turn = 1;; turn++) {
    Reply reply = Ask(method, authorization);
    if (!reply.response) return std::move(reply.refusal);
    if (turn < kMaxTurns) {
      if (auto next = authenticator_.AfterRefusal(reply, authorization, credential)) {
        if (!next->authorization) return std::move(next->refusal);
        authorization = std::move(*next->authorization);
        continue;
      }
    }
    return Judge(method, reply, authorization, credential);
  }
}

Reply Conversation::Ask(const std::string& method, const Authorization& authorization) {
  http::AbsoluteUrl url = ManifestUrl(host_.host, question_.reference);
  Reply reply = session_.AskHost({.method = method,
                                  .url = std::move(url),
                                  .accept = std::string(kAcceptedManifests),
                                  .authorization = authorization.value,
                                  .form = {},
                                  .max_body_bytes = kManifestLimits.bytes});
  if (reply.response) NoteAllowance(*reply.response);
  if (reply.fault == http::Fault::kTooLong && method == "GET") {
    reply.refusal.kind = Kind::kIndeterminate;  // no runtime takes such a manifest
    reply.refusal.detail = RegistryDetail::kManifestTooLarge;
  }
  return reply;
}

RegistryAnswer Conversation::Judge(const std::string& method, const Reply& reply,
                                   const Authorization& authorization, const AuthConfig* credential) {
  const http::Response& response = *reply.response;
  if (response.status / 100 == 2) return JudgeManifest(method, response, authorization);
  bool head = method == "HEAD";
  if (head && (response.status == 405 || response.status == 501)) {
    // Remembered for a day, so that later checks save the HEAD (R6).
    parts_.book.NoteHeadFails(origin_);
    return GetInstead(authorization);
  }
  // Only a body contains the reason. Docker Hub is an exception, since a GET counts as a pull there.
  if (head && (response.status == 403 || response.status == 400) && !IsDockerHub(host_.host)) {
    Reply told = Ask("GET", authorization);
    if (told.response && told.response->status == response.status) {
      return Refused(*told.response, authorization, credential);
    }
  }
  return Refused(response, authorization, credential);
}

RegistryAnswer Conversation::JudgeManifest(const std::string& method, const http::Response& response,
                                           const Authorization& authorization) {
  const std::string who = host_.host.server.Authority();
  ManifestKind kind = ManifestKindOf(response.headers.Get("Content-Type").value_or(""));
  switch (kind) {
    case ManifestKind::kHtml:
      return {.kind = Kind::kServerError,
              .detail = RegistryDetail::kNotARegistry,
              .message = who + " answered with a web page, not with a manifest"};
    case ManifestKind::kSchema1:
      return {.kind = Kind::kIndeterminate,
              .detail = RegistryDetail::kSchema1,
              .message = who + " has a manifest of schema 1: its digest cannot be compared"};
    case ManifestKind::kIndex:
    case ManifestKind::kManifest:
    case ManifestKind::kUnknown:
      break;
  }
  parts_.book.NoteRegistry(origin_);
  std::string said(response.headers.Get("Docker-Content-Digest").value_or(""));
  if (method == "HEAD") {
    if (image::IsDigest(said)) {
      RegistryAnswer answer = Compared(said);
      return kind == ManifestKind::kIndex ? ComparedByPlatform(std::move(answer), authorization) : answer;
    }
    parts_.book.NoteHeadFails(origin_);
    return GetInstead(authorization);
  }
  // Without Content-Length, a truncated body looks complete. A digest over it would look like a new image.
  if (said.empty() && !IsJsonObject(response.body)) {
    return {.kind = Kind::kIndeterminate,
            .detail = RegistryDetail::kNoManifest,
            .message = who + " answered without a manifest or a digest"};
  }
  std::string computed = "sha256:" + base::Sha256Hex(response.body);
  // A proxy may have changed the body.
  if (said.starts_with("sha256:") && said != computed) {
    return {.kind = Kind::kIndeterminate,
            .detail = RegistryDetail::kDigestMismatch,
            .message = who + " sent a manifest that does not match its digest"};
  }
  return Compared(image::IsDigest(said) ? said : computed);
}

RegistryAnswer Conversation::GetInstead(const Authorization& authorization) {
  Reply reply = Ask("GET", authorization);
  if (!reply.response) return std::move(reply.refusal);
  if (reply.response->status / 100 == 2) return JudgeManifest("GET", *reply.response, authorization);
  return Refused(*reply.response, authorization, nullptr);
}

RegistryAnswer Conversation::Compared(const std::string& digest) const {
  RegistryAnswer answer{.kind = Kind::kMoved, .digest = digest};
  const image::Reference& reference = question_.reference;
  if (reference.has_digest()) {
    if (digest == reference.digest()) {
      answer.kind = Kind::kSame;
      return answer;
    }
    return {.kind = Kind::kIndeterminate,
            .detail = RegistryDetail::kDigestMismatch,
            .message = host_.host.server.Authority() + " answered with another digest than was asked for"};
  }
  const auto& local = question_.local_digests;
  if (std::find(local.begin(), local.end(), digest) != local.end()) answer.kind = Kind::kSame;
  answer.local_digest_unknown = local.empty();
  return answer;
}

// An index that has changed only for other platforms counts as unchanged, if the runtime names the digest of
// this platform's manifest (R10). Docker Hub is an exception, since a GET counts as a pull there.
RegistryAnswer Conversation::ComparedByPlatform(RegistryAnswer moved, const Authorization& authorization) {
  const auto& local = question_.local_digests;
  bool asked_for = parts_.options.compare_platforms && !IsDockerHub(host_.host);
  if (moved.kind != Kind::kMoved || local.empty() || !asked_for) return moved;
  Reply reply = Ask("GET", authorization);
  if (!reply.response || reply.response->status != 200) return moved;
  if ("sha256:" + base::Sha256Hex(reply.response->body) != moved.digest) return moved;
  auto chosen = ChooseManifest(reply.response->body, question_.platform);
  if (!chosen || std::find(local.begin(), local.end(), *chosen) == local.end()) return moved;
  moved.kind = Kind::kSame;
  moved.detail = RegistryDetail::kSamePlatform;
  return moved;
}

RegistryAnswer Conversation::Refused(const http::Response& response, const Authorization& authorization,
                                     const AuthConfig* credential) {
  OciError error = ParseOciError(response.body);
  auto challenge = ChooseChallenge(response.headers.All("WWW-Authenticate"));
  std::string_view challenge_error = challenge && *challenge ? (*challenge)->Get("error") : "";
  StatusClass found = ClassOf(
      {.status = response.status,
       .oci_code = error.code,
       .body = response.body,
       .html = ManifestKindOf(response.headers.Get("Content-Type").value_or("")) == ManifestKind::kHtml,
       .credential = credential != nullptr && authorization.sent(),
       .insufficient_scope = challenge_error == "insufficient_scope"});
  RegistryAnswer answer{.kind = found.kind, .detail = found.detail};
  std::vector<const base::Secret*> secrets = {&authorization.value};
  if (credential != nullptr) secrets.push_back(&credential->password);
  std::string said =
      base::ForeignText(error.message.empty() ? error.code : error.message, kLongestWords, secrets);
  answer.message = host_.host.server.Authority() + " answered " + std::to_string(response.status) +
                   (said.empty() ? "" : ": " + said);
  if (answer.kind == Kind::kRateLimited || answer.kind == Kind::kServerError) {
    auto wait = response.headers.Get("Retry-After");
    if (!wait) wait = response.headers.Get("X-Retry-After");
    std::string_view date = response.headers.Get("Date").value_or("");
    if (wait) answer.retry_after = ParseRetryAfter(*wait, date, parts_.clock.Wall());
  }
  if (answer.kind == Kind::kTagMissing) return Missing(std::move(answer), authorization);
  return answer;
}

// A 404 is only trustworthy from a known registry (R23): a captive portal or a wrong address answers 404 as
// well. Every registry has "/v2/".
RegistryAnswer Conversation::Missing(RegistryAnswer answer, const Authorization& authorization) {
  if (!parts_.book.IsRegistry(origin_)) {
    Reply root = session_.AskHost({.method = "GET",
                                   .url = ApiRootUrl(host_.host, question_.reference),
                                   .accept = "application/json",
                                   .authorization = authorization.value,
                                   .form = {},
                                   .max_body_bytes = 64 * 1024});
    if (root.response && root.response->status == 404) {
      return {
          .kind = Kind::kServerError,
          .detail = RegistryDetail::kNotARegistry,
          .message = host_.host.server.Authority() + " answered 404, and knows no /v2/ either: no registry"};
    }
    if (root.response) parts_.book.NoteRegistry(origin_);
  }
  // Some registries answer 404 for images that the caller may not see. Without a challenge, no credential was
  // sent, so the 404 is uncertain.
  if (answer.detail == RegistryDetail::kNone && !question_.credentials.empty() &&
      !authenticator_.sent_credential()) {
    answer.detail = RegistryDetail::kLowConfidence;
  }
  return answer;
}

void Conversation::NoteAllowance(const http::Response& response) {
  auto limit = ParseRateLimit(response.headers.Get("RateLimit-Limit").value_or(""));
  auto remaining = ParseRateLimit(response.headers.Get("RateLimit-Remaining").value_or(""));
  if (!limit || !remaining) return;
  allowance_ = {.limit = limit->count, .remaining = remaining->count, .window = limit->window};
}

}  // namespace prefetch::registry
