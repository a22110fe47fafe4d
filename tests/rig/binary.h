// The built programs, which meson names in the environment.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace prefetch::rig {

// Returns the path of the program that `variable` names. Fails the test if it names none.
inline std::string Binary(const char* variable) {
  const char* path = std::getenv(variable);
  if (path != nullptr) return path;
  ADD_FAILURE() << variable << " must name a binary: run the tests by tests/run or meson test";
  return "/no/such/binary";
}

inline std::string Prefetchctl() {
  return Binary("PREFETCHCTL");
}

}  // namespace prefetch::rig
