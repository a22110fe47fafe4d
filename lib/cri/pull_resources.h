// containerd's facts about a pull, and conclusions from them.
// ImageBlobs: the blobs of one image as containerd's own pull would store them.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cri/content_service.h"
#include "doc/image_manifest.h"
#include "image/reference.h"

namespace prefetch::cri {

struct LeaseResource {
  std::string type;  // "content", "ingests", "snapshots/overlayfs"
  std::string id;    // a digest; "layer-sha256:…"; a snapshot's key

  friend auto operator<=>(const LeaseResource&, const LeaseResource&) = default;
};

// An image manifest in containerd's store.
struct StoredManifest {
  std::string digest;
  std::vector<doc::Blob> blobs;

  friend bool operator==(const StoredManifest&, const StoredManifest&) = default;
};

// The state of the store while a pull runs.
struct PullFacts {
  std::set<LeaseResource> resources;             // of the pull's lease
  std::map<std::string, std::uint64_t> ingests;  // bytes written so far, by digest; of all pulls
  std::optional<StoredManifest> manifest;        // nullopt: not fetched yet
  std::set<std::string> committed;               // those of the manifest's blobs that are complete
};

// Returns the progress of a pull, in compressed bytes. Before the manifest is fetched, no byte counts.
image::PullProgress ProgressFrom(const PullFacts& facts);

// The digest that an ingest fetches: "layer-sha256:ab…" gives "sha256:ab…"; empty if there is none.
std::string_view DigestOfIngest(std::string_view ref);

// A blob with a label of this prefix keeps the one with the digest that is its value. A manifest points to
// its configuration and layers so; nothing else that is small does.
inline const std::string kReferenceLabel = "containerd.io/gc.ref.content.";

// The label by which containerd remembers from which host content came; its value lists repositories of that
// host. "127.0.0.1:5000" has port and brackets taken away.
std::string SourceLabel(std::string_view domain);

// A manifest or an index of a registry, with its bytes, whose digest was verified. ImageBlobs names ingests
// and labels by it (C37).
struct ImageDocument {
  BlobToWrite blob;
  std::string bytes;

  friend bool operator==(const ImageDocument&, const ImageDocument&) = default;
};

struct ImageBlobs {
  std::vector<ImageDocument> documents;  // the manifest, then the index if there is one
  std::vector<BlobToWrite> blobs;        // configuration and layers, each once
  std::uint64_t size_bytes = 0;          // of `blobs` together

  friend bool operator==(const ImageBlobs&, const ImageBlobs&) = default;
};

// `index` is empty if the reference names the manifest itself. nullopt: not an image that can be written like
// that: an artifact, layers that are fetched from elsewhere, or what is no manifest at all.
std::optional<ImageBlobs> BlobsOf(const image::Reference& reference, std::string_view index,
                                  std::string_view manifest);

}  // namespace prefetch::cri
