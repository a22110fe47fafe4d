// Fetcher: downloads an image's manifest and blobs into containerd's content store before PullImage.
// BlobDownloader: its streams.
//
// PullImage follows and fetches what is missing, so a failed fetch is no problem of its own. One exception:
// if the registry demands a pause above kMaxRetryAfter, the pull ends as RateLimited without PullImage.
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
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/token_bucket.h"
#include "cri/content_service.h"
#include "image/registry_question.h"
#include "plan/fetch_order.h"
#include "pulling/query_registry.h"

namespace prefetch::pulling {

// The blobs of one image to download.
struct DownloadJob {
  std::string lease;
  std::vector<cri::BlobToWrite> blobs;
  image::RegistryQuestion question;
  std::shared_ptr<image::ContentSource> source;
  // Called by the thread of Download: true, once the image lacks no blob but those that are fetched for
  // earlier images; false, if one of these becomes its own, or the download fails after that.
  std::function<void(bool)> on_fetched = nullptr;
};

// Returns the error for a failure of the content store. Wrong bytes are the image's fault (InvalidArgument),
// all else the store's (Internal).
inline base::Error ToStoreError(const cri::CallError& error) {
  if (error.error_class == image::ErrorClass::kCorrupt)
    return base::InvalidArgument(error.message).CausedBy(base::Fault::kImage);
  return base::Internal("the content store: " + error.message).CausedBy(base::Fault::kStore);
}

// Downloads the blobs of images that are being pulled, and writes them into the content store. All images
// share a few connections (plan/fetch_order.h).
//
// Its threads exist while there is work. Each is one stream: it fetches a blob, and writes the bytes once
// 128 KiB have come, or each second; or it fetches a part of a large blob into memory. They give way to
// kubelet's pulls. Any thread may call. The destructor stops all streams and waits for them.
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
  base::Status Download(const base::Call& call, DownloadJob job) PREFETCH_EXCLUDES(mutex_);

  // Returns true if a download under the lease pauses now because another pull receives bytes.
  bool HoldsBack(const std::string& lease) PREFETCH_EXCLUDES(mutex_);

 private:
  using ImageId = plan::FetchOrder::ImageId;
  // One blob on its way, or a part of one.
  struct Transfer {
    plan::FetchOrder::Step step;
    std::shared_ptr<const DownloadJob> job;  // one that wants it, whose lease has its bytes
    std::stop_source stop;
    // It was told to end, which is no failure of it: another blob or a pull of kubelet comes first, its
    // registry is held, or its job has ended. The blob then waits for another stream.
    // Guarded by BlobDownloader::mutex_, which the annotations cannot say.
    bool preempted = false;
    // On its own thread.
    std::unique_ptr<cri::BlobWriter> writer;
    std::uint64_t offset = 0;  // its first byte that has not come
    std::string bytes;         // that came and are not written yet; those of a part are in parts_
    bool met_part = false;     // its request ended because a part has what comes next
    base::TimePoint written_at;
    std::optional<base::Error> store_error;  // the store's error
    // End of the pause of this stream, while a pull of kubelet or another client receives bytes. The stream
    // then ends; the last one goes on in bursts (`paced`). max(): it does not pause.
    base::TimePoint pause_until = base::TimePoint::max();
    bool paced = false;
    base::TimePoint burst_began;
    std::uint64_t burst_bytes = 0;
  };
  enum class TransferResult { kDone, kLockedByOther };
  // Bytes of a blob that another stream than its own has brought, and which are not written yet.
  struct Part {
    std::string digest;
    std::uint64_t begin = 0;
    std::string bytes;
  };
  using Parts = std::map<std::string, Part>;  // by key
  // How a blob goes on: with bytes from memory, or with a request that ends at `end`.
  struct Continuation {
    std::string bytes;
    std::uint64_t end = 0;
  };

  void StartThreads() PREFETCH_REQUIRES(mutex_);
  // One Download.
  struct Running {
    std::shared_ptr<const DownloadJob> job;
    std::optional<base::Error> failure;  // the first one
  };

