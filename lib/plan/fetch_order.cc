#include "plan/fetch_order.h"

#include <algorithm>

namespace prefetch::plan {

void FetchOrder::Add(ImageId image, std::vector<BlobToFetch> blobs) {
  std::stable_sort(blobs.begin(), blobs.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
  Image& added = images_[image];
  for (std::size_t rank = 0; rank < blobs.size(); rank++) {
    Blob& blob = blobs_[blobs[rank].digest];
    blob.size = blobs[rank].size;
    blob.wanted_by.insert({image, rank});
    added.missing.insert(blobs[rank].digest);
  }
}

void FetchOrder::Remove(ImageId image) {
  images_.erase(image);
  for (auto it = blobs_.begin(); it != blobs_.end();) {
    Blob& blob = it->second;
    std::erase_if(blob.wanted_by, [&](const auto& wish) { return wish.first == image; });
    it = blob.wanted_by.empty() ? blobs_.erase(it) : std::next(it);
  }
}

std::optional<FetchOrder::Step> FetchOrder::Next(int streams_busy, bool alone) {
  if (alone && streams_busy > 0) return std::nullopt;
  auto best = blobs_.end();
  for (auto it = blobs_.begin(); it != blobs_.end(); ++it) {
    const Blob& blob = it->second;
    const bool idle =
        blob.state == Blob::State::kNew ||
        (blob.state == Blob::State::kOpen && blob.assigned < blob.size && blob.waiting < kMostWaiting);
    if (!idle || blob.wanted_by.empty()) continue;
    if (best == blobs_.end() || *blob.wanted_by.begin() < *best->second.wanted_by.begin()) best = it;
  }
  if (best == blobs_.end()) return std::nullopt;
  Blob& blob = best->second;
  Step step{.digest = best->first, .image = blob.wanted_by.begin()->first, .size = blob.size};
  if (blob.state == Blob::State::kNew) {
    blob.state = Blob::State::kOpening;
    return step;
  }
  step.kind = Step::Kind::kRange;
  step.begin = blob.assigned;
  step.end = std::min(blob.assigned + kFetchRange, blob.size);
  blob.assigned = step.end;
  return step;
}

void FetchOrder::Opened(const std::string& digest, std::uint64_t offset) {
  auto found = blobs_.find(digest);
  if (found == blobs_.end()) return;
  found->second.state = Blob::State::kOpen;
  found->second.assigned = offset;
}

void FetchOrder::Waits(const std::string& digest) {
  if (auto found = blobs_.find(digest); found != blobs_.end()) found->second.waiting++;
}

void FetchOrder::WaitsNoLonger(const std::string& digest) {
  auto found = blobs_.find(digest);
  if (found != blobs_.end() && found->second.waiting > 0) found->second.waiting--;
}

void FetchOrder::Postponed(const std::string& digest) {
  if (auto found = blobs_.find(digest); found != blobs_.end()) found->second.state = Blob::State::kPostponed;
}

void FetchOrder::Retry() {
  for (auto& [digest, blob] : blobs_) {
    if (blob.state == Blob::State::kPostponed) blob.state = Blob::State::kNew;
  }
}

void FetchOrder::Done(const std::string& digest) {
  for (auto& [id, image] : images_) image.missing.erase(digest);
  blobs_.erase(digest);
}

void FetchOrder::Failed(const std::string& digest) {
  for (auto& [id, image] : images_) image.failed = image.failed || image.missing.contains(digest);
  blobs_.erase(digest);
}

FetchOrder::Progress FetchOrder::Of(ImageId image) const {
  auto found = images_.find(image);
  if (found == images_.end() || found->second.failed) return Progress::kFailed;
  return found->second.missing.empty() ? Progress::kComplete : Progress::kUnderWay;
}

bool FetchOrder::Wants(const std::string& digest) const {
  return blobs_.contains(digest);
}

}  // namespace prefetch::plan
