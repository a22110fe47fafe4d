#include "registry/blob_source.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lru_map.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "image/reference.h"
#include "registry/index_choice.h"
#include "registry/login.h"
#include "registry/response.h"

namespace prefetch::registry {
namespace {

using base::Fault;
using image::AuthConfig;
using image::ImageManifest;
using image::RegistryQuestion;

// Pause before a server that is busy for a moment is asked again. The runtime asks again at once.
constexpr std::chrono::milliseconds kBusyPause{200};
// Object stores sign their URLs for 5 minutes and more; one that has expired costs a request.
constexpr std::chrono::minutes kRedirectTtl{4};

std::string Sha256(const std::string& text) {
  return "sha256:" + base::Sha256Hex(text);
}

// `digest` was verified to be one.
RegistryQuestion ByDigest(RegistryQuestion image, const std::string& digest) {
  auto named = image::Reference::Parse(image.reference.Repository() + "@" + digest);
  if (named) image.reference = *std::move(named);
  return image;
}

// `kind` is that of a refusal.
base::Error ErrorFor(image::RegistryAnswerKind kind, std::string words) {
  switch (kind) {
    case image::RegistryAnswerKind::kAccessDenied:
      return base::PermissionDenied(std::move(words)).CausedBy(Fault::kImage);
    case image::RegistryAnswerKind::kTagMissing:
      return base::NotFound(std::move(words)).CausedBy(Fault::kImage);
    case image::RegistryAnswerKind::kRateLimited:
      return base::ResourceExhausted(std::move(words)).CausedBy(Fault::kRegistry);
    default:
      return base::Unavailable(std::move(words)).CausedBy(Fault::kRegistry);
  }
}

// Classifies an answer that is not the requested content.
base::Error RefusalError(const std::string& who, const Reply& reply) {
  const http::Response& response = *reply.response;
  const std::string words = who + " answered " + std::to_string(response.status);
  // It serves no ranges, so another attempt, of the agent or of the runtime, has to begin anew.
  if (response.status == 416) return base::InvalidArgument(words).CausedBy(Fault::kRegistry);
  // A server that is overloaded wants fewer requests, as one that limits them does.
  if (response.status == 503) return base::ResourceExhausted(words).CausedBy(Fault::kRegistry);
  const auto kind = ClassOf({.status = response.status, .body = response.body, .html = false}).kind;
  return ErrorFor(kind, words);
}

// A server that asks for no time and may have one request too many at the moment.
bool IsBusy(const http::Response& response, base::WallTime now) {
  return response.status == 503 && !RetryAfterOf(response, now);
}

base::Error NoReplyError(const base::Call& call, const std::string& who, const Reply& reply) {
  if (call.Stopped() || reply.fault == http::Fault::kStopped) return base::Cancelled("stopped");
  // Answers that would come again are no Unavailable, which is asked again. The runtime may follow a redirect
  // that the agent refuses.
  if (reply.fault == http::Fault::kTooLong || reply.fault == http::Fault::kLongHeaders ||
      reply.fault == http::Fault::kEncoding)
    return base::InvalidArgument(who + " sends more than was asked for, or in another encoding")
        .CausedBy(Fault::kRegistry);
  if (reply.fault == http::Fault::kExcludedAddress ||
      reply.refusal.detail == image::RegistryDetail::kBadRedirect ||
      reply.refusal.detail == image::RegistryDetail::kInsecureRedirect)
    return base::PermissionDenied(reply.refusal.message).CausedBy(Fault::kRegistry);
  if (reply.refusal.kind == image::RegistryAnswerKind::kAccessDenied)
    return base::PermissionDenied(reply.refusal.message).CausedBy(Fault::kImage);
  return base::Unavailable(reply.refusal.message).CausedBy(Fault::kNetwork);
}

// Returns whether the server has received the request. A timeout does not show this.
bool IsReached(http::Fault fault) {
  return WasSent(fault) && fault != http::Fault::kTimeout;
}

// Returns whether the next server must not be asked, and the runtime must pull instead. A mirror may ask for
// credentials that only the runtime may present. A mirror that the agent cannot reach may be for the node
// alone (on a loopback address, for example), and the registry behind it must be spared the load.
bool MustDeferToRuntime(const base::Error& error, bool reached, const ChainedHost& host) {
  return error.code() == base::Code::kCancelled || error.code() == base::Code::kResourceExhausted ||
         (host.mirror && (!reached || error.code() == base::Code::kPermissionDenied));
}

// `state` outlives it. Thread-safe.
class BlobSource final : public image::ContentSource {
 public:
  BlobSource(ClientState& state, ChainFinder hosts) : state_(state), hosts_(std::move(hosts)) {}

