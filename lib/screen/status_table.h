// The screen of `prefetchctl status`: is the node ready, and if not, the obstacles and their remedies.
#pragma once

#include <string>

#include "status/documents.h"

namespace prefetch::screen {

struct TableOptions {
  std::size_t width = 80;  // columns of the terminal; less than 60 counts as 60
  bool wide = false;       // every image, whole names, ids and origin; lines may be longer than `width`
  bool color = false;      // repeats the words' meaning
};

// Lines with a newline each. Most important first: failing, moving, ready. Failing images are
// never folded away; queued and ready ones are, beyond what one screen holds. Pure.
std::string StatusTable(const status::StatusDocument& document, const TableOptions& options);

// Results: one row for each image of each node, for spreadsheets and CI artifacts.
enum class ResultsFormat { kCsv, kJson };

// The lines before the first row; empty for JSON, whose rows are an object a line.
std::string ResultsHeader(ResultsFormat format);

// The rows of one node, a line each. `node` is the name that the cluster has for it.
// Columns: node, image, required, ready, phase, reason, pulledWith, digest, sizeBytes, attempts, startedAt,
// finishedAt, seconds (from start to end of the newest attempt). Unknown values are empty, or null.
std::string ResultRows(const status::StatusDocument& document, const std::string& node, ResultsFormat format);

}  // namespace prefetch::screen
