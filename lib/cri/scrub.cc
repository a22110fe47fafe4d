#include "cri/scrub.h"

#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::cri {
namespace {

constexpr std::string_view kCut = "…";

// As Go's %q prints it between its quotes, for the characters that passwords have.
std::string GoQuoted(std::string_view text) {
  std::string escaped = base::ReplaceAll(text, "\\", "\\\\");
  return base::ReplaceAll(escaped, "\"", "\\\"");
}

std::vector<std::string> Spellings(const image::AuthConfig& credential) {
  std::string password(credential.password.Reveal());
  if (password.empty()) return {};
  std::string pair = base::Base64Encode(credential.username + ":" + password);
  std::string alone = base::Base64Encode(password);
  auto unpadded = [](std::string_view text) { return std::string(text.substr(0, text.find('='))); };
  std::vector<std::string> all = {password, GoQuoted(password), pair, unpadded(pair), alone, unpadded(alone)};
  base::WipeString(password);
  return all;
}

}  // namespace

std::string ScrubRuntimeWords(std::string_view message, const image::AuthConfig* credential_in_use) {
  std::string out =
      credential_in_use ? base::Redact(message, Spellings(*credential_in_use)) : std::string(message);
  out = base::InOneLine(base::WithoutUrlSecrets(out));
  return out.size() <= kScrubbedBytes ? out : base::Truncate(out, kScrubbedBytes - kCut.size());
}

}  // namespace prefetch::cri
