// Scrubbing: what makes another program's words fit for a log, a status or an error. Each folder that passes
// on such words (cri, credentials, kube, registry) composes these; what else it must remove is its own. All
// pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

inline constexpr std::string_view kRedacted = "[redacted]";

// Every occurrence of one of `spellings`, the longest first, becomes kRedacted. Empty ones are passed over.
// Wipes its copies of them.
std::string Redact(std::string_view text, std::vector<std::string> spellings);

// URLs lose user information and query: "https://user:pw@host/path?sig=…" becomes "https://host/path?…". So
// do quoted relative paths: Head "/v2/a?token=…".
std::string WithoutUrlSecrets(std::string_view text);

// Control characters (C0, DEL, C1), which a terminal would obey, become spaces; line ends stay.
std::string WithoutControls(std::string_view text);

// UTF-8 in one line: control characters (C0, DEL, C1) become spaces, bytes that are not UTF-8 U+FFFD; trimmed
// at both ends.
std::string InOneLine(std::string_view text);

}  // namespace prefetch::base
