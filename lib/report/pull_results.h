// Results: one row for each image of each node, for spreadsheets and CI artifacts.
#pragma once

#include <string>

#include "report/status_document.h"

namespace prefetch::report {

enum class ResultsFormat { kCsv, kJson };

// What stands before the first row; empty for JSON, whose rows are an object a line.
std::string ResultsHead(ResultsFormat format);

// The rows of one node, a line each. `node` is the name that the cluster has for it.
// Columns: node, image, required, ready, phase, reason, pulledWith, digest, sizeBytes, attempts, startedAt,
// finishedAt, seconds (from start to end of the newest attempt). What is not known is empty, or null.
std::string ResultRows(const StatusDocument& document, const std::string& node, ResultsFormat format);

}  // namespace prefetch::report
