// Redact: removes secrets from the text of other programs: registries, plugins, API servers, runtimes.
// SanitizedText: makes such a text fit for a log or a status.
// LargeTextLock: lets one thread at a time parse a large untrusted text.
//
// The process-wide store has the secrets that the process has sent or received. Another program may repeat
// any of them in an answer to another request.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace prefetch::base {

enum class SecretOrigin {
  kOwn,       // of this node's configuration
  kReceived,  // by a registry or a plugin: untrusted input may have caused any number of them
  kSent,      // either: the sender does not know which, and the store looks it up
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

// Lets only one thread at a time parse a large untrusted text, to bound memory. Hold one while the tree of
// the text exists, or its decodings: they take many times the memory of the text. Shorter texts do not wait.
// Any thread; it may hold several. Do not wait for the network or for another thread within its scope.
class LargeTextLock {
 public:
  static constexpr std::size_t kLarge = 16 * 1024;
  // The API server's answers do not wait for untrusted texts.
  enum class Writer { kUntrusted, kApiServer };

  explicit LargeTextLock(std::size_t bytes, std::size_t large = kLarge, Writer writer = Writer::kUntrusted);
  LargeTextLock(const LargeTextLock&) = delete;
  LargeTextLock& operator=(const LargeTextLock&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;  // of nothing for a shorter text
};

// The functions below handle the text of other programs, which may quote secrets and steer terminals. They
// are pure, except for the store of Redact.

// Makes the text of another program fit for a log, a status or an error: without secrets (Redact), JSON Web
// Tokens, and the user information and query of URLs; UTF-8 in one line; at most `bytes` bytes and "…".
std::string SanitizedText(std::string_view text, std::size_t bytes,
                          const std::vector<const Secret*>& also = {});

// SanitizedText for programs whose secrets are not all known: what follows words such as "password" or
// "Basic", and long runs that look like tokens or keys, are redacted as well.
std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also = {});

// Returns whether the value of a variable that was declared for a plugin may be a secret. Paths and short
// values are secrets only if the name shows it.
bool MayBeSecret(std::string_view name, std::string_view value);
// Remembers the value (RememberSecret) if the name shows that it is a secret.
void RememberVariable(std::string_view name, std::string_view value);

}  // namespace prefetch::base
