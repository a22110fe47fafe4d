// Text in columns of a terminal: how wide it is, how it is cut and wrapped. UTF-8 in and out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::screen {

// Narrower than this no screen is laid out: longer lines beat unreadable columns.
inline constexpr std::size_t kLeastWidth = 60;

// Columns that a terminal gives it: two for East Asian wide characters and emoji, none for combining marks
// and changes of colours.
std::size_t DisplayWidth(std::string_view text);

// `text` filled with blanks to `width` columns; longer text is left as it is.
std::string PadRight(std::string_view text, std::size_t width);

// At most `width` columns; "…" stands for the part that was cut at the end.
std::string CutEnd(std::string_view text, std::size_t width);

// An image name in at most `width` columns. A digest shows as its first characters; if that is not enough,
// the middle goes: registry and tag say most. "quay.io/…/runner:v3", "gcr.io/acme/db@sha256:9ab1c2d3…"
std::string ShortImage(std::string_view image, std::size_t width);

// Returns the first six digits of a hash, "3f9c21", or "none" if it is empty.
std::string ShortHash(std::string_view hash);

// Words in lines of at most `width` columns; a longer word is a line of its own.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);

// Wraps the text likewise, as one paragraph, with a newline after each line; `first` stands before the first
// line, `rest` before the others. Both are as wide, and count.
std::string WrapIndented(std::string_view text, std::string_view first, std::string_view rest,
                         std::size_t width);

// Wraps each line of the text likewise, with a newline after each; `first` stands before the first line,
// `rest` before the others.
std::string Paragraph(std::string_view text, std::string_view first, std::string_view rest,
                      std::size_t width);

}  // namespace prefetch::screen
