// Expectations on the text that a command prints.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prefetch::rig {

inline void ExpectHas(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
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
