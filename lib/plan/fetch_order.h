// Decisions on the agent's own downloads: ChooseFetch (whether), FetchOrder (which bytes next), YieldPolicy
// (when they pause for others). No I/O, no clock, no lock: the caller holds the lock.
//
// FetchOrder has the blobs of all images that the agent downloads, and tells a free stream what to fetch
// next. A blob is one request, as with the runtime, so that servers which count requests see no more of them.
// Only a large blob whose connection is slow is split: its own stream goes on, and free streams bring parts
// from further on in it into memory. If images of several registries list the blob, its parts come from the
// one with the fewest streams that has brought as much as a part. The largest blob of an image comes first; a
// part ranks as a blob of the registry that it comes from. Streams are shared evenly: among registries, and
// then among the images of each. If no stream is free and a blob waits, a stream is preempted of a registry,
// or within one registry of an image, that has at least two more than the blob's. A blob's stream below the
// floor speed is preempted for any other image, and its own image is left to the runtime. Later images of its
// registry are left to the runtime as well, for kFetchFailedPeriod.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/enum_name.h"
#include "base/find_with_default.h"
#include "plan/limits.h"

namespace prefetch::plan {

// ---- ChooseFetch: decides whether the agent downloads the content of an image, or the runtime within its
// pull. Pure.
//
// The runtime's own download is the rule. The agent's is quicker where connections are slow or far and the
// runtime lets only a few through (containerd 2.1 and later: three downloads for all images). It costs CPU,
// so near registries stay with the runtime (tests/bench/README.md has the figures).

// Why the runtime downloads; kFar: the agent does.
enum class FetchReason {
  kRuntime,      // not containerd 2.1 or later
  kSnapshotter,  // not overlayfs: others fetch by themselves, or lazily
  kHosts,        // only the runtime can follow this registry's settings
  kTrouble,      // a download or size question of the agent failed within kFetchFailedPeriod
  kNear,         // it answers so quickly that the runtime's downloads are not the limit
  kFar,          // no obstacle: the registry is far, or its distance is not known yet
};

// A registry whose manifest (or index, if that is quicker) arrives within this time is near. `Distance` in
// plan/registry_health.h is another measure: it sets the number of parallel pulls.
constexpr std::chrono::milliseconds kNearRegistry{5};
// A registry with a shorter round trip than this is near, too, if it answers within kNearAndBusy: it shares a
// machine or a site with this node, and either may be busy. One that takes longer may have its content
// elsewhere.
constexpr std::chrono::milliseconds kNearRoundTrip{1};
constexpr std::chrono::milliseconds kNearAndBusy{25};
// A near registry is left to the runtime for this time.
constexpr std::chrono::minutes kNearPeriod{10};
// A registry that denied a question about a size gets no further one for this time.
constexpr std::chrono::minutes kSizeDeniedPeriod{10};
// One from which a download of the agent failed, for this time. It may only have restarted.
constexpr std::chrono::minutes kFetchFailedPeriod{1};

// Longest Retry-After for which a pull waits. If the registry sends a longer one, the pull fails as
// RateLimited.
constexpr std::chrono::seconds kMaxRetryAfter{30};

// Facts that were learnt about one registry. A value.
struct FetchHealth {
  base::TimePoint failed_until;
  base::TimePoint near_until;
  base::TimePoint size_denied_until;  // a question about a size was denied
  base::TimePoint limited_until;      // it sent Retry-After: the runtime must not ask it before, either
};

struct FetchFacts {
  std::string runtime, version;
  std::string snapshotter;   // empty: not known
  bool hosts_known = false;  // and no obstacle to the agent downloading from them
  FetchHealth health;
};

FetchReason ChooseFetch(const FetchFacts& facts, base::TimePoint now);

// Checks the runtime alone, without a call to it and without files. False is final; true needs ChooseFetch.
bool MayFetch(std::string_view runtime, std::string_view version);

// Returns true if a near registry may be asked for the size of an image before its pull. That is one more
// request, which costs little from near. False after a denial, since pulls find out which credentials it
// rejects, and for a while after a failure.
bool MayQuerySize(const FetchHealth& health, base::TimePoint now);

FetchHealth AfterFetchFailed(FetchHealth health, base::TimePoint now);
// Returns true if no fact in it counts any more.
bool CanDiscard(const FetchHealth& health, base::TimePoint now);
// `retry_after`: nullopt if it asked for none.
FetchHealth AfterLimited(FetchHealth health, std::optional<base::Duration> retry_after, base::TimePoint now);
FetchHealth AfterSizeDenied(FetchHealth health, base::TimePoint now);
// Its manifest came within `answer_time`. `round_trip`: the network's part of that, where it is known.
FetchHealth AfterManifest(FetchHealth health, base::Duration answer_time,
                          std::optional<base::Duration> round_trip, base::TimePoint now);

// ---- FetchOrder, as the top of this file explains it.

constexpr int kFetchStreams = 16;  // for all registries; browsers and object stores' clients use 6 to 16
// A stream is too slow if it brings fewer bytes a second than this over kFetchFloorTime.
constexpr std::uint64_t kFetchFloor = kMinPullRate;
constexpr std::chrono::seconds kFetchFloorTime{2};
// Pause after a rate-limited request (429, 503) without Retry-After.
constexpr std::chrono::seconds kDefaultRetryAfter{1};

// A blob above kSplitFrom is split if its stream brings at least kFetchFloor and less than kSplitBelow bytes
// a second over kFetchFloorTime. A single part shows whether its server bears that, before further ones
// start.
constexpr std::uint64_t kSplitFrom = 32 << 20;
constexpr std::uint64_t kSplitBelow = 8 << 20;
constexpr std::uint64_t kPartSize = 8 << 20;
// At most this many parts exist, of all blobs: on their way, or in memory until the stream of their blob has
// written them, since containerd takes the bytes of a blob in order only. That is 40 MiB.
constexpr int kMaxParts = 5;

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

