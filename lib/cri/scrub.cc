#include "cri/scrub.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::cri {
namespace {

constexpr std::string_view kBlank = "[redacted]";
constexpr std::string_view kCut = "…";

// As Go's %q prints it between its quotes, for the characters that passwords have.
std::string GoQuoted(std::string_view text) {
  std::string escaped = base::ReplaceAll(text, "\\", "\\\\");
  return base::ReplaceAll(escaped, "\"", "\\\"");
}

// Longest first, so that no spelling is left over around a shorter one.
std::vector<std::string> Spellings(const image::AuthConfig& credential) {
  std::string password(credential.password.Reveal());
  if (password.empty()) return {};
  std::string pair = base::Base64Encode(credential.username + ":" + password);
  std::string alone = base::Base64Encode(password);
  auto unpadded = [](std::string_view text) { return std::string(text.substr(0, text.find('='))); };
  std::vector<std::string> all = {password, GoQuoted(password), pair, unpadded(pair), alone, unpadded(alone)};
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  base::WipeString(password);
  return all;
}

std::string BlankCredential(std::string_view message, const image::AuthConfig& credential) {
  std::string out(message);
  for (std::string& spelling : Spellings(credential)) {
    out = base::ReplaceAll(out, spelling, kBlank);
    base::WipeString(spelling);
  }
  return out;
}

bool EndsUrl(char c) {
  return c == ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' ||
         static_cast<unsigned char>(c) < 0x20;
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
    std::size_t end = scheme;
    while (end < message.size() && !EndsUrl(message[end])) end++;
    out += message.substr(0, start);
    out += CleanUrl(message.substr(start, end - start));
    message.remove_prefix(end);
  }
}

// Also queries of relative paths, as in: Head "/v2/a?token=…".
std::string CleanPaths(std::string_view message) {
  std::string out;
  for (std::size_t i = 0; i < message.size(); i++) {
    out += message[i];
    bool begins = message[i] == '"' && i + 1 < message.size() && message[i + 1] == '/';
    if (!begins) continue;
    std::size_t end = std::min(message.find('"', i + 1), message.size());
    std::size_t query = message.substr(0, end).find('?', i + 1);
    if (query == std::string_view::npos) continue;
    out.append(message.substr(i + 1, query - i - 1)).append("?…");
    i = end - 1;
  }
  return out;
}

std::string WithoutControls(std::string_view message) {
  std::string out = base::ToUtf8(message);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return std::string(base::TrimSpace(out));
}

}  // namespace

std::string Scrub(std::string_view message, const image::AuthConfig* credential_in_use) {
  std::string out = credential_in_use ? BlankCredential(message, *credential_in_use) : std::string(message);
  out = WithoutControls(CleanPaths(CleanUrls(out)));
  return out.size() <= kScrubbedBytes ? out : base::Truncate(out, kScrubbedBytes - kCut.size());
}

}  // namespace prefetch::cri
