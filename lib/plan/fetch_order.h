// FetchOrder: the blobs that the agent downloads for all its images, and which blob a free stream takes next.
// It does no I/O, reads no clock and has no lock: the caller holds the lock.
//
// A stream fetches a whole blob by one request, as the runtime does, so that servers which count requests see
// no more of them. Streams are shared evenly: among registries, and then among the images of each. An image
// or registry with more than its share gives a stream up as soon as another one waits. A stream below the
// floor speed gives way to every other image, and its own image is left to the runtime. Later images of its
// registry are left to the runtime as well, for kFetchOffPeriod.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace prefetch::plan {

constexpr int kFetchStreams = 16;  // for all registries; browsers and object stores' clients use 6 to 16
// A stream has stalled if it brings fewer bytes a second than this over kFetchFloorTime.
constexpr std::uint64_t kFetchFloor = 16 * 1024;
constexpr std::chrono::seconds kFetchFloorTime{2};
// Pause after a refused request (429, 503) without Retry-After.
constexpr std::chrono::seconds kAfterRefusal{1};

struct BlobToFetch {
  std::string digest;
  std::uint64_t size = 0;
};

class FetchOrder {
 public:
  using ImageId = std::uint64_t;  // earlier images have lower ones

  // `blobs` are all blobs of the image. Call Done() for those that are complete already.
  void Add(ImageId image, const std::string& registry, std::vector<BlobToFetch> blobs);
  // The image is no longer wanted. Removes the blobs that only it wanted; the caller stops their streams.
  void Remove(ImageId image);

  struct Step {
    std::string digest;
    ImageId image = 0;  // one that wants it
  };
  // Returns the blob that a free stream fetches next, or nullopt if none may start now. When the stream ends,
  // the caller reports Done, Failed, Postponed, GaveUp or Refused.
  std::optional<Step> Next(base::TimePoint now);
  // Returns the earliest time at which a held registry may be asked again; max() if none is held.
  base::TimePoint NextAt(base::TimePoint now) const;

  struct Yield {
    std::string digest;
    bool stalled = false;  // its image is to be left to the runtime
  };
  // Returns the stream that has to stop for a waiting blob, or nullopt. Call it if no stream is free. The
  // caller stops that stream, and calls again when it has ended.
  std::optional<Yield> StreamToPreempt(base::TimePoint now);

  // Bytes of the blob have come. They count in the window over which its speed is measured.
  void OnBytes(const std::string& digest, std::uint64_t bytes, base::TimePoint now);
  // The stream has not waited for the network until now, so its window starts again.
  void RestartSpeedWindow(const std::string& digest, base::TimePoint now);
  // The agent itself has held the stream back for this time, so its window moves along by it.
  void ShiftSpeedWindow(const std::string& digest, base::Duration time);
  // The stream has ended before the blob is complete.
  void GaveUp(const std::string& digest);
  // Another writer has the blob. It waits until Retry(), and is then opened once more.
  void Postponed(const std::string& digest);
  void Retry();
  // The registry has refused a request (429, 503). It gets no request before `until`, and half of its streams
  // from then on. Returns false if that does not help, since it had one stream only, or has refused the image
  // before; the caller then reports Failed(). Refusals of requests that ran side by side count as one.
  bool Refused(const std::string& digest, base::TimePoint until);
  // The blob is complete, or failed. Call Of() for the effect on its images.
  void Done(const std::string& digest);
  void Failed(const std::string& digest);

  // The state of an image: all of its blobs are complete, one of them has failed, or neither is true yet.
  enum class Progress { kUnderWay, kComplete, kFailed };
  Progress Of(ImageId image) const;
  bool Wants(const std::string& digest) const { return blobs_.contains(digest); }

 private:
  struct Blob {
    std::string registry;
    std::uint64_t size = 0;
    std::set<std::pair<ImageId, std::size_t>> wanted_by;  // with its rank there; never empty
    enum class State { kWaits, kPostponed, kMoves, kYields } state = State::kWaits;
    std::uint64_t begun = 0;    // the number of its step
    base::TimePoint window_at;  // since when `window_bytes` came
    std::uint64_t window_bytes = 0;
    bool slow = false;  // the previous window was below kFetchFloor
  };
  struct Image {
    std::set<std::string> missing;
    bool failed = false;
    bool refused = false;
  };
  struct Registry {
    int most = std::numeric_limits<int>::max();
    base::TimePoint not_before;
    std::uint64_t halved = 0;  // number of a step: those before it ran beside the refused request
  };
  using Blobs = std::map<std::string, Blob>;
  // Number of moving streams of each registry and of each image.
  struct Shares {
    std::map<std::string, int> registries;
    std::map<ImageId, int> images;
  };

  static ImageId ImageOf(const Blob& blob) { return blob.wanted_by.begin()->first; }
  static bool IsStalled(const Blob& blob, base::TimePoint now);
  Shares CountShares() const;
  Blobs::iterator Best(const Shares& shares, base::TimePoint now);

  Blobs blobs_;  // that are not complete
  std::map<ImageId, Image> images_;
  std::map<std::string, Registry> registries_;  // that images_ are of
  std::uint64_t steps_ = 0;
};

}  // namespace prefetch::plan
