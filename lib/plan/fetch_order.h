// FetchOrder: the blobs that the agent fetches for all its images, and which range comes next. Pure: facts
// in, answers out; the caller has the lock.
//
// Earlier images come first, since each is of use as soon as it is complete. Larger layers of an image come
// first. A layer that several images share is fetched once. A blob's ranges may be fetched side by side, but
// are written in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prefetch::plan {

// The one that is next in its blob is written as it comes; the others wait in memory, and are lost if the
// agent is killed.
constexpr std::uint64_t kFetchRange = 512 * 1024;
constexpr int kFetchStreams = 16;  // for all registries; browsers and object stores' clients use 6 to 16
// Where a blob has so many whole ranges that wait to be written, its store is the limit, and no further range
// of it begins. Fewer would idle a far link: one range that takes longer than the others is enough.
constexpr int kMostWaiting = 12;

struct BlobToFetch {
  std::string digest;
  std::uint64_t size = 0;
};

class FetchOrder {
 public:
  using ImageId = std::uint64_t;  // earlier images have lower ones

  // `blobs` are all of the image. Done() for those that are complete already.
  void Add(ImageId image, std::vector<BlobToFetch> blobs);
  // It is no longer wanted. Blobs that only it wanted go, once their streams have ended.
  void Remove(ImageId image);

  struct Step {
    enum class Kind { kOpen, kRange } kind = Kind::kOpen;
    std::string digest;
    ImageId image = 0;  // one that wants it
    std::uint64_t begin = 0, end = 0, size = 0;
  };
  // The next step of a free stream: it opens a blob, and calls Opened, Done, Postponed or Failed; or it
  // fetches a range. nullopt: nothing for now. With `alone`, the whole agent has one stream.
  std::optional<Step> Next(int streams_busy, bool alone);

  // The blob has `offset` bytes already.
  void Opened(const std::string& digest, std::uint64_t offset);
  // A range of it is complete, and cannot be written before an earlier one; or no longer waits.
  void Waits(const std::string& digest);
  void WaitsNoLonger(const std::string& digest);
  // Another writer has it: it is to be opened once more, after Retry().
  void Postponed(const std::string& digest);
  void Retry();
  // It is complete, or failed. Of() tells what that means for images.
  void Done(const std::string& digest);
  void Failed(const std::string& digest);

  // All blobs are complete; some failed; or neither yet.
  enum class Progress { kUnderWay, kComplete, kFailed };
  Progress Of(ImageId image) const;
  bool Wants(const std::string& digest) const;

 private:
  struct Blob {
    std::uint64_t size = 0;
    std::set<std::pair<ImageId, std::size_t>> wanted_by;  // with its rank there
    enum class State { kNew, kOpening, kPostponed, kOpen } state = State::kNew;
    std::uint64_t assigned = 0;
    int waiting = 0;  // ranges
  };
  struct Image {
    std::set<std::string> missing;
    bool failed = false;
  };

  std::map<std::string, Blob> blobs_;  // that are not complete
  std::map<ImageId, Image> images_;
};

}  // namespace prefetch::plan