  // A blob, or a part of one whose own stream runs. Other calls name it by `key`: the digest, or that of the
  // part.
  struct Step {
    std::string key;
    std::string digest;
    ImageId image = 0;  // one that wants it, whose registry is asked
    bool is_part = false;
    std::uint64_t size = 0;            // of the blob
    std::uint64_t begin = 0, end = 0;  // of the bytes to fetch; a blob's stream skips those that are there
  };
  // Returns what a free stream fetches next, or nullopt if nothing may start now. When the stream of a blob
  // ends, the caller reports Done, Failed, Postponed, Requeue or RateLimited; that of a part: RateLimited if
  // it was, then PartFetched, and RemovePart once its bytes are written or not needed.
  std::optional<Step> Next(base::TimePoint now);
  // Returns true if the blob's registry must not be asked now: the stream of the blob ends, and reports
  // Requeue.
  bool RegistryIsHeld(const std::string& key, base::TimePoint now) const;
  // Returns the earliest time at which a held registry may be asked again; max() if none is held.
  base::TimePoint NextAt(base::TimePoint now) const;

  struct Preemption {
    std::string key;
    bool too_slow = false;  // it is a blob's, and its image is to be left to the runtime
  };
  // Returns the stream that has to stop for a waiting blob of the agent's own images, or nullopt: YieldPolicy
  // is about the pulls of others. Call it if no stream is free. The caller stops that stream, and calls again
  // when it has ended.
  std::optional<Preemption> StreamToPreempt(base::TimePoint now);

  // Bytes have come, and `offset` is the first one that has not. They count in the window of kFetchFloorTime
  // over which the speed is measured. Returns true if free streams may fetch more parts of the blob from now
  // on.
  bool OnBytes(const std::string& key, std::uint64_t bytes, std::uint64_t offset, base::TimePoint now);
  // Returns true if the stream is below the floor speed.
  bool IsTooSlow(const std::string& key, base::TimePoint now) const;
  // The stream was paused or wrote until now, so its window starts again.
  void RestartSpeedWindow(const std::string& key, base::TimePoint now);
  // The agent itself has held the stream back for this time, so its window moves along by it.
  void ShiftSpeedWindow(const std::string& key, base::Duration time);
  // The caller has stopped the stream of the blob, which is about to end.
  void Preempt(const std::string& key);
  // The stream has ended before the blob is complete.
  void Requeue(const std::string& digest);
  // Another writer has the blob. It waits until Reopen(), and is then opened once more.
  void Postponed(const std::string& digest);
  void Reopen();
  // The registry has rate limited a request (429, 503). It gets no request before `until`, and from then on
  // half of the streams that were active, until no image is left here. Returns false if that does not help,
  // since it had one stream only, or has limited the image before: a blob has then failed. Answers to
  // requests that ran side by side count as one.
  bool RateLimited(const std::string& key, base::TimePoint until);
  // The blob is complete, or failed. ProgressOf tells the effect on its images. Its parts end with it.
  void Done(const std::string& digest);
  void Failed(const std::string& digest);
  // The stream of a part has ended; what it brought waits in memory. If it failed, no further part of the
  // blob begins.
  void PartFetched(const std::string& key, bool failed);
  // The bytes of the part were written, or nobody needs them.
  void RemovePart(const std::string& key);

  // The state of an image: all of its blobs are complete, one of them has failed, or neither is true yet.
  enum class Progress { kUnderWay, kComplete, kFailed };
  Progress ProgressOf(ImageId image) const;
  // Returns true if all blobs that the image lacks are fetched for earlier images, or if it lacks none.
  bool LacksNoneOfItsOwn(ImageId image) const;
  bool Wants(const std::string& key) const { return blobs_.contains(key); }

