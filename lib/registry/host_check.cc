#include "registry/host_check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/call.h"
#include "base/redactor.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "image/reference.h"
#include "registry/host.h"
#include "registry/index_choice.h"
#include "registry/login.h"
#include "registry/response.h"
#include "registry/token_cache.h"

namespace prefetch::registry {
namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

bool IsDockerHub(const Host& host) {
  return image::IsDockerHubServer(host.server.host);
}

// Mirrors may pass a GET on to Docker Hub, which counts it as a pull.
bool CountsGetAsPull(const Host& host, const image::Reference& reference) {
  return IsDockerHub(host) || reference.domain() == image::kDockerHub;
}

// Returns whether another attempt within the check is useful (R25): the failure is transient, and the server
// named no time.
bool IsRetryable(const RegistryAnswer& answer) {
  return !answer.retry_after && IsTransient(answer);
}

// Returns the size of the body as Go's client knows it. That client does not know the size of a body that
// comes in chunks, or that it has decompressed.
std::optional<std::uint64_t> SizeOf(bool head, const http::Response& response) {
  const bool decoded = base::EqualsIgnoreCase(response.headers.Get("Content-Encoding").value_or(""), "gzip");
  if (!head && (decoded || response.headers.Has("Transfer-Encoding"))) return std::nullopt;
  return base::ParseUint(response.headers.Get("Content-Length").value_or(""));
}

bool IsTextOf(const doc::Node& node, ManifestKind kind) {
  return node.kind == doc::Node::Kind::kString &&
         ManifestKindOf(node.text, MediaTypeRules::kContainerd) == kind;
}

using doc::GoType;

// The specification's structs (image-spec, specs-go/v1), with keys in small letters.
constexpr doc::GoField kPlatform[] = {{"architecture", GoType::kText},
                                      {"os", GoType::kText},
                                      {"os.version", GoType::kText},
                                      {"os.features", GoType::kTexts},
                                      {"variant", GoType::kText}};
constexpr doc::GoField kDescriptor[] = {{"mediatype", GoType::kText},
                                        {"digest", GoType::kText},
                                        {"size", GoType::kInt64},
                                        {"urls", GoType::kTexts},
                                        {"annotations", GoType::kTextMap},
                                        {"data", GoType::kBase64},
                                        {"platform", GoType::kObject, kPlatform},
                                        {"artifacttype", GoType::kText}};
constexpr doc::GoField kDocument[] = {
    {"schemaversion", GoType::kInt64},         {"mediatype", GoType::kText},
    {"artifacttype", GoType::kText},           {"config", GoType::kObject, kDescriptor},
    {"layers", GoType::kObjects, kDescriptor}, {"manifests", GoType::kObjects, kDescriptor},
    {"subject", GoType::kObject, kDescriptor}, {"annotations", GoType::kTextMap}};

// Go's decoder finds members whatever the case of their keys.
void FoldKeys(doc::Node& node) {
  for (doc::Node& item : node.items) FoldKeys(item);
  for (doc::Member& member : node.members) {
    member.key = base::ToLower(member.key);
    FoldKeys(member.value);
  }
}

struct ManifestCheck {
  std::string_view mistake;    // empty: none
  bool beyond_limits = false;  // those of this parser, which say nothing about containerd
};

// Returns the mistake for which containerd rejects such a document (`core/images`, Children).
ManifestCheck CheckManifest(std::string_view text, ManifestKind kind) {
  const base::LargeTextLock turn(text.size());
  doc::Problems problems("manifest");
  bool beyond_limits = false;
  auto root = doc::ParseJson(text, problems, doc::JsonRules::kGo, kManifestLimits, {1, 1}, &beyond_limits);
  if (!root && beyond_limits) return {.beyond_limits = true};
  if (!root || root->kind != doc::Node::Kind::kMapping) return {.mistake = "is no JSON object"};
  FoldKeys(*root);
  const ManifestKind other = kind == ManifestKind::kIndex ? ManifestKind::kManifest : ManifestKind::kIndex;
  for (const doc::Member& member : root->members) {
    const std::string& key = member.key;
    const bool foreign = kind == ManifestKind::kIndex ? key == "config" || key == "layers"
                                                      : kind == ManifestKind::kManifest && key == "manifests";
    if (key == "fslayers") return {.mistake = "is one of schema 1"};
    if (foreign || (key == "mediatype" && IsTextOf(member.value, other))) {
      return {.mistake = "is of another type than its header says"};
    }
  }
  doc::CheckGoTypes(doc::Reader(*root, problems), kDocument);
  if (problems.empty()) return {};
  return {.mistake = "cannot be decoded: a member has the wrong type"};
}

// Nodes of a fleet see the same failure at the same moment. Without jitter they would also retry at the same
// moment.
std::chrono::milliseconds Jittered(std::chrono::milliseconds delay) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> factor(0.75, 1.25);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(delay.count()) * factor(random)));
}

