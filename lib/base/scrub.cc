#include "base/scrub.h"

#include <algorithm>
#include <cctype>

#include "base/secret.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

bool EndsUrl(char c) {
  return c == ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' ||
         static_cast<unsigned char>(c) < 0x20;
}

std::size_t EndOfUrl(std::string_view text, std::size_t at) {
  while (at < text.size() && !EndsUrl(text[at])) at++;
  return at;
}

// "https://user:pw@host/path?sig=…" becomes "https://host/path?…".
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
  // "…?a=b: 403 Forbidden": what follows the query is the message again, if it ends as sentences do.
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

// Also queries of relative paths, as in: Head "/v2/a?token=…".
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

std::string Redact(std::string_view text, std::vector<std::string> spellings) {
  // So that no spelling is left over around a shorter one.
  std::sort(spellings.begin(), spellings.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string out(text);
  for (std::string& spelling : spellings) {
    if (!spelling.empty()) out = ReplaceAll(out, spelling, kRedacted);
    WipeString(spelling);
  }
  return out;
}

std::string WithoutUrlSecrets(std::string_view text) {
  return CleanPaths(CleanUrls(text));
}

std::string WithoutControls(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are two bytes, of which the first begins other characters, too.
    const bool c1 =
        c == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    const bool control = (c < 0x20 && c != '\n') || c == 0x7f;
    out += c1 || control ? ' ' : text[i];
    if (c1) i++;
  }
  return out;
}

std::string InOneLine(std::string_view text) {
  return std::string(TrimSpace(ReplaceAll(WithoutControls(ToUtf8(text)), "\n", " ")));
}

}  // namespace prefetch::base
