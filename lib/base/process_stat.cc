#include "base/process_stat.h"

#include <cstddef>
#include <vector>

#include "base/text.h"

namespace prefetch::base {
namespace {

// Fields are counted from 1; the state is the 3rd, the start time the 22nd.
constexpr std::size_t kFirstFieldBehindName = 3;
constexpr std::size_t kParentField = 4;
constexpr std::size_t kStartField = 22;

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name may contain anything, brackets and spaces too, so the last bracket ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::vector<std::string_view> fields = Split(text.substr(close + 2), ' ');
  // Later kernels only append fields.
  if (fields.size() <= kStartField - kFirstFieldBehindName) return std::nullopt;
  return ProcessStat{text.substr(open + 1, close - open - 1), fields[0],
                     fields[kParentField - kFirstFieldBehindName],
                     fields[kStartField - kFirstFieldBehindName]};
}

}  // namespace prefetch::base
