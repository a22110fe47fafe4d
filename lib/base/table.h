// Table: rows of cells as lines of text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

using TableRow = std::vector<std::string>;

// Returns a line for each row, with columns as wide as their widest cells. `indent` begins each line. Cells
// may come from another program, so each is made one line without control characters.
std::string Table(std::vector<TableRow> rows, std::string_view indent = "");

}  // namespace prefetch::base
