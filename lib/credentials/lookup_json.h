// A Lookup as JSON, for programs: what `prefetchctl credentials -o json` prints. No secrets. Pure.
#pragma once

#include <string>

#include "credentials/keyring.h"
#include "doc/node.h"

namespace prefetch::credentials {

// {"image", "repository", "credentials": [{"source", "name", "match", "username"}],
//  "providers": [{"name", "matched", "outcome", "error"}]}, credentials in the order of attempts, so that an
// anonymous pull is an empty list; every string is there, empty if there is nothing to say. `image` is the
// reference as it was asked for.
doc::Node LookupJson(const std::string& image, const Lookup& lookup);

}  // namespace prefetch::credentials
