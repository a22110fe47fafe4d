// KeyIndex: credentials under the keys that they are for, and which of them serve an image, in order
// (A16, A17).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "credentials/match.h"
#include "image/auth_config.h"

namespace prefetch::credentials {

// A credential as a document or a plugin gives it: "https://quay.io/v1/" and what to say there.
struct KeyedAuth {
  std::string key;
  image::AuthConfig auth;
};

// A value; immutable once built; any thread may read.
class KeyIndex {
 public:
  struct Entry {
    std::string index_key;  // "quay.io": the normalised key; decides order
    std::string key;        // as it was written
    Pattern pattern;
    image::AuthConfig auth;
  };

  KeyIndex() = default;
  // Keys that do not parse are left out; UnusableKeys says which.
  explicit KeyIndex(const std::vector<KeyedAuth>& auths);

  // Returns the entries that serve the target: longer and more literal keys first, and earlier ones before
  // equal later ones. The default registry's fallback is not included, since it concerns several indexes
  // together. Valid as long as this index.
  std::vector<const Entry*> Match(const Target& target) const;
  // Those under exactly "index.docker.io".
  std::vector<const Entry*> DefaultRegistry() const;
  const std::vector<std::string>& unusable_keys() const { return unusable_keys_; }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;  // in the order of look-ups
  std::vector<std::string> unusable_keys_;
};

// The result of a lookup in `indexes`, taken as one keyring: all matches, or else the default registry's
// credentials if the repository is one of its. `from` is the position of the index.
struct KeyedMatch {
  const KeyIndex::Entry* entry = nullptr;
  std::size_t from = 0;
};
std::vector<KeyedMatch> LookUp(const std::vector<const KeyIndex*>& indexes, const Target& target);

// "docker.io/…", "index.docker.io/…", and every name whose first part has neither "." nor ":".
bool IsDefaultRegistry(std::string_view repository);

}  // namespace prefetch::credentials
