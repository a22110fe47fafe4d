// HeatMap: images × nodes as few rows and columns. Images that are alike on all nodes are no row of it, and
// nodes on which all its rows are alike are one column. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/gather.h"

namespace prefetch::report {

struct HeatMap {
  struct Column {
    std::vector<std::uint32_t> nodes;
  };
  struct Row {
    std::uint32_t image = 0;
    std::vector<std::uint32_t> states;      // by column
    std::size_t not_ready = 0, listed = 0;  // nodes
  };
  struct Alike {
    std::uint32_t state = 0;
    std::vector<std::uint32_t> images;
  };

  std::size_t heard = 0;        // nodes in all columns
  std::vector<Column> columns;  // worst first, then the largest
  std::vector<Row> rows;        // those with most nodes in trouble first
  std::vector<Alike> alike;     // images with one state on every node that lists them; worst first
};

HeatMap MapOf(const Report& report);

// The states' letters, by index: one character each, different ones as far as the alphabet goes, from the
// word that people know the state by. Capitals where the image is required, small letters where it is not.
// Digits: ready, but not current.
std::vector<std::string> Letters(const std::vector<ImageState>& states);

// "denied", "ready", "not listed".
std::string StateWord(const ImageState& state);

}  // namespace prefetch::report
