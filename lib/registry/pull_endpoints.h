// PlacesOf: where CRI-O asks for an image, in order, as its registries.conf says (R46 to R48). Pure.
//
// Unlike hosts.toml, an entry is chosen by the whole name of the image, and gives it another name at each
// place. Where that cannot be followed faithfully, only pulling tells.
#pragma once

#include <string>
#include <vector>

#include "image/reference.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

struct PullEndpoint {
  image::Reference as;  // the name used there; its domain is the server
  bool insecure = false;
  bool mirror = false;  // not the last one
  // The server is the one of the image's name: only there does a pull send the credentials that it was given.
  bool same_domain = true;
  std::string blocked_by;  // the prefix of the entry that forbids to ask there; empty: none does
};

struct PullEndpoints {
  std::vector<PullEndpoint> places;  // at least one, unless only the runtime knows
  std::string prefix;                // of the entry that was chosen; empty: there is none for that image
  std::string only_runtime;          // why only pulling tells, a sentence; empty: the places are known
};

PullEndpoints PlacesOf(const RegistriesConf& conf, const image::Reference& reference);

}  // namespace prefetch::registry
