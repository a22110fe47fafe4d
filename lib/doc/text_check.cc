#include "doc/text_check.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "doc/columns.h"
#include "doc/parser_parts.h"

namespace prefetch::doc {
namespace {

// Returns true for a control character that is neither a tab nor a part of a line break.
bool IsBad(std::string_view text, std::size_t i) {
  auto c = static_cast<unsigned char>(text[i]);
  if (c == '\r') return i + 1 == text.size() || text[i + 1] != '\n';
  return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
}

// Returns the offset of the first byte that belongs to no character.
std::size_t OffsetOfBadUtf8(std::string_view text) {
  std::size_t line = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', line)) {
    if (!base::IsUtf8(text.substr(line, end - line))) break;
    line = end + 1;
  }
  auto is_character = [&](std::size_t at, std::size_t length) {
    return at + length <= text.size() && base::IsUtf8(text.substr(at, length));
  };
  std::size_t at = line, length = 1;
  while (length <= 4) {
    if (!is_character(at, length)) {
      length++;
    } else {
      at += length;
      length = 1;
    }
  }
  return at;
}

constexpr std::size_t kNodesOfShortTexts = 1 << 17;
constexpr std::size_t kLeastBytesOfANode = 8;

}  // namespace

std::optional<std::string> Utf8OfUtf16(std::string_view text, std::string_view bad) {
  const bool little = text.starts_with("\xFF\xFE");
  if (!little && !text.starts_with("\xFE\xFF")) return std::nullopt;
  auto unit = [&](std::size_t i) -> std::uint32_t {
    if (i + 1 >= text.size()) return 0;
    const auto first = static_cast<unsigned char>(text[i]);
    const auto second = static_cast<unsigned char>(text[i + 1]);
    return little ? first | second << 8 : second | first << 8;
  };
  std::string out;
  for (std::size_t i = 2; i < text.size(); i += 2) {
    const std::uint32_t c = unit(i), low = unit(i + 2);
    if ((c & 0xFC00) == 0xD800 && (low & 0xFC00) == 0xDC00) {
      base::AppendUtf8(out, 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF));
      i += 2;
    } else if ((c & 0xF800) == 0xD800 || i + 1 == text.size()) {
      out += bad;
    } else {
      base::AppendUtf8(out, c);
    }
  }
  return out;
}

Position PositionAt(std::string_view text, std::size_t offset) {
  std::string_view before = text.substr(0, offset);
  std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
          static_cast<std::uint32_t>(CharactersIn(before.substr(line_start)) + 1)};
}

// A text has at most one value for every few bytes. So the limit of values grows with the text, and a short
// text cannot claim the memory of a long one.
Limits LimitsFor(std::size_t text_size, const Limits& limits) {
  Limits fitting = limits;
  fitting.nodes = std::min(limits.nodes, std::max(kNodesOfShortTexts, text_size / kLeastBytesOfANode));
  return fitting;
}

std::string TooLong(std::size_t bytes) {
  return "is longer than " + std::to_string(bytes) + " bytes";
}

// Checks the text before the parser, so that parsers may assume valid characters and bounded size.
std::optional<std::string_view> CheckText(std::string_view text, std::size_t max_bytes, Problems& problems) {
  if (text.size() > max_bytes) {
    problems.Add({}, "", TooLong(max_bytes));
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    if (!IsBad(text, i)) continue;
    problems.Add(PositionAt(text, i), "",
                 text[i] == '\r' ? "a carriage return must be followed by a line feed"
                                 : "is not text: there is a control character here");
    return std::nullopt;
  }
  if (!base::IsUtf8(text)) {
    problems.Add(PositionAt(text, OffsetOfBadUtf8(text)), "", "is not text in UTF-8");
    return std::nullopt;
  }
  return text;
}

}  // namespace prefetch::doc
