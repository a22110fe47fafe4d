// The screens of `prefetchctl status --fleet` and `wait --fleet`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "screen/fleet.h"

namespace prefetch::screen {

struct FleetTableOptions {
  std::size_t width = 80;  // columns of the terminal; less than 60 counts as 60
  bool wide = false;       // every cause and every node, whole names; lines may be longer than `width`
  bool not_ready = false;  // the nodes that are not ready, one a line, below the causes
  bool color = false;      // repeats the words' meaning
};

// Lines with a newline each: the counts, then missing images with nodes and reasons, failures first, then
// nodes if requested.
std::string FleetTable(const Fleet& fleet, const FleetTableOptions& options);

// One line without newline, at most `width` columns: counts, how many images are missing, a bar where there
// is room, the slowest node.
std::string FleetLine(const Fleet& fleet, std::size_t width);

// The lines below it on a terminal: the causes, one a line of at most `width` columns, `most` in all.
std::vector<std::string> FleetDetails(const Fleet& fleet, std::size_t width, std::size_t most);

// Returns "ci-12, ci-40, ci-77 and 2 more", with as many names as fit, `most` at most.
std::string Names(const std::vector<std::string>& nodes, std::size_t width, std::size_t most);

// The last words of a wait: how it ended and, if not well, each cause, and the first nodes.
std::string FleetResult(const Fleet& fleet, const FleetTarget& target, FleetEnd end,
                        std::chrono::seconds waited, std::size_t width);

// FleetStatus: the fleet as a JSON document, for -o json and yaml.
// One line with a newline. Members are only added, never renamed. `not_ready`: only such nodes are listed;
// the counts are of all.
std::string FleetJson(const Fleet& fleet, base::WallTime time, bool not_ready);

}  // namespace prefetch::screen
