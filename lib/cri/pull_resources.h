// containerd's facts about a pull, and conclusions from them. Pure.
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

// One look at the store while a pull runs.
struct PullFacts {
  std::set<LeaseResource> resources;             // of the pull's lease
  std::map<std::string, std::uint64_t> ingests;  // bytes written so far, by digest; of all pulls
  std::optional<StoredManifest> manifest;        // nullopt: not fetched yet
  std::set<std::string> committed;               // those of the manifest's blobs that are complete
};

PullProgress ProgressFrom(const PullFacts& facts);

// The digest that an ingest fetches: "layer-sha256:ab…" gives "sha256:ab…"; empty if there is none.
std::string_view DigestOfIngest(std::string_view ref);

// The resources that a lease must name before they exist, so that nothing of `manifest` is lost (C27).
std::vector<LeaseResource> ResourcesOf(const StoredManifest& manifest);

// The label by which containerd remembers from which host content came; its value lists repositories of that
// host. "127.0.0.1:5000" has port and brackets taken away.
std::string SourceLabel(std::string_view domain);
bool ListsRepository(std::string_view label_value, std::string_view path);

}  // namespace prefetch::cri
