// Columns: places as people and editors count them, in characters, made of places that parsers count in
// bytes.
#pragma once

#include <string_view>
#include <vector>

#include "doc/node.h"

namespace prefetch::doc {

// Characters (Unicode code points) of a text in UTF-8.
std::size_t CharactersIn(std::string_view text);

// Serves one text, which must outlive it. Not thread-safe. If positions ascend, as most do, it reads each
// byte once.
class Columns {
 public:
  explicit Columns(std::string_view text);

  // `bytes` has its column in bytes; line and column are counted from 1. A place that is no place stays one.
  Position InCharacters(Position bytes);

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // of each line; empty: all characters are bytes
  Position last_;                    // the last answer …
  std::size_t last_bytes_ = 0;       // … and the column that it was made of
};

}  // namespace prefetch::doc
