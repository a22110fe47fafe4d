// Scrubbing: what makes another program's words fit for a log, a status or an error. Each folder that passes
// on such words (cri, credentials, kube, registry) composes these; what else it must remove is its own. All
// pure.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::base {

inline constexpr std::string_view kRedacted = "[redacted]";

// URLs lose user information and query: "https://user:pw@host/path?sig=…" becomes "https://host/path?…". So
// do quoted relative paths: Head "/v2/a?token=…".
std::string WithoutUrlSecrets(std::string_view text);

// Characters that a terminal would obey, or that change the order in which text is shown, become spaces: C0,
// DEL, C1, separators of lines and paragraphs, marks and controls of direction. Line ends stay. All text that
// the programs print goes through this function or InOneLine.
std::string WithoutControls(std::string_view text);

// WithoutControls in one line: line ends become spaces too, and bytes that are not UTF-8 U+FFFD; trimmed at
// both ends.
std::string InOneLine(std::string_view text);

}  // namespace prefetch::base
