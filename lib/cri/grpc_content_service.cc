#include "cri/grpc_content_service.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "cri/containerd_api.h"
#include "cri/pull_resources.h"

namespace prefetch::cri {
namespace {

// The label that bounds a lease's life, RFC 3339 (containerd's garbage collector reads it).
constexpr const char* kExpireLabel = "containerd.io/gc.expire";
// A manifest points to its blobs with labels of this prefix; nothing else that is small does.
constexpr std::string_view kReferenceLabel = "containerd.io/gc.ref.content.";
constexpr const char* kConfigLabel = "containerd.io/gc.ref.content.config";
// How long a blob may be neither an ingest nor content: its commit syncs a file and a database.
constexpr std::chrono::seconds kLongestCommit{5};
constexpr std::uint64_t kLargestManifest = 8 * 1024 * 1024;
constexpr std::string_view kSnapshotterFolder = "io.containerd.snapshotter.v1.";
constexpr const char* kUsualSnapshotter = "overlayfs";
// Ends the name of a lease that stands in for another one for the moment in which that is made anew.
constexpr std::string_view kRenewal = "-renewal";

bool MayBeManifest(const ContentInfo& info) {
  auto label = info.labels.lower_bound(std::string(kReferenceLabel));
  return info.size_bytes <= kLargestManifest && label != info.labels.end() &&
         label->first.starts_with(kReferenceLabel);
}

std::string ExpiresAfter(std::chrono::seconds lifetime) {
  return base::Rfc3339(std::chrono::system_clock::now() + lifetime);
}

}  // namespace

// What one Progress needs besides the calls themselves.
class GrpcContentService::Native {
 public:
  explicit Native(const Endpoint& endpoint) : api(endpoint) {}

  // An existing lease that ends too soon is made anew under the same id, with all that it holds.
  std::optional<CallError> Renew(const base::Call& call, const std::string& id, const std::string& expires);
  // The manifest that the pull under `lease` fetches; nullopt while it has not come.
  CallResult<std::optional<StoredManifest>> Manifest(const base::Call& call, const std::string& lease,
                                                     const image::Reference& reference,
                                                     const std::set<LeaseResource>& resources);
  CallResult<std::set<std::string>> Committed(const base::Call& call, const StoredManifest& manifest,
                                              const PullFacts& facts);
  std::optional<CallError> NameInLease(const base::Call& call, const std::string& lease,
                                       const StoredManifest& manifest,
                                       const std::set<LeaseResource>& resources);
  CallResult<std::string> Snapshotter(const base::Call& call);
  // A blob that has been fetched is neither an ingest nor content for the moment in which it is committed: it
  // then counts what it counted before, so that progress never goes back.
  void BridgeCommits(const std::string& lease, PullFacts& facts) PREFETCH_EXCLUDES(mutex_);
  void Forget(const std::string& lease) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    manifests_.erase(lease);
    written_.erase(lease);
  }

  // A lease that holds something before anything was named in it by us: the runtime honours the header, and
  // nobody needs to search its store, which on a node with thousands of blobs is dear.
  void LearnFrom(const std::set<LeaseResource>& resources) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    if (!resources.empty() && !named_something_) OfThisDaemon().fills_leases = true;
  }

  ContainerdApi api;

 private:
  std::optional<CallError> Copy(const base::Call& call, const LeaseInfo& to,
                                const std::set<LeaseResource>& what);
  CallResult<std::optional<StoredManifest>> ReadManifest(const base::Call& call, const ContentInfo& info);
  CallResult<std::vector<ContentInfo>> Candidates(const base::Call& call, const image::Reference& reference,
                                                  const std::set<LeaseResource>& resources);

  base::Mutex mutex_;
  std::map<std::string, StoredManifest> manifests_
      PREFETCH_GUARDED_BY(mutex_);  // by lease; a manifest never changes
  struct Written {
    std::uint64_t bytes = 0;
    base::TimePoint seen;
  };
  // By lease and digest: an ingest when it was seen last.
  std::map<std::string, std::map<std::string, Written>> written_ PREFETCH_GUARDED_BY(mutex_);
  // What holds as long as the daemon at the other end is the same.
  struct Learnt {
    std::uint64_t generation = 0;
    std::string snapshotter;
    bool fills_leases = false;
  };
  Learnt& OfThisDaemon() PREFETCH_REQUIRES(mutex_) {
    std::uint64_t now = api.Generation();
    if (learnt_.generation != now) learnt_ = {.generation = now};
    return learnt_;
  }
  Learnt learnt_ PREFETCH_GUARDED_BY(mutex_);
  // Leases may hold what we named there; under the next daemon, too.
  bool named_something_ PREFETCH_GUARDED_BY(mutex_) = false;
};

std::optional<CallError> GrpcContentService::Native::Copy(const base::Call& call, const LeaseInfo& to,
                                                          const std::set<LeaseResource>& what) {
  if (auto made = api.CreateLease(call, to); !made) return made.error();
  for (const LeaseResource& resource : what) {
    if (auto added = api.AddResource(call, to.id, resource); !added) return added.error();
  }
  return std::nullopt;
}

