// FetchOrder: the blobs that the agent fetches for all its images, and which one a free stream takes. No I/O,
// no clock, no lock: the caller holds the lock.
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
// A stream that brings fewer bytes a second has stalled, whether bytes trickle or none come.
constexpr std::uint64_t kFetchFloor = 16 * 1024;
constexpr std::chrono::seconds kFetchFloorTime{2};
// After a refused request without a time, the registry is asked again so soon.
constexpr std::chrono::seconds kAfterRefusal{1};

struct BlobToFetch {
  std::string digest;
  std::uint64_t size = 0;
};

class FetchOrder {
 public:
  using ImageId = std::uint64_t;  // earlier images have lower ones

  // `blobs` are all of the image. Done() for those that are complete already.
  void Add(ImageId image, const std::string& registry, std::vector<BlobToFetch> blobs);
  // It is no longer wanted. Blobs that only it wanted go; their streams are the caller's to stop.
  void Remove(ImageId image);

  struct Step {
    std::string digest;
    ImageId image = 0;  // one that wants it
  };
  // The blob that a free stream fetches next; the caller then says Done, Failed, Postponed, GaveUp or
  // Refused. nullopt: none for now.
  std::optional<Step> Next(base::TimePoint now);
  // When a registry may be asked again for what waits; max() if none is held.
  base::TimePoint NextAt(base::TimePoint now) const;

  struct Yield {
    std::string digest;
    bool stalled = false;  // its image is to be left to the runtime
  };
  // The stream that is to stop for a blob that waits, if no stream is free; nullopt: none. The caller stops
  // it, and asks again when it has ended.
  std::optional<Yield> ToYield(base::TimePoint now);

  // Bytes of the blob came: they count in the window over which its speed is measured.
  void Came(const std::string& digest, std::uint64_t bytes, base::TimePoint now);
  // Until now its stream did not wait for the network: the window starts again.
  void Rested(const std::string& digest, base::TimePoint now);
  // Its stream waited for this time, which the agent chose, and not for the network: the window moves along.
  void Waited(const std::string& digest, base::Duration time);
  // Its stream has ended before the blob is complete.
  void GaveUp(const std::string& digest);
  // Another writer has it. It waits until Retry(), and is then opened once more.
  void Postponed(const std::string& digest);
  void Retry();
  // Its registry has too many requests (429, 503), and is not to be asked before `until`: it gets half of the
  // streams from now on. False: it does not help, since it had one stream only, or has refused the image
  // before; Failed() is due. Answers to requests that ran side by side are one.
  bool Refused(const std::string& digest, base::TimePoint until);
  // The blob is complete, or failed. Call Of() for the effect on its images.
  void Done(const std::string& digest);
  void Failed(const std::string& digest);

  // All blobs are complete; some failed; or neither yet.
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
    bool slow = false;  // in the window before
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
  // How many streams move for each.
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