// One check. Not thread-safe. The arguments of the constructor must outlive it.
class HostCheck {
 public:
  HostCheck(ClientState& state, const base::Call& call, const std::vector<ChainedHost>& chain,
            const ChainedHost& host, const image::RegistryQuestion& question)
      : state_(state),
        call_(call),
        chain_(chain),
        host_(host),
        question_(question),
        origin_(host.host.server.Origin()),
        session_(state, call, host, question) {}

  // Tries one identity after the other. The answer to the last one that was tried counts, but a denial more
  // than a later 404.
  RegistryAnswer Run() {
    RegistryAnswer answer, denial;
    for (const AuthConfig* credential : IdentitiesFor(state_.options, host_, question_.credentials)) {
      answer = RunAs(credential);
      // Only these can depend on the credential (R20), a 404 only if it was sent.
      if (answer.kind != Kind::kAccessDenied &&
          !(answer.kind == Kind::kTagMissing && session_.sent_credential()))
        break;
      if (answer.kind == Kind::kAccessDenied) denial = answer;
    }
    if (answer.kind == Kind::kTagMissing && denial.kind == Kind::kAccessDenied) answer = std::move(denial);
    if (LacksLogin()) answer = DeferLoginToPull();
    answer.requests = session_.requests() + requests_to_other_hosts_;
    answer.allowance = allowance_;
    if (answer.requests > 0) answer.answered_by = host_.host.server.Authority();
    return answer;
  }

 private:
  // Facts about a manifest in the headers of an answer.
  struct ManifestDescriptor {
    ManifestKind kind = ManifestKind::kUnknown;
    std::string type, digest;           // as they are written; empty: none
    std::optional<std::uint64_t> size;  // as Go's client knows it
  };
  // Why a request for the manifest was sent.
  enum class RequestPurpose {
    kHead,
    kGetForHead,    // HEAD is not allowed
    kGetForDigest,  // HEAD told no digest, or no size
  };
  // A fetch of the manifest whose digest a host has named. Without a verdict, the next host is asked.
  struct FetchResult {
    std::optional<RegistryAnswer> verdict;
    RegistryAnswer refusal;
  };

  bool IsForContainerd() const { return state_.options.IsForContainerd(); }

  RegistryAnswer RunAs(const AuthConfig* credential) {
    std::string identity = IdentityOf(credential);
    // RefusalReason may make this check the server's probe, and Note ends the probe. They enclose all
    // retries, so that each check counts as one failure of the server at most.
    if (auto refusal = state_.host_states.RefusalReason(origin_, identity)) return std::move(*refusal);
    RegistryAnswer answer = Attempt(credential);
    for (std::chrono::milliseconds delay : state_.options.times.retries) {
      const std::chrono::milliseconds wait = Jittered(delay);
      // A retry that would begin after the deadline is not waited for.
      if (!IsRetryable(answer) || std::chrono::steady_clock::now() + wait >= call_.deadline) break;
      if (!base::Pause(call_, wait)) break;
      answer = Attempt(credential);
    }
    state_.host_states.Note(origin_, identity, answer);
    return answer;
  }

  // One attempt: HEAD or GET, with the authorization that was good for this server before.
  RegistryAnswer Attempt(const AuthConfig* credential) {
    // HEAD costs the registry less, and Docker Hub does not count it as a pull (R28).
    // A server may refuse the HEAD of one repository only. containerd always sends it, so a prediction does,
    // too; CRI-O never does.
    const bool gets = !IsForContainerd() && !CountsGetAsPull(host_.host, question_.reference);
    const bool skips_head =
        question_.fetches_manifest ? gets : state_.host_states.Knows(HostState::Fact::kHeadFails, origin_);
    std::string method = skips_head ? "GET" : "HEAD";
    session_.Begin(credential);
    Reply reply = AskWithChallenge(method, question_.reference);
    if (!reply.response) return std::move(reply.refusal);
    return Evaluate(method, reply);
  }