  base::Result<ImageManifest> FetchManifest(const base::Call& call, const RegistryQuestion& image) override {
    auto document = GetDocument(call, image);
    if (!document) return std::move(document).error();
    // The runtime cannot pull an image that it would not unpack. If the agent brought its content, the image
    // would be recorded nevertheless.
    auto chosen = ChooseManifest(document->text, image.platform);
    if (!chosen && chosen.error().code() == base::Code::kNotFound)
      return base::InvalidArgument(chosen.error().message()).CausedBy(Fault::kImage);
    if (!chosen) {
      return ImageManifest{.manifest = std::move(document->text),
                           .answer_time = document->took,
                           .round_trip = document->round_trip};
    }
    auto manifest = GetDocument(call, ByDigest(image, *chosen));
    if (!manifest) return std::move(manifest).error();
    return ImageManifest{.index = std::move(document->text),
                         .manifest = std::move(manifest->text),
                         .answer_time = std::min(document->took, manifest->took),
                         .round_trip = manifest->round_trip};
  }

  // Delivers the bytes from `range.begin` to `range.end` in order. First the redirect target of last time,
  // then the hosts in order. Each request begins at the first byte that is missing, so a broken connection
  // costs no byte twice.
  base::Status FetchBytes(const base::Call& call, const RegistryQuestion& image,
                          const image::BlobRange& range,
                          const std::function<bool(std::string_view piece)>& sink) override
      PREFETCH_EXCLUDES(mutex_) {
    if (!image::IsDigest(range.digest))
      return base::InvalidArgument(range.digest + " is no digest").CausedBy(Fault::kImage);
    const RegistryQuestion by_digest = ByDigest(image, range.digest);
    const std::string key = image.reference.Repository() + "@" + range.digest;
    std::uint64_t at = range.begin;
    bool other_bytes = false, declined = false;
    const auto is_that = [&](const http::Response& head, std::uint64_t from) {
      if (from == 0 && range.end == range.size) return head.status == 200;
      return head.status == 206 &&
             IsContentRange(head.headers.Get("Content-Range").value_or(""), from, range.end, range.size);
    };
    // A server that is asked after another one broke off continues at the byte where that one stopped.
    const auto request_for = [&](const Host& host) {
      const std::uint64_t from = at;
      SessionRequest request{.url = BlobUrl(host, by_digest.reference),
                             .http = {.headers = {{"Accept", "*/*"}},
                                      .max_body_bytes = static_cast<std::size_t>(range.end - from)}};
      if (from != 0 || range.end != range.size)
        request.http.headers.Add("Range", RangeHeader(from, range.end));
      request.http.sink = [&, from](const http::Response& head, std::string_view piece) {
        other_bytes = other_bytes || !is_that(head, from);
        declined = !other_bytes && !sink(piece);
        if (other_bytes || declined) return false;
        at += piece.size();
        return true;
      };
      return request;
    };
    const BlobLocation location = FindLocation(key);
    // A caller that declined a piece has it all the same, so it must not come again.
    if (!RequestCachedRedirect(call, by_digest, location, request_for(Host{})) && at < range.end &&
        !other_bytes && !declined) {
      auto asked = TryHosts(call, by_digest, request_for, location.origin);
      if (!asked && !other_bytes) return std::move(asked).error();
      if (asked) RememberLocation(key, *asked);
    }
    if (declined) return base::Cancelled("not wanted");
    if (other_bytes || at != range.end) {
      return base::InvalidArgument("the server of " + image.reference.Repository() +
                                   " sent other bytes than were asked for")
          .CausedBy(Fault::kRegistry);
    }
    return {};
  }

  // Returns the longest pause that the registry's own servers have asked for. Mirrors do not count.
  std::optional<base::Duration> RetryAfter(const RegistryQuestion& image) override {
    std::optional<base::Duration> longest;
    for (const ChainedHost& host : hosts_(image.reference)->hosts) {
      if (host.mirror) continue;
      for (const AuthConfig* credential : IdentitiesFor(state_.options, host, image.credentials)) {
        const auto hold = state_.host_states.HoldReason(host.host.server.Origin(), IdentityOf(credential));
        if (hold)
          longest = std::max<base::Duration>(longest.value_or(base::Duration(0)), hold->retry_after.value());
      }
    }
    return longest;
  }

