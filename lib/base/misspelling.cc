#include "base/misspelling.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kLongestWord = 100;
// A word with more differences is no misspelling of the name.
constexpr std::size_t kMostTypos = 2;

// Returns how many letters one must add, drop or change to come from `a` to `b` (Levenshtein). One row of the
// table is enough.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Meant(std::string_view word, const std::vector<std::string>& names) {
  // The table grows with both lengths, and a text of this length is no name.
  if (word.size() > kLongestWord) return "";
  std::string best;
  std::size_t least = kMostTypos + 1;
  for (const std::string& name : names) {
    const std::size_t distance = EditDistance(ToLower(word), ToLower(name));
    // In a short name, two changed letters make another word. The first of equally near names is kept.
    if (distance > name.size() / 2 || distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

}  // namespace prefetch::base
