#include "status/members.h"

#include <ctime>

#include "doc/timestamp.h"

namespace prefetch::status {

std::optional<base::WallTime> ParseTime(const std::string& text) {
  // Nanoseconds reach some 292 years: half of that to both sides of 1970, so that the time between any two
  // holds, too.
  constexpr auto kFurthest = std::chrono::floor<std::chrono::seconds>(base::WallTime::duration::max()) / 2;
  std::tm utc{};
  // strptime alone would accept impossible dates and ignore offsets.
  if (!doc::IsTimestamp(text) || text.back() != 'Z') return std::nullopt;
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc) == nullptr) return std::nullopt;
  const std::chrono::seconds since(::timegm(&utc));
  if (since > kFurthest || since < -kFurthest) return std::nullopt;
  return base::WallTime(since);
}

}  // namespace prefetch::status
