// RegistriesConf: registries.conf, by which CRI-O finds its servers: one file, and several merged (R46).
// Pure.
// LoadRegistriesConf: that file on this node (R49).
// CrioSettings: the logins that CRI-O has itself (R50).
//
// The semantics are those of the library that CRI-O reads it with (containers/image, pkg/sysregistriesv2):
// files that it rejects are rejected here, since CRI-O pulls nothing with them. The file holds no passwords;
// still, no message quotes a value of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
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
  std::map<std::string, ConfRegistry> registries;   // by prefix
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

// The files' settings, or that they are unknown. A value.
struct RegistriesSettings {
  std::string file;                            // the first one, as the host calls it; empty: not looked at
  std::shared_ptr<const RegistriesConf> conf;  // nullptr: only CRI-O knows
  std::vector<std::string> notes;              // a sentence each

  friend bool operator==(const RegistriesSettings& a, const RegistriesSettings& b) {
    bool same = a.conf == b.conf || (a.conf && b.conf && *a.conf == *b.conf);
    return same && a.file == b.file && a.notes == b.notes;
  }
};

// Loads CRI-O's registries.conf on this node, with its drop-ins and short names (R49): its `file`
// ("/etc/containers/registries.conf") is `host_root` + `file` here. Reads by `disk` alone. Problems are
// notes. CRI-O reads them when it starts, when it gets SIGHUP and when a drop-in changes, so for a while this
// may be ahead of it.
RegistriesSettings LoadRegistriesConf(const std::string& file, const std::string& host_root,
                                      base::StampedFiles& disk);

inline constexpr const char* kCrioFile = "/etc/crio/crio.conf";

// The settings for CRI-O's own logins (R50), from crio.conf and its drop-ins. A value. Paths as the host has
// them.
struct CrioSettings {
  std::string global_auth_file;  // empty: the usual places of containers/image
  std::string auth_file_source;  // the file that names it
  std::string namespaced_auth_dir = "/etc/crio/auth";

  friend bool operator==(const CrioSettings&, const CrioSettings&) = default;
};

// Adds the settings of the file `path`. InvalidArgument with the line, and never a value: CRI-O does not
// start with it, and nothing of it is taken. Pure.
base::Status UpdateCrioSettings(std::string_view text, const std::string& path, CrioSettings& settings);

// CRI-O's `file` is `host_root` + `file` here; its drop-ins are in `file`.d and the folders in it. nullopt:
// neither exists, so this is no node of CRI-O, or its files are not mounted. Blocks as a disk does.
base::Result<std::optional<CrioSettings>> ReadCrioSettings(const std::string& file,
                                                           const std::string& host_root);

}  // namespace prefetch::registry
