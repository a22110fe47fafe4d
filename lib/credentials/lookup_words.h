// A Lookup in words, for a person and for programs: what would be tried in which order, and why a provider
// gives nothing. No secrets. Pure.
#pragma once

#include <string>
#include <vector>

#include "credentials/keyring.h"
#include "doc/node.h"
#include "image/credential_words.h"

namespace prefetch::credentials {

// The same values as words.
struct LookupWords {
  std::string repository;
  std::vector<image::CredentialWords> credentials;
  std::vector<image::ProviderWords> providers;
};
LookupWords WordsOf(const Lookup& lookup);

// Returns true if a matching provider was run and gave no answer: kubelet's own run may give a credential.
bool AnyProviderFailed(const Lookup& lookup);
// Returns true if the lookup is empty for that reason. A registry that denies access then has seen no
// credential of this node.
bool LacksCredential(const Lookup& lookup);

// Names the matching providers that gave no credential, which may be why a registry denies access:
// `provider "acme" had none; provider "gar" was skipped: ...`. Empty: there is none.
// `for_pods`: without the errors of plugins, which may describe the node.
std::string ProviderTrouble(const Lookup& lookup, bool for_pods = false);

// Some lines, columns aligned, the last one with its line break:
//
//   quay.io/acme/app:v1
//     1.  docker-config  /var/lib/kubelet/config.json  as ann  by quay.io
//     2.  provider       login                         as AWS  by quay.io/acme
//     provider  login  ok       quay.io matches
//     provider  gar    skipped  no entry of matchImages matches
std::string LookupText(const std::string& image, const LookupWords& lookup);

// Returns the lookup as JSON, as `prefetchctl credentials -o json` prints it.
//
// {"image", "repository", "credentials": [{"source", "name", "match", "username"}],
//  "providers": [{"name", "matched", "outcome", "error"}]}, credentials in the order of attempts, so that an
// anonymous pull is an empty list; every string is there, empty if there is nothing to say. `image` is the
// reference as it was asked for.
doc::Node LookupJson(const std::string& image, const LookupWords& lookup);

}  // namespace prefetch::credentials
