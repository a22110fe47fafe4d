// HeatMap: images × nodes, in few rows and columns. Images with the same state on all nodes are no row, and
// nodes with the same states in all rows share a column. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "screen/report/gather.h"

namespace prefetch::screen::report {

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

}  // namespace prefetch::screen::report
