// SerialImageService: an ImageService that is asked about one image after the other.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cri/image_service.h"

namespace prefetch::tests {

class SerialImageService : public cri::ImageService {
 public:
  cri::CallResult<std::vector<std::optional<cri::ImageDetails>>> ImageStatuses(
      const base::Call& call, const std::vector<std::string>& names) final {
    std::vector<std::optional<cri::ImageDetails>> all;
    for (const std::string& name : names) {
      auto details = ImageStatus(call, name);
      if (!details) return details.error();
      all.push_back(*std::move(details));
    }
    return all;
  }
};

}  // namespace prefetch::tests
