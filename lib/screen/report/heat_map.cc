#include "screen/report/report.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::screen::report {
namespace {

constexpr const char* kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr const char* kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr const char* kDigits = "123456789";
constexpr const char* kNoLetterLeft = "?";
// Used when an alphabet is exhausted: circled letters and numbers. Each is one UTF-16 unit, since the script
// takes one unit for one cell.
struct CodePoints {
  unsigned first, last;
};
constexpr std::array kCircled = {CodePoints{0x24B6, 0x24E9}, CodePoints{0x2776, 0x2793},
                                 CodePoints{0x3251, 0x325F}, CodePoints{0x32B1, 0x32BF}};

// Indexed by image, then by node.
using Grid = std::vector<std::vector<std::uint32_t>>;

// Every cell starts as "not listed", the last state of the report.
Grid GridOf(const Report& report, const std::vector<std::uint32_t>& answered) {
  const auto not_listed = static_cast<std::uint32_t>(report.states.size() - 1);
  Grid grid(report.images.size(), std::vector<std::uint32_t>(answered.size(), not_listed));
  for (std::size_t i = 0; i < answered.size(); i++) {
    for (const Cell& cell : report.nodes[answered[i]].cells) grid[cell.image][i] = cell.state;
  }
  return grid;
}

// Nodes without a document have no cells. A column for them would look as if nothing were wrong there.
std::vector<std::uint32_t> NodesWithDetail(const Report& report) {
  std::vector<std::uint32_t> answered;
  for (std::uint32_t i = 0; i < report.nodes.size(); i++) {
    if (report.nodes[i].node.detail) answered.push_back(i);
  }
  return answered;
}

// Moves images that have one state wherever they are listed into `uniform`, and returns the others. Nodes
// whose list lacks the image do not make it vary.
std::vector<std::uint32_t> Varying(const Report& report, const Grid& grid,
                                   std::map<std::uint32_t, std::vector<std::uint32_t>>& uniform) {
  const auto not_listed = static_cast<std::uint32_t>(report.states.size() - 1);
  std::vector<std::uint32_t> varying;
  for (std::uint32_t image = 0; image < grid.size(); image++) {
    std::set<std::uint32_t> states(grid[image].begin(), grid[image].end());
    if (states.size() > 1) states.erase(not_listed);
    if (states.size() == 1) {
      uniform[*states.begin()].push_back(image);
    } else if (!states.empty()) {
      varying.push_back(image);
    }
  }
  return varying;
}

// Number of cells per tone, the worst tone first. Comparing two of them therefore compares the worst tone
// before all others.
using ToneCounts = std::vector<std::size_t>;

ToneCounts ToneCountsOf(const std::vector<std::uint32_t>& states, const std::vector<ImageState>& all) {
  ToneCounts tone_counts(static_cast<std::size_t>(Tone::kReady));
  for (std::uint32_t state : states) {
    auto tone = static_cast<std::size_t>(all[state].tone);
    if (tone < tone_counts.size()) tone_counts[tone]++;
  }
  return tone_counts;
}

// Nodes with equal states in all rows share a column: this makes a fleet of thousands of nodes a readable
// table.
struct Pattern {
  ToneCounts tone_counts;
  std::vector<std::uint32_t> states;  // by row
  HeatMap::Column column;
};

std::vector<Pattern> Patterns(const std::vector<HeatMap::Row>& rows, const Grid& grid,
                              const std::vector<std::uint32_t>& answered, const Report& report) {
  std::map<std::vector<std::uint32_t>, HeatMap::Column> columns;
  for (std::size_t i = 0; i < answered.size(); i++) {
    std::vector<std::uint32_t> states;
    states.reserve(rows.size());
    for (const HeatMap::Row& row : rows) states.push_back(grid[row.image][i]);
    columns[std::move(states)].nodes.push_back(answered[i]);
  }
  std::vector<Pattern> patterns;
  for (auto& [states, column] : columns) {
    patterns.push_back({ToneCountsOf(states, report.states), states, std::move(column)});
  }
  std::ranges::sort(patterns, [](const Pattern& a, const Pattern& b) {
    if (a.tone_counts != b.tone_counts) return a.tone_counts > b.tone_counts;
    const std::size_t size = a.column.nodes.size(), other = b.column.nodes.size();
    // Node indices are by name and no node is in two columns, so the order is complete and the page
    // reproducible.
    return size != other ? size > other : a.column.nodes < b.column.nodes;
  });
  return patterns;
}

std::vector<HeatMap::Row> Rows(const Grid& grid, const std::vector<std::uint32_t>& images,
                               const std::vector<ImageState>& states) {
  std::vector<std::pair<ToneCounts, HeatMap::Row>> sorted;
  for (std::uint32_t image : images) {
    HeatMap::Row row{.image = image};
    for (std::uint32_t state : grid[image]) {
      row.listed += states[state].tone == Tone::kNotListed ? 0 : 1;
      // Stale images are ready, so they do not count.
      row.not_ready += states[state].tone < Tone::kStale ? 1 : 0;
    }
    sorted.emplace_back(ToneCountsOf(grid[image], states), std::move(row));
  }
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<HeatMap::Row> rows;
  for (auto& [tone_counts, row] : sorted) rows.push_back(std::move(row));
  return rows;
}

// Prefers the letters of the word itself, so that the letter reminds of the word ("D" for denied).
std::string FirstFree(const std::string& word, std::string_view alphabet, std::set<std::string>& used) {
  bool digits = alphabet == kDigits;
  std::string wanted = digits ? "" : base::ToLower(word);
  for (char c : wanted) {
    if (c < 'a' || c > 'z') continue;
    std::string letter(1, alphabet[static_cast<std::size_t>(c - 'a')]);
    if (used.insert(letter).second) return letter;
  }
  for (char c : alphabet) {
    std::string letter(1, c);
    if (used.insert(letter).second) return letter;
  }
  for (const CodePoints& range : kCircled) {
    for (unsigned point = range.first; point <= range.last; point++) {
      std::string letter;
      base::AppendUtf8(letter, point);
      if (used.insert(letter).second) return letter;
    }
  }
  return kNoLetterLeft;
}

}  // namespace

