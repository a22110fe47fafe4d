// BlobDownloader: fetches the blobs of images that are being pulled, over a few connections that all of them
// share, and writes them into the content store (plan/fetch_order.h shares them out).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/token_bucket.h"
#include "cri/content_service.h"
#include "image/content_source.h"
#include "plan/fetch_order.h"
#include "plan/yield_policy.h"

namespace prefetch::agent {

// The blobs of one image.
struct DownloadJob {
  std::string lease;
  std::vector<cri::BlobToWrite> blobs;
  image::RegistryQuestion question;
  std::shared_ptr<image::ContentSource> source;
};

// Describes a failure of the content store. Wrong bytes are the image's: InvalidArgument.
inline base::Error FromStore(const cri::CallError& error) {
  if (error.error_class == image::ErrorClass::kCorrupt)
    return base::InvalidArgument(error.message).CausedBy(base::Owner::kImage);
  return base::Internal("the content store: " + error.message).CausedBy(base::Owner::kStore);
}

// Its threads exist while there is work. Each fetches one blob at a time, and writes its bytes in parts of
// 128 KiB, or each second. They give way to kubelet's pulls (plan/yield_policy.h). Any thread may call. The
// destructor stops all streams and waits for them.
class BlobDownloader {
 public:
  // `content` outlives it. `fetched` is told of bytes as they come, on any thread. All streams together take
  // `bytes_per_second`; 0: as they come.
  BlobDownloader(cri::ContentService& content, std::function<void(std::uint64_t)> fetched,
                 std::uint64_t bytes_per_second);
  BlobDownloader(const BlobDownloader&) = delete;
  BlobDownloader& operator=(const BlobDownloader&) = delete;
  ~BlobDownloader();

  // Blocks until all blobs are in the store under the lease, one of them failed, or `call` was stopped. The
  // bytes that were written stay in the store, but for those of a blob with other content than its digest
  // says: InvalidArgument, owned by the image.
  base::Status FetchInto(const base::Call& call, DownloadJob job) PREFETCH_EXCLUDES(mutex_);

 private:
  using ImageId = plan::FetchOrder::ImageId;
  // One blob on its way.
  struct Transfer {
    std::string digest;
    std::shared_ptr<const DownloadJob> job;  // one that wants it
    std::stop_source stop;
    bool gives_up = false;  // guarded by mutex_: it ends on purpose, for another blob or a pull of kubelet
    // On its own thread.
    std::unique_ptr<cri::BlobWriter> writer;
    std::uint64_t at = 0;  // its first byte that has not come
    std::string bytes;     // that came and are not written yet
    base::TimePoint written_at;
    std::optional<base::Error> broken;  // the store's error
    // While a pull of kubelet or others moves, this stream holds still or goes on with pauses.
    base::TimePoint hold_until = base::TimePoint::max();
    bool paced = false;
    base::TimePoint burst_began;
    std::uint64_t burst_bytes = 0;
  };
  enum class End { kDone, kTaken };

  void StartThreads() PREFETCH_REQUIRES(mutex_);
  // One FetchInto.
  struct Running {
    std::shared_ptr<const DownloadJob> job;
    std::optional<base::Error> failure;  // the first one
  };

  void Stream() PREFETCH_EXCLUDES(mutex_);
  std::shared_ptr<Transfer> NextBlob() PREFETCH_EXCLUDES(mutex_);
  base::Result<End> Move(Transfer& transfer) PREFETCH_EXCLUDES(mutex_);
  base::Status Get(Transfer& transfer, std::uint64_t size) PREFETCH_EXCLUDES(mutex_);
  bool Take(Transfer& transfer, std::string_view part) PREFETCH_EXCLUDES(mutex_);
  bool YieldToOthers(Transfer& transfer, std::size_t bytes_received) PREFETCH_EXCLUDES(mutex_);
  bool AwaitRate(Transfer& transfer, std::size_t bytes_received) PREFETCH_EXCLUDES(mutex_);
  static bool Write(Transfer& transfer);
  void Ended(const std::shared_ptr<Transfer>& transfer, base::Result<End> end) PREFETCH_EXCLUDES(mutex_);
  // Stops a stream for a blob that waits, if there is one.
  void Rebalance() PREFETCH_REQUIRES(mutex_);
  // Ends the images that list the blob.
  void Fail(const Transfer& transfer, const base::Error& error) PREFETCH_REQUIRES(mutex_);
  void StopUnwanted() PREFETCH_REQUIRES(mutex_);
  void PollForeignPulls(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  void AwaitClosed(const DownloadJob& job) PREFETCH_EXCLUDES(mutex_);
  base::Status RetainShared(const base::Call& call, const DownloadJob& job);

  cri::ContentService& content_;
  const std::function<void(std::uint64_t)> fetched_;
  base::Mutex mutex_;
  base::Condition changed_;
  plan::FetchOrder order_ PREFETCH_GUARDED_BY(mutex_);
  ImageId next_image_ PREFETCH_GUARDED_BY(mutex_) = 1;
  std::map<ImageId, Running> jobs_ PREFETCH_GUARDED_BY(mutex_);
  plan::YieldPolicy yield_policy_ PREFETCH_GUARDED_BY(mutex_);
  base::TokenBucket rate_ PREFETCH_GUARDED_BY(mutex_);  // a token is a byte
  base::TimePoint next_poll_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint next_retry_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Transfer>> transfers_ PREFETCH_GUARDED_BY(mutex_);  // by digest
  int running_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
