// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace prefetch::base {

struct Character {
  char32_t point = 0;
  std::size_t bytes = 0;  // 0: there is no character, as UTF-8 spells it
};

// Returns the character at `at`, which is below text.size(). Pure.
Character CharacterAt(std::string_view text, std::size_t at);

}  // namespace prefetch::base
