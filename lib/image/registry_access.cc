#include "image/registry_access.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "image/reference.h"

namespace prefetch::image {

namespace {

// A runtime's tables may name Docker Hub's servers.
bool ServesRegistry(std::string_view host, std::string_view registry) {
  if (host == "*" || host == registry) return true;
  return registry == kDockerHub && IsDockerHubServer(host);
}

}  // namespace

bool IsOnlyByPull(const RegistryAccess& access, std::string_view registry) {
  return std::any_of(access.by_pull.begin(), access.by_pull.end(),
                     [&](const std::string& host) { return ServesRegistry(host, registry); });
}

namespace {

// A table with more hosts than this counts for all hosts.
constexpr std::size_t kMaxHosts = 256;
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxPath = 4096;
constexpr const char* kAnyHost = "*";

bool IsHostCharacter(char c) {
  return base::IsAlphanumeric(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
}

}  // namespace

void TableHosts::Add(std::string_view name) {
  if (auto scheme = name.find("://"); scheme != std::string_view::npos) name.remove_prefix(scheme + 3);
  name = name.substr(0, name.find('/'));
  bool plain =
      !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), IsHostCharacter);
  // A name that is no host may be a pattern or a mistake. Taking it for every host only costs checks by pull.
  if (plain && hosts_.size() <= kMaxHosts) hosts_.emplace(name);
  any_ |= !plain || hosts_.size() > kMaxHosts;
}

void TableHosts::AddHeader(std::string_view name) {
  constexpr std::array<std::string_view, 2> kClientHeaders = {"User-Agent", "X-Meta-Source-Client"};
  // Any other header may change what a registry answers, and only the runtime sends it.
  any_ |= std::none_of(kClientHeaders.begin(), kClientHeaders.end(),
                       [&](std::string_view known) { return base::EqualsIgnoreCase(name, known); });
}

void TableHosts::Add(const TableHosts& others) {
  for (const std::string& host : others.hosts_) Add(host);
  any_ |= others.any_;
}

std::vector<std::string> TableHosts::Hosts() const {
  // "*" alone: single hosts beside it would add nothing.
  if (any_) return {kAnyHost};
  return {hosts_.begin(), hosts_.end()};
}

bool IsConfigPath(std::string_view path) {
  // An empty path means that none is configured.
  if (path.empty()) return true;
  bool printable = std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return printable && path.front() == '/' && path.size() <= kMaxPath;
}

}  // namespace prefetch::image
