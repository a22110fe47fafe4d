// Redacts secrets from the text of other programs: registries, plugins, API servers, runtimes.
//
// The process-wide store has the secrets that the process has sent or received. A stranger may repeat any of
// them in an answer to another request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace prefetch::base {

enum class SecretOrigin {
  kOwn,        // of this node's configuration
  kHandedOut,  // by a registry or a plugin: a stranger may have caused any number of them
  kSent,       // the code that sends a secret does not know which: the store does
};

// Adds a secret, or its first 8 KiB, to the process-wide store. Its memory is bounded for each origin: of
// those, it forgets the secret that was added least recently. An Authorization header counts as its
// credential, and a Basic one also as its password. Thread-safe.
void RememberSecret(const Secret& secret, SecretOrigin origin = SecretOrigin::kOwn);
inline constexpr std::size_t kMostRememberedSecrets = 512;
inline constexpr std::size_t kMostRememberedBytes = 128 * 1024;

// Replaces the secrets of the store, and those of `also`, by kRedacted: whole ones, any run of 12 or more
// characters of one, and the beginning of one at the end of the text, where a limit may have cut it. It finds
// them as they are, in base64 (any alphabet and padding, also inside of longer base64), in hex, in two of
// these, URL-encoded, escaped as JSON, Go or HTML do, and in base64 or hex of such a text, in any case of
// letters. Secrets of fewer than 3 characters stay. Returns no more than the first 16 KiB of the text. Takes
// time proportional to text and secrets. Thread-safe.
std::string Redact(std::string_view text, const std::vector<const Secret*>& also = {});

}  // namespace prefetch::base
