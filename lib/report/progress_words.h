// Where a pull is, in a person's words; shared by the table and the wait view.
#pragma once

#include <string>

#include "report/status_document.h"

namespace prefetch::report {

// "412 of 680 MB, 38 MB/s, about 7 s left"; empty if the runtime does not show bytes.
std::string PullWords(const StatusPull& pull);

// "61 %", or empty if it is not known.
std::string PercentWord(const StatusPull& pull);

// "tried 3 times, again in 2 min": empty if nothing was tried, or the pull ended well. `now` is the
// document's own time.
std::string RetryWords(const StatusPull& pull, const std::optional<base::WallTime>& now);

}  // namespace prefetch::report