  void Stream() PREFETCH_EXCLUDES(mutex_);
  std::shared_ptr<Transfer> NextBlob() PREFETCH_EXCLUDES(mutex_);
  base::Result<TransferResult> DownloadBlob(Transfer& transfer) PREFETCH_EXCLUDES(mutex_);
  std::optional<base::Result<TransferResult>> OpenBlob(Transfer& transfer) PREFETCH_EXCLUDES(mutex_);
  base::Status FetchWithRetries(Transfer& transfer, std::uint64_t end) PREFETCH_EXCLUDES(mutex_);
  bool Take(Transfer& transfer, std::string_view piece) PREFETCH_EXCLUDES(mutex_);
  bool YieldToOthers(Transfer& transfer, std::size_t bytes_received) PREFETCH_EXCLUDES(mutex_);
  bool AwaitRate(Transfer& transfer, std::size_t bytes_received) PREFETCH_EXCLUDES(mutex_);
  // Parts: the stream of a part keeps its bytes in memory (KeepPart). The blob's own stream ends its request
  // where it meets bytes of a part (MeetsPart), writes them in its turn (AwaitContinuation, WritePart), and
  // drops a part that does not come (DropPart).
  bool KeepPart(const Transfer& transfer, std::string_view piece) PREFETCH_EXCLUDES(mutex_);
  bool MeetsPart(const Transfer& transfer) PREFETCH_EXCLUDES(mutex_);
  std::optional<Continuation> AwaitContinuation(Transfer& transfer) PREFETCH_EXCLUDES(mutex_);
  static base::Status WritePart(Transfer& transfer, std::string_view bytes);
  Parts::iterator FirstPart(const std::string& digest) PREFETCH_REQUIRES(mutex_);
  void DropPart(Parts::iterator part) PREFETCH_REQUIRES(mutex_);
  static bool Write(Transfer& transfer);
  void Ended(const std::shared_ptr<Transfer>& transfer, base::Result<TransferResult> end)
      PREFETCH_EXCLUDES(mutex_);
  // Stops a stream for a blob that waits, if there is one.
  void Rebalance() PREFETCH_REQUIRES(mutex_);
  // Ends the images that list the blob.
  void Fail(const Transfer& transfer, const base::Error& error) PREFETCH_REQUIRES(mutex_);
  void StopUnwanted() PREFETCH_REQUIRES(mutex_);
  void EndJob(ImageId image, const std::shared_ptr<const DownloadJob>& job) PREFETCH_REQUIRES(mutex_);
  bool LacksNoneOfItsOwn(ImageId image) PREFETCH_EXCLUDES(mutex_);
  void PollForeignPulls(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  void AwaitClosed(const std::shared_ptr<const DownloadJob>& job) PREFETCH_EXCLUDES(mutex_);
  bool IsHeld(const std::shared_ptr<const DownloadJob>& job) const PREFETCH_REQUIRES(mutex_);
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
  base::TimePoint next_reopen_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Transfer>> transfers_ PREFETCH_GUARDED_BY(mutex_);  // by key
  Parts parts_ PREFETCH_GUARDED_BY(mutex_);
  int running_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<std::thread::id> left_
      PREFETCH_GUARDED_BY(mutex_);  // of threads_, those that are not joined yet
};

// Returns the source of the image's content; nullptr if only the runtime can follow this registry's settings.
// Reads files, sends nothing. Any thread may call. If the function is empty, the agent never fetches.
using ContentSourceFor = std::function<std::shared_ptr<image::ContentSource>(
    const image::Reference& reference, const image::RuntimeInfo& runtime)>;

struct FetchJob {
  image::RegistryQuestion question;  // with the credentials in the order of a pull
  std::string lease;                 // empty: the runtime knows no leases
  image::RuntimeInfo runtime;
  // Called once the compressed size of the image is known, and before anything of it is written. Blocks while
  // it is decided whether there is room; if there is none, `call` is stopped.
  std::function<void(const base::Call& call, std::uint64_t bytes)> on_size = nullptr;
  std::function<void(bool)> on_fetched = nullptr;  // that of DownloadJob
};

struct FetchResult {
  bool fetched = false;  // all content of the image is there; else the rest is left to the runtime
  // The source sent other bytes than were asked for, serves no ranges, or a blob has another digest: what
  // this download began is aborted.
  bool cannot_continue = false;
  // Time for which not even the runtime may ask the registry, which has sent Retry-After, be it for another
  // image.
  std::optional<base::Duration> retry_after = {};
  std::string error = {};  // why the rest is left
};

// Owned by the Agent. Any thread may call.
class Fetcher {
 public:
  // The arguments outlive it. `fetched` and `bytes_per_second` are those of its BlobDownloader.
  Fetcher(cri::ContentService& content, ContentSourceFor source, const base::Clock& clock,
          std::function<void(std::uint64_t)> fetched, std::uint64_t bytes_per_second = 0);

  // Fetches the content of the image, and blocks until that is over. A stop ends it immediately. Written
  // bytes stay under the lease.
  FetchResult Fetch(const base::Call& call, const FetchJob& job) PREFETCH_EXCLUDES(mutex_);

  // Returns true if a fetch under the lease pauses now because a pull of kubelet or others receives bytes.
  bool HoldsBack(const std::string& lease) { return downloader_.HoldsBack(lease); }

  // Returns true if the runtime is containerd 2.1 or later, and the registry is near, and lately has neither
  // failed nor denied such a question.
  bool MayQuerySize(const image::Reference& reference, const image::RuntimeInfo& runtime)
      PREFETCH_EXCLUDES(mutex_);
  // Returns the compressed size of the image, by its manifest; 0 if it is not known. Blocks, and writes
  // nothing.
  std::uint64_t QuerySize(const base::Call& call, const FetchJob& job) PREFETCH_EXCLUDES(mutex_);

 private:
  std::shared_ptr<image::ContentSource> ChooseSource(const base::Call& call, const FetchJob& job)
      PREFETCH_EXCLUDES(mutex_);
  base::Status WriteDocument(const base::Call& call, const std::string& lease, const cri::BlobToWrite& blob,
                             const std::string& bytes);
  base::Result<DownloadJob> PrepareDownload(const base::Call& call, const FetchJob& job,
                                            const std::shared_ptr<image::ContentSource>& source)
      PREFETCH_EXCLUDES(mutex_);
  plan::FetchHealth HealthOf(const std::string& registry) PREFETCH_EXCLUDES(mutex_);
  template <typename Change>
  plan::FetchHealth ChangeHealth(const std::string& registry, const Change& change) PREFETCH_EXCLUDES(mutex_);

  cri::ContentService& content_;
  const ContentSourceFor source_for_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  // Registries with a fact that still counts: near, failed, denied or limited.
  std::map<std::string, plan::FetchHealth> registries_ PREFETCH_GUARDED_BY(mutex_);
  BlobDownloader downloader_;  // last: its threads use what stands above
};

}  // namespace prefetch::pulling
