// A Lookup as text, for a person: what would be tried in which order, and why a provider gives nothing. No
// secrets. Pure.
#pragma once

#include <string>

#include "credentials/keyring.h"

namespace prefetch::credentials {

// Some lines, columns aligned, the last one with its line break:
//
//   quay.io/acme/app:v1
//     1.  docker-config  /var/lib/kubelet/config.json  as ann  by quay.io
//     2.  provider       login                         as AWS  by quay.io/acme
//     provider  login  ok       quay.io matches
//     provider  gar    skipped  no entry of matchImages matches
std::string LookupText(const std::string& image, const Lookup& lookup);

}  // namespace prefetch::credentials
