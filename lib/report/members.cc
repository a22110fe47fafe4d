#include "report/members.h"

#include <ctime>

namespace prefetch::report {

std::string Harmless(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); i++) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) i++;
    clean += c1 || (c < 0x20 && c != '\n') || c == 0x7f ? ' ' : text[i];
  }
  return clean;
}

std::optional<base::WallTime> ParseTime(const std::string& text) {
  std::tm utc{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (rest == nullptr || text.empty() || text.back() != 'Z') return std::nullopt;
  return base::WallTime(std::chrono::seconds(::timegm(&utc)));
}

}  // namespace prefetch::report
