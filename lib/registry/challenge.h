// Challenge: what WWW-Authenticate asks for, as the runtimes read it (R14). Pure; the text is untrusted.
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

}  // namespace prefetch::registry
