#include "registry/realm.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/addresses.h"
#include "registry/go_url.h"
#include "registry/host.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxBytes = 2048;

// "co.uk" and "com.au" are second levels that nobody owns. The public suffix list knows more of them; here, a
// mistake only lets a registry in such a domain name a token service of its neighbour.
bool IsCountrySecondLevel(std::string_view second, std::string_view top) {
  static constexpr std::array<std::string_view, 8> kShared = {"ac", "co",  "com", "edu",
                                                              "go", "gov", "net", "org"};
  return top.size() == 2 && std::find(kShared.begin(), kShared.end(), second) != kShared.end();
}

// Returns the registered domain by its last labels; empty if there is none.
std::string RegistrableParent(std::string_view host) {
  if (http::IsAddress(host)) return "";
  std::vector<std::string_view> labels = base::Split(host, '.');
  if (labels.size() < 2) return "";
  std::string_view top = labels.back(), second = labels[labels.size() - 2];
  std::string parent = std::string(second) + "." + std::string(top);
  if (!IsCountrySecondLevel(second, top)) return parent;
  return labels.size() < 3 ? "" : std::string(labels[labels.size() - 3]) + "." + parent;
}

bool Belongs(const std::string& realm, const std::string& registry) {
  if (realm == registry || registry == "registry." + realm) return true;
  std::string parent = RegistrableParent(realm);
  return !parent.empty() && parent == RegistrableParent(registry);
}

}  // namespace

base::Result<Realm> ValidateRealm(std::string_view realm, const http::AbsoluteUrl& contact,
                                  const std::vector<std::string>& trusted_hosts) {
  if (realm.size() > kMaxBytes) return base::InvalidArgument("the token service's URL is too long");
  auto url = http::ParseAbsoluteUrl(realm);
  if (!url) return std::move(url).error().Wrap("token service");
  // The runtimes give up at a broken escape, and at "https://host\\path".
  if (!ParseGoUrl(realm)) return base::InvalidArgument("the token service's URL is none for the runtimes");
  // Over plain http, anybody on the way could read the password. A registry that is itself asked over http
  // has no such protection anyway.
  if (url->scheme == "http" && (contact.scheme != "http" || url->host != contact.host)) {
    return base::InvalidArgument("the token service's URL is plain http");
  }
  bool named = std::find(trusted_hosts.begin(), trusted_hosts.end(), url->host) != trusted_hosts.end();
  return Realm{.url = *url, .trusted = named || Belongs(url->host, contact.host)};
}

}  // namespace prefetch::registry
