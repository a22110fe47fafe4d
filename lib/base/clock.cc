#include "base/clock.h"

#include <ctime>

namespace prefetch::base {

std::string Rfc3339(WallTime time) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  // UTC, whatever the container's time zone is, so that lines of all nodes compare.
  gmtime_r(&seconds, &utc);
  char text[32];
  std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

}  // namespace prefetch::base
