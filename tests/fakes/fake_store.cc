#include "fakes/fake_store.h"

namespace prefetch::tests {

std::string RepositoryOf(const std::string& normalized) {
  std::size_t at = normalized.find('@');
  if (at != std::string::npos) return normalized.substr(0, at);
  return normalized.substr(0, normalized.rfind(':'));
}

bool FakeStore::IsComplete(const std::string& digest) const {
  auto found = blobs.find(digest);
  return found != blobs.end() && found->second.complete;
}

void FakeStore::Put(const FakeBlob& blob) {
  blobs[blob.digest] = {blob.bytes, static_cast<double>(blob.bytes), true};
}

void FakeStore::Record(const FakeImage& image, const std::string& name, bool with_digest) {
  for (auto& [id, other] : images) {
    if (id != image.config.digest) other.tags.erase(name);
  }
  StoredImage& stored = images[image.config.digest];
  stored.image = image;
  stored.unpacked = image.unpackable;
  if (name.find('@') == std::string::npos) stored.tags.insert(name);
  if (with_digest) stored.digests.insert(RepositoryOf(name) + "@" + image.digest);
}

bool FakeStore::Remove(const std::string& name) {
  for (auto it = images.begin(); it != images.end(); ++it) {
    if (it->first != name && it->second.tags.count(name) == 0 && it->second.digests.count(name) == 0)
      continue;
    images.erase(it);
    return true;
  }
  return false;
}

void FakeStore::CollectGarbage(base::TimePoint now, const std::set<std::string>& in_use) {
  std::erase_if(leases, [&](const auto& lease) { return lease.second.expires <= now; });
  std::set<std::string> kept = in_use;
  kept.insert(orphans.begin(), orphans.end());
  for (const auto& [id, lease] : leases) kept.insert(lease.digests.begin(), lease.digests.end());
  for (const auto& [id, stored] : images) {
    for (const std::string& digest : stored.image.ContentDigests()) kept.insert(digest);
  }
  std::erase_if(blobs, [&](const auto& blob) { return kept.count(blob.first) == 0; });
}

const StoredImage* FakeStore::FindByName(const std::string& normalized) const {
  for (const auto& [id, stored] : images) {
    if (stored.tags.count(normalized) != 0 || stored.digests.count(normalized) != 0) return &stored;
  }
  return nullptr;
}

}  // namespace prefetch::tests
