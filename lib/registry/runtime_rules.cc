#include "registry/runtime_rules.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "base/text.h"

namespace prefetch::registry {
namespace {

using Version = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

struct Release {
  Version since;  // until the next row
  RuntimeRules rules;
};

constexpr RuntimeRules Rules1(LocalhostServer localhost, TlsBeforeHttp tls, bool table_required) {
  return {.toml = TomlDialect::kGoToml1,
          .localhost = localhost,
          .tls_before_http = tls,
          .hosts_table_required = table_required,
          .dial_timeout = false,
          .dial_timeout_means_tls = false,
          .referrers = false,
          .transfer_service = false,
          .default_config_path = false};
}

constexpr RuntimeRules Rules2(bool dial_timeout, bool transfer_service, bool newest) {
  RuntimeRules rules;
  rules.dial_timeout = dial_timeout;
  rules.dial_timeout_means_tls = dial_timeout && !transfer_service;
  rules.referrers = newest;
  rules.transfer_service = transfer_service;
  rules.default_config_path = newest;
  return rules;
}

// The rows come from the sources of each release (hosts.go of remotes/docker/config).
constexpr std::array kReleases = {
    Release{{1, 6, 0}, Rules1(LocalhostServer::kHttps, TlsBeforeHttp::kNever, true)},
    Release{{1, 6, 9}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kNever, true)},
    Release{{1, 6, 25}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80OrNone, true)},
    Release{{1, 7, 0}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kNever, true)},
    Release{{1, 7, 7}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kAlways, true)},
    Release{{1, 7, 8}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80OrNone, true)},
    Release{{1, 7, 24}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80, true)},
    Release{{1, 7, 32}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80, false)},
    Release{{2, 0, 0}, Rules2(false, false, false)},
    Release{{2, 0, 7}, Rules2(true, false, false)},
    Release{{2, 1, 0}, Rules2(true, true, false)},
    Release{{2, 2, 0}, Rules2(true, true, true)},
};

std::optional<std::uint64_t> LeadingNumber(std::string_view text) {
  return base::ParseUint(text.substr(0, text.find_first_not_of("0123456789")));
}

std::optional<Version> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::vector<std::string_view> parts = base::Split(text, '.');
  if (parts.size() < 2) return std::nullopt;
  const auto major = base::ParseUint(parts[0]);
  const auto minor = LeadingNumber(parts[1]);
  if (!major || !minor) return std::nullopt;
  const auto patch = parts.size() > 2 ? LeadingNumber(parts[2]) : std::nullopt;
  // A version without a patch level counts as the newest of its minor version.
  return Version{*major, *minor, patch.value_or(std::numeric_limits<std::uint64_t>::max())};
}

}  // namespace

// The last row that is not newer than the version counts. So the rows must be in the order of the releases.
RuntimeRules RulesOf(std::string_view containerd_version) {
  const auto version = ParseVersion(containerd_version);
  // An unknown version gets the rules of the newest release.
  if (!version) return {};
  RuntimeRules rules = kReleases.front().rules;
  for (const Release& release : kReleases) {
    if (release.since <= *version) rules = release.rules;
  }
  return rules;
}

}  // namespace prefetch::registry
