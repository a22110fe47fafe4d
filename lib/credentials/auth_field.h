// Parts of docker's configuration files that all readers of them share. Internal to credentials/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doc/reader.h"

namespace prefetch::credentials {

inline constexpr std::size_t kDeepest = 1000;  // levels of JSON

// Calls `take` for every member that Go's decoder takes for `key`, in their order.
template <typename Take>
void ForEachGoMember(const doc::Reader& object, std::string_view key, const Take& take) {
  for (const auto& [name, value] : object.Members()) {
    if (base::EqualsIgnoreCase(name, key)) take(value);
  }
}

// Decodes a map of objects as Go does, by `decode` (key, object), which returns an optional entry with a key:
// a second map is read into the first one, so that its entries replace those of the same key. null takes all
// away.
template <typename Entry, typename Decode>
void DecodeGoMap(const doc::Reader& map, std::vector<Entry>& entries, const Decode& decode) {
  if (map.IsNull()) return entries.clear();
  for (const auto& member : map.Members()) {
    std::erase_if(entries, [&](const Entry& other) { return other.key == member.first; });
    const doc::Reader& object = member.second;
    if (!object.IsNull() && object.node().kind != doc::Node::Kind::kMapping) {
      object.Members();  // tells what it is
    } else if (auto entry = decode(member.first, object)) {
      entries.push_back(*std::move(entry));
    }
  }
}

// Returns the last text under this key that is not null (A22: keys match without case, and the last one
// counts).
std::string GoText(const doc::Reader& object, std::string_view key);

}  // namespace prefetch::credentials
