// ImageBlobs: the blobs of one image as containerd's own pull would put them into its store: names of the
// ingests and labels (C37). Pure; the documents are a registry's, whose digests were verified.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cri/content_service.h"
#include "image/reference.h"

namespace prefetch::cri {

// A manifest or an index, with its bytes.
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