 private:
  // The server that had a blob, and the target of its redirect.
  struct BlobLocation {
    std::string origin;
    std::optional<http::AbsoluteUrl> target;
    base::TimePoint until;  // of the target
  };
  struct Document {
    std::string text, digest;
    base::Duration took{0};
    std::optional<base::Duration> round_trip;
  };
  struct HostOutcome {
    base::Result<Reply> reply;  // success: with status 200 or 206
    bool reached = true;        // false: not even a connection came about, or nothing over it
  };

  // Asks one server with one identity after the other. A rejected identity is sent once for an image, and not
  // with each request.
  HostOutcome AskHost(const base::Call& call, const ChainedHost& host, const RegistryQuestion& image,
                      const SessionRequest& request) {
    const std::string who = host.host.server.Authority();
    if (!host.problem.empty())
      return {base::Unavailable(who + " cannot be asked: " + host.problem).CausedBy(Fault::kNetwork)};
    Session session(state_, call, host, image);
    base::Error last = base::Unavailable(who + " was not asked").CausedBy(Fault::kNetwork);
    for (const AuthConfig* credential : Identities(host, image)) {
      const std::string origin = host.host.server.Origin();
      // The server sent Retry-After (R27), which covers blobs as well.
      if (auto refusal = state_.host_states.HoldReason(origin, IdentityOf(credential)))
        return {base::ResourceExhausted(refusal->message).CausedBy(Fault::kRegistry)};
      session.Begin(credential);
      bool was_busy = false;
      while (true) {
        Reply reply = session.Fetch(request);
        if (!reply.response) return {NoReplyError(call, who, reply), IsReached(reply.fault)};
        if (reply.response->status == 200 || reply.response->status == 206) {
          RememberIdentity(host, image, credential);
          state_.host_states.NoteSuccess(origin, IdentityOf(credential));
          return {std::move(reply)};
        }
        const bool is_busy = IsBusy(*reply.response, state_.clock.Wall());
        if (is_busy && !std::exchange(was_busy, true) && base::Pause(call, kBusyPause)) continue;
        if (session.AnswersChallenge(reply)) continue;
        if (!reply.response) {
          last = ErrorFor(reply.refusal.kind, reply.refusal.message);
          // A limit of the token service is one of its registry, as for checks.
          if (last.code() == base::Code::kResourceExhausted && reply.refusal.retry_after)
            state_.host_states.Note(origin, IdentityOf(credential), reply.refusal);
          break;
        }
        last = RefusalError(who, reply);
        // The limit of another server, after a redirect, is not this one's. A limit without a time is for the
        // caller to judge.
        const auto retry_after = RetryAfterOf(*reply.response, state_.clock.Wall());
        if (retry_after && last.code() == base::Code::kResourceExhausted && !reply.redirected) {
          state_.host_states.Note(
              origin, IdentityOf(credential),
              {.kind = image::RegistryAnswerKind::kRateLimited, .retry_after = retry_after});
        }
        break;
      }
      // After a 404, the runtime's pull tries the further ones (R20).
      if (last.code() != base::Code::kPermissionDenied) break;
    }
    return {std::move(last)};
  }

  // Goes through the hosts of the chain, as the runtime does. The first answer with content ends it. A
  // failure that must be left to the runtime ends it, too.
  base::Result<Reply> TryHosts(const base::Call& call, const RegistryQuestion& image,
                               const std::function<SessionRequest(const Host&)>& request_for,
                               const std::string& first) {
    std::shared_ptr<const HostChain> chain = hosts_(image.reference);
    if (!chain->only_by_pull_reason.empty())
      return base::InvalidArgument(chain->only_by_pull_reason).CausedBy(Fault::kImage);
    std::vector<const ChainedHost*> hosts;
    for (const ChainedHost& host : chain->hosts) {
      // Renamed and blocked places come from registries.conf, and CRI-O pulls by itself.
      if (host.as || !host.blocked_by.empty())
        return base::InvalidArgument("only CRI-O can follow its registries").CausedBy(Fault::kImage);
      if (CanServe(host.host, image.reference.has_digest())) hosts.push_back(&host);
    }
    // The server `first` has served this image before, so it is asked first.
    std::stable_partition(hosts.begin(), hosts.end(),
                          [&](const ChainedHost* host) { return host->host.server.Origin() == first; });
    base::Error last = base::InvalidArgument("no server may be asked for " + image.reference.Repository())
                           .CausedBy(Fault::kImage);
    for (const ChainedHost* host : hosts) {
      HostOutcome asked = AskHost(call, *host, image, request_for(host->host));
      if (asked.reply) return std::move(asked.reply);
      last = std::move(asked.reply).error();
      if (MustDeferToRuntime(last, asked.reached, *host)) break;
    }
    return last;
  }

