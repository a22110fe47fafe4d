#include "credentials/scrub.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/secret_node.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kShortestToken =
    32;  // letters and digits in a row; names of hosts and folders are shorter
constexpr std::size_t kShortestSecret = 3;  // shorter ones would blank half of the text
constexpr std::array<std::string_view, 5> kTellingWords = {"password", "passwd", "token", "secret",
                                                           "authorization"};

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool IsTokenCharacter(char c) {
  return IsLetterOrDigit(c) || c == '+' || c == '_' || c == '=' || c == '-';
}

// The word after "password:", "token=" and the like.
std::string BlankAfterTellingWords(std::string_view text) {
  std::string out;
  std::string lower = base::ToLower(text);
  std::size_t at = 0;
  while (true) {
    std::size_t found = std::string::npos, after = 0;
    for (std::string_view word : kTellingWords) {
      std::size_t next = lower.find(word, at);
      if (next >= found) continue;
      found = next;
      after = next + word.size();
    }
    if (found == std::string::npos) return out + std::string(text.substr(at));
    std::size_t value = text.find_first_not_of("\"' :=", after);
    bool assigned = value != std::string_view::npos &&
                    text.substr(after, value - after).find_first_of(":=") != std::string_view::npos;
    if (!assigned) value = after;
    out += text.substr(at, value - at);
    at = value;
    if (!assigned) continue;
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (std::string_view(lower).substr(at).starts_with(scheme)) at += scheme.size();
    }
    at = std::min(text.find_first_of(" \"',;}", at), text.size());
    out += base::kRedacted;
  }
}

std::string BlankTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto length =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsTokenCharacter) - text.begin());
    std::string_view run = text.substr(0, length);
    bool mixed = std::any_of(run.begin(), run.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                 std::any_of(run.begin(), run.end(), [](char c) { return c >= 'A'; });
    out += length >= kShortestToken && mixed ? base::kRedacted : run;
    text.remove_prefix(length);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

void CollectStrings(const doc::Node& node, std::vector<std::string>& out) {
  if (node.kind == doc::Node::Kind::kString) out.push_back(node.text);
  for (const doc::Node& item : node.items) CollectStrings(item, out);
  for (const doc::Member& member : node.members) {
    if (member.key != "kind" && member.key != "apiVersion" && member.key != "cacheKeyType" &&
        member.key != "cacheDuration" && member.key != "username") {
      CollectStrings(member.value, out);
    }
  }
}

}  // namespace

std::string ScrubPluginErrors(std::string_view text, const std::vector<std::string>& secrets) {
  std::vector<std::string> spellings;
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    spellings.push_back(secret);
    spellings.push_back(base::Base64Encode(secret));
  }
  std::string out = base::WithoutUrlSecrets(base::InOneLine(base::Redact(text, std::move(spellings))));
  out = BlankTokens(BlankAfterTellingWords(out));
  return base::Truncate(out, kLongestText);
}

std::vector<std::string> SecretsIn(std::string_view text) {
  std::vector<std::string> out;
  doc::Problems ignored("output");
  std::optional<doc::Node> tree = doc::ParseJson(text, ignored, doc::JsonRules::kLenient);
  if (!tree) return out;
  doc::SecretNode root(std::move(*tree));
  CollectStrings(root.node, out);
  return out;
}

}  // namespace prefetch::credentials
