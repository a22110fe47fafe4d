#include "agent/answers/retries.h"

#include <utility>

#include "image/reference.h"

namespace prefetch::agent {
namespace {

using status::RetryState;

RetryState StateOf(const plan::Snapshot& snapshot, const std::string& image) {
  auto reference = image::Reference::Parse(image);
  const plan::ImageState* listed = reference ? plan::FindImage(snapshot, *reference) : nullptr;
  if (listed == nullptr) return RetryState::kNotListed;
  return plan::AwaitsRetry(*listed) ? RetryState::kRequested : RetryState::kNotWaiting;
}

}  // namespace

std::variant<status::RetryResult, base::Duration> Retries::Request(const status::RetryRequest& request) {
  const plan::SnapshotPtr snapshot = board_.Latest();
  status::RetryResult result{.node = snapshot->node, .images = {}};
  for (const std::string& image : request.images) {
    result.images.push_back({image, StateOf(*snapshot, image)});
  }
  if (request.images.empty()) {
    for (const plan::ImageState& image : snapshot->images) {
      if (plan::AwaitsRetry(image)) {
        result.images.push_back({image.want->reference.written(), RetryState::kRequested});
      }
    }
  }
  std::vector<std::string> names;
  for (const status::RetriedImage& image : result.images) {
    if (image.state != RetryState::kRequested) continue;
    names.push_back(image::Reference::Parse(image.image)->Normalized());
  }
  if (names.empty()) return result;
  {
    base::Lock lock(mutex_);
    if (!tokens_.TryTake(clock_.Now())) return tokens_.WaitAt(clock_.Now());
  }
  retry_(std::move(names));
  return result;
}

}  // namespace prefetch::agent
