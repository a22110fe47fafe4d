#include "cri/pull_store.h"

#include <chrono>
#include <utility>

namespace prefetch::cri {
namespace {

// A manifest points to its blobs with labels of this prefix; nothing else that is small does.
constexpr std::string_view kReferenceLabel = "containerd.io/gc.ref.content.";
// Time for which a blob may be neither an ingest nor content: its commit syncs a file and a database.
constexpr std::chrono::seconds kLongestCommit{5};
constexpr std::string_view kSnapshotterFolder = "io.containerd.snapshotter.v1.";
constexpr const char* kUsualSnapshotter = "overlayfs";

// Only a document with such labels is read: layers of gigabytes lie in the same store.
bool MayBeManifest(const ContentInfo& info) {
  auto label = info.labels.lower_bound(std::string(kReferenceLabel));
  return info.size_bytes <= kLargestManifest && label != info.labels.end() &&
         label->first.starts_with(kReferenceLabel);
}

}  // namespace

PullStore::Learnt& PullStore::IsOfCurrentDaemon() {
  std::uint64_t now = api_.Generation();
  // Another daemon may have another snapshotter, and another version that treats leases otherwise.
  if (learnt_.generation != now) learnt_ = {.generation = now};
  return learnt_;
}

void PullStore::Forget(const std::string& lease) {
  base::Lock lock(mutex_);
  manifests_.erase(lease);
  committed_.erase(lease);
  written_.erase(lease);
}

void PullStore::LearnFrom(const std::set<LeaseResource>& resources) {
  base::Lock lock(mutex_);
  // Once the agent has named something itself, a lease with content no longer proves anything.
  if (!resources.empty() && !named_something_) IsOfCurrentDaemon().fills_leases = true;
}

// Returns nothing for content that is no manifest of an image. That is no failure: an index has such labels,
// too.
CallResult<std::optional<StoredManifest>> PullStore::ReadManifest(const base::Call& call,
                                                                  const ContentInfo& info) {
  if (!MayBeManifest(info)) return std::optional<StoredManifest>();
  auto bytes = api_.Read(call, info.digest);
  if (!bytes) return bytes.error();
  std::optional<doc::ImageManifest> manifest = doc::ParseImageManifest(*bytes);
  if (!manifest) return std::optional<StoredManifest>();
  return std::optional<StoredManifest>({info.digest, std::move(manifest->blobs)});
}

// Returns the content that may be this pull's manifest. Its lease is the best source; without it, all content
// of the same repository comes into question.
CallResult<std::vector<ContentInfo>> PullStore::Candidates(const base::Call& call,
                                                           const image::Reference& reference,
                                                           const std::set<LeaseResource>& resources) {
  std::vector<ContentInfo> candidates;
  for (const LeaseResource& resource : resources) {
    if (resource.type != "content") continue;
    auto info = api_.Info(call, resource.id);
    if (!info) return info.error();
    if (*info) candidates.push_back(std::move(**info));
  }
  if (!candidates.empty()) return candidates;
  {
    base::Lock lock(mutex_);
    // The runtime puts a pull's content into its lease. An empty lease then means that nothing has come yet.
    if (IsOfCurrentDaemon().fills_leases) return candidates;
  }
  std::string label = SourceLabel(reference.domain());
  auto listed = api_.ListWithLabel(call, label);
  if (!listed) return listed.error();
  for (ContentInfo& info : *listed) {
    if (ListsRepository(info.labels[label], reference.path())) candidates.push_back(std::move(info));
  }
  return candidates;
}

CallResult<std::optional<StoredManifest>> PullStore::Manifest(const base::Call& call,
                                                              const std::string& lease,
                                                              const image::Reference& reference,
                                                              const std::set<LeaseResource>& resources) {
  {
    base::Lock lock(mutex_);
    // A pull fetches one manifest, so it is looked for once a pull (Forget).
    if (auto known = manifests_.find(lease); known != manifests_.end()) return std::optional(known->second);
  }
  auto candidates = Candidates(call, reference, resources);
  if (!candidates) return candidates.error();
  std::optional<StoredManifest> complete;
  for (const ContentInfo& candidate : *candidates) {
    auto manifest = ReadManifest(call, candidate);
    if (!manifest) return manifest.error();
    if (!*manifest) continue;
    auto committed = Committed(call, **manifest, {}, {});
    if (!committed) return committed.error();
    if (committed->size() < (*manifest)->blobs.size()) {  // something is missing: it is this one
      base::Lock lock(mutex_);
      manifests_[lease] = **manifest;
      return std::move(*manifest);
    }
    // An older manifest of the same repository may be complete as well. It is this pull's only if its lease
    // holds it.
    if (resources.count({"content", candidate.digest}) != 0) complete = std::move(*manifest);
  }
  return complete;
}

// Adds the blobs that the store has to `known`. Each blob is asked about until it is there, and not while it
// is still being written.
CallResult<std::set<std::string>> PullStore::Committed(const base::Call& call, const StoredManifest& manifest,
                                                       const PullFacts& facts, std::set<std::string> known) {
  for (const doc::Blob& blob : manifest.blobs) {
    if (known.count(blob.digest) != 0 || facts.ingests.count(blob.digest) != 0) continue;
    auto info = api_.Info(call, blob.digest);
    if (!info) return info.error();
    if (*info) known.insert(blob.digest);
  }
  return known;
}

CallResult<std::set<std::string>> PullStore::CommittedUnder(const base::Call& call, const std::string& lease,
                                                            const StoredManifest& manifest,
                                                            const PullFacts& facts) {
  std::set<std::string> known;
  {
    base::Lock lock(mutex_);
    if (auto before = committed_.find(lease); before != committed_.end()) known = before->second;
  }
  auto committed = Committed(call, manifest, facts, std::move(known));
  if (!committed) return committed;
  base::Lock lock(mutex_);
  committed_[lease] = *committed;
  return committed;
}

std::optional<CallError> PullStore::NameInLease(const base::Call& call, const std::string& lease,
                                                const StoredManifest& manifest,
                                                const std::set<LeaseResource>& resources) {
  if (resources.count({"content", manifest.digest}) != 0)
    return std::nullopt;  // done, by the runtime or by us
  {
    base::Lock lock(mutex_);
    named_something_ = true;
  }
  std::vector<LeaseResource> wanted = ResourcesOf(manifest);
  // The manifest comes last: its presence in the lease says that all the others are named.
  std::swap(wanted.front(), wanted.back());
  for (const LeaseResource& resource : wanted) {
    auto added = api_.AddResource(call, lease, resource);
    if (!added) return added.error();
    if (!*added) return std::nullopt;  // no such lease; then there is nothing to keep
  }
  return std::nullopt;
}

// During its commit a blob is neither an ingest nor content. Its bytes are counted for kLongestCommit more,
// since the pull would otherwise seem to lose them.
void PullStore::BridgeCommits(const std::string& lease, PullFacts& facts) {
  base::Lock lock(mutex_);
  std::map<std::string, Written>& written = written_[lease];
  base::TimePoint now = std::chrono::steady_clock::now();
  for (const doc::Blob& blob : facts.manifest->blobs) {
    auto ingest = facts.ingests.find(blob.digest);
    auto before = written.find(blob.digest);
    if (ingest != facts.ingests.end()) {
      written[blob.digest] = {ingest->second, now};
    } else if (before != written.end() && facts.committed.count(blob.digest) == 0 &&
               now - before->second.seen < kLongestCommit) {
      facts.ingests[blob.digest] = before->second.bytes;
    }
  }
}

CallResult<std::string> PullStore::Snapshotter(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    if (std::string known = IsOfCurrentDaemon().snapshotter; !known.empty()) return known;
  }
  auto mountpoint = api_.ImageFsMountpoint(call);
  if (!mountpoint) return mountpoint.error();
  std::size_t at = mountpoint->rfind(kSnapshotterFolder);
  // The usual one is not remembered: the runtime may report its folder later.
  if (at == std::string::npos) return std::string(kUsualSnapshotter);
  std::string snapshotter = mountpoint->substr(at + kSnapshotterFolder.size());
  base::Lock lock(mutex_);
  IsOfCurrentDaemon().snapshotter = snapshotter;
  return snapshotter;
}

}  // namespace prefetch::cri
