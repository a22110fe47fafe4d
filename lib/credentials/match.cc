#include "credentials/match.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/go_url.h"
#include "base/text.h"

namespace prefetch::credentials {

namespace {

// Newer releases of Go refuse brackets that hold no IPv6 address, and colons that are no port's.
bool IsHostOfNewGo(const std::string& host) {
  if (!host.starts_with('['))
    return host.find_first_of("[]") == std::string::npos && host.find(':') == host.rfind(':');
  std::string address = host.substr(1, host.find(']') - 1);
  if (address.ends_with('%')) return false;  // a zone has a name
  address.resize(std::min(address.find('%'), address.size()));
  in6_addr ignored;
  return ::inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
}

// A registry's address as kubelet takes it apart, by Go's URL parser (A14): "user@foo.io:5000/a?q#f". nullopt
// if Go refuses it, or would with a newer release.
std::optional<base::GoUrl> ParseRegistryUrl(std::string_view text) {
  std::optional<base::GoUrl> url = base::ParseGoUrl("https://" + std::string(text));
  if (url && !IsHostOfNewGo(url->host)) url.reset();
  return url;
}

}  // namespace

Target::Target(std::string_view repository) : repository_(repository) {
  const std::optional<base::GoUrl> url = ParseRegistryUrl(repository);
  // A repository that does not parse matches no pattern (A14), and such a pattern is none.
  if (!url) return;
  const base::HostAndPort parts = base::SplitHostPort(url->host);
  valid_ = true;
  for (std::string_view label : base::Split(parts.host, '.')) labels_.emplace_back(label);
  port_ = parts.port;
  path_ = url->path;
}

std::optional<Pattern> Pattern::Parse(std::string_view text) {
  Target parts(text);
  if (!parts.valid_) return std::nullopt;
  return Pattern(std::move(parts));
}

bool Pattern::Matches(const Target& target) const {
  // A15: a star stands for one label only, so the numbers of labels have to be equal.
  if (MatchesNothing() || !target.valid_ || parts_.labels_.size() != target.labels_.size()) return false;
  // A15: no port is not 443, and the path is a plain prefix.
  if (parts_.port_ != target.port_ || !target.path_.starts_with(parts_.path_)) return false;
  // Labels are compared from the end, since that is where registries differ.
  // Stars are the only operators of Go's globs that get through URL parsing.
  for (std::size_t i = parts_.labels_.size(); i-- > 0;) {
    if (!base::GlobMatches(parts_.labels_[i], target.labels_[i])) return false;
  }
  return true;
}

// The other pattern is read as text: a star in it is a letter that only a star matches, and a star matches
// whatever may replace it.
bool Pattern::Covers(const Pattern& other) const {
  return other.MatchesNothing() || Matches(other.parts_);
}

const Pattern* FirstMatch(const std::vector<Pattern>& patterns, const Target& target) {
  auto found = std::find_if(patterns.begin(), patterns.end(),
                            [&](const Pattern& pattern) { return pattern.Matches(target); });
  return found == patterns.end() ? nullptr : &*found;
}

std::string DisplayKey(std::string_view key) {
  constexpr std::string_view kAfterScheme = "://";
  key = key.substr(0, key.find_first_of("?#"));
  std::size_t scheme = key.find(kAfterScheme);
  std::size_t start = scheme == std::string_view::npos ? 0 : scheme + kAfterScheme.size();
  // The last @ counts: a password may have a slash or an @ in it, and no registry's path has one.
  std::size_t at = key.rfind('@');
  if (at == std::string_view::npos || at < start) return std::string(key);
  return std::string(key.substr(0, start)) + std::string(key.substr(at + 1));
}

namespace {

// Returns "quay.io" for "https://quay.io/v1/" (A16); nullopt if the key cannot be parsed.
std::optional<std::string> IndexKey(std::string_view key) {
  for (std::string_view scheme : {"https://", "http://"}) {
    if (!key.starts_with(scheme)) continue;
    key.remove_prefix(scheme.size());
    break;
  }
  const std::optional<base::GoUrl> url = ParseRegistryUrl(key);
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

std::vector<KeyedMatch> MatchAll(const std::vector<const KeyIndex*>& indexes, const Target& target) {
  std::vector<KeyedMatch> found;
  const auto add_if = [&](const auto& serves) {
    for (std::size_t i = 0; i < indexes.size(); i++) {
      for (const KeyIndex::Entry& entry : indexes[i]->entries()) {
        if (serves(entry)) found.push_back({&entry, i});
      }
    }
  };
  add_if([&](const KeyIndex::Entry& entry) { return entry.pattern.Matches(target); });
  std::stable_sort(found.begin(), found.end(), [](const KeyedMatch& a, const KeyedMatch& b) {
    return a.entry->index_key > b.entry->index_key;
  });
  // A17: the old name of Docker Hub serves only images that no key matches.
  if (found.empty() && IsDefaultRegistry(target.repository())) {
    add_if([](const KeyIndex::Entry& entry) { return entry.index_key == image::kDockerHubIndex; });
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
  return first == image::kDockerHub || first == image::kDockerHubIndex ||
         first.find_first_of(".:") == std::string_view::npos;
}

}  // namespace prefetch::credentials
