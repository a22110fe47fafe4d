// The screen of `prefetchctl status`: is it ready, and if not, what is in the way and what can I do.
#pragma once

#include <string>

#include "report/status_document.h"

namespace prefetch::report {

struct TableOptions {
  std::size_t width = 80;  // columns of the terminal; less than 60 counts as 60
  bool wide = false;       // every image, whole names, ids and origin; lines may be longer than `width`
  bool color = false;      // supports what the words say
};

// Lines with a newline each. Most important first: what fails, what moves, what is ready. Failing images are
// never folded away; queued and ready ones are, beyond what one screen holds. Pure.
std::string StatusTable(const StatusDocument& document, const TableOptions& options);

}  // namespace prefetch::report
