// The other names of an image's content, as far as they say something.
#pragma once

#include <string>
#include <vector>

namespace prefetch::report {

// `aliases` as a runtime gives them has each name twice: by tag, and by digest. A digest is left out where
// its repository has a tag here already, `image`'s own included. The order stays. Pure.
std::vector<std::string> OtherNames(const std::string& image, const std::vector<std::string>& aliases);

}  // namespace prefetch::report
