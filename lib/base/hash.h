// Mixed: hashes of several parts. They are only compared with others of the same process.
#pragma once

#include <cstdint>

namespace prefetch::base {

// Spreads `part` over `hash`, so that the order of parts counts.
constexpr std::uint64_t Mixed(std::uint64_t hash, std::uint64_t part) {
  hash = (hash ^ part) * 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  return hash ^ (hash >> 32);
}

}  // namespace prefetch::base
