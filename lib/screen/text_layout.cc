#include "screen/text_layout.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kShortDigest = 8;  // hex characters: enough to tell images of one list apart

// Bytes that are no character count as one column each.
base::Character CharacterAt(std::string_view text, std::size_t at) {
  const base::Character character = base::CharacterAt(text, at);
  return character.bytes > 0 ? character : base::Character{0xFFFD, 1};
}

struct Range {
  char32_t first, last;
};
// Covers the blocks that names and messages really have; a full table would be 2,000 lines of Unicode.
constexpr Range kNoColumn[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr Range kTwoColumns[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                                 {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                                 {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t kCount>
bool In(const Range (&ranges)[kCount], char32_t value) {
  return std::any_of(ranges, ranges + kCount, [&](Range r) { return r.first <= value && value <= r.last; });
}

std::size_t ColumnsOf(char32_t value) {
  if (In(kNoColumn, value)) return 0;
  return In(kTwoColumns, value) ? 2 : 1;
}

// Returns the number of bytes of a change of colours (base::kRed) that begins here; 0 if none does.
std::size_t ColourAt(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("\xff[")) return 0;
  std::size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 - at : 0;
}

// Returns the longest beginning of `text` that takes at most `width` columns.
std::string_view Beginning(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const base::Character next = CharacterAt(text, at);
    used += ColumnsOf(next.point);
    if (used > width) break;
    at += next.bytes;
  }
  return text.substr(0, at);
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (std::size_t colour = ColourAt(text, at); colour > 0) {
      at += colour;
      continue;
    }
    const base::Character next = CharacterAt(text, at);
    width += ColumnsOf(next.point);
    at += next.bytes;
  }
  return width;
}

std::string PadRight(std::string_view text, std::size_t width) {
  std::string padded(text);
  std::size_t used = DisplayWidth(text);
  if (used < width) padded.append(width - used, ' ');
  return padded;
}

std::string CutEnd(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  // The mark itself takes one column.
  return std::string(Beginning(text, width - 1)) + "…";
}

std::string ShortImage(std::string_view image, std::size_t width) {
  std::string name(image);
  std::size_t digest = name.rfind("@sha256:");
  if (digest != std::string::npos && name.size() > digest + 8 + kShortDigest) {
    name = name.substr(0, digest + 8 + kShortDigest) + "…";
  }
  std::size_t whole = DisplayWidth(name);
  if (whole <= width) return name;
  // Keeps the registry and as much of the end as fits: these tell images apart.
  std::size_t slash = name.find('/');
  std::string head = slash == std::string::npos || slash + 8 > width ? "" : name.substr(0, slash + 1);
  if (width < head.size() + 2) return CutEnd(name, width);
  std::size_t room = width - DisplayWidth(head) - 1;
  std::string_view tail = name;
  // Removed by whole characters, never within one.
  while (DisplayWidth(tail) > room) tail.remove_prefix(CharacterAt(tail, 0).bytes);
  return head + "…" + std::string(tail);
}

std::vector<std::string> Wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::string spaced = base::ReplaceAll(text, "\n", " ");
  for (std::string_view word : base::Split(spaced, ' ')) {
    if (word.empty()) continue;
    // A word that is too long stays whole on a line of its own: a cut image name or URL could not be copied.
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string WrapIndented(std::string_view text, std::string_view first, std::string_view rest,
                         std::size_t width) {
  std::string out;
  for (const std::string& line : Wrap(text, width - DisplayWidth(first))) {
    out += std::string(out.empty() ? first : rest) + line + "\n";
  }
  return out;
}

std::string ShortHash(std::string_view hash) {
  if (hash.empty()) return "none";
  const std::size_t colon = hash.find(':');
  return std::string(hash.substr(colon == std::string_view::npos ? 0 : colon + 1, 6));
}

std::string Paragraph(std::string_view text, std::string_view first, std::string_view rest,
                      std::size_t width) {
  std::string out;
  std::size_t indent = DisplayWidth(first);
  for (std::string_view part : base::Split(text, '\n')) {
    // On a terminal that is too narrow, lines become longer rather than one word high.
    for (const std::string& line : Wrap(part, width > indent + 20 ? width - indent : 20)) {
      out += std::string(out.empty() ? first : rest) + line + "\n";
    }
  }
  return out;
}

}  // namespace prefetch::screen
