// BlobStreams: fetches the blobs of images that are being pulled, over a few connections that all of them
// share, and writes them into the content store (plan/fetch_order.h has the order).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cri/content_service.h"
#include "image/content_source.h"
#include "plan/fetch_order.h"
#include "plan/giving_way.h"

namespace prefetch::agent {

// The blobs of one image.
struct StreamJob {
  std::string lease;
  std::vector<cri::BlobToWrite> blobs;
  image::RegistryQuestion question;
  std::shared_ptr<image::ContentSource> source;
};

// Its threads exist while there is work. Each holds one range at most (plan::kFetchRange); the one whose
// bytes are next in their blob writes them as they come. They give way to kubelet's pulls
// (plan/giving_way.h). Any thread may call. The destructor stops all streams and waits for them.
class BlobStreams {
 public:
  // `content` outlives it. `fetched` is told of each range's bytes, on any thread.
  BlobStreams(cri::ContentService& content, std::function<void(std::uint64_t)> fetched);
  BlobStreams(const BlobStreams&) = delete;
  BlobStreams& operator=(const BlobStreams&) = delete;
  ~BlobStreams();

  // Blocks until all blobs are in the store under the lease, one of them failed, or `call` was stopped. The
  // bytes that were written stay in the store.
  base::Status Bring(const base::Call& call, StreamJob job) PREFETCH_EXCLUDES(mutex_);

 private:
  using ImageId = plan::FetchOrder::ImageId;
  using Step = plan::FetchOrder::Step;
  // A blob that is being written.
  struct Open {
    std::string digest;
    std::shared_ptr<const StreamJob> job;  // that opened it
    std::stop_source stop;
    std::unique_ptr<cri::BlobWriter> writer;  // of the stream whose turn it is
    std::uint64_t size = 0;
    std::uint64_t written = 0;  // guarded by the streams' mutex, as is what follows
    bool failed = false;
  };
  // A range on its way: the bytes from `begin` on that came and are not written yet.
  struct Arrival {
    std::uint64_t begin = 0;
    std::string bytes;
    base::TimePoint written_at;  // or begun
    bool may_hold = false;       // for another's pull, which was not there when this one began
    base::TimePoint hold_until = base::TimePoint::max();
  };

  void StartThreads() PREFETCH_REQUIRES(mutex_);
  void Stream() PREFETCH_EXCLUDES(mutex_);
  std::optional<Step> NextStep() PREFETCH_EXCLUDES(mutex_);
  void OpenBlob(const Step& step) PREFETCH_EXCLUDES(mutex_);
  void MoveRange(const Step& step) PREFETCH_EXCLUDES(mutex_);
  base::Status Get(Open& open, const Step& step, Arrival& arrival) PREFETCH_EXCLUDES(mutex_);
  bool Take(Open& open, Arrival& arrival, std::string_view part) PREFETCH_EXCLUDES(mutex_);
  bool HoldForOthers(Open& open, Arrival& arrival) PREFETCH_EXCLUDES(mutex_);
  bool IsUnwanted(const Open& open) const PREFETCH_REQUIRES(mutex_);
  bool IsNext(const Open& open, const Arrival& arrival) PREFETCH_EXCLUDES(mutex_);
  bool AwaitTurn(Open& open, const Arrival& arrival) PREFETCH_EXCLUDES(mutex_);
  std::optional<base::Error> Write(Open& open, Arrival& arrival) PREFETCH_EXCLUDES(mutex_);
  void Fail(const std::string& digest, Open& open, base::Error error) PREFETCH_EXCLUDES(mutex_);
  // Those that no image wants any more; to be destroyed without the lock.
  std::vector<std::shared_ptr<Open>> StopUnwanted() PREFETCH_REQUIRES(mutex_);
  void LookForOthers(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  void AwaitClosed(const StreamJob& job) PREFETCH_EXCLUDES(mutex_);
  base::Status KeepShared(const base::Call& call, const StreamJob& job);

  cri::ContentService& content_;
  const std::function<void(std::uint64_t)> fetched_;
  base::Mutex mutex_;
  base::Condition changed_;
  plan::FetchOrder order_ PREFETCH_GUARDED_BY(mutex_);
  ImageId next_image_ PREFETCH_GUARDED_BY(mutex_) = 1;
  std::map<ImageId, std::shared_ptr<const StreamJob>> jobs_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Open>> open_ PREFETCH_GUARDED_BY(mutex_);  // by digest
  std::map<std::string, base::Error> failures_ PREFETCH_GUARDED_BY(mutex_);        // by digest
  plan::GivingWay giving_way_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint next_look_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint next_retry_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::multiset<std::string> moving_ PREFETCH_GUARDED_BY(mutex_);  // the digest of each stream's step
  int running_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
