// TableHosts: the hosts that a containerd's own tables name (`registry.mirrors`, `configs`, `auths`), whether
// the runtime tells of them (lib/cri, JSON) or its configuration file does (lib/registry, TOML). Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::image {

// A value. Only names come in: the tables' other members, passwords above all, stay outside.
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

// Can that be a `config_path`? Absolute folders, ":" between them; or none at all.
bool IsConfigPath(std::string_view path);

}  // namespace prefetch::image
