#include "registry/toml_text.h"

#include <optional>

#include "http/url.h"

namespace prefetch::registry {
namespace {

constexpr std::string_view kMark = "\t%";
constexpr std::size_t kMarkedBytes = 4;  // the mark and two digits

}  // namespace

std::string ToAsciiToml(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string ascii;
  ascii.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii += c;
      continue;
    }
    ascii += kMark;
    ascii += kHex[byte >> 4];
    ascii += kHex[byte & 15];
  }
  return ascii;
}

std::string FromAsciiToml(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    bool marked = value.starts_with(kMark) && value.size() >= kMarkedBytes;
    auto byte = marked ? http::PercentDecode(value.substr(1, 3)) : std::nullopt;
    text += byte ? *byte : std::string(1, value.front());
    value.remove_prefix(byte ? kMarkedBytes : 1);
  }
  return text;
}

}  // namespace prefetch::registry
