// RuntimeInfo: the container runtime. RuntimeRegistries: its report about its registries.
// RegistryAccess: the consequences for questions without a pull (registry rules R34 to R36).
// TableHosts: the hosts that a containerd's own tables name.
// Values: lib/cri reads the report, lib/registry decides, lib/agent carries it, lib/status shows it. They are
// here since these folders do not know each other.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::image {

// A runtime's own registry configuration. containerd 1.x reports it, and every containerd has it in its file;
// CRI-O has another one.
struct RuntimeRegistries {
  bool known = false;       // false: nothing below is known, but that hosts are in tables if any are named
  std::string config_path;  // folders of hosts.toml files, as written; empty: none is written
  // Hosts for which it has mirrors, authorities, client certificates or credentials in tables of its own,
  // which only the runtime can follow; sorted. "*": any host.
  std::vector<std::string> hosts_in_tables;
  bool has_mirrors = false;      // some of them are mirrors: then no release has a config_path by default
  bool local_pull = false;       // from 2.1 on: something in it keeps pulls from the transfer service
  bool discards_layers = false;  // discard_unpacked_layers: once they are unpacked, they need not stay

  friend bool operator==(const RuntimeRegistries&, const RuntimeRegistries&) = default;
};

// The runtime that is connected. It decides how the agent asks registries.
struct RuntimeInfo {
  std::string name;     // "containerd", "cri-o"; empty: none is connected yet
  std::string version;  // as the runtime says it: "1.6.20~ds1"
  RuntimeRegistries registries = {};

  friend bool operator==(const RuntimeInfo&, const RuntimeInfo&) = default;
};

// Registry settings of one node and their sources: "declared" (to the agent), "runtime" (it tells, or it is
// one that has no hosts.toml), "file" (the runtime's own configuration), "default" (of that release),
// "registries.conf" (of CRI-O).
struct RegistryAccess {
  std::string config_path;         // as containerd has it, or CRI-O's file; empty: no hosts.toml counts
  std::string config_path_source;  // empty: no source
  // Registries that can only be asked by another PullImage, "*" for all; and the source of that.
  std::vector<std::string> by_pull;
  std::string by_pull_source;
  std::vector<std::string> notes;  // what an operator should know, a sentence each; no secret
  bool local_pull = false;         // as RuntimeRegistries::local_pull
  bool discards_layers = false;    // as RuntimeRegistries::discards_layers

  friend bool operator==(const RegistryAccess&, const RegistryAccess&) = default;
};

// `registry`: the domain of a reference.
bool IsOnlyByPull(const RegistryAccess& access, std::string_view registry);

// The hosts that a containerd's own tables name (`registry.mirrors`, `configs`, `auths`), reported by the
// runtime (lib/cri, JSON) or read from its configuration file (lib/registry, TOML). A value. Only names come
// in: the tables' other members, passwords above all, stay outside.
class TableHosts {
 public:
  // Takes "registry.acme.io:5000", or a URL of it. A name that cannot be a host may mean any host.
  void Add(std::string_view name);
  void AddAny() { any_ = true; }
  // Headers go with every request, and so to any host; headers that only name the client mean none:
  // containerd adds a User-Agent by itself, and AKS configures an X-Meta-Source-Client on each node.
  void AddHeader(std::string_view name);
  void Add(const TableHosts& others);

  // Sorted, each once; "*" alone if any host is meant, or more than 256 are.
  std::vector<std::string> Hosts() const;

  friend bool operator==(const TableHosts&, const TableHosts&) = default;

 private:
  std::set<std::string> hosts_;
  bool any_ = false;
};

// Returns whether the text can be a `config_path`: absolute folders, ":" between them; or none at all.
bool IsConfigPath(std::string_view path);

}  // namespace prefetch::image
