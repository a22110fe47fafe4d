// The half of FakeImageService that is containerd's own API: leases, progress, content, news of images.
#include <chrono>
#include <stop_token>
#include <utility>

#include "cri/pull_resources.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {

using image::ErrorClass;

std::optional<cri::CallError> FakeImageService::ContentRefusal(const base::Call& call) const {
  if (auto refusal = Refusal(call)) return refusal;
  if (!HasContentApi(persona_)) return Say(persona_, ErrorClass::kRuntimeUnsupported, "");
  return std::nullopt;
}

std::optional<cri::CallError> FakeImageService::LeaseRefusal(const base::Call& call, LeaseCall kind) {
  if (auto refusal = ContentRefusal(call)) return refusal;
  auto failing = failing_.find(kind);
  if (failing == failing_.end() || failing->second == 0) return std::nullopt;
  failing->second--;
  return cri::CallError{ErrorClass::kRuntimeDown, "Broken pipe"};
}

void FakeImageService::FailNext(LeaseCall call, int times) {
  base::Lock lock(mutex_);
  failing_[call] = times;
}

std::set<std::string> FakeImageService::SandboxCgroups() const {
  base::Lock lock(mutex_);
  return sandbox_cgroups_;
}

std::vector<std::string> FakeImageService::Leases() {
  base::Lock lock(mutex_);
  CollectGarbage();
  std::vector<std::string> ids;
  for (const auto& [id, lease] : store_.leases) {
    if (id.starts_with(cri::kLeasePrefix)) ids.push_back(id);
  }
  return ids;
}

cri::CallResult<bool> FakeImageService::EnsureLease(const base::Call& call, const std::string& id,
                                                    std::chrono::seconds lifetime) {
  base::Lock lock(mutex_);
  if (auto refusal = LeaseRefusal(call, LeaseCall::kEnsure)) return std::move(*refusal);
  auto [lease, made] = store_.leases.try_emplace(id);
  lease->second.expires = clock_.Now() + lifetime;
  return bool{made};
}

cri::CallResult<bool> FakeImageService::DeleteLease(const base::Call& call, const std::string& id,
                                                    cri::LeaseDeletion bytes) {
  base::Lock lock(mutex_);
  if (auto refusal = LeaseRefusal(call, LeaseCall::kDelete)) return std::move(*refusal);
  bool was_there = store_.leases.erase(id) != 0;
  if (bytes == cri::LeaseDeletion::kSync) counters_.collections++;
  CollectGarbage();
  return was_there;
}

cri::CallResult<std::vector<std::string>> FakeImageService::ListLeases(const base::Call& call) {
  base::Lock lock(mutex_);
  if (auto refusal = LeaseRefusal(call, LeaseCall::kList)) return std::move(*refusal);
  std::vector<std::string> ids;
  for (const auto& [id, lease] : store_.leases) {
    if (id.starts_with(cri::kLeasePrefix)) ids.push_back(id);
  }
  return ids;
}

cri::CallResult<std::set<std::string>> FakeImageService::ListPins(const base::Call& call,
                                                                  const std::string& owner) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  if (hides_images_api_) return Say(persona_, ErrorClass::kRuntimeUnsupported, "");
  std::set<std::string> names;
  for (const auto& [name, pin] : store_.pins) {
    if (!pin.owner.empty() && (owner.empty() || pin.owner == owner) && pin.value == cri::kPinValue &&
        store_.FindByName(name) != nullptr)
      names.insert(name);
  }
  return names;
}

cri::CallResult<cri::PinResult> FakeImageService::Pin(const base::Call& call, const std::string& name,
                                                      const std::string& owner) {
  base::Lock lock(mutex_);
  counters_.pin_calls++;
  if (auto refusal = LeaseRefusal(call, LeaseCall::kPin)) return std::move(*refusal);
  if (std::chrono::steady_clock::now() >= call.deadline)
    return cri::CallError{ErrorClass::kTimeout, "the call's time is over"};
  if (store_.FindByName(name) == nullptr) return cri::PinResult::kAbsent;
  if (unpinnable_.contains(name)) return cri::CallError{ErrorClass::kUnknown, "labels too long"};
  const FakePin labels = store_.pins[name];
  if (labels.owner.empty() ? labels.value == cri::kPinValue : labels.owner != owner)
    return cri::PinResult::kForeign;
  store_.pins[name] = {cri::kPinValue, owner};
  TellOfImages();
  return cri::PinResult::kPinned;
}

