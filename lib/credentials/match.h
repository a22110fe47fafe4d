// Pattern: the one rule that decides whether matchImages, a key of credentials or allowRepositories matches
// an image (A14, A15).
// KeyIndex: credentials by their keys (A16, A17).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/registry_question.h"

namespace prefetch::credentials {

// A repository such as "docker.io/library/nginx", taken apart once for many patterns. A value.
class Target {
 public:
  // Takes a Reference's Repository(). One that cannot be parsed matches nothing.
  explicit Target(std::string_view repository);

  const std::string& repository() const { return repository_; }

 private:
  friend class Pattern;
  bool valid_ = false;
  std::string repository_, port_, path_;
  std::vector<std::string> labels_;
};

// "*.dkr.ecr.*.amazonaws.com", "foo.io:5000/team". A value; any thread may match.
class Pattern {
 public:
  // Returns nullopt if the text is no pattern.
  static std::optional<Pattern> Parse(std::string_view text);

  bool Matches(const Target& target) const;
  // Returns true if this pattern matches each image that `other` matches.
  bool Covers(const Pattern& other) const;
  const std::string& text() const { return parts_.repository(); }

  friend bool operator==(const Pattern& a, const Pattern& b) { return a.text() == b.text(); }

 private:
  explicit Pattern(Target parts) : parts_(std::move(parts)) {}
  // "[::1]" without a port keeps its brackets, which then are a glob's character class: one character, which
  // is no host.
  bool MatchesNothing() const { return parts_.labels_.front().starts_with('['); }

  Target parts_;  // a pattern is taken apart as a repository is
};

// Returns the first of the patterns that matches; nullptr if there is none.
const Pattern* FirstMatch(const std::vector<Pattern>& patterns, const Target& target);

// A key of a docker config or of a plugin's answer, fit to be shown: its user information, query and fragment
// may hold a password, and are left out. "https://u:p@quay.io/v1/?t" -> "https://quay.io/v1/". Pure.
std::string DisplayKey(std::string_view key);

// A credential as a document or a plugin gives it: "https://quay.io/v1/", user name and password.
struct KeyedAuth {
  std::string key;
  image::AuthConfig auth;
};

// Credentials under the keys that they are for, in order (A16); MatchAll finds those that serve an image. A
// value; immutable once built; any thread may read.
class KeyIndex {
 public:
  struct Entry {
    std::string index_key;  // "quay.io": the normalised key; decides order
    std::string key;        // as it was written
    Pattern pattern;
    image::AuthConfig auth;
  };

  KeyIndex() = default;
  // Keys that do not parse are left out; unusable_keys() returns them.
  explicit KeyIndex(const std::vector<KeyedAuth>& auths);

  // Returns all entries in the order of lookups: longer and more literal keys first, and earlier ones before
  // equal later ones. Valid as long as this index.
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<std::string>& unusable_keys() const { return unusable_keys_; }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
  std::vector<std::string> unusable_keys_;
};

// The result of a lookup in `indexes`, taken as one keyring: all matches, or else the default registry's
// credentials, under exactly "index.docker.io", if the repository is one of its (A17). `from` is the position
// of the index. Valid as long as the indexes.
struct KeyedMatch {
  const KeyIndex::Entry* entry = nullptr;
  std::size_t from = 0;
};
std::vector<KeyedMatch> MatchAll(const std::vector<const KeyIndex*>& indexes, const Target& target);

// "docker.io/…", "index.docker.io/…", and every name whose first part has neither "." nor ":".
bool IsDefaultRegistry(std::string_view repository);

}  // namespace prefetch::credentials
