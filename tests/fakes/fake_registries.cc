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

pulling::RegistryResolver FakeRegistries::Requester() {
  return [this](const base::Call&, const image::RegistryQuestion& question, const image::RuntimeInfo&) {
    return Ask(question);
  };
}

class FakeRegistries::NearContent final : public image::ContentSource {
 public:
  explicit NearContent(FakeRegistries& registries) : registries_(registries) {}

  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion& question) override {
    return registries_.ManifestOf(question);
  }
  base::Status FetchBytes(const base::Call&, const image::RegistryQuestion&, const image::BlobRange&,
                          const std::function<bool(std::string_view part)>&) override {
    return base::NotFound("404");
  }

 private:
  FakeRegistries& registries_;
};

pulling::ContentSourceFor FakeRegistries::NearContents() {
  return [this](const image::Reference&, const image::RuntimeInfo&) {
    return std::make_shared<NearContent>(*this);
  };
}

base::Result<image::ImageManifest> FakeRegistries::ManifestOf(const image::RegistryQuestion& question) {
  base::Lock lock(mutex_);
  const std::string& domain = question.reference.domain();
  manifests_[question.reference.Normalized()]++;
  auto registry = registries_.find(domain);
  switch (registry == registries_.end() ? RegistryMood::kUp : registry->second.mood) {
    case RegistryMood::kUp:
      break;
    case RegistryMood::kOnlyByPull:
    case RegistryMood::kUnclear:
      return base::InvalidArgument(domain + ": not like this").CausedBy(base::Fault::kImage);
    case RegistryMood::kDown:
      return base::Unavailable(domain + ": connection refused");
    case RegistryMood::kDenying:
      return base::PermissionDenied(domain + " answered 403");
    case RegistryMood::kLimiting:
      return base::ResourceExhausted(domain + " answered 429");
    case RegistryMood::kFailing:
      return base::Unavailable(domain + " answered 500");
  }
  std::optional<FakeImage> there = runtime_.InRegistry(question.reference.Normalized());
  if (!there) return base::NotFound("404");
  const bool may =
      there->username.empty() ||
      std::any_of(question.credentials.begin(), question.credentials.end(), [&](const auto& one) {
        return one.username == there->username && one.password.Reveal() == there->password;
      });
  if (!may) return base::PermissionDenied(domain + " answered 401");
  const auto descriptor = [](const std::string& type, const FakeBlob& blob) {
    return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","digest":")" + blob.digest +
           R"(","size":)" + std::to_string(blob.bytes) + "}";
  };
  std::string layers;
  for (const FakeBlob& layer : there->layers)
    layers += (layers.empty() ? "" : ",") + descriptor("layer.v1.tar+gzip", layer);
  return image::ImageManifest{.manifest = R"({"config":)" + descriptor("config.v1+json", there->config) +
                                          R"(,"layers":[)" + layers + "]}",
                              .answer_time = std::chrono::milliseconds(1)};
}

int FakeRegistries::manifests() const {
  base::Lock lock(mutex_);
  int all = 0;
  for (const auto& [name, count] : manifests_) all += count;
  return all;
}

int FakeRegistries::manifests(const std::string& name) const {
  base::Lock lock(mutex_);
  auto found = manifests_.find(name);
  return found == manifests_.end() ? 0 : found->second;
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
