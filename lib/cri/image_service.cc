#include "cri/image_service.h"

namespace prefetch::cri {

CallResult<std::vector<std::optional<ImageDetails>>> ImageService::ImageStatuses(
    const base::Call& call, const std::vector<std::string>& names) {
  std::vector<std::optional<ImageDetails>> all;
  all.reserve(names.size());
  for (const std::string& name : names) {
    auto details = ImageStatus(call, name);
    if (!details) return details.error();
    all.push_back(*std::move(details));
  }
  return all;
}

}  // namespace prefetch::cri
