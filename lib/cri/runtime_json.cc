#include "cri/runtime_json.h"

#include <json/json.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "base/text.h"

namespace prefetch::cri {
namespace {

// A configuration is some kilobytes; and what names more hosts than this is taken to mean all of them.
constexpr std::size_t kMaxConfigBytes = 1024 * 1024;
constexpr std::size_t kMaxHosts = 256;
constexpr std::size_t kMaxPath = 4096;
constexpr const char* kAnyHost = "*";

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

bool IsHostCharacter(char c) {
  bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
}

// "registry.acme.io:5000", of a name that may be a URL; "*" for what cannot be a host: it may mean anything.
std::string HostOf(std::string_view name) {
  if (auto scheme = name.find("://"); scheme != std::string_view::npos) name.remove_prefix(scheme + 3);
  name = name.substr(0, name.find('/'));
  bool plain = !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), IsHostCharacter);
  return plain ? std::string(name) : kAnyHost;
}

// Absolute ones, ":" between them; or none at all.
bool IsPlainPath(const std::string& path) {
  if (path.empty()) return true;
  bool printable = std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return printable && path.front() == '/' && path.size() <= kMaxPath;
}

// Has the value anything to say? containerd writes what is not configured as null.
bool Says(const Json::Value& value) {
  return (value.isObject() || value.isArray()) && !value.empty();
}

void AddHosts(const Json::Value& table, std::vector<std::string>& hosts) {
  if (!table.isObject()) return;
  for (auto entry = table.begin(); entry != table.end() && hosts.size() <= kMaxHosts; ++entry) {
    hosts.push_back(HostOf(entry.name()));
  }
}

// Hosts with credentials or TLS of their own; an entry without either changes nothing.
void AddConfigured(const Json::Value& configs, std::vector<std::string>& hosts) {
  if (!configs.isObject()) return;
  for (auto entry = configs.begin(); entry != configs.end() && hosts.size() <= kMaxHosts; ++entry) {
    if (Says(Member(*entry, "auth")) || Says(Member(*entry, "tls"))) hosts.push_back(HostOf(entry.name()));
  }
}

// Headers that go with every request. containerd adds a User-Agent to them by itself.
bool HasHeaders(const Json::Value& headers) {
  if (!headers.isObject()) return false;
  for (auto entry = headers.begin(); entry != headers.end(); ++entry) {
    if (!base::EqualsIgnoreCase(entry.name(), "User-Agent")) return true;
  }
  return false;
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
  image::RuntimeRegistries told{.told = true, .config_path = Text(registry, "configPath"), .in_tables = {}};
  std::vector<std::string>& hosts = told.in_tables;
  AddHosts(Member(registry, "mirrors"), hosts);
  AddHosts(Member(registry, "auths"), hosts);
  AddConfigured(Member(registry, "configs"), hosts);
  bool plain = IsPlainPath(told.config_path);
  if (!plain) told.config_path.clear();
  bool any = hosts.size() > kMaxHosts || !plain || HasHeaders(Member(registry, "headers"));
  if (any || std::find(hosts.begin(), hosts.end(), kAnyHost) != hosts.end()) hosts.assign({kAnyHost});
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
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

}  // namespace prefetch::cri
