#include "report/html.h"

#include "base/text.h"

namespace prefetch::report {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

// U+202A to U+202E and U+2066 to U+2069 turn around the text that follows.
std::string WithoutDirections(std::string text) {
  for (std::size_t at = text.find('\xe2'); at != std::string::npos; at = text.find('\xe2', at + 1)) {
    const std::string_view three = std::string_view(text).substr(at, 3);
    if ((three >= "\xe2\x80\xaa" && three <= "\xe2\x80\xae") ||
        (three >= "\xe2\x81\xa6" && three <= "\xe2\x81\xa9")) {
      text.replace(at, 3, kReplacement);
    }
  }
  return text;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (char c : WithoutDirections(base::ToUtf8(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default: {
        bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
        escaped += control ? kReplacement : std::string(1, c);
      }
    }
  }
  return escaped;
}

std::string Grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string CountedGroups(std::uint64_t number, const char* one, const char* many) {
  return Grouped(number) + " " + (number == 1 ? one : many);
}

}  // namespace prefetch::report