  // The challenge loop: sends the request, answers the server's challenge, and sends it again. A refusal that
  // no new authorization can mend is returned as it is, since its status and body have the reason.
  Reply AskWithChallenge(const std::string& method, const image::Reference& reference,
                         const std::string& accept = std::string(kAcceptedManifests)) {
    while (true) {
      Reply reply = Ask(method, reference, accept);
      // A redirect has led to another server, which wants a login. The runtime would log in there. The agent
      // sends credentials to the registry's own server only (R40).
      if (reply.response && reply.response->status == 401 && reply.redirected) {
        RegistryAnswer answer =
            PullFailureAnswer(RegistryDetail::kCredentialsWithheld,
                              "redirects to " + base::Redact(reply.final_url.Authority()) +
                                  ", which asks for credentials: the agent checks by pulling");
        answer.only_by_pull = true;
        return {.refusal = std::move(answer)};
      }
      if (!reply.response || !session_.AnswersChallenge(reply)) return reply;
    }
  }

  Reply Ask(const std::string& method, const image::Reference& reference,
            std::string accept = std::string(kAcceptedManifests)) {
    Reply reply = session_.AskHost({.url = ManifestUrl(host_.host, reference),
                                    .http = {.method = method,
                                             .headers = {{"Accept", std::move(accept)}},
                                             .max_body_bytes = kManifestLimits.bytes,
                                             .gzip = method == "GET"}});
    if (reply.response) NoteAllowance(*reply.response);
    if (reply.fault == http::Fault::kTooLong && method == "GET") {
      reply.refusal.only_by_pull = false;  // no runtime takes such a manifest
      reply.refusal.detail = RegistryDetail::kManifestTooLarge;
    }
    return reply;
  }

  // Each GET is one more request. So it is sent only if it may change the answer: the server does not support
  // HEAD, or the reason for the refusal is in the body alone.
  RegistryAnswer Evaluate(const std::string& method, const Reply& reply) {
    const http::Response& response = *reply.response;
    bool head = method == "HEAD";
    if (response.status / 100 == 2) {
      return EvaluateManifest(head ? RequestPurpose::kHead : RequestPurpose::kGetForHead, response);
    }
    // containerd fails at a 501, and CRI-O sends no HEAD.
    if (head && (response.status == 405 || (response.status == 501 && !IsForContainerd()))) {
      // Remembered for a day, so that later checks save the HEAD (R6).
      state_.host_states.Learn(HostState::Fact::kHeadFails, origin_);
      return GetInstead(RequestPurpose::kGetForHead);
    }
    // containerd asks no other host after such a status.
    if (head && response.status / 100 == 3 && IsForContainerd()) {
      RegistryAnswer answer = RefusalAnswer(response);
      answer.ends_pull = true;
      return answer;
    }
    // Only a body contains the reason. Docker Hub is an exception, since a GET counts as a pull there.
    if (head && (response.status == 403 || response.status == 400) && !IsDockerHub(host_.host)) {
      Reply with_body = Ask("GET", question_.reference);
      if (with_body.response && with_body.response->status == response.status) {
        return RefusalAnswer(*with_body.response);
      }
    }
    return RefusalAnswer(response);
  }

  // After a NextHostAnswer containerd goes on to the next host; at a PullFailureAnswer its pull fails.
  RegistryAnswer NextHostAnswer(RegistryDetail detail, const std::string& why) const {
    return {
        .kind = Kind::kIndeterminate, .detail = detail, .message = host_.host.server.Authority() + " " + why};
  }

  RegistryAnswer PullFailureAnswer(RegistryDetail detail, const std::string& why) const {
    RegistryAnswer answer = NextHostAnswer(detail, why);
    answer.ends_pull = IsForContainerd();
    return answer;
  }

