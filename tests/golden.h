// Golden files: what a format must look like, kept as files below tests/testdata and read like code in a
// review. PREFETCH_ACCEPT=1 writes what came out instead of comparing.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "text_of.h"

namespace prefetch::tests {

// The folder of inputs and golden files; meson sets it.
inline std::string Testdata() {
  const char* folder = std::getenv("PREFETCH_TESTDATA");
  return folder == nullptr ? "tests/testdata" : folder;
}

// `name` is below testdata: "screen/status.json".
inline void ExpectGolden(const std::string& name, const std::string& actual) {
  std::string path = Testdata() + "/" + name;
  if (std::getenv("PREFETCH_ACCEPT") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(actual, TextOf(path)) << "in " << path << "; PREFETCH_ACCEPT=1 accepts what came out";
}

}  // namespace prefetch::tests