  // The body is trusted only after its digest was compared with the reference and with the header. Everything
  // else about the image follows from this document.
  base::Result<Document> GetDocument(const base::Call& call, const RegistryQuestion& image) {
    const auto request_for = [&](const Host& host) {
      return SessionRequest{.url = ManifestUrl(host, image.reference),
                            .http = {.headers = {{"Accept", std::string(kAcceptedManifests)}},
                                     .max_body_bytes = kManifestLimits.bytes}};
    };
    auto reply = TryHosts(call, image, request_for, "");
    if (!reply) return std::move(reply).error();
    Document document{
        .text = std::move(reply->response->body), .took = reply->took, .round_trip = reply->round_trip};
    document.digest = Sha256(document.text);
    const std::string reported(reply->response->headers.Get("Docker-Content-Digest").value_or(""));
    const bool as_asked = !image.reference.has_digest() || image.reference.digest() == document.digest;
    if (reply->response->status != 200 || !as_asked ||
        (reported.starts_with("sha256:") && reported != document.digest)) {
      return base::InvalidArgument("the manifest of " + image.reference.Repository() +
                                   " does not match its digest")
          .CausedBy(Fault::kImage);
    }
    return document;
  }

  // Asks the URL to which the blob's server redirected last time, which saves one request when a blob is
  // continued. nullopt: the URL is unknown or has expired.
  std::optional<Reply> RequestCachedRedirect(const base::Call& call, const RegistryQuestion& image,
                                             const BlobLocation& location, const SessionRequest& request) {
    if (!location.target || state_.clock.Now() >= location.until) return std::nullopt;
    std::shared_ptr<const HostChain> chain = hosts_(image.reference);
    for (const ChainedHost& host : chain->hosts) {
      if (host.host.server.Origin() != location.origin || !host.problem.empty()) continue;
      Reply reply = Session(state_, call, host, image).RequestCachedRedirect(request, *location.target);
      // Any other status means that the signature has expired, or that the store ignores ranges.
      if (reply.response && reply.response->status == 206) return reply;
      return std::nullopt;
    }
    return std::nullopt;
  }

  std::vector<const AuthConfig*> Identities(const ChainedHost& host, const RegistryQuestion& image)
      PREFETCH_EXCLUDES(mutex_) {
    std::vector<const AuthConfig*> identities = IdentitiesFor(state_.options, host, image.credentials);
    base::Lock lock(mutex_);
    const std::string* accepted =
        accepted_identities_.Find(host.host.server.Origin() + "/" + image.reference.path());
    if (accepted == nullptr) return identities;
    // The identity that the server accepted last comes first: each blob would otherwise begin with rejected
    // requests.
    std::stable_partition(identities.begin(), identities.end(),
                          [&](const AuthConfig* credential) { return IdentityOf(credential) == *accepted; });
    return identities;
  }

  void RememberIdentity(const ChainedHost& host, const RegistryQuestion& image, const AuthConfig* credential)
      PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    accepted_identities_.GetOrCreate(host.host.server.Origin() + "/" + image.reference.path()) =
        IdentityOf(credential);
  }

  // A copy, because other streams may change the place meanwhile.
  BlobLocation FindLocation(const std::string& key) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    BlobLocation* location = locations_.Find(key);
    return location == nullptr ? BlobLocation{} : *location;
  }

  void RememberLocation(const std::string& key, const Reply& reply) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    BlobLocation& location = locations_.GetOrCreate(key);
    location.origin = reply.asked_origin;
    // The target of an earlier redirect may have expired.
    location.target.reset();
    if (reply.redirected) location.target = reply.final_url;
    location.until = state_.clock.Now() + kRedirectTtl;
  }

  ClientState& state_;
  const ChainFinder hosts_;
  base::Mutex mutex_;
  base::LruMap<std::string> accepted_identities_ PREFETCH_GUARDED_BY(mutex_){
      1024};  // identities, by server and repository
  base::LruMap<BlobLocation> locations_ PREFETCH_GUARDED_BY(mutex_){
      256};  // by registry, repository and digest
};

}  // namespace

std::unique_ptr<image::ContentSource> MakeBlobSource(ClientState& state, ChainFinder hosts) {
  return std::make_unique<BlobSource>(state, std::move(hosts));
}

}  // namespace prefetch::registry
