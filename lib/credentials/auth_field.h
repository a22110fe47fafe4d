// Parts of docker's configuration files that all readers of them share. Internal to credentials/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "doc/reader.h"

namespace prefetch::credentials {

inline constexpr std::size_t kDeepest = 1000;  // levels of JSON

// Decodes standard base64 as Go does: line breaks anywhere are ignored, and trailing bits are not checked.
// A stricter decoder would call credentials wrong that other programs use.
std::optional<std::string> DecodeAuthBase64(std::string_view text, bool padded);

// Calls `take` for every member that Go's decoder takes for `key`, in their order.
template <typename Take>
void ForEachGoMember(const doc::Reader& object, std::string_view key, const Take& take) {
  for (const auto& [name, value] : object.Members()) {
    if (base::EqualsIgnoreCase(name, key)) take(value);
  }
}

// Returns the last text under this key that is not null (A22: keys match without case, and the last one
// counts).
std::string GoText(const doc::Reader& object, std::string_view key);

}  // namespace prefetch::credentials
