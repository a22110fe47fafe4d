#include "registry/content_range.h"

#include "base/text.h"

namespace prefetch::registry {

std::string RangeHeader(std::uint64_t begin, std::uint64_t end) {
  return "bytes=" + std::to_string(begin) + "-" + std::to_string(end - 1);
}

bool IsContentRange(std::string_view text, std::uint64_t begin, std::uint64_t end, std::uint64_t size) {
  // Any other range would put bytes in a wrong place of the blob.
  const std::string range = "bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/";
  text = base::TrimSpace(text);
  return text == range + std::to_string(size) || text == range + "*";
}

}  // namespace prefetch::registry