  // These return the first mistake in the headers of a manifest, in containerd's order; nullopt: there is
  // none.
  std::optional<RegistryAnswer> CheckType(const ManifestDescriptor& descriptor) const {
    switch (descriptor.kind) {
      case ManifestKind::kHtml:
        return RegistryAnswer{
            .kind = Kind::kServerError,
            .detail = RegistryDetail::kNotARegistry,
            .ends_pull = IsForContainerd(),
            .message = host_.host.server.Authority() + " answered with a web page, not with a manifest"};
      case ManifestKind::kSchema1:
        return PullFailureAnswer(RegistryDetail::kSchema1,
                                 "has a manifest of schema 1: its digest cannot be compared");
      case ManifestKind::kUnknown:
        if (!IsForContainerd()) break;
        return PullFailureAnswer(RegistryDetail::kNoManifest,
                                 "answered with the type \"" +
                                     base::SanitizedText(descriptor.type, kMaxQuotedBytes) +
                                     "\", which containerd does not take for a manifest");
      case ManifestKind::kIndex:
      case ManifestKind::kManifest:
        break;
    }
    return std::nullopt;
  }

  std::optional<RegistryAnswer> CheckReportedDescriptor(const ManifestDescriptor& descriptor) const {
    if (!image::IsDigest(descriptor.digest) || !descriptor.digest.starts_with("sha256:")) {
      return PullFailureAnswer(RegistryDetail::kDigestMismatch,
                               "names the digest \"" +
                                   base::SanitizedText(descriptor.digest, kMaxQuotedBytes) +
                                   "\", which containerd does not take");
    }
    if (*descriptor.size == 0)
      return PullFailureAnswer(RegistryDetail::kNoManifest, "answered with an empty manifest");
    return std::nullopt;
  }

  // Examines a 2xx answer in containerd's order: digest and size in the headers, the size limit, the type,
  // and then the body. Some mistakes lead containerd to the next host, and others end its pull, so the first
  // mistake in this order decides.
  RegistryAnswer EvaluateManifest(RequestPurpose purpose, const http::Response& response) {
    const bool head = purpose == RequestPurpose::kHead;
    const std::string_view type = response.headers.Get("Content-Type").value_or("");
    ManifestDescriptor descriptor{
        .kind = ManifestKindOf(type, IsForContainerd() ? MediaTypeRules::kContainerd : MediaTypeRules::kCrio),
        .type = std::string(type.substr(0, type.find(';'))),
        .digest = std::string(response.headers.Get("Docker-Content-Digest").value_or("")),
        .size = SizeOf(head, response)};
    // containerd reads the header only for a reference without a digest.
    const image::Reference& reference = question_.reference;
    if (IsForContainerd() && reference.has_digest() && question_.fetches_manifest) {
      descriptor.digest = reference.digest();  // the fetch compares the bytes with it
    }
    // A digest without a size counts for nothing: containerd then takes type and digest of the manifest
    // itself.
    const bool suffices =
        !descriptor.digest.empty() && (descriptor.size || CountsGetAsPull(host_.host, reference));
    if (head && IsForContainerd() && !suffices) return GetForDigest();
    // containerd's resolver goes to the next host at a manifest that is too large, and leaves the type to the
    // fetch.
    const bool is_reported = IsForContainerd() && purpose != RequestPurpose::kGetForDigest &&
                             descriptor.size && !descriptor.digest.empty();
    if (is_reported && *descriptor.size > kManifestLimits.bytes) {
      return NextHostAnswer(RegistryDetail::kManifestTooLarge, "has a manifest that is too large");
    }
    if (auto mistake = CheckType(descriptor)) return *std::move(mistake);
    state_.host_states.Learn(HostState::Fact::kIsRegistry, origin_);
    const std::string& reported = descriptor.digest;
    if (is_reported) {
      if (auto mistake = CheckReportedDescriptor(descriptor)) return *std::move(mistake);
    }
    if (head) {
      if (!image::IsDigest(reported)) return GetForDigest();
      return ConfirmByFetch(CompareDigest(reported), descriptor);
    }
    if (!IsPlainOrGzip(response)) return UnknownEncodingAnswer();
    // Without Content-Length, a truncated body looks complete. A digest over it would look like a new image.
    const ManifestCheck check = CheckManifest(response.body, descriptor.kind);
    if (reported.empty() || IsForContainerd()) {
      if (check.beyond_limits) return BeyondLimitsAnswer();
      if (!check.mistake.empty()) {
        return PullFailureAnswer(RegistryDetail::kNoManifest,
                                 reported.empty()
                                     ? "answered without a manifest or a digest"
                                     : "answered with a manifest that " + std::string(check.mistake));
      }
    }
    std::string computed = "sha256:" + base::Sha256Hex(response.body);
    // A proxy may have changed the body.
    if (reported.starts_with("sha256:") && reported != computed) {
      return PullFailureAnswer(RegistryDetail::kDigestMismatch,
                               "sent a manifest that does not match its digest");
    }
    if (purpose == RequestPurpose::kGetForDigest || reported.empty() || !descriptor.size)
      descriptor.size = response.body.size();
    RegistryAnswer answer =
        CompareDigest(image::IsDigest(reported) && !IsForContainerd() ? reported : computed);
    return ConfirmByFetch(std::move(answer), descriptor);
  }

