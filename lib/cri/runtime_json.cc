#include "cri/runtime_json.h"

#include <algorithm>

#include "doc/json.h"

namespace prefetch::cri {
namespace {

constexpr std::size_t kMaxConfigBytes = 1024 * 1024;  // a configuration is some kilobytes

void AddHosts(const doc::Node& registry, std::string_view table, image::TableHosts& hosts) {
  for (const doc::Member& host : doc::MembersAt(registry, {table})) hosts.Add(host.key);
}

// Returns true if a member of this table is neither null, false nor empty text.
bool SaysSomething(const doc::Node& entry, std::string_view table) {
  using Kind = doc::Node::Kind;
  const std::vector<doc::Member>& members = doc::MembersAt(entry, {table});
  return std::any_of(members.begin(), members.end(), [](const doc::Member& member) {
    const doc::Node& value = member.value;
    if (value.kind == Kind::kBool) return value.boolean;
    return value.kind != Kind::kNull && (value.kind != Kind::kString || !value.text.empty());
  });
}

// Adds hosts with credentials or TLS of their own. An entry without either changes nothing. containerd writes
// absent tables as null, and all settings of the others, those that say nothing, too.
void AddConfigured(const doc::Node& registry, image::TableHosts& hosts) {
  for (const doc::Member& host : doc::MembersAt(registry, {"configs"})) {
    if (SaysSomething(host.value, "auth") || SaysSomething(host.value, "tls")) hosts.Add(host.key);
  }
}

void AddHeaders(const doc::Node& registry, image::TableHosts& hosts) {
  for (const doc::Member& header : doc::MembersAt(registry, {"headers"})) hosts.AddHeader(header.key);
}

}  // namespace

VerboseInfo ParseVerboseInfo(std::string_view json) {
  const doc::Node root = doc::ParseOrNull(json);
  VerboseInfo info;
  info.chain_id = doc::TextAt(root, {"chainID"});
  image::Platform platform{doc::TextAt(root, {"imageSpec", "os"}),
                           doc::TextAt(root, {"imageSpec", "architecture"}),
                           doc::TextAt(root, {"imageSpec", "variant"})};
  if (platform != image::Platform{}) info.platform = platform;
  return info;
}

image::RuntimeRegistries ParseRuntimeRegistries(std::string_view json) {
  if (json.size() > kMaxConfigBytes) return {};
  const doc::Node root = doc::ParseOrNull(json);
  const doc::Node* registry = root.Find("registry");
  if (registry == nullptr || registry->kind != doc::Node::Kind::kMapping) return {};
  image::TableHosts hosts;
  AddHosts(*registry, "mirrors", hosts);
  AddHosts(*registry, "auths", hosts);
  AddConfigured(*registry, hosts);
  AddHeaders(*registry, hosts);
  image::RuntimeRegistries registries{.known = true, .config_path = doc::TextAt(*registry, {"configPath"})};
  // A path that cannot be one is not understood, so any host may have settings of its own.
  if (!image::IsConfigPath(registries.config_path)) {
    registries.config_path.clear();
    hosts.AddAny();
  }
  registries.hosts_in_tables = hosts.Hosts();
  registries.has_mirrors = !doc::MembersAt(*registry, {"mirrors"}).empty();
  return registries;
}

}  // namespace prefetch::cri
