#include "doc/columns.h"

#include <algorithm>

namespace prefetch::doc {

std::size_t CharactersIn(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      // Bytes 10xxxxxx continue a character of UTF-8.
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Columns::Columns(std::string_view text) : text_(text) {
  bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80U; });
  if (ascii) return;
  starts_.push_back(0);
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    starts_.push_back(at + 1);
  }
}

Position Columns::InCharacters(Position bytes) {
  if (bytes.line == 0 || bytes.line > starts_.size() || bytes.column < 2) return bytes;
  // Positions usually ascend within a line. Counting on from the last one keeps a long line from taking
  // quadratic time.
  bool goes_on = last_.line == bytes.line && last_bytes_ <= bytes.column;
  std::size_t counted = goes_on ? last_bytes_ - 1 : 0;
  std::size_t characters = goes_on ? last_.column - 1 : 0;
  std::size_t from = std::min(starts_[bytes.line - 1] + counted, text_.size());
  characters += CharactersIn(text_.substr(from, bytes.column - 1 - counted));
  last_ = {bytes.line, static_cast<std::uint32_t>(characters + 1)};
  last_bytes_ = bytes.column;
  return last_;
}

}  // namespace prefetch::doc
