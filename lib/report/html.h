// Html: text of a page, with what others wrote escaped.
//
// Names, reasons and messages come from images, nodes and registries. Tag() takes literals alone, so that
// such a text can only get in through Text(), which escapes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace prefetch::report {

// For content and for attributes in quotes. Control characters, those that turn text around, and bytes that
// are not UTF-8 become U+FFFD.
std::string Escaped(std::string_view text);

// "1,000".
std::string Grouped(std::uint64_t number);

// "1 node", "1,000 nodes".
std::string CountedGroups(std::uint64_t number, const char* one, const char* many);

class Html {
 public:
  // Appends our own markup: a literal.
  template <std::size_t N>
  Html& Tag(const char (&literal)[N]) {
    text_.append(literal, N - 1);
    return *this;
  }
  Html& Text(std::string_view text) {
    text_ += Escaped(text);
    return *this;
  }
  Html& Number(std::uint64_t number) {
    text_ += std::to_string(number);
    return *this;
  }
  // Appends finished markup: that of another Html, or an embedded file.
  Html& Markup(std::string_view markup) {
    text_ += markup;
    return *this;
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace prefetch::report