std::optional<CallError> GrpcContentService::Native::Renew(const base::Call& call, const std::string& id,
                                                           const std::string& expires) {
  auto resources = api.ListResources(call, id);
  if (!resources) return resources.error();
  std::set<LeaseResource> held = resources->value_or(std::set<LeaseResource>());
  // A second lease holds everything while the first is away.
  LeaseInfo bridge{id + std::string(kRenewal), {{kExpireLabel, expires}}};
  if (auto failed = Copy(call, bridge, held)) return failed;
  if (auto deleted = api.DeleteLease(call, id); !deleted) return deleted.error();
  if (auto failed = Copy(call, {id, {{kExpireLabel, expires}}}, held)) return failed;
  if (auto deleted = api.DeleteLease(call, bridge.id); !deleted) return deleted.error();
  return std::nullopt;
}

CallResult<std::optional<StoredManifest>> GrpcContentService::Native::ReadManifest(const base::Call& call,
                                                                                   const ContentInfo& info) {
  if (!MayBeManifest(info)) return std::optional<StoredManifest>();
  auto bytes = api.Read(call, info.digest);
  if (!bytes) return bytes.error();
  std::optional<std::vector<Blob>> blobs = ParseImageManifest(*bytes);
  if (!blobs) return std::optional<StoredManifest>();
  return std::optional<StoredManifest>({info.digest, std::move(*blobs)});
}

CallResult<std::vector<ContentInfo>> GrpcContentService::Native::Candidates(
    const base::Call& call, const image::Reference& reference, const std::set<LeaseResource>& resources) {
  std::vector<ContentInfo> candidates;
  for (const LeaseResource& resource : resources) {
    if (resource.type != "content") continue;
    auto info = api.Info(call, resource.id);
    if (!info) return info.error();
    if (*info) candidates.push_back(std::move(**info));
  }
  if (!candidates.empty()) return candidates;
  {
    base::Lock lock(mutex_);
    if (OfThisDaemon().fills_leases) return candidates;
  }
  std::string label = SourceLabel(reference.domain());
  auto listed = api.ListWithLabel(call, label);
  if (!listed) return listed.error();
  for (ContentInfo& info : *listed) {
    if (ListsRepository(info.labels[label], reference.path())) candidates.push_back(std::move(info));
  }
  return candidates;
}

CallResult<std::optional<StoredManifest>> GrpcContentService::Native::Manifest(
    const base::Call& call, const std::string& lease, const image::Reference& reference,
    const std::set<LeaseResource>& resources) {
  {
    base::Lock lock(mutex_);
    if (auto known = manifests_.find(lease); known != manifests_.end()) return std::optional(known->second);
  }
  auto candidates = Candidates(call, reference, resources);
  if (!candidates) return candidates.error();
  std::optional<StoredManifest> complete;
  for (const ContentInfo& candidate : *candidates) {
    auto manifest = ReadManifest(call, candidate);
    if (!manifest) return manifest.error();
    if (!*manifest) continue;
    auto committed = Committed(call, **manifest, {});
    if (!committed) return committed.error();
    if (committed->size() < (*manifest)->blobs.size()) {  // something is missing: it is this one
      base::Lock lock(mutex_);
      manifests_[lease] = **manifest;
      return std::move(*manifest);
    }
    if (resources.count({"content", candidate.digest}) != 0) complete = std::move(*manifest);
  }
  return complete;
}

CallResult<std::set<std::string>> GrpcContentService::Native::Committed(const base::Call& call,
                                                                        const StoredManifest& manifest,
                                                                        const PullFacts& facts) {
  std::set<std::string> committed;
  for (const Blob& blob : manifest.blobs) {
    if (facts.ingests.count(blob.digest) != 0) continue;  // still being written
    auto info = api.Info(call, blob.digest);
    if (!info) return info.error();
    if (*info) committed.insert(blob.digest);
  }
  return committed;
}

std::optional<CallError> GrpcContentService::Native::NameInLease(const base::Call& call,
                                                                 const std::string& lease,
                                                                 const StoredManifest& manifest,
                                                                 const std::set<LeaseResource>& resources) {
  if (resources.count({"content", manifest.digest}) != 0)
    return std::nullopt;  // done, by the runtime or by us
  {
    base::Lock lock(mutex_);
    named_something_ = true;
  }
  std::vector<LeaseResource> wanted = ResourcesOf(manifest);
  // The manifest comes last: it says that all the others are named.
  std::swap(wanted.front(), wanted.back());
  for (const LeaseResource& resource : wanted) {
    auto added = api.AddResource(call, lease, resource);
    if (!added) return added.error();
    if (!*added) return std::nullopt;  // no such lease; then there is nothing to keep
  }
  return std::nullopt;
}

