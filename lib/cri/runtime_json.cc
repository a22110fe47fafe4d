#include "cri/runtime_json.h"

#include "doc/loose_json.h"

namespace prefetch::cri {
namespace {

constexpr std::size_t kMaxConfigBytes = 1024 * 1024;  // a configuration is some kilobytes

void AddHosts(const doc::LooseJson& table, image::TableHosts& hosts) {
  for (const std::string& name : table.Names()) hosts.Add(name);
}

// Adds hosts with credentials or TLS of their own. An entry without either changes nothing. containerd writes
// absent tables as null, and all settings of the others, those that say nothing, too.
void AddConfigured(const doc::LooseJson& configs, image::TableHosts& hosts) {
  for (const std::string& name : configs.Names()) {
    const doc::LooseJson entry = configs.Member(name.c_str());
    if (entry.Member("auth").SaysSomething() || entry.Member("tls").SaysSomething()) hosts.Add(name);
  }
}

void AddHeaders(const doc::LooseJson& headers, image::TableHosts& hosts) {
  for (const std::string& name : headers.Names()) hosts.AddHeader(name);
}

}  // namespace

VerboseInfo ParseVerboseInfo(std::string_view json) {
  const doc::LooseJson root = doc::LooseJson::Parse(json);
  const doc::LooseJson spec = root.Member("imageSpec");
  VerboseInfo info;
  info.chain_id = root.Text("chainID");
  image::Platform platform{spec.Text("os"), spec.Text("architecture"), spec.Text("variant")};
  if (platform != image::Platform{}) info.platform = platform;
  return info;
}

image::RuntimeRegistries ParseRuntimeRegistries(std::string_view json) {
  if (json.size() > kMaxConfigBytes) return {};
  const doc::LooseJson registry = doc::LooseJson::Parse(json).Member("registry");
  if (!registry.IsObject()) return {};
  image::TableHosts hosts;
  AddHosts(registry.Member("mirrors"), hosts);
  AddHosts(registry.Member("auths"), hosts);
  AddConfigured(registry.Member("configs"), hosts);
  AddHeaders(registry.Member("headers"), hosts);
  image::RuntimeRegistries registries{.known = true, .config_path = registry.Text("configPath")};
  // A path that cannot be one is not understood, so any host may have settings of its own.
  if (!image::IsConfigPath(registries.config_path)) {
    registries.config_path.clear();
    hosts.AddAny();
  }
  registries.hosts_in_tables = hosts.Hosts();
  registries.has_mirrors = registry.Member("mirrors").HasContent();
  return registries;
}

}  // namespace prefetch::cri