  // The runtimes decode more encodings than this client, so only a pull can tell.
  RegistryAnswer UnknownEncodingAnswer() const {
    return DeferToPull(RegistryDetail::kNotAcceptable, "answered with an unknown Content-Encoding");
  }

  // Go's decoder, which the runtimes use, has larger limits (10,000 levels).
  RegistryAnswer BeyondLimitsAnswer() const {
    return DeferToPull(
        RegistryDetail::kTooLong,
        "has a manifest that has more levels or values, or a larger number, than is read here: "
        "only a pull can tell");
  }

  // Returns an indeterminate answer: only a pull can tell.
  RegistryAnswer DeferToPull(RegistryDetail detail, const std::string& why) const {
    RegistryAnswer answer = NextHostAnswer(detail, why);
    answer.only_by_pull = true;
    return answer;
  }

  // Returns whether containerd would log in to this host and the agent does not. A question about the newest
  // digest is content with what the registry itself tells (R37).
  bool LacksLogin() const {
    return question_.fetches_manifest &&
           LoginIsWithheld(state_.options, state_.host_states, host_, question_);
  }

  RegistryAnswer DeferLoginToPull() const {
    return DeferToPull(RegistryDetail::kCredentialsWithheld, std::string(kLoginWithheldMessage));
  }

  RegistryAnswer GetForDigest() {
    RegistryAnswer answer = GetInstead(RequestPurpose::kGetForDigest);
    // Remembered only if GET gave a digest. A login page that answers both requests shows nothing about the
    // HEAD of the registry behind it.
    if (!answer.digest.empty()) state_.host_states.Learn(HostState::Fact::kHeadFails, origin_);
    return answer;
  }

  RegistryAnswer GetInstead(RequestPurpose purpose) {
    Reply reply = AskWithChallenge("GET", question_.reference);
    // If HEAD named no digest, containerd takes the body of any answer as the manifest, and asks no other
    // host if there is none. The body of an error is never a manifest here.
    const bool last = purpose == RequestPurpose::kGetForDigest && IsForContainerd();
    // For want of HEAD, containerd is content with the headers.
    if (reply.broke_in_body && reply.fault != http::Fault::kTooLong) {
      reply.refusal.ends_pull = IsForContainerd();
    }
    if (reply.response) {
      const int status = reply.response->status;
      if (status / 100 == 2 || (last && status < 400)) {
        return EvaluateManifest(purpose, *reply.response);
      }
      reply.refusal = RefusalAnswer(*reply.response);
      // containerd asks no other host after such a status.
      if (status / 100 == 3) reply.refusal.ends_pull = IsForContainerd();
    }
    if (!last) return std::move(reply.refusal);
    reply.refusal.ends_pull = true;
    reply.refusal.message += "; its answer to HEAD had no digest";
    // A mirror that lacks the tag or denies it says nothing about the registry's own tag.
    const bool about_tag =
        reply.refusal.kind == Kind::kTagMissing || reply.refusal.kind == Kind::kAccessDenied;
    if (about_tag && !host_.own) {
      reply.refusal.kind = Kind::kIndeterminate;
      reply.refusal.detail = RegistryDetail::kNoManifest;
    }
    return std::move(reply.refusal);
  }

