#include "base/text.h"

#include <nettle/base64.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/scrub.h"

namespace prefetch::base {

namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// ASCII only, and so independent of the locale, unlike tolower(3).
char LowerChar(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view TrimSpace(std::string_view text) {
  std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string JoinFirst(const std::vector<std::string>& parts, std::size_t most, std::size_t more) {
  const std::size_t shown = std::min(most, parts.size());
  const auto end = parts.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string text = Join(std::vector<std::string>(parts.begin(), end), ", ");
  more += parts.size() - shown;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerChar);
  return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

// An empty part is in every text, also in an empty one, for which std::search returns its end.
bool ContainsIgnoreCase(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char x, char y) { return LowerChar(x) == LowerChar(y); }) != text.end() ||
         part.empty();
}

bool GlobMatches(std::string_view glob, std::string_view text) {
  std::size_t star = glob.find('*');
  if (star == std::string_view::npos) return glob == text;
  if (text.substr(0, star) != glob.substr(0, star)) return false;
  text.remove_prefix(star);
  glob.remove_prefix(star);
  // Each run of letters between two stars is taken at its first occurrence, and the last run at the end.
  // Later occurrences need not be tried: a star takes any number of letters. So no glob takes exponential
  // time.
  while (true) {
    glob.remove_prefix(1);
    std::size_t next = glob.find('*');
    if (next == std::string_view::npos) return text.ends_with(glob);
    std::size_t found = text.find(glob.substr(0, next));
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + next);
    glob.remove_prefix(next);
  }
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  while (true) {
    std::size_t at = from.empty() ? std::string_view::npos : text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    // Nearly all text is ASCII, so this case comes before the table of UTF-8.
    std::size_t length = static_cast<unsigned char>(text[i]) < 0x80 ? 1 : CharacterAt(text, i).bytes;
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void AppendUtf8(std::string& out, std::uint32_t c) {
  auto byte = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xE0 | c >> 12);
    } else {
      byte(0xF0 | c >> 18);
      byte(0x80 | (c >> 12 & 0x3F));
    }
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

// Replaces each byte that belongs to no character by U+FFFD.
std::string ToUtf8(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = CharacterAt(text, i).bytes;
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      i++;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string Truncate(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t cut = bytes;
  // The cut goes back to the first byte of a character.
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) cut--;
  return std::string(text.substr(0, cut)) + "…";
}

std::string Base64Encode(std::string_view bytes) {
  std::string out(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  ::base64_encode_raw(out.data(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string PercentEncode(std::string_view text, std::string_view keep) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    const bool unreserved = IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved || keep.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      unsigned char byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  std::string standard(text);
  for (char& c : standard) {
    // The other alphabet, and padding, are errors here: JSON Web Tokens have neither.
    if (c == '+' || c == '/' || c == '=') return std::nullopt;
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  // The strict decoder below requires the padding that this alphabet leaves out.
  standard.append((4 - standard.size() % 4) % 4, '=');
  return Base64Decode(standard);
}

// Strict: padding is required, and no character outside of the alphabet is allowed.
std::optional<std::string> Base64Decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string out;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); i++) {
    std::size_t value = 0;
    if (i < text.size() - padding) {
      value = kBase64.find(text[i]);
      if (value == std::string_view::npos) return std::nullopt;
    }
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 == 3) {
      out += static_cast<char>(group >> 16 & 0xFF);
      out += static_cast<char>(group >> 8 & 0xFF);
      out += static_cast<char>(group & 0xFF);
      group = 0;
    }
  }
  // Padding digits were decoded as zeros.
  out.resize(out.size() - padding);
  return out;
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string HumanBytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 would be printed as "1000", so the next unit begins there.
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    unit++;
  }
  char text[32];
  bool fraction = unit >= 3 && value < 99.95;
  std::snprintf(text, sizeof text, fraction ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

// Rounds to one unit, which changes at 100 s, 100 min and 48 h.
std::string HumanTime(std::chrono::seconds time) {
  auto seconds = std::max<std::int64_t>(time.count(), 0);
  if (seconds < 100) return std::to_string(seconds) + " s";
  if (seconds < 100 * 60) return std::to_string((seconds + 30) / 60) + " min";
  if (seconds < 48 * 3600) return std::to_string((seconds + 1800) / 3600) + " h";
  return std::to_string((seconds + 43200) / 86400) + " d";
}

std::string Plural(std::size_t number, std::string_view one, std::string_view many) {
  return std::to_string(number).append(" ").append(number == 1 ? one : many);
}

std::vector<std::uint64_t> LeadingNumbers(std::string_view version, std::size_t count) {
  if (version.starts_with('v')) version.remove_prefix(1);
  std::vector<std::uint64_t> numbers;
  while (numbers.size() < count) {
    const std::size_t end = std::min(version.find_first_not_of("0123456789"), version.size());
    const std::optional<std::uint64_t> number = ParseUint(version.substr(0, end));
    if (!number) break;
    numbers.push_back(*number);
    version.remove_prefix(std::min(end + 1, version.size()));
  }
  return numbers;
}

bool IsAtLeast(std::string_view version, const std::vector<std::uint64_t>& least) {
  std::vector<std::uint64_t> numbers = LeadingNumbers(version, least.size());
  if (numbers.empty()) return false;
  numbers.resize(least.size());
  return numbers >= least;
}

std::string JoinOr(const std::vector<std::string_view>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); i++) {
    out += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

Character CharacterAt(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  // 0x80 to 0xC1 begin no character, or an overlong one.
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {};
  char32_t point = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; i++) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    point = point << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  return overlong || surrogate || point > 0x10FFFF ? Character{} : Character{point, bytes};
}

namespace {

constexpr std::size_t kLongestWord = 100;
// A word with more differences is no misspelling of the name.
constexpr std::size_t kMostTypos = 2;

// Returns how many letters one must add, drop or change to come from `a` to `b` (Levenshtein). One row of the
// table is enough.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestName(std::string_view word, const std::vector<std::string>& names) {
  // The table grows with both lengths, and a text of this length is no name.
  if (word.size() > kLongestWord) return "";
  std::string best;
  std::size_t least = kMostTypos + 1;
  for (const std::string& name : names) {
    const std::size_t distance = EditDistance(ToLower(word), ToLower(name));
    // In a short name, two changed letters make another word. The first of equally near names is kept.
    if (distance > name.size() / 2 || distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

std::string Table(std::vector<TableRow> rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); i++) {
      row[i] = InOneLine(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); i++) {
      line += (i == 0 ? "" : "  ") + row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    text += std::string(indent) + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace prefetch::base
