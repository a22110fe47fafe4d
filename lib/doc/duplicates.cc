#include "doc/parser_parts.h"

#include <string>
#include <unordered_map>

#include "base/text.h"

namespace prefetch::doc {

void ResolveDuplicates(Node& mapping, Duplicates rule, Problems& problems) {
  std::unordered_map<std::string, std::size_t> seen;  // key -> its index in `kept`
  std::vector<Member> kept;
  kept.reserve(mapping.members.size());
  for (Member& member : mapping.members) {
    auto [at, is_new] = seen.emplace(member.key, kept.size());
    if (is_new) {
      kept.push_back(std::move(member));
    } else if (rule == Duplicates::kLastCounts) {
      kept[at->second] = std::move(member);
    } else {
      problems.Add(member.at, "",
                   "duplicate key \"" + base::Truncate(member.key, 100) + "\", first written in line " +
                       std::to_string(kept[at->second].at.line));
    }
  }
  mapping.members = std::move(kept);
}

}  // namespace prefetch::doc
