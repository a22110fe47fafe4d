// Fetcher: downloads an image's manifest and blobs into containerd's content store before PullImage.
// PullImage follows in any case, and fetches what is missing. So a failed fetch is never reported as a
// problem.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/blob_downloader.h"
#include "agent/metrics.h"
#include "agent/query_registry.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cri/content_service.h"
#include "image/content_source.h"
#include "image/platform.h"
#include "plan/fetch_choice.h"

namespace prefetch::agent {

// Where content comes from, for such a runtime. nullptr: only the runtime can follow this registry's
// settings. Reads files, sends nothing; any thread. Empty: the agent never fetches.
using ContentSourceFor = std::function<std::shared_ptr<image::ContentSource>(
    const image::Reference& reference, const RegistryQueryContext& runtime)>;

struct FetchJob {
  image::Reference reference;
  std::string lease;
  std::vector<image::AuthConfig> credentials;  // in the order of a pull
  RegistryQueryContext runtime;
  // Called once the compressed size of the image is known, and before anything of it is written. Blocks while
  // it is decided whether there is room; if there is none, `call` is stopped.
  std::function<void(const base::Call& call, std::uint64_t bytes)> sized = nullptr;
};

struct FetchEnd {
  bool fetched = false;      // all content of the image is there; else the rest is left to the runtime
  bool wrong_bytes = false;  // something else came than the image's content
  // Time for which not even the runtime may ask the registry, which has sent Retry-After.
  std::optional<base::Duration> retry_after = {};
  std::string error = {};  // why the rest is left
};

// Owned by the Agent. Any thread may call.
class Fetcher {
 public:
  // The arguments outlive it. `automatic`: --fetch=auto. `bytes_per_second`: of all downloads; 0: no limit.
  Fetcher(bool automatic, cri::ContentService& content, ContentSourceFor source, const base::Clock& clock,
          image::Platform platform, Metrics& metrics, std::uint64_t bytes_per_second = 0);

  // Blocks until it is over. A stop ends it immediately. Written bytes stay under the lease.
  FetchEnd FetchInto(const base::Call& call, const FetchJob& job) PREFETCH_EXCLUDES(mutex_);

  // True if the fetcher is on, the runtime is containerd 2.1 or later, and the registry is near, and lately
  // has neither failed nor denied such a question.
  bool MayAskSize(const image::Reference& reference, const RegistryQueryContext& runtime)
      PREFETCH_EXCLUDES(mutex_);
  // The compressed size of the image, by its manifest; nothing is written. 0: not known. Blocks.
  std::uint64_t AskSize(const base::Call& call, const FetchJob& job) PREFETCH_EXCLUDES(mutex_);

 private:
  std::shared_ptr<image::ContentSource> Choose(const base::Call& call, const FetchJob& job)
      PREFETCH_EXCLUDES(mutex_);
  base::Status WriteDocument(const base::Call& call, const std::string& lease, const cri::BlobToWrite& blob,
                             const std::string& bytes);
  base::Status FetchContent(const base::Call& call, const FetchJob& job,
                            const image::RegistryQuestion& question,
                            const std::shared_ptr<image::ContentSource>& source) PREFETCH_EXCLUDES(mutex_);
  plan::FetchHealth HealthOf(const std::string& registry) PREFETCH_EXCLUDES(mutex_);
  void Note(const std::string& registry, const plan::FetchHealth& health) PREFETCH_EXCLUDES(mutex_);

  const bool automatic_;
  cri::ContentService& content_;
  const ContentSourceFor source_for_;
  const base::Clock& clock_;
  const image::Platform platform_;
  base::Mutex mutex_;
  std::map<std::string, plan::FetchHealth> registries_
      PREFETCH_GUARDED_BY(mutex_);  // with a fact that still counts: near, failed, denied or limited
  BlobDownloader downloader_;       // last: its threads use what stands above
};

}  // namespace prefetch::agent
