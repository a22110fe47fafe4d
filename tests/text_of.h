// TextOf: the bytes of a file, of the sources perhaps.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace prefetch::tests {

// Returns what is in the file so far; "" if it is not there, or cannot be read, as those in /proc of a
// process that has just ended.
inline std::string TextSoFar(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// Returns what is in a file that must be there.
inline std::string TextOf(const std::filesystem::path& file) {
  EXPECT_TRUE(std::filesystem::exists(file)) << file;
  return TextSoFar(file);
}

// The root of the sources; meson sets it.
inline std::filesystem::path SourceRoot() {
  const char* root = std::getenv("PREFETCH_SOURCE");
  return root == nullptr ? "." : root;
}

// Returns the end of a log, which may be long.
inline std::string TailOf(const std::filesystem::path& log) {
  const std::string text = TextSoFar(log);
  return text.size() > 3000 ? text.substr(text.size() - 3000) : text;
}

}  // namespace prefetch::tests
