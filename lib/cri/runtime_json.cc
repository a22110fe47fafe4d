#include "cri/runtime_json.h"

#include <json/json.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "image/table_hosts.h"

namespace prefetch::cri {
namespace {

constexpr std::size_t kMaxConfigBytes = 1024 * 1024;  // a configuration is some kilobytes

// Null for whatever cannot be read. jsoncpp throws on nesting that is too deep.
Json::Value Parse(std::string_view text) {
  static const Json::CharReaderBuilder kBuilder = [] {
    Json::CharReaderBuilder builder;
    builder["stackLimit"] = 64;
    return builder;
  }();
  try {
    std::unique_ptr<Json::CharReader> reader(kBuilder.newCharReader());
    Json::Value root;
    if (reader->parse(text.data(), text.data() + text.size(), &root, nullptr)) return root;
  } catch (const std::exception&) {
  }
  return Json::Value();
}

// Null if there is no such member. Of a node's thousand images each has a tree that is not worth copying.
const Json::Value& Member(const Json::Value& value, const char* name) {
  return value.isObject() ? value[name] : Json::Value::nullSingleton();
}

std::string Text(const Json::Value& value, const char* name) {
  const Json::Value& member = Member(value, name);
  return member.isString() ? member.asString() : std::string();
}

std::optional<Blob> ParseDescriptor(const Json::Value& value) {
  Blob blob{Text(value, "digest"), 0};
  const Json::Value& size = Member(value, "size");
  if (blob.digest.empty() || !size.isUInt64()) return std::nullopt;
  blob.size_bytes = size.asUInt64();
  return blob;
}

// Has the value anything to say? containerd writes what is not configured as null.
bool Says(const Json::Value& value) {
  return (value.isObject() || value.isArray()) && !value.empty();
}

void AddHosts(const Json::Value& table, image::TableHosts& hosts) {
  if (!table.isObject()) return;
  for (auto entry = table.begin(); entry != table.end(); ++entry) hosts.Add(entry.name());
}

// Hosts with credentials or TLS of their own; an entry without either changes nothing.
void AddConfigured(const Json::Value& configs, image::TableHosts& hosts) {
  if (!configs.isObject()) return;
  for (auto entry = configs.begin(); entry != configs.end(); ++entry) {
    if (Says(Member(*entry, "auth")) || Says(Member(*entry, "tls"))) hosts.Add(entry.name());
  }
}

void AddHeaders(const Json::Value& headers, image::TableHosts& hosts) {
  if (!headers.isObject()) return;
  for (auto entry = headers.begin(); entry != headers.end(); ++entry) hosts.AddHeader(entry.name());
}

bool IsConfigType(std::string_view type) {
  return type == "application/vnd.oci.image.config.v1+json" ||
         type == "application/vnd.docker.container.image.v1+json";
}

bool IsLayerType(std::string_view type) {
  return (type.starts_with("application/vnd.oci.image.layer.") ||
          type.starts_with("application/vnd.docker.image.rootfs.")) &&
         type.find("encrypted") == std::string_view::npos;
}

}  // namespace

VerboseInfo ParseVerboseInfo(std::string_view json) {
  const Json::Value root = Parse(json);
  const Json::Value& spec = Member(root, "imageSpec");
  VerboseInfo info;
  info.chain_id = Text(root, "chainID");
  image::Platform platform{Text(spec, "os"), Text(spec, "architecture"), Text(spec, "variant")};
  if (platform != image::Platform{}) info.platform = platform;
  return info;
}

image::RuntimeRegistries ParseRuntimeRegistries(std::string_view json) {
  if (json.size() > kMaxConfigBytes) return {};
  const Json::Value root = Parse(json);
  const Json::Value& registry = Member(root, "registry");
  if (!registry.isObject()) return {};
  image::TableHosts hosts;
  AddHosts(Member(registry, "mirrors"), hosts);
  AddHosts(Member(registry, "auths"), hosts);
  AddConfigured(Member(registry, "configs"), hosts);
  AddHeaders(Member(registry, "headers"), hosts);
  image::RuntimeRegistries told{.told = true, .config_path = Text(registry, "configPath")};
  if (!image::IsConfigPath(told.config_path)) {
    told.config_path.clear();
    hosts.AddAny();
  }
  told.in_tables = hosts.Hosts();
  told.has_mirrors = Says(Member(registry, "mirrors"));
  return told;
}

std::optional<std::vector<Blob>> ParseImageManifest(std::string_view json) {
  const Json::Value root = Parse(json);
  const Json::Value& layers = Member(root, "layers");
  std::optional<Blob> config = ParseDescriptor(Member(root, "config"));
  if (!config || !layers.isArray()) return std::nullopt;
  std::vector<Blob> blobs = {*config};
  for (const Json::Value& layer : layers) {
    std::optional<Blob> blob = ParseDescriptor(layer);
    if (!blob) return std::nullopt;
    if (std::find(blobs.begin(), blobs.end(), *blob) == blobs.end()) blobs.push_back(*blob);
  }
  return blobs;
}

bool CanBeUnpacked(std::string_view json) {
  const Json::Value root = Parse(json);
  const Json::Value& layers = Member(root, "layers");
  return layers.isArray() && IsConfigType(Text(Member(root, "config"), "mediaType")) &&
         std::all_of(layers.begin(), layers.end(),
                     [](const Json::Value& layer) { return IsLayerType(Text(layer, "mediaType")); });
}

}  // namespace prefetch::cri
