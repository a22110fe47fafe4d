// EXPECT_HAS / EXPECT_LACKS: a text, as what a command prints, that must have a part, or must not.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::rig {

inline testing::AssertionResult Has(std::string_view text, std::string_view part) {
  const bool has = text.find(part) != std::string_view::npos;
  return (has ? testing::AssertionSuccess() : testing::AssertionFailure())
         << (has ? "it has \"" : "it lacks \"") << part << "\":\n"
         << text;
}

inline void ExpectHas(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_TRUE(Has(text, part));
}

// Returns the words with one blank between them, however the lines were broken.
inline std::string OneLine(const std::string& text) {
  std::string words;
  for (char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!words.empty() && words.back() != ' ')) words += blank ? ' ' : c;
  }
  return words;
}

}  // namespace prefetch::rig

#define EXPECT_HAS(text, part) EXPECT_TRUE(::prefetch::rig::Has(text, part))
#define EXPECT_LACKS(text, part) EXPECT_FALSE(::prefetch::rig::Has(text, part))
