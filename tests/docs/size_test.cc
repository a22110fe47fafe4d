// Rooms that can be overlooked: how long a file may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "base/fs.h"

namespace prefetch::docs::size_test {
namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kMostLinesOfASource = 350;
constexpr std::ptrdiff_t kMostLinesOfATest = 500;
constexpr std::ptrdiff_t kMostLinesOfTheAgent = 150;  // its parts own their state

// Lines of the .cc and .h files below a folder of the tree, by path.
std::map<std::string, std::ptrdiff_t> LinesBelow(const std::string& folder) {
  const fs::path root = std::getenv("PREFETCH_SOURCE");
  std::map<std::string, std::ptrdiff_t> lines;
  for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
    if (file.path().extension() != ".cc" && file.path().extension() != ".h") continue;
    auto text = base::ReadFile(file.path(), 1 << 22);
    EXPECT_TRUE(text) << file.path();
    if (text) lines[fs::relative(file.path(), root)] = std::count(text->begin(), text->end(), '\n');
  }
  return lines;
}

TEST(Size, ASourceHoldsOneIdea) {
  for (const char* folder : {"lib", "cmd"}) {
    for (const auto& [file, lines] : LinesBelow(folder)) EXPECT_LE(lines, kMostLinesOfASource) << file;
  }
}

TEST(Size, ATestFileToo) {
  for (const auto& [file, lines] : LinesBelow("tests")) EXPECT_LE(lines, kMostLinesOfATest) << file;
}

TEST(Size, TheLoopIsASmallPart) {
  EXPECT_LE(LinesBelow("lib/agent").at("lib/agent/agent.h"), kMostLinesOfTheAgent);
}

}  // namespace
}  // namespace prefetch::docs::size_test