 private:
  struct Blob {  // or a part of one
    std::string registry;
    std::uint64_t size = 0;
    std::set<std::pair<ImageId, std::size_t>> wanted_by;  // with its rank there; never empty
    std::string part_of;                                  // digest of the blob, for a part
    std::uint64_t offset = 0;                             // the first byte that its own stream lacks
    std::uint64_t next_part = 0;                          // where the last part ends; 0: not split
    int parts_in_row = 0;                                 // that end there
    enum class Split { kNo, kTrying, kYes, kNever } split = Split::kNo;
    enum class State { kQueued, kPostponed, kActive, kPreempted, kInMemory } state = State::kQueued;
    std::uint64_t begun = 0;    // `steps_` when it began
    base::TimePoint window_at;  // since when `window_bytes` came
    std::uint64_t window_bytes = 0;
    bool slow = false;  // the previous window was below kFetchFloor
  };
  struct Image {
    std::string registry;
    std::set<std::string> missing;
    bool failed = false;
    bool was_limited = false;
  };
  struct Registry {
    int max_streams = std::numeric_limits<int>::max();
    base::TimePoint not_before;
    std::uint64_t first_step_after_halving = 0;  // steps before it ran beside the limited request
    std::uint64_t bytes = 0;                     // that it has brought
  };
  using Blobs = std::map<std::string, Blob>;
  // Number of moving streams of each registry and of each image.
  struct Shares {
    std::map<std::string, int> registries;
    std::map<ImageId, int> images;

    int Of(const std::string& registry) const { return base::FindWithDefault(registries, registry); }
    int Of(ImageId image) const { return base::FindWithDefault(images, image); }
  };

  static ImageId ImageOf(const Blob& blob) { return blob.wanted_by.begin()->first; }
  static bool IsBelow(std::uint64_t speed, const Blob& blob, base::TimePoint now);
  static bool IsTooSlow(const Blob& blob, base::TimePoint now);
  Shares CountShares() const;
  enum class Parts { kNo, kYes };
  Blobs::iterator Best(const Shares& shares, Parts parts, base::TimePoint now);
  static bool MayAsk(const Registry& registry, int streams, base::TimePoint now);
  ImageId SourceOfPart(const Blob& blob, const Shares& shares, base::TimePoint now) const;
  static std::uint64_t NextPart(const Blob& blob);
  bool MayStartPart(const std::string& digest, const Blob& blob) const;
  void Erase(const std::string& digest);

  Blobs blobs_;  // that are not complete
  std::map<ImageId, Image> images_;
  std::map<std::string, Registry> registries_;  // that images_ are of
  std::uint64_t steps_ = 0;
};

// ---- YieldPolicy: kubelet's own pulls come first. While one of them receives bytes, the agent's downloads
// pause. After kMaxPause, one of them goes on in short bursts. No I/O, no clock, no lock: the caller
// holds the lock.

// Interval at which downloads of others are looked for.
constexpr std::chrono::milliseconds kForeignPullPollInterval{250};
// A pull that has not moved for this long waits for something else than the network. containerd writes, and
// shows, whole MiB (copyWithBuffer in its core/content): beside 16 streams on a link of 4 MB/s, one takes 4.5
// seconds. With 1 s, streams that shared such a link went on between two MiB, and the other pull got its part
// of the link, and not all of it.
constexpr std::chrono::seconds kForeignPullIdleAfter{5};
// Once nobody else downloads, the other pull unpacks or is over; its next layer begins within this time.
constexpr std::chrono::seconds kForeignPullGoneAfter{1};
// A stream pauses no longer than this while another pull moves: servers close connections on which nothing
// moves. A shorter time was tried, since the other pull may wait for one of their blobs: with 2 s, the agent
// downloaded 15 to 36 MB while another pull of 40 MB had the link, in place of 3 MB.
constexpr std::chrono::seconds kMaxPause{10};
// Then one stream goes on in bursts of 512 KiB, and the others end; their blobs wait for a stream again. The
// pause after a burst is this many times its own duration, and no less than half of the pause before: what
// the kernel received meanwhile is a burst of no time.
constexpr int kPauseFactor = 4;

class YieldPolicy {
 public:
  // `ingests`: the bytes written so far of all downloads of others, by their names.
  void Observe(std::map<std::string, std::uint64_t> ingests, base::TimePoint now);

  // Returns true if another pull receives bytes now.
  bool ShouldYield(base::TimePoint now) const;
  // Returns the time at which the next burst may begin: `now` or earlier if it may begin now.
  base::TimePoint NextBurst(base::TimePoint now) const;
  void BurstEnded(base::TimePoint began, base::TimePoint now);

 private:
  std::map<std::string, std::uint64_t> ingests_;  // at the last poll
  bool observed_ = false;
  base::TimePoint moved_until_;
  base::TimePoint pause_until_;
  base::Duration last_burst_{};
};

}  // namespace prefetch::plan
