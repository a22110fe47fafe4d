// Realm: may a registry's challenge send us to that token service, and with a password (R21)? The realm is a
// stranger's if the registry is. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/absolute_url.h"

namespace prefetch::registry {

struct Realm {
  http::AbsoluteUrl url;
  // The token service belongs to the registry: the same host, the same registrable domain, or one that the
  // operator named. Otherwise it may be asked, but gets no password.
  bool trusted = false;
};

// `contact` is where the challenge came from; `trusted_hosts` are hosts, without a port, that the operator
// trusts with passwords. InvalidArgument: no absolute URL, user information, longer than 2048 bytes, or
// plain http where the registry is not asked by plain http on the same host.
base::Result<Realm> ValidateRealm(std::string_view realm, const http::AbsoluteUrl& contact,
                                  const std::vector<std::string>& trusted_hosts);

}  // namespace prefetch::registry
