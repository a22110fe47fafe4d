#include "fakes/fake_registries.h"

#include <algorithm>

namespace prefetch::tests {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;

}  // namespace

void FakeRegistries::Set(const std::string& registry, RegistryMood mood,
                         std::optional<std::chrono::milliseconds> retry_after) {
  base::Lock lock(mutex_);
  registries_[registry].mood = mood;
  registries_[registry].retry_after = retry_after;
}

void FakeRegistries::Allow(const std::string& registry, std::optional<image::PullAllowance> allowance) {
  base::Lock lock(mutex_);
  registries_[registry].allowance = allowance;
}

agent::RegistryAsker FakeRegistries::Asker() {
  return [this](const base::Call&, const image::RegistryQuestion& question, const agent::AskingFor&) {
    return Ask(question);
  };
}

void FakeRegistries::ForgetRequests() {
  base::Lock lock(mutex_);
  by_second_.clear();
  std::erase_if(registries_, [](const auto& one) {
    return one.second.mood == RegistryMood::kUp && !one.second.allowance;
  });
}

int FakeRegistries::requests(const std::string& registry) const {
  base::Lock lock(mutex_);
  auto found = registries_.find(registry);
  return found == registries_.end() ? 0 : found->second.requests;
}

int FakeRegistries::requests() const {
  base::Lock lock(mutex_);
  int all = 0;
  for (const auto& [name, registry] : registries_) all += registry.requests;
  return all;
}

int FakeRegistries::peak_per_second() const {
  base::Lock lock(mutex_);
  int peak = 0;
  for (const auto& [second, requests] : by_second_) peak = std::max(peak, requests);
  return peak;
}

void FakeRegistries::Count(Registry& registry) {
  registry.requests++;
  by_second_[std::chrono::duration_cast<std::chrono::seconds>(clock_.Now().time_since_epoch()).count()]++;
}

RegistryAnswer FakeRegistries::Ask(const image::RegistryQuestion& question) {
  base::Lock lock(mutex_);
  const std::string& domain = question.reference.domain();
  Registry& registry = registries_[domain];
  RegistryAnswer answer{.answered_by = domain, .requests = 1};
  if (registry.mood == RegistryMood::kOnlyByPull) {
    return {.kind = RegistryAnswerKind::kIndeterminate, .only_by_pull = true};
  }
  Count(registry);
  switch (registry.mood) {
    case RegistryMood::kUp:
    case RegistryMood::kOnlyByPull:
      break;
    case RegistryMood::kDown:
      answer.kind = RegistryAnswerKind::kUnreachable;
      answer.detail = image::RegistryDetail::kConnect;
      answer.message = domain + ": connection refused";
      return answer;
    case RegistryMood::kDenying:
      answer.kind = RegistryAnswerKind::kAccessDenied;
      answer.message = domain + " answered 403";
      return answer;
    case RegistryMood::kLimiting:
      answer.kind = RegistryAnswerKind::kRateLimited;
      answer.retry_after = registry.retry_after;
      return answer;
    case RegistryMood::kFailing:
      answer.kind = RegistryAnswerKind::kServerError;
      return answer;
    case RegistryMood::kUnclear:
      answer.kind = RegistryAnswerKind::kIndeterminate;
      return answer;
  }
  std::optional<FakeImage> there = runtime_.InRegistry(question.reference.Normalized());
  if (!there) {
    answer.kind = RegistryAnswerKind::kTagMissing;
    answer.message = "404";
    return answer;
  }
  answer.allowance = registry.allowance;
  answer.digest = there->digest;
  bool same = std::count(question.local_digests.begin(), question.local_digests.end(), there->digest) > 0;
  answer.kind = same ? RegistryAnswerKind::kSame : RegistryAnswerKind::kMoved;
  answer.local_digest_unknown = question.local_digests.empty();
  return answer;
}

}  // namespace prefetch::tests