  // containerd resolves the tag to a digest, and then fetches the manifest by this digest from the first host
  // of the chain that has it, which may be another host than the one that named the digest (R53). Locks, and
  // questions about absent images, repeat this fetch. Docker Hub is left out, since it counts the fetch as a
  // pull.
  RegistryAnswer ConfirmByFetch(RegistryAnswer answer, const ManifestDescriptor& descriptor) {
    const bool told = answer.kind == Kind::kSame || answer.kind == Kind::kMoved;
    const bool wanted =
        question_.fetches_manifest && IsForContainerd() && !CountsGetAsPull(host_.host, question_.reference);
    if (!told || !wanted) return answer;
    RegistryAnswer refusal;
    for (const ChainedHost& host : chain_) {
      FetchResult fetch;
      if (&host == &host_) {
        fetch = FetchFromHost(answer, descriptor);
        refusal = std::move(fetch.refusal);
      } else if (host.problem.empty() && !(state_.options.skip_mirrors && host.mirror)) {
        HostCheck other(state_, call_, chain_, host, question_);
        fetch = other.FetchWithEachIdentity(answer, descriptor);
        requests_to_other_hosts_ += other.session_.requests();
      }
      if (fetch.verdict) return *std::move(fetch.verdict);
    }
    refusal.ends_pull = true;
    return refusal;
  }

  // Fetches from another host of the chain, with one identity after the other; the next only after a denial.
  FetchResult FetchWithEachIdentity(const RegistryAnswer& answer, const ManifestDescriptor& descriptor) {
    FetchResult fetch;
    for (const AuthConfig* credential : IdentitiesFor(state_.options, host_, question_.credentials)) {
      session_.Begin(credential);
      fetch = FetchFromHost(answer, descriptor);
      if (fetch.verdict || fetch.refusal.kind != Kind::kAccessDenied) break;
    }
    if (LacksLogin()) fetch.verdict = DeferLoginToPull();
    return fetch;
  }

  // A verdict ends the search. Without one, containerd goes on to the next host. So a refusal leads to the
  // next host, while wrong bytes of a host that has the digest end the pull.
  FetchResult FetchFromHost(const RegistryAnswer& answer, const ManifestDescriptor& descriptor) {
    const auto named = image::Reference::Parse(question_.reference.Repository() + "@" + answer.digest);
    if (!named) return {.verdict = PullFailureAnswer(RegistryDetail::kInternal, named.error().message())};
    Reply reply = AskWithChallenge("GET", *named, descriptor.type + ", */*");
    if (!reply.response) {
      // This node's own limit kept the request back. The registry has already named the digest, so its answer
      // counts.
      if (reply.refusal.detail == RegistryDetail::kOwnLimit) return {.verdict = answer};
      // containerd has chosen this host when its body begins.
      reply.refusal.ends_pull |= reply.broke_in_body;
      const bool final = reply.refusal.only_by_pull || reply.refusal.ends_pull;
      if (final) return {.verdict = std::move(reply.refusal)};
      return {.refusal = std::move(reply.refusal)};
    }
    const http::Response& response = *reply.response;
    if (response.status / 100 != 2) {
      RegistryAnswer refused = RefusalAnswer(response);
      if (refused.kind != Kind::kTagMissing) return {.refusal = std::move(refused)};
      return {.refusal = PullFailureAnswer(RegistryDetail::kNoManifest,
                                           "names the digest " + answer.digest + ", and does not have it")};
    }
    if (!IsPlainOrGzip(response)) return {.verdict = UnknownEncodingAnswer()};
    const bool whole = !descriptor.size || *descriptor.size == response.body.size();
    if (!whole || "sha256:" + base::Sha256Hex(response.body) != answer.digest) {
      return {.verdict = PullFailureAnswer(
                  RegistryDetail::kDigestMismatch,
                  "has another manifest than " + answer.digest + ", the digest that was named")};
    }
    const ManifestCheck check = CheckManifest(response.body, descriptor.kind);
    if (check.beyond_limits) return {.verdict = BeyondLimitsAnswer()};
    if (check.mistake.empty()) return {.verdict = answer};
    return {.verdict = PullFailureAnswer(RegistryDetail::kNoManifest,
                                         "has a manifest that " + std::string(check.mistake))};
  }

