// Records and intents as kubelet writes and merges them (K15 and K30). Pure.
#pragma once

#include <optional>
#include <string>

#include "image/kubelet_version.h"
#include "kubelet/records.h"

namespace prefetch::tests {

// A record with the time that kubelet's decoders pass over.
struct StoredRecord {
  kubelet::PulledRecord record;
  std::string updated;  // lastUpdatedTime, RFC 3339

  static std::optional<StoredRecord> Decode(const std::string& content, image::KubeletVersion version);
};

// The image that an intent's content is about; nullopt if kubelet cannot decode it.
std::optional<std::string> IntendedImage(const std::string& content, image::KubeletVersion version);

// To the byte, with the line break at the end; as the version of the record that this kubelet writes.
std::string EncodeRecord(const StoredRecord& stored, image::KubeletVersion version);
std::string EncodeIntent(const std::string& image, image::KubeletVersion version);

// Merges a pull's news about who may use the image into the record under `key`. Returns false if nothing
// changed. Empty news change nothing.
bool MergeIntoRecord(kubelet::PulledRecord& record, const std::string& key,
                     const kubelet::CredentialEntry& news);

}  // namespace prefetch::tests
