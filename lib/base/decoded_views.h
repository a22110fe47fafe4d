// Decodes a text in each way that may hide a secret. Pure. Internal to base/redactor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.h"

namespace prefetch::base {

// Text, and for each byte the range of the original text that it was made of.
struct View {
  std::string text;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from;

  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  View(View&&) = default;
  View& operator=(View&& other) noexcept {
    WipeString(text);
    text.swap(other.text);
    from.swap(other.from);
    return *this;
  }
  ~View() { WipeString(text); }

  void Add(char c, std::uint32_t begin, std::uint32_t end) {
    text += c;
    from.emplace_back(begin, end);
  }
};

// Returns the text, undecoded.
View AsItIs(std::string_view text);

// Undoes escapes of URLs, JSON, Go and HTML until none is left. Leaves out backslashes and control
// characters, since escapes differ in them most. Secrets go the same way, so that one with a "%41" is found
// as well.
View WithoutEscapes(const View& of);

// The bytes that each run of hex digits stands for, beginning with its digit `phase` (0 or 1). A zero byte
// stands between runs, and for runs of fewer than `shortest` digits.
View DecodedHex(const View& of, std::size_t phase, std::size_t shortest = 1);
// The same for base64 of any alphabet; `phase` is 0 to 3.
View DecodedBase64(const View& of, std::size_t phase, std::size_t shortest = 1);

// Decodes once in each of these ways.
std::vector<View> Decoded(const View& of, std::size_t shortest = 1);

// May the character be a part of base64 or hex?
bool IsEncoded(char c);

// Removes differences that encodings make: case, the alphabets of base64, a "+" for a blank.
char Folded(char c);

}  // namespace prefetch::base
