// registries.conf, by which CRI-O finds its servers: one file, and several merged (R46).
// Pure.
//
// The semantics are those of the library that CRI-O reads it with (containers/image, pkg/sysregistriesv2):
// files that it rejects are rejected here, since CRI-O pulls nothing with them. The file holds no passwords;
// still, no mistake is told with a value of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace prefetch::registry {

enum class MirrorUse { kAll, kDigestOnly, kTagOnly };

// A place for images: the beginning of their names there, which replaces the prefix.
struct ConfEndpoint {
  std::string location;  // "mirror.acme.io:5000/hub"; empty: the image's own name
  bool insecure = false;
  MirrorUse use = MirrorUse::kAll;  // of a mirror

  friend bool operator==(const ConfEndpoint&, const ConfEndpoint&) = default;
};

// A [[registry]] table.
struct ConfRegistry {
  std::string prefix;  // "quay.io/acme", "*.acme.io"; of whole parts of a name
  ConfEndpoint own;    // asked last
  std::vector<ConfEndpoint> mirrors;
  bool blocked = false;
  bool mirrors_by_digest_only = false;

  friend bool operator==(const ConfRegistry&, const ConfRegistry&) = default;
};

// The settings of one file, or of several together. A value.
struct RegistriesConf {
  std::vector<ConfRegistry> registries;             // sorted by prefix, each once
  std::optional<std::vector<std::string>> search;   // unqualified-search-registries; nullopt: not said
  std::map<std::string, std::string> aliases;       // short name -> repository; empty: it is none any more
  std::optional<std::vector<std::string>> helpers;  // credential-helpers, in their order; nullopt: not said

  friend bool operator==(const RegistriesConf&, const RegistriesConf&) = default;
};

enum class ConfKind {
  kMain,    // version 1 of the format will do
  kDropIn,  // must be version 2
};

// Returns InvalidArgument with the line, and never with a value.
base::Result<RegistriesConf> ParseRegistriesConf(std::string_view text, ConfKind kind);

// Merges a later file: its entries replace those of the same prefix or short name.
void Update(RegistriesConf& conf, const RegistriesConf& later);

// Returns whether the name has no registry: "busybox:1.36", "library/busybox". Only the runtime's
// configuration gives its meaning.
bool IsShortName(std::string_view written);

}  // namespace prefetch::registry
