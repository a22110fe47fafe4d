// How a node's registries are reached: the container runtime's own report, and its consequences for
// questions without a pull (registry rules R34 to R36). Values: lib/cri reads the report, lib/registry
// decides, lib/agent carries it, lib/status shows it. They are here since these folders do not know each
// other.
#pragma once

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
  std::vector<std::string> in_tables;
  bool has_mirrors = false;      // some of them are mirrors: then no release has a config_path by default
  bool local_pull = false;       // from 2.1 on: something in it keeps pulls from the transfer service
  bool discards_layers = false;  // discard_unpacked_layers: once they are unpacked, they need not stay

  friend bool operator==(const RuntimeRegistries&, const RuntimeRegistries&) = default;
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

}  // namespace prefetch::image
