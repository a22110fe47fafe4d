// PullStore: what containerd's store has of the pulls under way: which manifest a pull fetches, and which of
// its blobs are complete. Internal to cri: included by .cc files only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cri/containerd_api.h"
#include "cri/pull_resources.h"
#include "image/reference.h"

namespace prefetch::cri {

// A manifest points to its configuration with this label.
inline constexpr const char* kConfigLabel = "containerd.io/gc.ref.content.config";
inline constexpr std::uint64_t kLargestManifest = 8 * 1024 * 1024;

// Any thread may call. No call holds the lock while containerd is asked.
class PullStore {
 public:
  // `api` outlives it.
  explicit PullStore(ContainerdApi& api) : api_(api) {}

  // The manifest that the pull under `lease` fetches; nullopt while it has not come.
  CallResult<std::optional<StoredManifest>> Manifest(const base::Call& call, const std::string& lease,
                                                     const image::Reference& reference,
                                                     const std::set<LeaseResource>& resources)
      PREFETCH_EXCLUDES(mutex_);
  // Those of its blobs that are complete: `known` and others. One that is being written is not asked about.
  CallResult<std::set<std::string>> Committed(const base::Call& call, const StoredManifest& manifest,
                                              const PullFacts& facts, std::set<std::string> known);
  // The same of a pull, whose lease names its blobs: one that was complete stays so, and is asked about once.
  CallResult<std::set<std::string>> CommittedUnder(const base::Call& call, const std::string& lease,
                                                   const StoredManifest& manifest, const PullFacts& facts)
      PREFETCH_EXCLUDES(mutex_);
  std::optional<CallError> NameInLease(const base::Call& call, const std::string& lease,
                                       const StoredManifest& manifest,
                                       const std::set<LeaseResource>& resources) PREFETCH_EXCLUDES(mutex_);
  CallResult<std::string> Snapshotter(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  // A blob that has been fetched is neither an ingest nor content for the moment in which it is committed: it
  // then counts as before, so that progress never goes back.
  void BridgeCommits(const std::string& lease, PullFacts& facts) PREFETCH_EXCLUDES(mutex_);
  void Forget(const std::string& lease) PREFETCH_EXCLUDES(mutex_);
  // A lease that holds something before anything was named in it by us: the runtime honours the header, and
  // its store need not be searched, which on a node with thousands of blobs is dear.
  void LearnFrom(const std::set<LeaseResource>& resources) PREFETCH_EXCLUDES(mutex_);

 private:
  CallResult<std::optional<StoredManifest>> ReadManifest(const base::Call& call, const ContentInfo& info);
  CallResult<std::vector<ContentInfo>> Candidates(const base::Call& call, const image::Reference& reference,
                                                  const std::set<LeaseResource>& resources)
      PREFETCH_EXCLUDES(mutex_);

  ContainerdApi& api_;
  base::Mutex mutex_;
  // By lease; a manifest never changes.
  std::map<std::string, StoredManifest> manifests_ PREFETCH_GUARDED_BY(mutex_);
  // By lease: blobs that were complete when they were asked about.
  std::map<std::string, std::set<std::string>> committed_ PREFETCH_GUARDED_BY(mutex_);
  struct Written {
    std::uint64_t bytes = 0;
    base::TimePoint seen;
  };
  // By lease and digest: an ingest when it was seen last.
  std::map<std::string, std::map<std::string, Written>> written_ PREFETCH_GUARDED_BY(mutex_);
  // Facts that hold while the daemon at the other end is the same.
  struct Learnt {
    std::uint64_t generation = 0;
    std::string snapshotter;
    bool fills_leases = false;
  };
  Learnt& IsOfCurrentDaemon() PREFETCH_REQUIRES(mutex_);
  Learnt learnt_ PREFETCH_GUARDED_BY(mutex_);
  // Leases may hold what we named there; under the next daemon, too.
  bool named_something_ PREFETCH_GUARDED_BY(mutex_) = false;
};

}  // namespace prefetch::cri
