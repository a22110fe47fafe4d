// Arithmetic on sizes that others tell: it stops at the ends of the range, where `+` would begin anew.
#pragma once

#include <cstdint>
#include <limits>

namespace prefetch::base {

constexpr std::uint64_t SaturatingAdd(std::uint64_t one, std::uint64_t other) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return one > most - other ? most : one + other;
}

constexpr std::uint64_t SaturatingSub(std::uint64_t from, std::uint64_t bytes) {
  return from > bytes ? from - bytes : 0;
}

// `factor` is not 0.
constexpr std::uint64_t SaturatingMul(std::uint64_t bytes, std::uint64_t factor) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return bytes > most / factor ? most : bytes * factor;
}

}  // namespace prefetch::base
