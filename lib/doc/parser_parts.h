// Steps that parsers of doc share. Internal to doc/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/problems.h"

namespace prefetch::doc {

// Keys that stand twice in a mapping.
enum class Duplicates { kProblem, kLastCounts };

// Adds the problem for a key that stands in a mapping for the second time.
void AddDuplicateKey(const Member& member, Position first, Problems& problems);

// Leaves each key of `mapping` once: the first, with a problem for each further one, or the last.
void ResolveDuplicates(Node& mapping, Duplicates rule, Problems& problems);

// A YAML scalar without quotes, by its text and the core schema of YAML 1.2: null, boolean, integer, number,
// or text. Octals of YAML 1.1 are text: for YAML 1.2 they are decimals.
void ResolvePlain(Node& node);

// Words of YAML 1.1 and 1.2 alike: null; a decimal without its sign, ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? )
// ( [eE] [-+]? [0-9]+ )?; ".nan" and infinities.
bool IsYamlNull(std::string_view word);
bool LooksLikeFloat(std::string_view word);
std::optional<double> SpecialFloat(std::string_view word);

// Converts UTF-16 with a byte order mark to UTF-8 without it; nullopt if there is no such mark. `replacement`
// stands for halves of characters.
std::optional<std::string> Utf8OfUtf16(std::string_view text, std::string_view replacement);

// The place of the byte at `offset`.
Position PositionAt(std::string_view text, std::size_t offset);

// `limits` with as many nodes as a text of that length may become. A node is 120 bytes, a member 160, and
// "a," is one: so a tree takes at most 48 bytes for each byte of its text, and 48 MiB if the text is short.
// Readers of manifests give fewer bytes, since keys are values in their count: ordinary manifests have a
// value for every six or seven bytes.
constexpr std::size_t kLeastBytesOfANode = 8;
constexpr std::size_t kLeastBytesInManifests = 5;
Limits LimitsFor(std::size_t text_size, const Limits& limits,
                 std::size_t bytes_of_a_node = kLeastBytesOfANode);

// Makes room for one more item, in steps that end at `most`: the last doubling would pass the limit by far.
template <typename Item>
void MakeRoom(std::vector<Item>& items, std::size_t most) {
  if (items.size() < items.capacity()) return;
  items.reserve(std::max(items.size() + 1, std::min(2 * items.size(), most)));
}

// The base of readers that build trees, which stop at the first limit.
class LimitedReader {
 protected:
  // The Problems and `usage` outlive it.
  LimitedReader(Problems& problems, const Limits& limits, LimitUsage& usage)
      : problems_(problems), limits_(limits), usage_(usage) {}

  // Adds the problem, and returns false.
  bool Stop(Position at, std::string_view message);
  bool TooDeep(Position at);
  // Counts values, and bytes of anchors and aliases. Returns false, with the problem added, beyond a limit.
  bool Count(Position at, std::size_t nodes, std::size_t copied_bytes);
  // A short %TAG directive can make every tag long, so their length is limited.
  bool CheckTagLength(std::string_view tag, Position at);

  Problems& problems_;
  const Limits limits_;
  LimitUsage& usage_;
};

}  // namespace prefetch::doc
