// Redacts secrets from the text of other programs: registries, plugins, API servers, runtimes.
//
// The process-wide store has the secrets that the process has sent or received. A stranger may repeat any of
// them in an answer to another request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace prefetch::base {

enum class SecretOrigin {
  kOwn,       // of this node's configuration
  kReceived,  // by a registry or a plugin: a stranger may have caused any number of them
  kSent,      // the code that sends a secret does not know which: the store does
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

// LargeTextLock: of the texts that strangers may make large, one is looked into at a time.

// Hold one while the tree of untrusted text exists, or its decodings: they take many times the memory of
// the text, and those of many threads together would fill that of the process. Shorter texts go on at once.
// Any thread; it may hold several. Nothing that waits for the network or for another thread belongs into its
// scope.
class LargeTextLock {
 public:
  static constexpr std::size_t kLarge = 16 * 1024;
  // The API server's answers do not wait for untrusted texts.
  enum class Writer { kUntrusted, kApiServer };

  explicit LargeTextLock(std::size_t bytes, std::size_t large = kLarge, Writer writer = Writer::kUntrusted);
  ~LargeTextLock();
  LargeTextLock(const LargeTextLock&) = delete;
  LargeTextLock& operator=(const LargeTextLock&) = delete;

 private:
  const bool large_;
  const Writer writer_;
};

// The text of other programs, which may quote secrets and steer terminals. All pure but for the store of
// Redact.

// Makes the text of another program fit for a log, a status or an error: without secrets (Redact), JSON Web
// Tokens, and the user information and query of URLs; UTF-8 in one line; at most `bytes` bytes and "…".
std::string SanitizedText(std::string_view text, std::size_t bytes,
                          const std::vector<const Secret*>& also = {});

// SanitizedText for programs whose secrets are not all known: what follows words such as "password" or
// "Basic", and long runs that look like tokens or keys, are redacted as well.
std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also = {});

// Does the name of a variable or field say that its value is a secret?
bool IsSecretName(std::string_view name);
// May the value of a variable that was declared for a plugin be a secret? Paths and short values only if the
// name tells.
bool MayBeSecret(std::string_view name, std::string_view value);
// Remembers the value (RememberSecret) if the name tells.
void RememberVariable(std::string_view name, std::string_view value);

}  // namespace prefetch::base
