// Blobs that are written into a FakeImageService's content store.
#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {

using image::ErrorClass;

class FakeImageService::Writer final : public cri::BlobWriter {
 public:
  Writer(FakeImageService& service, const base::Call& call, cri::BlobToWrite blob, std::uint64_t offset)
      : service_(service), call_(call), blob_(std::move(blob)), offset_(offset) {}
  ~Writer() override {
    base::Lock lock(service_.mutex_);
    service_.Simulate(service_.clock_.Now());
    service_.written_.erase(blob_.digest);
  }

  std::uint64_t offset() const override { return offset_; }

  std::optional<cri::CallError> Append(std::string bytes) override {
    base::Lock lock(service_.mutex_);
    if (auto refusal = service_.ContentRefusal(call_)) return refusal;
    if (service_.disk_full_) return Say(service_.persona_, ErrorClass::kDiskFull, "");
    StoredBlob& stored = service_.store_.blobs[blob_.digest];
    stored.wrong = stored.wrong || bytes != FakeBytes(blob_.digest, offset_, bytes.size());
    offset_ += bytes.size();
    stored.done = static_cast<double>(offset_);
    stored.bytes += bytes;
    return std::nullopt;
  }

  std::optional<cri::CallError> Commit() override {
    base::Lock lock(service_.mutex_);
    if (auto refusal = service_.ContentRefusal(call_)) return refusal;
    StoredBlob& stored = service_.store_.blobs[blob_.digest];
    const bool right = !stored.wrong || "sha256:" + base::Sha256Hex(stored.bytes) == blob_.digest;
    if (offset_ != blob_.size_bytes || !right) {
      service_.store_.blobs.erase(blob_.digest);
      return cri::CallError{ErrorClass::kCorrupt, "unexpected commit digest"};
    }
    service_.store_.Put({blob_.digest, blob_.size_bytes});
    return std::nullopt;
  }

 private:
  FakeImageService& service_;
  const base::Call call_;
  const cri::BlobToWrite blob_;
  std::uint64_t offset_;
};

cri::CallResult<cri::OpenedBlob> FakeImageService::OpenBlob(const base::Call& call, const std::string& lease,
                                                            const cri::BlobToWrite& blob) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  Simulate(clock_.Now());
  auto held = store_.leases.find(lease);
  if (held == store_.leases.end()) {
    return cri::CallError{ErrorClass::kRuntimeError, "lease does not exist: not found"};
  }
  held->second.digests.insert(blob.digest);
  opened_blobs_++;
  cri::OpenedBlob opened;
  if (store_.IsComplete(blob.digest)) {
    opened.state = cri::BlobState::kExists;
  } else if (ActiveBlobs().contains(blob.digest) || !written_.insert(blob.digest).second) {
    opened.state = cri::BlobState::kLocked;
  } else {
    StoredBlob& stored = store_.blobs.try_emplace(blob.digest, StoredBlob{blob.size_bytes}).first->second;
    opened.writer = std::make_unique<Writer>(*this, call, blob, static_cast<std::uint64_t>(stored.done));
  }
  return opened;
}

void FakeImageService::LoseLayers(const std::string& name) {
  base::Lock lock(mutex_);
  for (const auto& [id, stored] : store_.images) {
    if (!stored.tags.contains(name)) continue;
    for (const FakeBlob& layer : stored.image.layers) store_.blobs.erase(layer.digest);
  }
}

void FakeImageService::Spoil(const std::string& name, int times) {
  base::Lock lock(mutex_);
  for (const FakeBlob& layer : registry_.at(name).layers) spoilt_[layer.digest] = times;
}

cri::CallResult<std::uint64_t> FakeImageService::FinishIngests(const base::Call& call,
                                                               const std::string& lease,
                                                               cri::PartialIngests partial) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  Simulate(clock_.Now());
  std::uint64_t discarded = 0;
  auto held = store_.leases.find(lease);
  if (held == store_.leases.end()) return discarded;
  const std::set<std::string> active = ActiveBlobs();
  for (const std::string& digest : held->second.digests) {
    auto found = store_.blobs.find(digest);
    if (found == store_.blobs.end() || found->second.complete) continue;
    if (active.contains(digest) || written_.contains(digest)) continue;
    const StoredBlob& blob = found->second;
    const auto done = static_cast<std::uint64_t>(blob.done);
    if (done > 0 && "sha256:" + base::Sha256Hex(blob.bytes) == digest) {
      store_.Put({digest, done});
    } else if (done >= blob.total || done == 0 || partial == cri::PartialIngests::kAbort) {
      discarded += done;
      store_.blobs.erase(found);
    }
  }
  return discarded;
}

void FakeImageService::OnForeignIngests(std::function<void()> asked) {
  base::Lock lock(mutex_);
  on_foreign_ingests_ = std::move(asked);
}

cri::CallResult<std::map<std::string, std::uint64_t>> FakeImageService::ForeignIngests(
    const base::Call& call) {
  std::function<void()> asked;
  {
    base::Lock lock(mutex_);
    asked = on_foreign_ingests_;
  }
  if (asked) asked();
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  Simulate(clock_.Now());
  counters_.ingest_calls++;
  std::map<std::string, std::uint64_t> ingests;
  for (const auto& stored : store_.blobs) {
    const std::string& digest = stored.first;
    const StoredBlob& blob = stored.second;
    const bool ours = std::any_of(store_.leases.begin(), store_.leases.end(), [&](const auto& lease) {
      return lease.first.starts_with(cri::kLeasePrefix) && lease.second.digests.contains(digest);
    });
    if (!blob.complete && !ours) ingests["layer-" + digest] = static_cast<std::uint64_t>(blob.done);
  }
  return ingests;
}

cri::CallResult<std::string> FakeImageService::Snapshotter(const base::Call& call) {
  base::Lock lock(mutex_);
  if (auto refusal = ContentRefusal(call)) return std::move(*refusal);
  return std::string("overlayfs");
}

}  // namespace prefetch::tests
