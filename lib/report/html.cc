#include "report/html.h"

#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::report {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  const std::string clean = base::ToUtf8(text);
  for (std::size_t i = 0; i < clean.size(); i++) {
    const char c = clean[i];
    // Control characters and those that change the direction of text could make a name look like another.
    if (std::size_t control = base::ControlAt(std::string_view(clean).substr(i)); control > 0) {
      escaped += kReplacement;
      i += control - 1;
      continue;
    }
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
      default:
        escaped += c;
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