void GrpcContentService::Native::BridgeCommits(const std::string& lease, PullFacts& facts) {
  base::Lock lock(mutex_);
  std::map<std::string, Written>& written = written_[lease];
  base::TimePoint now = std::chrono::steady_clock::now();
  for (const Blob& blob : facts.manifest->blobs) {
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

CallResult<std::string> GrpcContentService::Native::Snapshotter(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    if (std::string known = OfThisDaemon().snapshotter; !known.empty()) return known;
  }
  auto mountpoint = api.ImageFsMountpoint(call);
  if (!mountpoint) return mountpoint.error();
  std::size_t at = mountpoint->rfind(kSnapshotterFolder);
  if (at == std::string::npos) return std::string(kUsualSnapshotter);
  std::string snapshotter = mountpoint->substr(at + kSnapshotterFolder.size());
  base::Lock lock(mutex_);
  OfThisDaemon().snapshotter = snapshotter;
  return snapshotter;
}

GrpcContentService::GrpcContentService(const Endpoint& endpoint)
    : native_(std::make_unique<Native>(endpoint)) {}

GrpcContentService::~GrpcContentService() = default;

CallResult<bool> GrpcContentService::EnsureLease(const base::Call& call, const std::string& id,
                                                 std::chrono::seconds lifetime) {
  native_->Forget(id);  // the tag may have moved since the last pull
  std::string expires = ExpiresAfter(lifetime);
  auto made = native_->api.CreateLease(call, {id, {{kExpireLabel, expires}}});
  if (!made || *made) return made;
  auto all = native_->api.ListLeases(call);
  if (!all) return all.error();
  for (LeaseInfo& lease : *all) {
    // RFC 3339 in UTC, so text compares as time does.
    if (lease.id != id || lease.labels[kExpireLabel] >= ExpiresAfter(lifetime / 2)) continue;
    if (auto failed = native_->Renew(call, id, expires)) return std::move(*failed);
  }
  return false;
}

CallResult<bool> GrpcContentService::DeleteLease(const base::Call& call, const std::string& id) {
  native_->Forget(id);
  return native_->api.DeleteLease(call, id);
}

CallResult<std::vector<std::string>> GrpcContentService::ListLeases(const base::Call& call) {
  auto all = native_->api.ListLeases(call);
  if (!all) return all.error();
  std::vector<std::string> ours;
  for (LeaseInfo& lease : *all) {
    // What stands in goes by itself; of another pull it is needed at this moment.
    if (lease.id.starts_with(kLeasePrefix) && !lease.id.ends_with(kRenewal))
      ours.push_back(std::move(lease.id));
  }
  return ours;
}

CallResult<PullProgress> GrpcContentService::Progress(const base::Call& call, const std::string& lease,
                                                      const image::Reference& reference) {
  PullFacts facts;
  auto resources = native_->api.ListResources(call, lease);
  if (!resources) return resources.error();
  if (!*resources) return ProgressFrom(facts);
  facts.resources = std::move(**resources);
  native_->LearnFrom(facts.resources);
  auto ingests = native_->api.Ingests(call);
  if (!ingests) return ingests.error();
  facts.ingests = std::move(*ingests);
  auto manifest = native_->Manifest(call, lease, reference, facts.resources);
  if (!manifest) return manifest.error();
  if (*manifest) {
    if (auto failed = native_->NameInLease(call, lease, **manifest, facts.resources))
      return std::move(*failed);
    auto committed = native_->Committed(call, **manifest, facts);
    if (!committed) return committed.error();
    facts.committed = std::move(*committed);
    facts.manifest = std::move(*manifest);
    native_->BridgeCommits(lease, facts);
  }
  return ProgressFrom(facts);
}

CallError GrpcContentService::WatchImages(const base::Call& call, const std::function<void()>& changed) {
  return native_->api.WatchImages(call, changed);
}

CallResult<bool> GrpcContentService::IsUnpacked(const base::Call& call, const std::string& chain_id) {
  auto snapshotter = native_->Snapshotter(call);
  if (!snapshotter) return snapshotter.error();
  return native_->api.SnapshotExists(call, *snapshotter, chain_id);
}

// The id of an image is the digest of its configuration. A manifest points to that by a label, whether it was
// pulled or imported (seen on containerd 1.6.20, 1.7.24 and 2.1).
CallResult<bool> GrpcContentService::IsWhole(const base::Call& call, const std::string& id,
                                             const std::string& chain_id) {
  if (!chain_id.empty()) {
    auto unpacked = IsUnpacked(call, chain_id);
    if (unpacked && *unpacked) return unpacked;
  }
  auto manifests = native_->api.ListWithLabel(call, kConfigLabel, id);
  if (!manifests) return manifests.error();
  for (const ContentInfo& info : *manifests) {
    if (info.size_bytes > kLargestManifest) continue;
    auto bytes = native_->api.Read(call, info.digest);
    if (!bytes) return bytes.error();
    std::optional<std::vector<Blob>> blobs = ParseImageManifest(*bytes);
    if (!blobs || !CanBeUnpacked(*bytes)) continue;
    auto committed = native_->Committed(call, {info.digest, *blobs}, {});
    if (!committed) return committed.error();
    if (committed->size() == blobs->size()) return true;
  }
  return false;
}

}  // namespace prefetch::cri
