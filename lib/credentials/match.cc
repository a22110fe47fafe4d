#include "credentials/match.h"

#include "base/text.h"
#include "credentials/registry_url.h"

namespace prefetch::credentials {
namespace {

std::vector<std::string> Labels(std::string_view host) {
  std::vector<std::string> labels;
  for (std::string_view label : base::Split(host, '.')) labels.emplace_back(label);
  return labels;
}

// Matches a shell glob with stars only: the other operators of Go's globs do not get through URL parsing.
bool GlobMatches(std::string_view glob, std::string_view text) {
  std::size_t star = glob.find('*');
  if (star == std::string_view::npos) return glob == text;
  if (text.substr(0, star) != glob.substr(0, star)) return false;
  text.remove_prefix(star);
  glob.remove_prefix(star);
  // Each run of letters between two stars is taken at its first occurrence, and the last run at the end.
  // Later occurrences need not be tried: a star takes any number of letters.
  while (true) {
    glob.remove_prefix(1);
    std::size_t next = glob.find('*');
    if (next == std::string_view::npos) return text.ends_with(glob);
    std::size_t found = text.find(glob.substr(0, next));
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + next);
    glob.remove_prefix(next);
  }
}

}  // namespace

Target::Target(std::string_view repository) : repository_(repository) {
  std::optional<RegistryUrl> url = ParseRegistryUrl(repository);
  // A repository that does not parse matches no pattern (A14).
  if (!url) return;
  HostAndPort parts = SplitHostAndPort(url->host);
  valid_ = true;
  labels_ = Labels(parts.host);
  port_ = parts.port;
  path_ = std::move(url->path);
}

// The text as written, with its port: kubelet caches an answer for a registry under the same text (A12).
std::string_view Target::host() const {
  return std::string_view(repository_).substr(0, repository_.find('/'));
}

std::optional<Pattern> Pattern::Parse(std::string_view text) {
  std::optional<RegistryUrl> url = ParseRegistryUrl(text);
  if (!url) return std::nullopt;
  HostAndPort parts = SplitHostAndPort(url->host);
  Pattern pattern;
  pattern.text_ = text;
  pattern.labels_ = Labels(parts.host);
  pattern.port_ = parts.port;
  pattern.path_ = std::move(url->path);
  // "[::1]" without a port keeps its brackets, which then are a glob's character class: one character, which
  // is no host.
  pattern.never_ = parts.host.starts_with('[');
  return pattern;
}

bool Pattern::Matches(const Target& target) const {
  // A15: a star stands for one label only, so the numbers of labels have to be equal.
  if (never_ || !target.valid_ || labels_.size() != target.labels_.size()) return false;
  // A15: no port is not 443, and the path is a plain prefix.
  if (port_ != target.port_ || !target.path_.starts_with(path_)) return false;
  // Labels are compared from the end, since that is where registries differ.
  for (std::size_t i = labels_.size(); i-- > 0;) {
    if (!GlobMatches(labels_[i], target.labels_[i])) return false;
  }
  return true;
}

// The other pattern is read as text: a star in it is a letter that only a star matches, and a star matches
// whatever may replace it.
bool Pattern::Covers(const Pattern& other) const {
  return other.never_ || Matches(Target(other.text_));
}

}  // namespace prefetch::credentials
