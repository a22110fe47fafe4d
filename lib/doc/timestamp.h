// Points in time as Kubernetes' files write them, judged as Go judges them: RFC 3339, with Go's leniences.
#pragma once

#include <string_view>

namespace prefetch::doc {

// Returns whether Go's time.Parse(time.RFC3339, text) accepts it: "2026-08-01T10:00:00Z", with a fraction of
// any length behind a point or a comma, an offset of up to 24 hours instead of Z, an hour of one digit; the
// date must exist.
bool IsTimestamp(std::string_view text);

}  // namespace prefetch::doc
