#include "base/table.h"

#include <algorithm>
#include <cstddef>

#include "base/scrub.h"

namespace prefetch::base {

std::string Table(std::vector<TableRow> rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); i++) {
      row[i] = InOneLine(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); i++) {
      line += (i == 0 ? "" : "  ") + row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    text += std::string(indent) + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace prefetch::base
