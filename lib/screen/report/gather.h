// Report: the content of a page about many nodes. It is gathered from their status documents as they arrive,
// so that no document is kept; names and messages that nodes share are stored once. Pure.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "screen/fleet.h"
#include "status/documents.h"

namespace prefetch::screen::report {

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

}  // namespace prefetch::screen::report
