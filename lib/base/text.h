// Small pure functions on text. ASCII where case matters: our subject's names are ASCII.
// CharacterAt: the characters of UTF-8. ClosestName: the known name that a misspelling may stand for. Table:
// rows of cells as lines of text.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

// Independent of the locale, unlike isdigit(3) and isalnum(3).
inline bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
inline bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || IsDigit(c);
}
inline bool IsAlphanumeric(char c) {
  return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z');
}

std::string_view TrimSpace(std::string_view text);  // space, tab, CR, LF, VT, FF at both ends
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
// "a, b and 3 more": at most `most` parts, and the number of all others. `more` others are not in `parts`.
std::string JoinFirst(const std::vector<std::string>& parts, std::size_t most, std::size_t more = 0);
std::string ToLower(std::string_view text);
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
bool ContainsIgnoreCase(std::string_view text, std::string_view part);
// Returns true if the whole text matches the glob. `*` stands for any run of bytes, and nothing else is
// special.
bool GlobMatches(std::string_view glob, std::string_view text);
// Every occurrence of `from` (not empty) becomes `to`.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

bool IsUtf8(std::string_view text);
// Appends one character.
void AppendUtf8(std::string& out, std::uint32_t c);
// Bytes that are not UTF-8 become U+FFFD.
std::string ToUtf8(std::string_view text);
// At most `bytes` bytes, cut at a character's boundary; "…" is appended if anything was cut.
std::string Truncate(std::string_view text, std::size_t bytes);

std::string Base64Encode(std::string_view bytes);
// Strict standard alphabet with padding; nullopt otherwise.
std::optional<std::string> Base64Decode(std::string_view text);
// The URL-safe alphabet, without padding (RFC 4648, section 5); nullopt otherwise.
std::optional<std::string> Base64UrlDecode(std::string_view text);
// The value of a hexadecimal digit in either case; -1: it is none.
int HexDigit(char c);
// Percent-decodes one component of a URL; nullopt: a broken escape.
std::optional<std::string> PercentDecode(std::string_view text);
// Encodes everything but unreserved characters and those in `keep`: PercentEncode("reg:5000/a", "/:").
std::string PercentEncode(std::string_view text, std::string_view keep = "");

// Digits only, no sign, no overflow.
std::optional<std::uint64_t> ParseUint(std::string_view text);

// "412 MB", "1.2 GB", "17 kB", "0 B": decimal units as registries count.
std::string HumanBytes(std::uint64_t bytes);
// "7 s", "3 min", "2 h", "5 d": rounded, for messages. Negative is "0 s".
std::string HumanTime(std::chrono::seconds time);
// "1 node", "2 nodes".
std::string Plural(std::size_t number, std::string_view one, std::string_view many);

// The first numbers of a version such as "v2.1.9-rc.1", one character between each two; at most `count`, and
// fewer where the text has another word.
std::vector<std::uint64_t> LeadingNumbers(std::string_view version, std::size_t count);
// Compares as many of its numbers as `least` has; those that it lacks are 0. A text without a number is older
// than every version.
bool IsAtLeast(std::string_view version, const std::vector<std::uint64_t>& least);

// "a, b or c".
std::string JoinOr(const std::vector<std::string_view>& words);

// A character of UTF-8.
struct Character {
  char32_t point = 0;
  std::size_t bytes = 0;  // 0: there is no character, as UTF-8 spells it
};

// Returns the character at `at`, which is below text.size(). Pure.
Character CharacterAt(std::string_view text, std::size_t at);

// Returns the known name that a misspelt `word` may stand for: the first of the nearest ones, without regard
// to upper and lower case. Empty: none is near enough.
std::string ClosestName(std::string_view word, const std::vector<std::string>& names);

using TableRow = std::vector<std::string>;

// Returns a line for each row, with columns as wide as their widest cells. `indent` begins each line. Cells
// may come from another program, so each is made one line without control characters.
std::string Table(std::vector<TableRow> rows, std::string_view indent = "");

}  // namespace prefetch::base
