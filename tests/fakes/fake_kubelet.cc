#include "fakes/fake_kubelet.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "image/reference.h"
#include "kubelet/settings.h"

namespace prefetch::tests {
namespace {

using image::KubeletVersion;
using kubelet::CredentialEntry;
using kubelet::HashedSecret;
using kubelet::Reading;
using kubelet::VerificationPolicy;

constexpr KubeletVersion kTagsServiceAccounts{1, 34};
constexpr KubeletVersion kMigrates{1, 35};

bool HasName(const image::LocalImage& image, const std::string& name) {
  auto in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return in(image.repo_tags) || in(image.repo_digests);
}

}  // namespace

FakeKubelet::FakeKubelet(std::string root, const base::Clock& clock)
    : root_(std::move(root)), clock_(clock) {}

void FakeKubelet::Start(const kubelet::KubeletSettings& settings,
                        const std::vector<image::LocalImage>& images) {
  settings_ = settings;
  running_ = true;
  if (!settings.gate) return;
  std::string folder = root_ + "/image_manager";
  pulled_.Open(folder + "/pulled");
  pulling_.Open(folder + "/pulling");
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  if (settings.version >= kMigrates) Migrate();
  AdoptLeftovers(images);
}

void FakeKubelet::Stop() {
  running_ = false;
  attempts_.clear();
}

void FakeKubelet::Migrate() {
  auto old = [](const std::string& content) {
    return content.find("kubelet.config.k8s.io/v1beta1") == std::string::npos;
  };
  for (const auto& [name, content] : pulled_.List()) {
    auto stored = StoredRecord::Decode(content, settings_.version);
    if (!stored || !old(content)) continue;
    pulled_.Write(kubelet::FileNameFor(stored->record.image_ref), EncodeRecord(*stored, settings_.version));
  }
  for (const auto& [name, content] : pulling_.List()) {
    auto image = IntendedImage(content, settings_.version);
    if (!image || !old(content)) continue;
    pulling_.Write(kubelet::FileNameFor(*image), EncodeIntent(*image, settings_.version));
  }
}

void FakeKubelet::AdoptLeftovers(const std::vector<image::LocalImage>& images) {
  for (const auto& [name, content] : pulling_.List()) {
    auto intended = IntendedImage(content, settings_.version);
    if (!intended) continue;
    for (const image::LocalImage& image : images) {
      if (!HasName(image, *intended)) continue;
      Record(*intended, image.id, {});
      pulling_.Remove(name);
    }
  }
}

bool FakeKubelet::BeginPull(const std::string& image) {
  if (!image::Reference::Parse(image)) return false;
  if (!Active()) return true;
  pulling_.Write(kubelet::FileNameFor(image), EncodeIntent(image, settings_.version));
  attempts_[image]++;
  return true;
}

void FakeKubelet::EndPull(const std::string& image, const std::string& image_ref,
                          const PullCredential& credential) {
  if (!Active()) return;
  Record(image, image_ref, EntryFor(credential));
  EndAttempt(image);
}

void FakeKubelet::FailPull(const std::string& image) {
  if (Active()) EndAttempt(image);
}

void FakeKubelet::GarbageCollect(const std::set<std::string>& remaining) {
  if (!Active()) return;
  const std::string now = base::Rfc3339(clock_.Wall());
  for (const auto& [name, content] : pulled_.List()) {
    auto stored = StoredRecord::Decode(content, settings_.version);
    if (!stored || stored->updated >= now || remaining.contains(stored->record.image_ref)) continue;
    pulled_.Remove(name);
  }
}

kubelet::RecordReading FakeKubelet::ReadRecord(const std::string& image_ref) const {
  auto content = pulled_.Read(kubelet::FileNameFor(image_ref));
  if (!content) return {Reading::kAbsent, {}};
  return kubelet::DecodeRecord(*content, image_ref, settings_.version);
}

Reading FakeKubelet::ReadIntent(const std::string& image) const {
  if (attempts_.contains(image)) return Reading::kFound;
  auto content = pulling_.Read(kubelet::FileNameFor(image));
  return content ? kubelet::DecodeIntent(*content, image, settings_.version) : Reading::kAbsent;
}

void FakeKubelet::Record(const std::string& image, const std::string& image_ref,
                         const CredentialEntry& news) {
  std::string key = kubelet::TrimmedImage(*image::Reference::Parse(image), settings_.version);
  kubelet::RecordReading read = ReadRecord(image_ref);
  bool known = read.reading == Reading::kFound;
  if (!known) read.record = {.image_ref = image_ref, .mapping = {}};
  bool changed = MergeIntoRecord(read.record, key, news);
  if (known && !changed) return;
  StoredRecord stored{std::move(read.record), base::Rfc3339(clock_.Wall())};
  pulled_.Write(kubelet::FileNameFor(image_ref), EncodeRecord(stored, settings_.version));
}

CredentialEntry FakeKubelet::EntryFor(const PullCredential& credential) const {
  CredentialEntry entry;
  if (credential.secret) {
    entry.secrets = {*credential.secret};
  } else if (credential.service_account && settings_.version >= kTagsServiceAccounts) {
    entry.service_accounts = {*credential.service_account};
  } else {
    entry.node_pods_accessible = true;
  }
  return entry;
}

void FakeKubelet::EndAttempt(const std::string& image) {
  auto count = attempts_.find(image);
  if (count != attempts_.end() && --count->second > 0) return;
  if (count != attempts_.end()) attempts_.erase(count);
  pulling_.Remove(kubelet::FileNameFor(image));
}

bool FakeKubelet::Exempt(const std::string& image, bool tracked) const {
  switch (settings_.policy) {
    case VerificationPolicy::kNeverVerify:
      return true;
    case VerificationPolicy::kNeverVerifyPreloadedImages:
      return !tracked;
    case VerificationPolicy::kNeverVerifyAllowlistedImages:
      return settings_.allowlist.Matches(*image::Reference::Parse(image));
    case VerificationPolicy::kAlwaysVerify:
      return false;
  }
  return false;
}

bool FakeKubelet::Admits(const std::string& image, const std::string& image_id,
                         const kubelet::PodIdentity& pod) const {
  auto reference = image::Reference::Parse(image);
  if (!reference || image_id.empty()) return false;
  if (!settings_.gate) return true;
  kubelet::RecordReading read = ReadRecord(image_id);
  if (read.reading == Reading::kUndecodable) return false;
  bool found = read.reading == Reading::kFound;
  Reading intent = found ? Reading::kAbsent : ReadIntent(image);
  if (intent == Reading::kUndecodable) return false;
  if (Exempt(image, found || intent == Reading::kFound)) return true;
  if (!found) return false;
  auto entry = read.record.mapping.find(kubelet::TrimmedImage(*reference, settings_.version));
  return entry != read.record.mapping.end() && AdmitsByEntry(entry->second, pod);
}

bool FakeKubelet::AdmitsByEntry(const CredentialEntry& entry, const kubelet::PodIdentity& pod) const {
  if (entry.node_pods_accessible) return true;
  for (const HashedSecret& mine : pod.secrets) {
    for (const HashedSecret& recorded : entry.secrets) {
      bool same_hash = !recorded.hash.empty() && recorded.hash.SameAs(mine.hash);
      if (same_hash || recorded.secret == mine.secret) return true;
    }
  }
  return settings_.version >= kTagsServiceAccounts && pod.service_account &&
         std::find(entry.service_accounts.begin(), entry.service_accounts.end(), *pod.service_account) !=
             entry.service_accounts.end();
}

}  // namespace prefetch::tests
