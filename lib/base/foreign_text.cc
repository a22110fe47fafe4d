#include "base/foreign_text.h"

#include <algorithm>
#include <array>

#include "base/redactor.h"
#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kShortestCredential = 8;  // that is taken for one by its scheme alone
constexpr std::size_t kShortestValue = 6;       // of a variable that may be a secret
constexpr std::size_t kShortestToken = 32;      // names of hosts and folders are shorter

bool MayBeInAToken(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("+/_=-").find(c) != std::string_view::npos;
}

// Every JSON Web Token begins with "eyJ", which is `{"` in base64.
std::string WithoutWebTokens(std::string text) {
  constexpr std::string_view kBegin = "eyJ";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" \"'\\,;", at), text.size());
    text.replace(at, end - at, kRedacted);
  }
  return text;
}

constexpr std::array<std::string_view, 9> kTellingWords = {"password", "passwd",        "token",
                                                           "secret",   "authorization", "credential",
                                                           "api_key",  "apikey",        "access_key"};

// Returns the text without the words after "password:", "token=" and the like, also in JSON that is escaped.
std::string WithoutToldSecrets(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (true) {
    std::size_t found = std::string::npos, after = 0;
    // The earliest word counts, so that one pass goes through the text from left to right.
    for (std::string_view word : kTellingWords) {
      std::size_t next = lower.find(word, at);
      if (next >= found) continue;
      found = next;
      after = next + word.size();
    }
    if (found == std::string::npos) return out + std::string(text.substr(at));
    std::size_t value = text.find_first_not_of("\\\"' :=", after);
    bool assigned = value != std::string_view::npos &&
                    text.substr(after, value - after).find_first_of(":=") != std::string_view::npos;
    // Without ":" or "=", the word is part of a sentence ("no token for this registry"), and what follows
    // stays.
    if (!assigned) value = after;
    out += text.substr(at, value - at);
    at = value;
    if (!assigned) continue;
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (std::string_view(lower).substr(at).starts_with(scheme)) at += scheme.size();
    }
    at = std::min(text.find_first_of(" \\\"',;}", at), text.size());
    out += kRedacted;
  }
}

// Returns the text without the word after "Basic" or "Bearer", if that may be a credential.
std::string WithoutSchemes(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (at < text.size()) {
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (!std::string_view(lower).substr(at).starts_with(scheme)) continue;
      const std::size_t begin = at + scheme.size();
      const std::size_t end = std::min(text.find_first_of(" \\\"',;}", begin), text.size());
      // A short word is English ("basic auth"), and "[redacted]" is there already.
      if (end - begin < kShortestCredential || text[begin] == '[') continue;
      out.append(text.substr(at, scheme.size())).append(kRedacted);
      at = end;
    }
    if (at < text.size()) out += text[at++];
  }
  return out;
}

// Returns the text without long runs that look like tokens or keys.
std::string WithoutLongTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), MayBeInAToken) - text.begin());
    const std::string_view run = text.substr(0, length);
    auto has = [&](char first, char last) {
      return std::any_of(run.begin(), run.end(), [&](char c) { return c >= first && c <= last; });
    };
    // Paths have slashes and digits as well, and seldom capitals.
    const bool mixed =
        has('0', '9') && (run.find('/') == std::string_view::npos ? has('a', 'z') || has('A', 'Z')
                                                                  : has('a', 'z') && has('A', 'Z'));
    out += length >= kShortestToken && mixed ? kRedacted : run;
    text.remove_prefix(length);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace

std::string ForeignText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  // Known secrets go first, in the text as it came: each later step changes bytes by which they are found.
  // The cut comes last, so that it leaves no beginning of a secret behind.
  return Truncate(InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also)))), bytes);
}

bool TellsOfASecret(std::string_view name) {
  return std::any_of(kTellingWords.begin(), kTellingWords.end(),
                     [&](std::string_view word) { return ContainsIgnoreCase(name, word); });
}

bool MayBeSecret(std::string_view name, std::string_view value) {
  return TellsOfASecret(name) || (value.size() >= kShortestValue && !value.starts_with('/'));
}

void RememberVariable(std::string_view name, std::string_view value) {
  if (TellsOfASecret(name)) RememberSecret(Secret(std::string(value)));
}

std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  const std::string clean = InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also))));
  return Truncate(WithoutLongTokens(WithoutSchemes(WithoutToldSecrets(clean))), bytes);
}

}  // namespace prefetch::base