HeatMap MakeHeatMap(const Report& report) {
  HeatMap map;
  const std::vector<std::uint32_t> answered = NodesWithDetail(report);
  map.answered = answered.size();
  const Grid grid = GridOf(report, answered);
  std::map<std::uint32_t, std::vector<std::uint32_t>> uniform;
  map.rows = Rows(grid, Varying(report, grid, uniform), report.states);
  for (auto& [state, images] : uniform) map.uniform.push_back({.state = state, .images = std::move(images)});
  if (map.rows.empty()) return map;
  for (Pattern& pattern : Patterns(map.rows, grid, answered, report)) {
    for (std::size_t i = 0; i < map.rows.size(); i++) map.rows[i].states.push_back(pattern.states[i]);
    map.columns.push_back(std::move(pattern.column));
  }
  return map;
}

std::string StateText(const ImageState& state) {
  if (state.tone == Tone::kReady) return "ready";
  if (state.tone == Tone::kNotListed) return "not listed";
  return status::WordsFor(state.reason).state;
}

std::vector<std::string> Letters(const std::vector<ImageState>& states) {
  std::set<std::string> used;
  std::vector<std::string> letters;
  for (const ImageState& state : states) {
    switch (state.tone) {
      case Tone::kReady:
        letters.emplace_back("✓");
        break;
      case Tone::kNotListed:
        letters.emplace_back("·");
        break;
      case Tone::kStale:
        // Digits distinguish ready but stale images from failures, which have letters.
        letters.push_back(FirstFree("", kDigits, used));
        break;
      case Tone::kOptional:
        letters.push_back(FirstFree(StateText(state), kSmall, used));
        break;
      default:
        letters.push_back(FirstFree(StateText(state), kCapitals, used));
    }
  }
  return letters;
}

}  // namespace prefetch::screen::report
