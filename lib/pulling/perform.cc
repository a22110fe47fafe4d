#include "pulling/perform.h"

#include <utility>

#include "base/log.h"
#include "credentials/lookup_words.h"
#include "pulling/image_facts.h"
#include "pulling/lease_manager.h"

namespace prefetch::pulling {
namespace {

constexpr std::chrono::seconds kRuntimeCallTimeout{30};
// Time limit for ending ingests: the runtime reads every byte that it commits.
constexpr std::chrono::minutes kFinishTimeout{2};

plan::PulledWith With(const credentials::Credential* credential) {
  if (credential == nullptr) return plan::PulledWith::kAnonymous;
  switch (credential->source) {
    case credentials::Source::kProvider:
      return plan::PulledWith::kProvider;
    case credentials::Source::kDockerConfig:
      return plan::PulledWith::kDockerConfig;
    case credentials::Source::kPullSecret:
      return plan::PulledWith::kPullSecret;
  }
  std::abort();
}

PullOutcome Failed(plan::Reason reason, std::string error) {
  PullOutcome outcome;
  outcome.failure = plan::PullFailure{.reason = reason, .error = std::move(error)};
  return outcome;
}

PullOutcome Failed(const cri::CallError& error) {
  return Failed(plan::ReasonFor(error.error_class), error.message);
}

// Names the credential in messages: `provider "acme-login"`.
std::string Describe(const credentials::Credential& credential) {
  switch (credential.source) {
    case credentials::Source::kProvider:
      return "provider \"" + credential.name + "\"";
    case credentials::Source::kDockerConfig:
      return "docker config " + credential.name;
    case credentials::Source::kPullSecret:
      return "pull secret \"" + credential.name + "\"";
  }
  std::abort();
}

struct Attempt {
  cri::CallError error;
  const credentials::Credential* credential = nullptr;  // the one that worked, or the last
  bool ok = false;
  std::string refusals;  // what each rejected credential was answered
};

// CRI-O shares one pull between callers that ask for the same with the same credentials, and fails all of
// them when the first one goes away (C32). So a cancel that is not the agent's is repeated once, at once. The
// runtime's own progress timeout looks the same, but comes again.
cri::CallResult<std::string> PullRetryingCancel(const base::Call& call, cri::ImageService& images,
                                                const cri::PullRequest& request) {
  auto pulled = images.PullImage(call, request);
  if (pulled || pulled.error().error_class != image::ErrorClass::kRuntimeProgressTimeout) return pulled;
  const bool may_be_shared = pulled.error().message.find("unable to pull image") != std::string::npos;
  return may_be_shared && !call.Stopped() ? images.PullImage(call, request) : std::move(pulled);
}

// Tries each credential until one is neither rejected nor answered with 404; anonymous only if there is none
// (A20).
Attempt TryCredentials(const base::Call& call, const PullDependencies& parts, const PullJob& job,
                       const credentials::Lookup& lookup) {
  Attempt attempt;
  cri::PullRequest request{
      .image = job.question.reference.SpecImage(), .lease = job.lease, .sandbox_cgroup = job.sandbox_cgroup};
  if (lookup.credentials.empty()) {
    auto pulled = PullRetryingCancel(call, parts.images, request);
    attempt.ok = pulled.ok();
    if (!pulled) attempt.error = pulled.error();
    return attempt;
  }
  // The first rejection. A 404 for the next credential does not undo it: the order of credentials says
  // nothing about the image.
  std::optional<cri::CallError> refusal;
  for (const credentials::Credential& credential : lookup.credentials) {
    attempt.credential = &credential;
    std::string detail;
    // One PullImage sends a rejected password up to five times (C7), so a credential that was rejected for
    // several images is not sent again for a while.
    if (parts.refusals.IsSuppressed(job.question.reference, credential.auth, parts.clock.Now())) {
      attempt.error = {image::ErrorClass::kAccessDenied, ""};
      detail = job.question.reference.domain() +
               " refused it for several images just now: not sent again for 5 minutes";
    } else {
      request.auth = credential.auth;
      auto pulled = PullRetryingCancel(call, parts.images, request);
      if (pulled) {
        parts.refusals.RecordSuccess(job.question.reference, credential.auth);
        attempt.ok = true;
        return attempt;
      }
      attempt.error = pulled.error();
      detail = pulled.error().message;
      // A registry that is down must not be shown the next credential. Some answer 404 for what a credential
      // may not see; kubelet goes on after any error (kubernetes: pkg/kubelet/images/image_manager.go).
      const image::ErrorClass error = attempt.error.error_class;
      if (!image::IsCredentialRefusal(error) && error != image::ErrorClass::kNotFound) return attempt;
      // A repository that this identity may not read says nothing about the password.
      if (IsAuthenticationFailure(detail, job.question.reference)) {
        parts.refusals.RecordRejection(job.question.reference, credential.auth, parts.clock.Now());
      }
    }
    // A rejection is kept in preference to a later 404, and the first one to later ones.
    if (!refusal && image::IsCredentialRefusal(attempt.error.error_class)) refusal = attempt.error;
    if (!attempt.refusals.empty()) attempt.refusals += "; ";
    attempt.refusals += Describe(credential) + ": " + detail;
  }
  if (refusal) attempt.error = *std::move(refusal);
  return attempt;
}

// Denials are explained with the node's credentials: which were rejected, and which providers gave none.
// `fetched`: the agent has the content, so the registry has accepted one of them before.
PullOutcome FailedAttempt(const Attempt& attempt, const credentials::Lookup& lookup, bool fetched) {
  PullOutcome outcome = Failed(attempt.error);
  if (!image::IsCredentialRefusal(attempt.error.error_class)) return outcome;
  outcome.failure->keeps_bytes = fetched || credentials::AnyProviderFailed(lookup);
  outcome.failure->lacks_credential = credentials::LacksCredential(lookup);
  std::string& text = outcome.failure->error;
  if (!attempt.refusals.empty()) text = attempt.refusals;
  if (attempt.credential == nullptr) text = "no credential of this node matches, asked anonymously: " + text;
  if (const std::string trouble = credentials::ProviderTrouble(lookup); !trouble.empty())
    text += " (" + trouble + ")";
  return outcome;
}

// The runtime reports success. Checks that the image is there as a pod needs it (C19, C22).
PullOutcome VerifyPulledImage(const base::Call& call, const PullDependencies& parts, const PullJob& job,
                              const credentials::Credential* credential) {
  auto details =
      parts.images.ImageStatus(call.Within(kRuntimeCallTimeout), job.question.reference.Normalized());
  // A stopping CRI-O finishes pulls after its socket has gone (C35), and a busy disk can delay any answer.
  // The pull is neither a success that anybody has seen nor a failure.
  if (!details && (details.error().error_class == image::ErrorClass::kRuntimeDown ||
                   details.error().error_class == image::ErrorClass::kTimeout)) {
    PullOutcome outcome;
    outcome.verification_error = details.error();
    return outcome;
  }
  if (!details) return Failed(details.error());
  if (!details->has_value()) {
    return Failed(
        plan::Reason::kRuntimeError,
        "the runtime said that the pull succeeded, but does not have the image: it was removed in the same "
        "moment, or the runtime is at fault");
  }
  const cri::ImageDetails& found = **details;
  if (found.artifact) {
    return Failed(plan::Reason::kNotAnImage,
                  "the registry has an OCI artifact under this name, such as a Helm chart, and no image: no "
                  "container starts from it");
  }
  // The same lookup as in polls decides. An image that this pull reported as present must not be absent in
  // the next poll.
  image::LocalImageIndex index({found.image});
  if (index.Find(job.question.reference) == nullptr) {
    return Failed(plan::Reason::kRuntimeError,
                  "the runtime said that the pull succeeded, but does not list the image under this name");
  }
  plan::Local local = ToLocal(found.image, job.question.reference, index.NamesOf(found.image.id));
  AddDetails(parts.node, found.platform, found.artifact, local);
  // The runtime reports success for artifacts and for images that it has not unpacked (C22).
  auto starts = IsStartable(call.Within(kRuntimeCallTimeout), parts.content, found.image.id, found.chain_id,
                            IsForeign(parts.node, found));
  local.unpacked = !starts || *starts;  // a runtime that has gone tells once it is back
  PullOutcome outcome;
  outcome.success = plan::PullSuccess{.local = std::move(local),
                                      .origin = {.with = With(credential),
                                                 .credential = credential == nullptr ? "" : credential->name,
                                                 .exposed = credential != nullptr && credential->exposes}};
  return outcome;
}

// Returns nullopt if the registry has rejected all credentials just now.
std::optional<FetchJob> FetchJobFor(const PullDependencies& parts, const PullJob& job) {
  FetchJob fetch = job;
  fetch.question.platform = parts.node;
  for (const credentials::Credential& credential : job.credentials->credentials) {
    if (parts.refusals.IsSuppressed(job.question.reference, credential.auth, parts.clock.Now())) continue;
    fetch.question.credentials.push_back(credential.auth);
  }
  // Going on without any would be an anonymous request, which a pull would not make (A20).
  if (fetch.question.credentials.empty() && !job.credentials->credentials.empty()) return std::nullopt;
  return fetch;
}

// Ends the ingests of the lease that have all their bytes (C37). A blob with wrong bytes would otherwise fail
// each pull that needs it, a pod's too, for as long as the lease protects it. Best effort: the next pull
// tries again. Returns the number of discarded bytes.
std::uint64_t FinishIngests(const base::Call& call, const PullDependencies& parts, const PullJob& job,
                            cri::PartialIngests partial) {
  if (job.lease.empty()) return 0;
  auto discarded = parts.content.FinishIngests(call.Within(kFinishTimeout), job.lease, partial);
  if (discarded && *discarded > 0)
    base::Warn("wrong bytes discarded", {{"image", job.question.reference.written()}, {"bytes", *discarded}});
  return discarded ? *discarded : 0;
}

struct AgentFetch {
  bool fetched = false;                     // all content is there
  std::optional<PullOutcome> outcome = {};  // the pull ends with it
};

// Lets the agent fetch the content, if that is worth it; the runtime's pull follows. If the registry has
// limited the requests, it follows after a pause of kMaxRetryAfter at most. A longer one ends the pull.
AgentFetch FetchBeforePull(const base::Call& call, const PullDependencies& parts, const PullJob& job) {
  if (parts.fetcher == nullptr || job.lease.empty()) return {};
  const std::optional<FetchJob> fetch = FetchJobFor(parts, job);
  if (!fetch) return {};
  FetchResult end = parts.fetcher->Fetch(call, *fetch);
  // The runtime, or the next attempt, begins with what can still become its blobs. At a server that sends
  // other bytes than were asked for, going on costs requests and no more.
  if (!end.error.empty())
    FinishIngests(call, parts, job,
                  end.cannot_continue ? cri::PartialIngests::kAbort : cri::PartialIngests::kKeep);
  if (end.retry_after && *end.retry_after <= plan::kMaxRetryAfter) {
    base::Pause(call, *end.retry_after);
  } else if (end.retry_after) {
    PullOutcome outcome = Failed(plan::Reason::kRateLimited, std::move(end.error));
    outcome.failure->retry_after = end.retry_after;
    return {.outcome = std::move(outcome)};
  }
  return {.fetched = end.fetched};
}

}  // namespace

std::uint64_t QuerySize(const base::Call& call, const PullDependencies& parts, const PullJob& job) {
  const std::optional<FetchJob> fetch = FetchJobFor(parts, job);
  return fetch ? parts.fetcher->QuerySize(call, *fetch) : 0;
}

// Runs on a worker: lease, download, PullImage, verification. A step that fails leaves what it has done to
// the lease, so that the next try goes on there.
PullOutcome PerformPull(const base::Call& call, const PullDependencies& parts, const PullJob& given) {
  PullJob job = given;
  if (!job.lease.empty()) {
    auto lease = parts.content.EnsureLease(call.Within(kRuntimeCallTimeout), job.lease, kLeaseLifetime);
    if (!lease) {
      // The pull goes on without a lease. If it is interrupted, its bytes are lost.
      job.lease.clear();
      if (job.on_unprotected) job.on_unprotected(lease.error());
    } else if (!*lease) {
      // The lease existed before: other pulls may have completed ingests under it, rightly or wrongly.
      FinishIngests(call, parts, job, cri::PartialIngests::kKeep);
    }
  }
  if (call.Stopped()) return {};
  const credentials::Lookup& lookup = *job.credentials;
  // The fetch comes before the pull, so that PullImage finds the blobs in the store and only unpacks them.
  AgentFetch first = FetchBeforePull(call, parts, job);
  if (call.Stopped()) return {};
  if (first.outcome) return *std::move(first.outcome);
  if (first.fetched && job.on_unpack) job.on_unpack(call);
  if (call.Stopped()) return {};
  Attempt attempt = TryCredentials(call, parts, job, lookup);
  // All bytes are here: the next pull may start while this one is looked at.
  if (attempt.ok && job.on_returned) job.on_returned();
  if (attempt.ok) {
    PullOutcome outcome = VerifyPulledImage(call, parts, job, attempt.credential);
    if (outcome.success) outcome.success->origin.fetched_by_agent = first.fetched;
    return outcome;
  }
  if (call.Stopped()) return {};
  PullOutcome failed = FailedAttempt(attempt, lookup, first.fetched);
  // Nobody is there to end ingests; the next pull of this lease does it.
  if (attempt.error.error_class == image::ErrorClass::kRuntimeDown) return failed;
  // After wrong bytes, partial ingests are aborted too, since they may be wrong as well. While there are any,
  // the runtime asks a server without ranges for the rest of them at each pull, a pod's too, and it refuses
  // each time.
  const bool cannot_continue = attempt.error.error_class == image::ErrorClass::kCorrupt ||
                               attempt.error.error_class == image::ErrorClass::kRangeRefused;
  failed.discarded = FinishIngests(
      call, parts, job, cannot_continue ? cri::PartialIngests::kAbort : cri::PartialIngests::kKeep);
  return failed;
}

}  // namespace prefetch::pulling
