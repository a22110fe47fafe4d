#include "base/utf8.h"

namespace prefetch::base {

Character CharacterAt(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  // 0x80 to 0xC1 begin no character, or an overlong one.
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {};
  char32_t point = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; i++) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    point = point << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  return overlong || surrogate || point > 0x10FFFF ? Character{} : Character{point, bytes};
}

}  // namespace prefetch::base
