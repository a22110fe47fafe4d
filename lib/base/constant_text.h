// ConstantText: texts joined when the program is compiled, for tables that hold `const char*`.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace prefetch::base {

// The parts are constants with static storage.
template <const std::string_view&... kParts>
struct ConstantText {
  static constexpr auto kChars = [] {
    std::array<char, (kParts.size() + ... + 1)> chars{};
    auto end = chars.begin();
    ((end = std::copy(kParts.begin(), kParts.end(), end)), ...);
    return chars;
  }();
  static constexpr const char* kText = kChars.data();
};

}  // namespace prefetch::base
