#include "pulling/query_registry.h"

#include <cctype>
#include <chrono>

#include "base/text.h"
#include "credentials/lookup_words.h"

namespace prefetch::pulling {

namespace {

// Registry rule R39: one whole check, tokens and retries included; plugins have their own minute.
constexpr std::chrono::seconds kQueryTimeout{60};

std::vector<std::string> DigestsOf(const std::optional<plan::Local>& local) {
  std::vector<std::string> digests;
  if (!local || local->digest.empty()) return digests;
  digests.push_back(local->digest);
  digests.insert(digests.end(), local->other_digests.begin(), local->other_digests.end());
  return digests;
}

image::RegistryAnswer CredentialsSuppressedAnswer(const image::Reference& reference) {
  return {.kind = image::RegistryAnswerKind::kAccessDenied,
          .detail = image::RegistryDetail::kNotSent,
          .message = reference.domain() +
                     " refused this node's credentials for several images just now: they are not sent again "
                     "for 5 minutes"};
}

}  // namespace

bool IsLocalFailure(const image::RegistryAnswer& answer) {
  // Both are about this agent, not about the registry, so they must not count for its circuit.
  bool limited = answer.kind == image::RegistryAnswerKind::kRateLimited &&
                 answer.detail == image::RegistryDetail::kOwnLimit;
  bool stopped = answer.kind == image::RegistryAnswerKind::kUnreachable &&
                 answer.detail == image::RegistryDetail::kStopped;
  return limited || stopped;
}

image::RegistryAnswer QueryRegistry(const base::Call& call, const RegistryQueryDependencies& parts,
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
  bool restricted = false;
  for (const credentials::Credential& credential : lookup.credentials) {
    bool held = parts.refusals != nullptr &&
                parts.refusals->IsSuppressed(job.reference, credential.auth, parts.clock.Now());
    if (held) continue;
    question.credentials.push_back(credential.auth);
    // Noted with the answer: it may hold only for a credential that kubelet does not have.
    restricted = restricted || credential.exposes;
  }
  // Without a credential that may be sent, an anonymous question would be one that no pull asks (A20).
  if (question.credentials.empty() && !lookup.credentials.empty())
    return CredentialsSuppressedAnswer(job.reference);
  image::RegistryAnswer answer = parts.resolver(call.Within(kQueryTimeout), question, job.runtime);
  answer.restricted = restricted;
  if (answer.kind == image::RegistryAnswerKind::kAccessDenied) {
    const std::string trouble = credentials::ProviderTrouble(lookup, job.for_pods);
    if (!trouble.empty()) answer.message += " (" + trouble + ")";
  }
  bool about_credentials = answer.kind == image::RegistryAnswerKind::kAccessDenied &&
                           answer.detail == image::RegistryDetail::kBadCredentials;
  if (parts.refusals != nullptr && about_credentials) {
    for (const image::AuthConfig& auth : question.credentials) {
      parts.refusals->RecordRejection(job.reference, auth, parts.clock.Now());
    }
  }
  if (answer.kind == image::RegistryAnswerKind::kAccessDenied && credentials::LacksCredential(lookup))
    image::MakeUncountedDenial(answer);
  return answer;
}

namespace {

// Number of different images that must have been refused before the credential itself is considered wrong.
constexpr std::size_t kMinRejections = 3;
constexpr std::chrono::minutes kSuppressFor{5};
constexpr std::size_t kMostRecords = 1024;

// Names may hold any word: r.io/unauthorized/app:401. This removes URLs and references, and the tag if it
// stands alone.
std::string WithoutNames(std::string_view message, const image::Reference& reference) {
  const std::string& tag = reference.tag();
  std::string words;
  for (std::string_view word : base::Split(message, ' ')) {
    std::string_view bare = word.substr(0, word.find_last_not_of(":,.\"") + 1);
    bool named = !tag.empty() && (bare == tag || bare.ends_with(":" + tag));
    if (named || word.find('/') != std::string_view::npos) continue;
    words.append(words.empty() ? "" : " ").append(word);
  }
  return words;
}

bool HasWord(std::string_view text, std::string_view word) {
  auto inner = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !inner(at - 1)) && !inner(at + word.size())) return true;
  }
  return false;
}

}  // namespace

bool IsAuthenticationFailure(const std::string& message, const image::Reference& reference) {
  const std::string error = WithoutNames(message, reference);
  // These words are about one repository. The same credential may be right for the next image.
  if (base::ContainsIgnoreCase(error, "insufficient_scope") || base::ContainsIgnoreCase(error, "denied")) {
    return false;
  }
  return HasWord(error, "401") || base::ContainsIgnoreCase(error, "unauthorized") ||
         base::ContainsIgnoreCase(error, "authentication required") ||
         base::ContainsIgnoreCase(error, "username or password") ||
         base::ContainsIgnoreCase(error, "username/password");
}

std::string RejectedCredentials::Key(const image::Reference& reference, const image::AuthConfig& auth) const {
  return reference.domain() + " " + hash_.OfLogin(auth.username, auth.password);
}

void RejectedCredentials::RecordRejection(const image::Reference& reference, const image::AuthConfig& auth,
                                          base::TimePoint now) {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  // Bounds the memory: tokens that live for hours are refused once each, at their end.
  std::erase_if(records_, [now](const auto& one) { return now - one.second.newest > kSuppressFor; });
  // Forgetting all is harmless: a wrong password is refused for three more images, and held again.
  if (records_.size() >= kMostRecords && !records_.contains(key)) records_.clear();
  Record& record = records_[key];
  record.newest = now;
  if (record.images.size() < kMinRejections) record.images.insert(reference.Normalized());
}

void RejectedCredentials::RecordSuccess(const image::Reference& reference, const image::AuthConfig& auth) {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  records_.erase(key);
}

bool RejectedCredentials::IsSuppressed(const image::Reference& reference, const image::AuthConfig& auth,
                                       base::TimePoint now) const {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  auto found = records_.find(key);
  return found != records_.end() && found->second.images.size() >= kMinRejections &&
         now - found->second.newest <= kSuppressFor;
}

}  // namespace prefetch::pulling
