#include "http/headers.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::http {

std::optional<std::string_view> Headers::Get(std::string_view name) const {
  for (const auto& field : fields_) {
    if (base::EqualsIgnoreCase(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : fields_) {
    if (base::EqualsIgnoreCase(field.first, name)) values.push_back(field.second);
  }
  return values;
}

bool IsFieldName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool IsFieldValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    unsigned char byte = static_cast<unsigned char>(c);
    // Bytes beyond ASCII are obsolete in values (RFC 9110 section 5.5), and harmless: they end no line.
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

}  // namespace prefetch::http
