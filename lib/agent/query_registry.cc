#include "agent/query_registry.h"

#include <algorithm>
#include <utility>

namespace prefetch::agent {
namespace {

// Registry rule R39: one whole check, tokens and retries included; plugins have their own minute.
constexpr std::chrono::seconds kAskLimit{60};

std::vector<std::string> DigestsOf(const std::optional<plan::Local>& local) {
  std::vector<std::string> digests;
  if (!local || local->digest.empty()) return digests;
  digests.push_back(local->digest);
  digests.insert(digests.end(), local->other_digests.begin(), local->other_digests.end());
  return digests;
}

image::RegistryAnswer HeldBack(const image::Reference& reference) {
  return {.kind = image::RegistryAnswerKind::kAccessDenied,
          .detail = image::RegistryDetail::kNotSent,
          .message = reference.domain() +
                     " refused this node's credentials for several images just now: they are not sent again "
                     "for 5 minutes"};
}

// Returns true if a server that hosts.toml puts in the registry's place asks for a password and is not
// trusted with one. The runtime would show it the credentials of this node, so this is no denial: only a pull
// can tell.
bool IsWithheld(const image::RegistryQuestion& question, const image::RegistryAnswer& answer) {
  if (answer.kind != image::RegistryAnswerKind::kAccessDenied || question.credentials.empty()) return false;
  const std::string& domain = question.reference.domain();
  bool own =
      answer.answered_by == domain || (domain == "docker.io" && answer.answered_by == "registry-1.docker.io");
  return !own && (answer.detail == image::RegistryDetail::kNoCredentials ||
                  answer.detail == image::RegistryDetail::kUnauthenticated);
}

image::RegistryAnswer Withheld(image::RegistryAnswer answer) {
  answer.kind = image::RegistryAnswerKind::kIndeterminate;
  answer.detail = image::RegistryDetail::kCredentialsWithheld;
  answer.message =
      answer.answered_by +
      " answers in the registry's place and asks for credentials, but is not trusted with them; to "
      "trust it, set registryTrustedMirrors: [" +
      answer.answered_by + "]";
  return answer;
}

}  // namespace

bool HasNoContent(const image::RegistryAnswer& answer) {
  // Both are about this agent, not about the registry, so they must not count for its circuit.
  bool limited = answer.kind == image::RegistryAnswerKind::kRateLimited &&
                 answer.detail == image::RegistryDetail::kOwnLimit;
  bool stopped = answer.kind == image::RegistryAnswerKind::kUnreachable &&
                 answer.detail == image::RegistryDetail::kStopped;
  return limited || stopped;
}

image::RegistryAnswer AskRegistry(const base::Call& call, const RegistryQueryParts& parts,
                                  const RegistryQueryJob& job) {
  image::RegistryQuestion question{.reference = job.reference,
                                   .local_digests = DigestsOf(job.local),
                                   .platform = parts.node,
                                   .credentials = {},
                                   .untrusted_name = job.untrusted_name,
                                   // An image that is not here is pulled next, and the question is whether
                                   // that will succeed.
                                   .fetches_manifest = !job.local};
  const credentials::Lookup& lookup = *job.credentials;
  bool lent = false;
  for (const credentials::Credential& credential : lookup.credentials) {
    bool held =
        parts.refusals != nullptr && parts.refusals->Held(job.reference, credential.auth, parts.clock.Now());
    if (held) continue;
    question.credentials.push_back(credential.auth);
    // Noted with the answer: it may hold only for a credential that kubelet does not have.
    lent = lent || credential.exposes;
  }
  // Without a credential that may be sent, an anonymous question would be one that no pull asks (A20).
  if (question.credentials.empty() && !lookup.credentials.empty()) return HeldBack(job.reference);
  image::RegistryAnswer answer = parts.resolver(call.Within(kAskLimit), question, job.runtime);
  answer.lent = lent;
  if (IsWithheld(question, answer)) return Withheld(std::move(answer));
  if (answer.kind == image::RegistryAnswerKind::kAccessDenied) {
    for (const credentials::ProviderReport& provider : lookup.providers) {
      // The denial may be due to a provider that this agent does not have, though kubelet has.
      if (provider.not_given) {
        answer.message += " (provider \"" + provider.name + "\" was skipped: " + provider.error + ")";
      }
    }
  }
  bool about_credentials = answer.kind == image::RegistryAnswerKind::kAccessDenied &&
                           answer.detail == image::RegistryDetail::kBadCredentials;
  if (parts.refusals != nullptr && about_credentials) {
    for (const image::AuthConfig& auth : question.credentials) {
      parts.refusals->Refused(job.reference, auth, parts.clock.Now());
    }
  }
  return answer;
}

}  // namespace prefetch::agent
