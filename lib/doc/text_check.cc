#include "doc/text_check.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "doc/columns.h"

namespace prefetch::doc {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBad(std::string_view text, std::size_t i) {
  auto c = static_cast<unsigned char>(text[i]);
  if (c == '\r') return i + 1 == text.size() || text[i + 1] != '\n';
  return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
}

Position PositionOf(std::string_view text, std::size_t offset) {
  std::string_view before = text.substr(0, offset);
  std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
          static_cast<std::uint32_t>(CharactersIn(before.substr(line_start)) + 1)};
}

}  // namespace

std::optional<std::string_view> CheckText(std::string_view text, std::size_t max_bytes, Problems& problems) {
  if (text.size() > max_bytes) {
    problems.Add({}, "", "is longer than " + std::to_string(max_bytes) + " bytes");
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    if (!IsBad(text, i)) continue;
    problems.Add(PositionOf(text, i), "",
                 text[i] == '\r' ? "a carriage return must be followed by a line feed"
                                 : "is not text: there is a control character here");
    return std::nullopt;
  }
  if (!base::IsUtf8(text)) {
    problems.Add({}, "", "is not text in UTF-8");
    return std::nullopt;
  }
  return text;
}

}  // namespace prefetch::doc
