#include "base/scrub.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace prefetch::base {
namespace {

// Characters beyond ASCII that a terminal obeys, that change the order or the lines in which text is shown,
// or that are not seen, so that two names look the same.
constexpr std::array<std::pair<char32_t, char32_t>, 10> kHidden = {{
    {0x80, 0x9f},        // C1
    {0xad, 0xad},        // soft hyphen
    {0x61c, 0x61c},      // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // of no width, and marks of direction
    {0x2028, 0x202e},    // separators of lines and paragraphs, controls of direction
    {0x2060, 0x206f},    // joiners, invisible operators, isolates
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
}};

bool EndsUrl(char c) {
  return c == ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' ||
         static_cast<unsigned char>(c) < 0x20;
}

std::size_t EndOfUrl(std::string_view text, std::size_t at) {
  while (at < text.size() && !EndsUrl(text[at])) at++;
  return at;
}

// Returns "https://host/path?…" for "https://user:pw@host/path?sig=…". The last @ of the authority counts,
// since a password may contain one.
std::string CleanUrl(std::string_view url) {
  std::size_t authority = url.find("://") + 3;
  std::size_t path = std::min(url.find_first_of("/?#", authority), url.size());
  std::size_t at = url.substr(authority, path - authority).rfind('@');
  std::size_t host = at == std::string_view::npos ? authority : authority + at + 1;
  std::size_t query = std::min(url.find_first_of("?#", host), url.size());
  std::string out(url.substr(0, authority));
  out += url.substr(host, query - host);
  if (query == url.size()) return out;
  out += "?…";
  // In "…?a=b: 403 Forbidden", the message goes on behind the query, so its punctuation stays.
  if (url.ends_with(':') || url.ends_with(',')) out += url.back();
  return out;
}

std::string CleanUrls(std::string_view message) {
  std::string out;
  while (true) {
    std::size_t scheme = message.find("://");
    if (scheme == std::string_view::npos) return out.append(message);
    std::size_t start = scheme;
    while (start > 0 && std::isalnum(static_cast<unsigned char>(message[start - 1])) != 0) start--;
    std::size_t end = EndOfUrl(message, scheme);
    out += message.substr(0, start);
    out += CleanUrl(message.substr(start, end - start));
    message.remove_prefix(end);
  }
}

// Removes queries of relative paths, too, as in: Head "/v2/a?token=…".
std::string CleanPaths(std::string_view message) {
  std::string out;
  for (std::size_t i = 0; i < message.size(); i++) {
    const bool begins = message[i] == '/' && (i == 0 || EndsUrl(message[i - 1]) || message[i - 1] == '(');
    const std::size_t end = begins ? EndOfUrl(message, i) : i;
    const std::size_t query = message.substr(0, end).find('?', i);
    if (query == std::string_view::npos) {
      out += message[i];
      continue;
    }
    out.append(message.substr(i, query - i)).append("?…");
    i = end - 1;
  }
  return out;
}

}  // namespace

std::size_t ControlAt(std::string_view text) {
  if (text.empty()) return 0;
  const Character character = CharacterAt(text, 0);
  if (character.point < 0x20 || character.point == 0x7f) return text[0] == '\n' ? 0 : character.bytes;
  const bool is_hidden = std::any_of(kHidden.begin(), kHidden.end(), [&](const auto& range) {
    return character.point >= range.first && character.point <= range.second;
  });
  return is_hidden ? character.bytes : 0;
}

std::string WithoutUrlSecrets(std::string_view text) {
  // URLs first: their paths have no query any more when CleanPaths looks for relative ones.
  return CleanPaths(CleanUrls(text));
}

std::string WithoutControls(std::string_view text) {
  if (!HasControls(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t control = ControlAt(text);
    out += control > 0 ? ' ' : text.front();
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return out;
}

bool HasControls(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    // Nearly all of it: a long text is gone through on a server's only thread.
    const char c = text[at];
    if ((c >= ' ' && c < 0x7f) || c == '\n') {
      at++;
      continue;
    }
    const std::size_t bytes = CharacterAt(text, at).bytes;
    if (bytes == 0 || ControlAt(text.substr(at)) > 0) return true;
    at += bytes;
  }
  return false;
}

std::string InOneLine(std::string_view text) {
  return std::string(TrimSpace(ReplaceAll(WithoutControls(ToUtf8(text)), "\n", " ")));
}

}  // namespace prefetch::base
