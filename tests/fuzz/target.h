// FUZZ_TARGET: the function that libFuzzer calls with each text.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#define FUZZ_TARGET(text)                                                             \
  static void FuzzTarget(std::string_view text);                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    FuzzTarget({reinterpret_cast<const char*>(data), size});                          \
    return 0;                                                                         \
  }                                                                                   \
  static void FuzzTarget(std::string_view text)
