// Numbers that choose what the faults' tests run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/text.h"

namespace prefetch::tests {

// The number in this variable of the environment.
inline std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  auto number = text == nullptr ? std::nullopt : base::ParseUint(text);
  return number ? *number : otherwise;
}

}  // namespace prefetch::tests
