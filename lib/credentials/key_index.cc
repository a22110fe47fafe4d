#include "credentials/key_index.h"

#include <algorithm>
#include <optional>

#include "credentials/registry_url.h"

namespace prefetch::credentials {
namespace {

constexpr std::string_view kDefaultRegistryKey = "index.docker.io";

// Returns "quay.io" for "https://quay.io/v1/" (A16); nullopt if the key cannot be parsed.
std::optional<std::string> IndexKey(std::string_view key) {
  for (std::string_view scheme : {"https://", "http://"}) {
    if (!key.starts_with(scheme)) continue;
    key.remove_prefix(scheme.size());
    break;
  }
  std::optional<RegistryUrl> url = ParseRegistryUrl(key);
  if (!url) return std::nullopt;
  std::string_view path = url->path;
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) path.remove_prefix(3);
  return path == "/" ? url->host : url->host + std::string(path);
}

}  // namespace

KeyIndex::KeyIndex(const std::vector<KeyedAuth>& auths) {
  for (const KeyedAuth& given : auths) {
    std::optional<std::string> index_key = IndexKey(given.key);
    std::optional<Pattern> pattern = index_key ? Pattern::Parse(*index_key) : std::nullopt;
    // One wrong key does not make the others useless: a key that does not parse matches nothing (A14).
    if (pattern) {
      entries_.push_back({std::move(*index_key), given.key, std::move(*pattern), given.auth});
    } else {
      unusable_keys_.push_back(given.key);
    }
  }
  // A16: descending byte order of keys, so that longer paths come before shorter ones and names before stars.
  // Stable, since equal keys keep the order in which they were given.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.index_key > b.index_key; });
}

std::vector<const KeyIndex::Entry*> KeyIndex::Match(const Target& target) const {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (entry.pattern.Matches(target)) found.push_back(&entry);
  }
  return found;
}

std::vector<const KeyIndex::Entry*> KeyIndex::DefaultRegistry() const {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (entry.index_key == kDefaultRegistryKey) found.push_back(&entry);
  }
  return found;
}

std::vector<KeyedMatch> LookUp(const std::vector<const KeyIndex*>& indexes, const Target& target) {
  std::vector<KeyedMatch> found;
  for (std::size_t i = 0; i < indexes.size(); i++) {
    for (const KeyIndex::Entry* entry : indexes[i]->Match(target)) found.push_back({entry, i});
  }
  std::stable_sort(found.begin(), found.end(), [](const KeyedMatch& a, const KeyedMatch& b) {
    return a.entry->index_key > b.entry->index_key;
  });
  // A17: the old name of Docker Hub serves only images that no key matches.
  if (!found.empty() || !IsDefaultRegistry(target.repository())) return found;
  for (std::size_t i = 0; i < indexes.size(); i++) {
    for (const KeyIndex::Entry* entry : indexes[i]->DefaultRegistry()) found.push_back({entry, i});
  }
  return found;
}

bool IsDefaultRegistry(std::string_view repository) {
  if (repository.empty()) return false;
  std::size_t slash = repository.find('/');
  if (slash == 0) return false;
  // A name without a registry ("nginx") means Docker Hub.
  if (slash == std::string_view::npos) return true;
  std::string_view first = repository.substr(0, slash);
  return first == "docker.io" || first == kDefaultRegistryKey ||
         first.find_first_of(".:") == std::string_view::npos;
}

}  // namespace prefetch::credentials
