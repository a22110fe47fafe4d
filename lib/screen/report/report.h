// The page of `prefetchctl status -o html`: what it shows, how images and nodes become few rows and columns,
// and the page itself. Pure.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "screen/fleet.h"
#include "status/documents.h"

namespace prefetch::screen::report {

// Report: the content of a page about many nodes. It is gathered from their status documents as they arrive,
// so that no document is kept; names and messages that nodes share are stored once. Pure.

// State of an image on a node. `reason` is the agent's own word; empty for kReady and kNotListed.
struct ImageState {
  Tone tone = Tone::kNotListed;
  std::string reason;

  friend auto operator<=>(const ImageState&, const ImageState&) = default;
};

struct Cell {
  std::uint32_t image = 0, state = 0;  // indices into Report's vectors
};

struct ReportNode {
  FleetNode node;
  std::vector<Cell> cells;  // one for each image of its list; none: the agent was not heard
  std::string runtime, kubelet;
  std::optional<plan::DiskStatus> disk;
};

// Duration of pulls of one image, over the nodes that reported one: the newest pull on each.
struct PullTimes {
  std::string image, slowest_node;
  std::chrono::seconds slowest{}, all{};
  std::size_t nodes = 0;
  std::uint64_t bytes = 0;  // on disk; 0: not told
};

struct UnreachableRegistry {
  std::string trouble, message;  // of the node that waits longest
  std::size_t nodes = 0;
  std::chrono::seconds longest{};
};

// A problem of nodes that no image has: a rejected list, a credential provider that cannot run.
struct NodeProblem {
  std::string text;
  std::vector<std::string> nodes;  // by name
};

struct Report {
  std::string names_suffix;  // which all names of nodes have in common, and which is left out of them here
  Fleet fleet;
  std::vector<NodeProblem> problems;  // of most nodes first
  std::vector<ReportNode> nodes;      // by name
  std::vector<std::string> images;    // by name
  std::vector<ImageState> states;     // worst first; the last one is kNotListed, also where no cell has it
  std::vector<PullTimes> pulls;       // the slowest first
  std::size_t checked_images = 0;     // whose registry some node asks
  std::size_t blocked_images = 0;     // of these, not ready somewhere because of the registry's answer
  std::map<std::string, UnreachableRegistry> unreachable_registries;

  // Return the position in `images` and in `states`, which must have the value.
  std::uint32_t ImageIndex(const std::string& image) const;
  std::uint32_t StateIndex(const ImageState& state) const;
};

// Builds a Report from the status documents of nodes, one after the other. Not thread-safe.
class ReportBuilder {
 public:
  // Adds the document of one node. `name` is its name in the cluster.
  void Add(const std::string& name, const status::StatusDocument& document);

  // Returns the report. `fleet` has the nodes whose documents were added, and those without an answer.
  Report Take(Fleet fleet) &&;

 private:
  void NotePull(const std::string& node, const status::StatusImage& image);
  void NoteRegistries(const status::StatusDocument& document);
  void NoteProblems(const std::string& node, const status::StatusDocument& document);
  void SortIndices(Report& report);

  std::map<std::string, ReportNode> documents_;  // by name; `node` comes with the fleet
  // Images and states, each with the index that cells have until SortIndices.
  std::map<std::string, std::uint32_t> images_;
  std::map<ImageState, std::uint32_t> states_;
  std::set<std::uint32_t> checked_, blocked_;  // images, by index
  std::map<std::string, PullTimes> pulls_;     // by image
  std::map<std::string, UnreachableRegistry> unreachable_;
  std::map<std::string, std::set<std::string>> problems_;  // nodes, by text
};

// HeatMap: images × nodes, in few rows and columns. Images with the same state on all nodes are no row, and
// nodes with the same states in all rows share a column. Pure.

struct HeatMap {
  struct Column {
    std::vector<std::uint32_t> nodes;
  };
  struct Row {
    std::uint32_t image = 0;
    std::vector<std::uint32_t> states;      // by column
    std::size_t not_ready = 0, listed = 0;  // nodes
  };
  struct UniformGroup {
    std::uint32_t state = 0;
    std::vector<std::uint32_t> images;
  };

  std::size_t answered = 0;           // nodes in all columns
  std::vector<Column> columns;        // worst first, then the largest
  std::vector<Row> rows;              // those with most nodes in trouble first
  std::vector<UniformGroup> uniform;  // images with one state on every node that lists them; worst first
};

// Groups the nodes that reported by equal states of their images, and leaves images without any difference to
// `uniform`.
HeatMap MakeHeatMap(const Report& report);

// Returns the letters of the states, by index: one character each, taken from the word of the state, and
// different as far as the alphabet suffices. Capitals stand for required images, small letters for optional
// ones, digits for images that are ready but stale.
std::vector<std::string> Letters(const std::vector<ImageState>& states);

// "denied", "ready", "not listed".
std::string StateText(const ImageState& state);

// The page of `prefetchctl status -o html`: one file that needs nothing else, for readers without the
// cluster's credentials and without prefetchctl. Pure.
//
// Its script and its style are part of it, and the policy in its head names both by hash: nothing else runs
// or is fetched, whatever an image, a node or a registry is called. Without script, everything not ready
// shows.

// `time` is the time at which the nodes were asked.
std::string Page(const Report& report, base::WallTime time);

// The page's style and script: page.css and page.js.
const std::map<std::string, std::string_view>& PageFiles();

}  // namespace prefetch::screen::report
