// Challenge: the demand of a WWW-Authenticate field, as the runtimes read it (R14).
// Realm: the token service that a challenge names.
// Pure; the texts are untrusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/url.h"

namespace prefetch::registry {

// A value.
struct Challenge {
  std::string scheme;                                           // in lower case: "bearer"
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case; a name may repeat

  // Returns the last parameter of that name; empty if there is none.
  std::string_view Get(std::string_view name) const;

  friend bool operator==(const Challenge&, const Challenge&) = default;
};

// Returns the challenge of one header field; its scheme is empty if there is none. Ends at the first thing
// that is no parameter: a second challenge of the same field is lost, as it is for the runtimes.
Challenge ParseChallenge(std::string_view field);

// Returns the challenge to answer: the first Bearer, else the first Basic, of all fields of an answer. Others
// (Digest, Negotiate) are ignored. nullopt: none. InvalidArgument: a field of more than 8 KiB, or a Bearer
// without a realm.
base::Result<std::optional<Challenge>> ChooseChallenge(const std::vector<std::string_view>& fields);

// The token service that a challenge names. ValidateRealm decides whether it may be asked, and whether it may
// get a password (R21). A realm is untrusted input, as is the registry.
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
