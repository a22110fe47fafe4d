// CredentialWords and ProviderWords: credentials for an image in words, without secrets. They are those of
// this program, or of an agent's answer, which may be of a newer version. Values.
#pragma once

#include <string>

namespace prefetch::image {

struct CredentialWords {
  std::string source, name, match, username;
};

// The outcome of one credential provider.
struct ProviderWords {
  std::string name, outcome, error;
  bool matched = false;
  std::string pattern;  // the entry of matchImages that matched; empty in an agent's answer
};

}  // namespace prefetch::image
