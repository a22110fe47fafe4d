#include "doc/parser_parts.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text.h"

namespace prefetch::doc {

namespace {

// Comparing all pairs is cheaper than sorting up to about this number, and allocates nothing.
constexpr std::size_t kMaxPairwise = 16;
constexpr std::size_t kMostTagBytes = 1024;

bool AllDiffer(const std::vector<Member>& members) {
  for (std::size_t i = 1; i < members.size(); i++) {
    for (std::size_t k = 0; k < i; k++) {
      if (members[i].key == members[k].key) return false;
    }
  }
  return true;
}

}  // namespace

void AddDuplicateKey(const Member& member, Position first, Problems& problems) {
  problems.Add(member.at, "",
               "duplicate key \"" + base::Truncate(member.key, 100) + "\", first written in line " +
                   std::to_string(first.line));
}

void ResolveDuplicates(Node& mapping, Duplicates rule, Problems& problems) {
  std::vector<Member>& members = mapping.members;
  if (members.size() <= kMaxPairwise && AllDiffer(members)) return;
  // Indices of four bytes each, since a mapping may have a hundred thousand keys. Sorting avoids quadratic
  // time.
  std::vector<std::uint32_t> sorted(members.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return members[a].key < members[b].key; });
  std::vector<std::uint32_t> superfluous;
  for (std::size_t first = 0, i = 1; i < sorted.size(); i++) {
    if (members[sorted[i]].key != members[sorted[first]].key) {
      first = i;
      continue;
    }
    superfluous.push_back(sorted[i]);
    // The last value takes the place of the first one, so that the order of keys stays.
    if (rule == Duplicates::kLastCounts) std::swap(members[sorted[first]], members[sorted[i]]);
  }
  if (superfluous.empty()) return;
  std::sort(superfluous.begin(), superfluous.end());
  if (rule == Duplicates::kProblem) {
    for (std::uint32_t index : superfluous) {
      const Member& member = members[index];
      auto first =
          std::lower_bound(sorted.begin(), sorted.end(), member.key,
                           [&](std::uint32_t at, const std::string& key) { return members[at].key < key; });
      AddDuplicateKey(member, members[*first].at, problems);
    }
  }
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i < members.size(); i++) {
    if (next < superfluous.size() && superfluous[next] == i) {
      next++;
    } else if (kept++ != i) {
      members[kept - 1] = std::move(members[i]);
    }
  }
  members.resize(kept);
}

bool LimitedReader::Stop(Position at, std::string_view message) {
  problems_.Add(at, "", message);
  return false;
}

bool LimitedReader::TooDeep(Position at) {
  return Stop(at, "is nested deeper than " + std::to_string(limits_.depth) + " levels");
}

bool LimitedReader::Count(Position at, std::size_t nodes, std::size_t copied_bytes) {
  usage_.nodes += nodes;
  usage_.copied_bytes += copied_bytes;
  if (usage_.nodes > limits_.nodes) {
    return Stop(at, "has more than " + std::to_string(limits_.nodes) +
                        " values, those with anchors and aliases counted again");
  }
  if (usage_.copied_bytes > limits_.bytes) {
    return Stop(at, "has more than " + std::to_string(limits_.bytes) + " bytes of anchors and aliases");
  }
  return true;
}

bool LimitedReader::CheckTagLength(std::string_view tag, Position at) {
  if (tag.size() <= kMostTagBytes) return true;
  return Stop(at, "has a tag of more than " + std::to_string(kMostTagBytes) + " bytes");
}

}  // namespace prefetch::doc
