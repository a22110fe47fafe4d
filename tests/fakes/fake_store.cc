#include "fakes/fake_store.h"

namespace prefetch::tests {

std::string RepositoryOf(const std::string& normalized) {
  std::size_t at = normalized.find('@');
  if (at != std::string::npos) return normalized.substr(0, at);
  return normalized.substr(0, normalized.rfind(':'));
}

std::string RegistryOf(const std::string& normalized) {
  return normalized.substr(0, normalized.find('/'));
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
    if (id != image.config.digest && other.tags.erase(name) != 0) other.previous = name;
  }
  pins.erase(name);  // a pull replaces the labels of its name
  StoredImage& stored = images[image.config.digest];
  stored.image = image;
  stored.unpacked = image.unpackable;
  const bool is_tag = name.find('@') == std::string::npos;
  if (is_tag) stored.tags.insert(name);
  if (is_tag && naming_ == Naming::kPulledNames) return;
  if (with_digest) stored.digests.insert(RepositoryOf(name) + "@" + image.digest);
}

bool FakeStore::Remove(const std::string& name) {
  for (auto it = images.begin(); it != images.end(); ++it) {
    if (it->first != name && it->second.tags.count(name) == 0 && it->second.digests.count(name) == 0)
      continue;
    for (const auto* names : {&it->second.tags, &it->second.digests}) {
      for (const std::string& gone : *names) pins.erase(gone);
    }
    images.erase(it);
    return true;
  }
  return false;
}

bool FakeStore::Untag(const std::string& name) {
  for (auto it = images.begin(); it != images.end(); ++it) {
    StoredImage& stored = it->second;
    if (stored.tags.erase(name) + stored.digests.erase(name) == 0) continue;
    pins.erase(name);
    if (stored.tags.empty() && stored.digests.empty()) images.erase(it);
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
    if (stored.tags.contains(normalized) || KnownDigests(stored).contains(normalized)) return &stored;
  }
  return nullptr;
}

std::set<std::string> FakeStore::KnownDigests(const StoredImage& stored) const {
  std::set<std::string> digests = stored.digests;
  if (naming_ == Naming::kDigestsStay) return digests;
  for (const std::set<std::string>* names : {&stored.tags, &stored.digests}) {
    for (const std::string& name : *names) digests.insert(RepositoryOf(name) + "@" + stored.image.digest);
  }
  return digests;
}

// An image without a name is listed with the one that it had, cut at the first colon, be it a port's.
std::set<std::string> FakeStore::ListedDigests(const StoredImage& stored) const {
  std::set<std::string> digests = KnownDigests(stored);
  if (naming_ == Naming::kPulledNames && digests.empty() && !stored.previous.empty()) {
    digests.insert(stored.previous.substr(0, stored.previous.find(':')) + "@" + stored.image.digest);
  }
  return digests;
}

}  // namespace prefetch::tests
