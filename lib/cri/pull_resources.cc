#include "cri/pull_resources.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/hash.h"
#include "base/saturating.h"
#include "base/sha256.h"

namespace prefetch::cri {

namespace {

bool BelongsToManifest(const PullFacts& facts, const std::string& digest) {
  for (const doc::Blob& blob : facts.manifest->blobs) {
    if (blob.digest == digest) return true;
  }
  return false;
}

}  // namespace

image::PullProgress ProgressFrom(const PullFacts& facts) {
  image::PullProgress progress;
  std::hash<std::string> of_text;
  for (const LeaseResource& resource : facts.resources) {
    for (const std::string* text : {&resource.type, &resource.id})
      progress.fingerprint = base::Mixed(progress.fingerprint, of_text(*text));
  }
  if (facts.manifest) {
    // Unpacking is what is left if every blob is complete and the pull has not ended.
    progress.unpacking = true;
    for (const doc::Blob& blob : facts.manifest->blobs) {
      progress.bytes_total = base::SaturatingAdd(progress.bytes_total, blob.size_bytes);
      bool complete = facts.committed.count(blob.digest) != 0;
      if (complete) progress.bytes_done += blob.size_bytes;
      progress.unpacking = progress.unpacking && complete;
    }
    for (const auto& [digest, bytes] : facts.ingests) {
      // Ingests are those of all pulls. A blob that has been committed meanwhile is counted above.
      if (!BelongsToManifest(facts, digest) || facts.committed.count(digest) != 0) continue;
      progress.bytes_done += bytes;
      progress.active = true;
    }
  }
  // Resources of the lease count as well: an unpack makes snapshots while no byte comes.
  for (std::uint64_t bytes : {progress.bytes_done, progress.bytes_total})
    progress.fingerprint = base::Mixed(progress.fingerprint, bytes);
  return progress;
}

std::string_view DigestOfIngest(std::string_view ref) {
  // C25: the name of an ingest ends in the digest of its blob.
  std::size_t dash = ref.find("-sha");
  return dash == std::string_view::npos ? std::string_view() : ref.substr(dash + 1);
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

namespace {

using Labels = std::map<std::string, std::string>;

// The store and the registry are asked about each. overlayfs mounts 500 layers at most, so no image that
// starts has more, and the runtime's pull fails at once.
constexpr std::size_t kMostBlobs = 1000;

ImageDocument Document(std::string_view kind, std::string_view bytes, Labels labels) {
  const std::string digest = "sha256:" + base::Sha256Hex(bytes);
  return {.blob = {.ref = std::string(kind) + digest,
                   .digest = digest,
                   .size_bytes = bytes.size(),
                   .labels = std::move(labels)},
          .bytes = std::string(bytes)};
}

bool CanBeWritten(const doc::Blob& blob) {
  return image::IsDigest(blob.digest) && blob.digest.starts_with("sha256:") && blob.size_bytes > 0;
}

}  // namespace

std::optional<ImageBlobs> BlobsOf(const image::Reference& reference, std::string_view index,
                                  std::string_view manifest) {
  const std::optional<doc::ImageManifest> read = doc::ParseImageManifest(manifest);
  if (!read || !read->can_be_unpacked || read->has_foreign_layers) return std::nullopt;
  const std::vector<doc::Blob>& listed = read->blobs;
  if (listed.size() > kMostBlobs) return std::nullopt;
  // An image that cannot be written exactly as containerd would write it is left to the runtime.
  if (!std::all_of(listed.begin(), listed.end(), CanBeWritten)) return std::nullopt;
  const Labels source = {{SourceLabel(reference.domain()), reference.path()}};
  Labels of_manifest = source;
  ImageBlobs image;
  for (std::size_t i = 0; i < listed.size(); i++) {
    const doc::Blob& blob = listed[i];
    image.size_bytes = base::SaturatingAdd(image.size_bytes, blob.size_bytes);
    // These labels keep the blobs once the lease is gone: containerd's collector follows them from the
    // manifest.
    of_manifest[kReferenceLabel + (i == 0 ? "config" : "l." + std::to_string(i - 1))] = blob.digest;
    image.blobs.push_back({.ref = (i == 0 ? "config-" : "layer-") + blob.digest,
                           .digest = blob.digest,
                           .size_bytes = blob.size_bytes,
                           .labels = source});
  }
  // The manifest comes before the index that points to it.
  image.documents.push_back(Document("manifest-", manifest, std::move(of_manifest)));
  if (index.empty()) return image;
  Labels of_index = source;
  of_index[kReferenceLabel + "m.0"] = image.documents.front().blob.digest;
  image.documents.push_back(Document("index-", index, std::move(of_index)));
  return image;
}

}  // namespace prefetch::cri
