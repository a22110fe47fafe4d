// Challenge: what WWW-Authenticate asks for (RFC 9110 section 11.6.1; R14). Pure; the text is a
// stranger's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace prefetch::registry {

// A value.
struct Challenge {
  std::string scheme;                                           // in lower case: "bearer"
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case; a name may repeat

  // Returns the first parameter of that name; empty if there is none.
  std::string_view Get(std::string_view name) const;

  friend bool operator==(const Challenge&, const Challenge&) = default;
};

// Returns the challenges of one header field. InvalidArgument: an open quote, more than 8 KiB, more than 16
// parameters.
base::Result<std::vector<Challenge>> ParseChallenges(std::string_view field);

// Returns the challenge to answer: the first Bearer, else the first Basic, of all fields of an answer. Others
// (Digest, Negotiate) are ignored. nullopt: none. InvalidArgument as above, or a Bearer without a realm.
base::Result<std::optional<Challenge>> ChooseChallenge(const std::vector<std::string_view>& fields);

}  // namespace prefetch::registry
