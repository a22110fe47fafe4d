// Functions that make another program's text fit for a log, a status or an error. Each folder that passes on
// such text (cri, credentials, kube, registry) composes these, and removes more itself if it must. All pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prefetch::base {

inline constexpr std::string_view kRedacted = "[redacted]";

// URLs lose user information and query: "https://user:pw@host/path?sig=…" becomes "https://host/path?…".
// Quoted relative paths lose their query, too: Head "/v2/a?token=…".
std::string WithoutUrlSecrets(std::string_view text);

// The size of the character that `text` begins with, if it must not be printed; otherwise 0. These are the
// characters that a terminal obeys, that change the order or the lines in which text is shown, or that are
// not seen: C0 but the line end, DEL, C1, separators of lines and paragraphs, marks and controls of
// direction, characters of no width, tags.
std::size_t ControlAt(std::string_view text);

// These characters become spaces, one for each. Line ends stay.
std::string WithoutControls(std::string_view text);

// Reports whether the text has a character of ControlAt, or bytes that are not UTF-8.
bool HasControls(std::string_view text);

// WithoutControls in one line: line ends become spaces too, and bytes that are not UTF-8 U+FFFD; trimmed at
// both ends.
std::string InOneLine(std::string_view text);

}  // namespace prefetch::base
