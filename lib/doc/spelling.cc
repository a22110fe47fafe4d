#include "doc/spelling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/misspelling.h"

namespace prefetch::doc {

bool IsMisspelt(std::string_view key, std::string_view name) {
  // Most keys differ in length, which is a cheap check.
  static constexpr std::size_t kMostTypos = 2;
  if (key == name || key.size() > name.size() + kMostTypos || name.size() > key.size() + kMostTypos)
    return false;
  return !base::Meant(key, {std::string(name)}).empty();
}

void ReportMisspelt(const Reader& mapping, std::initializer_list<std::string_view> names) {
  if (mapping.node().kind != Node::Kind::kMapping) return;
  for (const std::string_view name : names) {
    const std::vector<Member>& members = mapping.node().members;
    auto misspelt = [&](const Member& member) { return IsMisspelt(member.key, name); };
    if (std::none_of(members.begin(), members.end(), misspelt)) continue;
    for (const auto& [key, value] : mapping.Members()) {
      if (IsMisspelt(key, name)) value.Fail("unknown field; did you mean \"" + std::string(name) + "\"?");
    }
  }
}

}  // namespace prefetch::doc
