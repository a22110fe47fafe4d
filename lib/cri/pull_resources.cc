#include "cri/pull_resources.h"

#include "base/saturating.h"
#include "base/text.h"

namespace prefetch::cri {
namespace {

// FNV-1a. Its values are only compared with others of the same process.
class Fingerprint {
 public:
  void Add(std::string_view text) {
    for (char c : text) Mix(static_cast<unsigned char>(c));
    Mix(0);
  }
  void Add(std::uint64_t number) { Add(std::to_string(number)); }
  std::uint64_t value() const { return value_; }

 private:
  void Mix(unsigned char byte) { value_ = (value_ ^ byte) * 1099511628211ULL; }
  std::uint64_t value_ = 14695981039346656037ULL;
};

bool IsOurs(const PullFacts& facts, const std::string& digest) {
  for (const doc::Blob& blob : facts.manifest->blobs) {
    if (blob.digest == digest) return true;
  }
  return false;
}

}  // namespace

PullProgress ProgressFrom(const PullFacts& facts) {
  PullProgress progress;
  Fingerprint fingerprint;
  for (const LeaseResource& resource : facts.resources) {
    fingerprint.Add(resource.type);
    fingerprint.Add(resource.id);
  }
  if (facts.manifest) {
    // Unpacking is what is left if every blob is complete and the pull has not ended.
    progress.unpacking = true;
    for (const doc::Blob& blob : facts.manifest->blobs) {
      progress.bytes_total = base::Plus(progress.bytes_total, blob.size_bytes);
      bool complete = facts.committed.count(blob.digest) != 0;
      if (complete) progress.bytes_done += blob.size_bytes;
      progress.unpacking = progress.unpacking && complete;
    }
    for (const auto& [digest, bytes] : facts.ingests) {
      // Ingests are those of all pulls. A blob that has been committed meanwhile is counted above.
      if (!IsOurs(facts, digest) || facts.committed.count(digest) != 0) continue;
      progress.bytes_done += bytes;
      progress.active = true;
    }
  }
  // Resources of the lease count as well: an unpack makes snapshots while no byte comes.
  fingerprint.Add(progress.bytes_done);
  fingerprint.Add(progress.bytes_total);
  progress.fingerprint = fingerprint.value();
  return progress;
}

std::string_view DigestOfIngest(std::string_view ref) {
  // C25: the name of an ingest ends in the digest of its blob.
  std::size_t dash = ref.find("-sha");
  return dash == std::string_view::npos ? std::string_view() : ref.substr(dash + 1);
}

std::vector<LeaseResource> ResourcesOf(const StoredManifest& manifest) {
  std::vector<LeaseResource> resources = {{"content", manifest.digest}};
  std::string_view kind = "config-";
  for (const doc::Blob& blob : manifest.blobs) {
    resources.push_back({"content", blob.digest});
    resources.push_back({"ingests", std::string(kind) + blob.digest});
    kind = "layer-";
  }
  return resources;
}

std::string SourceLabel(std::string_view domain) {
  std::string_view host = domain;
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.rfind(':'));
  }
  return "containerd.io/distribution.source." + std::string(host);
}

bool ListsRepository(std::string_view label_value, std::string_view path) {
  for (std::string_view repository : base::Split(label_value, ',')) {
    if (repository == path) return true;
  }
  return false;
}

}  // namespace prefetch::cri