  // Compares the registry's digest with those of the image that is here. A reference with a digest names its
  // content, so another digest is a mistake of the server and not a new image.
  RegistryAnswer CompareDigest(const std::string& digest) const {
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

  // Turns a refusal into an answer. The server's own words go into the message as untrusted input: without
  // control characters, shortened, and without the credentials that the server may have echoed.
  RegistryAnswer RefusalAnswer(const http::Response& response) {
    const AuthConfig* credential = session_.credential();
    OciError error = ParseOciError(response.body);
    auto challenge = ChooseChallenge(response.headers.All("WWW-Authenticate"));
    std::string_view challenge_error = challenge && *challenge ? (*challenge)->Get("error") : "";
    StatusClass found = ClassOf({.status = response.status,
                                 .oci_code = error.code,
                                 .body = response.body,
                                 .html = ManifestKindOf(response.headers.Get("Content-Type").value_or(""),
                                                        MediaTypeRules::kCrio) == ManifestKind::kHtml,
                                 .credential = credential != nullptr && !session_.authorization().empty(),
                                 .insufficient_scope = challenge_error == "insufficient_scope"});
    RegistryAnswer answer{.kind = found.kind, .detail = found.detail};
    std::vector<const base::Secret*> secrets = {&session_.authorization()};
    if (credential != nullptr) secrets.push_back(&credential->password);
    std::string reported =
        base::SanitizedText(error.message.empty() ? error.code : error.message, kMaxQuotedBytes, secrets);
    answer.message = host_.host.server.Authority() + " answered " + std::to_string(response.status) +
                     (reported.empty() ? "" : ": " + reported);
    if (answer.kind == Kind::kRateLimited || answer.kind == Kind::kServerError) {
      answer.retry_after = RetryAfterOf(response, state_.clock.Wall());
    }
    if (answer.kind == Kind::kTagMissing) return NotFoundAnswer(std::move(answer));
    return answer;
  }

  // A 404 is only trustworthy from a known registry (R23): a captive portal or a wrong address answers 404 as
  // well. Every registry has "/v2/".
  RegistryAnswer NotFoundAnswer(RegistryAnswer answer) {
    if (!state_.host_states.Knows(HostState::Fact::kIsRegistry, origin_)) {
      Reply root = session_.AskHost(
          {.url = ApiRootUrl(host_.host, question_.reference),
           .http = {.headers = {{"Accept", "application/json"}}, .max_body_bytes = 64 * 1024}});
      if (root.response && root.response->status == 404) {
        return {.kind = Kind::kServerError,
                .detail = RegistryDetail::kNotARegistry,
                .message =
                    host_.host.server.Authority() + " answered 404, and knows no /v2/ either: no registry"};
      }
      if (root.response) state_.host_states.Learn(HostState::Fact::kIsRegistry, origin_);
    }
    // Some registries answer 404 for images that the caller may not see. Without a challenge, no credential
    // was sent, so the 404 is uncertain.
    if (answer.detail == RegistryDetail::kNone && !question_.credentials.empty() &&
        !session_.sent_credential()) {
      answer.detail = RegistryDetail::kLowConfidence;
    }
    return answer;
  }

  void NoteAllowance(const http::Response& response) {
    auto limit = ParseRateLimit(response.headers.Get("RateLimit-Limit").value_or(""));
    auto remaining = ParseRateLimit(response.headers.Get("RateLimit-Remaining").value_or(""));
    if (!limit || !remaining) return;
    allowance_ = {.limit = limit->count, .remaining = remaining->count, .window = limit->window};
  }

  std::optional<image::PullAllowance> allowance_;  // from the newest response that has one
  int requests_to_other_hosts_ = 0;                // to other hosts of the chain
  ClientState& state_;
  const base::Call& call_;
  const std::vector<ChainedHost>& chain_;
  const ChainedHost& host_;
  const image::RegistryQuestion& question_;
  const std::string origin_;  // the host's name in HostState
  Session session_;
};

}  // namespace

RegistryAnswer CheckHost(ClientState& state, const base::Call& call, const std::vector<ChainedHost>& chain,
                         const ChainedHost& host, const image::RegistryQuestion& question) {
  return HostCheck(state, call, chain, host, question).Run();
}

}  // namespace prefetch::registry