cri::CallResult<bool> FakeImageService::Unpin(const base::Call& call, const std::string& name,
                                              const std::string& owner) {
  base::Lock lock(mutex_);
  counters_.pin_calls++;
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  auto pin = store_.pins.find(name);
  if (pin == store_.pins.end() || store_.FindByName(name) == nullptr || pin->second.owner.empty() ||
      (!owner.empty() && pin->second.owner != owner))
    return false;
  store_.pins.erase(pin);
  TellOfImages();
  return true;
}

void FakeImageService::HideImagesApi() {
  base::Lock lock(mutex_);
  hides_images_api_ = true;
}

void FakeImageService::RefusePin(const std::string& name) {
  base::Lock lock(mutex_);
  unpinnable_.insert(name);
}

void FakeImageService::LabelPin(const std::string& name, const std::string& value) {
  base::Lock lock(mutex_);
  store_.pins[name].value = value;
  TellOfImages();
}

cri::CallResult<image::PullProgress> FakeImageService::Progress(const base::Call& call,
                                                                const std::string& lease) {
  base::Lock lock(mutex_);
  counters_.progress_calls++;
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  Simulate(clock_.Now());
  cri::PullFacts facts;
  auto held = store_.leases.find(lease);
  if (held == store_.leases.end()) return cri::ProgressFrom(facts);
  for (const std::string& digest : held->second.digests) {
    facts.resources.insert({store_.IsComplete(digest) ? "content" : "ingests", digest});
  }
  for (const auto& [digest, blob] : store_.blobs) {
    if (!blob.complete) facts.ingests[digest] = static_cast<std::uint64_t>(blob.done);
  }
  // The image that its tag names now is being pulled, if two have a blob of the lease.
  const FakeImage* image = nullptr;
  for (const auto* images : {&untagged_, &registry_}) {
    for (const auto& [name, one] : *images) {
      if (held->second.digests.count(one.digest) != 0) image = &one;
    }
  }
  if (image != nullptr) {
    facts.manifest = cri::StoredManifest{image->digest, {}};
    for (const FakeBlob& blob : image->Blobs()) {
      facts.manifest->blobs.push_back({blob.digest, blob.bytes});
      if (store_.IsComplete(blob.digest)) facts.committed.insert(blob.digest);
    }
  }
  return cri::ProgressFrom(facts);
}

cri::CallError FakeImageService::WatchImages(const base::Call& call, const std::function<void()>& changed) {
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    condition_.notify_all();
  });
  std::uint64_t told = 0;
  std::uint64_t generation = 0;
  {
    base::Lock lock(mutex_);
    if (auto refusal = ContentRefusal(call)) return *std::move(refusal);
    told = told_;
    generation = generation_;
  }
  while (true) {
    changed();
    base::Lock lock(mutex_);
    while (told == told_ && up_ && generation == generation_ && !call.Stopped()) condition_.wait(mutex_);
    if (auto refusal = ContentRefusal(call)) return *std::move(refusal);
    if (generation != generation_) return Say(persona_, ErrorClass::kRuntimeDown, "");
    told = told_;
  }
}

cri::CallResult<bool> FakeImageService::IsUnpacked(const base::Call& call, const std::string& chain_id) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  for (const auto& [id, stored] : store_.images) {
    if (stored.image.ChainId() == chain_id) return bool{stored.unpacked};
  }
  return false;
}

cri::CallResult<bool> FakeImageService::IsRunnable(const base::Call& call, const std::string& id,
                                                   const std::string&) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  auto found = store_.images.find(id);
  if (found == store_.images.end()) return false;
  const StoredImage& stored = found->second;
  if (stored.unpacked) return true;
  if (!stored.image.unpackable) return false;
  for (const FakeBlob& blob : stored.image.Blobs()) {
    if (!store_.IsComplete(blob.digest)) return false;
  }
  return true;
}

}  // namespace prefetch::tests
