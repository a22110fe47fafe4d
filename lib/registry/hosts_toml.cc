#include "registry/hosts_toml.h"

#include <algorithm>

#include "base/redactor.h"
#include "base/text.h"
#include "doc/duration.h"
#include "http/headers.h"
#include "registry/toml_rim.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxHostsBytes = 256 * 1024;
constexpr std::size_t kMaxHosts = 32;
constexpr std::size_t kMaxValues = 32;  // of one key

std::string InFolder(std::string_view folder, const std::string& file) {
  if (file.empty() || file.front() == '/') return file;
  return std::string(folder) + "/" + file;
}

// A string, or an array of strings.
base::Result<std::vector<std::string>> Texts(const toml::node& node, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* one = node.as_string()) return std::vector<std::string>{TextOf(*one)};
  const toml::array* array = node.as_array();
  if (array == nullptr || array->size() > kMaxValues) {
    return Wrong(node, std::string(key) + " is neither a string nor a short list of strings");
  }
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr) return Wrong(item, std::string(key) + " holds something that is no string");
    texts.push_back(TextOf(*text));
  }
  return texts;
}

base::Status ReadCapabilities(const toml::node& node, Host& host) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return Wrong(node, "capabilities is no list");
  if (array->empty()) return {};
  host.pull = host.resolve = false;
  for (const toml::node& item : *array) {
    std::string word = item.is_string() ? base::ToLower(item.as_string()->get()) : "";
    if (word != "pull" && word != "resolve" && word != "push" && word != "referrers") {
      return Wrong(item, "an unknown capability");
    }
    host.pull |= word == "pull";
    host.resolve |= word == "resolve";
  }
  return {};
}

// One of the forms of `client`: "file", ["cert", "key"].
base::Result<ClientPair> ReadPair(const toml::node& node, std::string_view folder) {
  if (const auto* file = node.as_string()) return ClientPair{InFolder(folder, TextOf(*file)), ""};
  const toml::array* pair = node.as_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
    return Wrong(node, "client holds something that is neither a file nor a pair of files");
  }
  return ClientPair{InFolder(folder, TextOf(*(*pair)[0].as_string())),
                    InFolder(folder, TextOf(*(*pair)[1].as_string()))};
}

base::Status ReadClient(const toml::node& node, std::string_view folder, Host& host) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    auto pair = ReadPair(node, folder);
    if (!pair) return std::move(pair).error();
    host.client_pairs.push_back(std::move(*pair));
    return {};
  }
  if (array->size() > kMaxValues) return Wrong(node, "client is too long a list");
  for (const toml::node& item : *array) {
    auto pair = ReadPair(item, folder);
    if (!pair) return std::move(pair).error();
    host.client_pairs.push_back(std::move(*pair));
  }
  return {};
}

base::Status ReadHeaders(const toml::node& node, Host& host) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() > kMaxValues) return Wrong(node, "header is no short table");
  for (const auto& [name, value] : *table) {
    auto texts = Texts(value, "a header");
    if (!texts) return texts.status();
    if (!http::IsFieldName(name.str())) return Wrong(value, "a header's name cannot be sent");
    for (std::string& text : *texts) {
      if (!http::IsFieldValue(text)) return Wrong(value, "a header's value cannot be sent");
      host.headers.emplace_back(std::string(name.str()), base::Secret(text));
      base::RememberSecret(host.headers.back().second);
      base::WipeString(text);
    }
  }
  return {};
}

base::Status ReadDialTimeout(const toml::node& node, Host& host) {
  auto duration = node.is_string() ? doc::ParseDuration(node.as_string()->get()) : std::nullopt;
  if (!duration || duration->count() < 0) return Wrong(node, "dial_timeout is no duration");
  if (duration->count() > 0) host.dial_timeout = std::chrono::ceil<std::chrono::milliseconds>(*duration);
  return {};
}

base::Status ReadBool(const toml::table& table, std::string_view key, bool& value) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (!node->is_boolean()) return Wrong(*node, std::string(key) + " is neither true nor false");
  value = node->as_boolean()->get();
  return {};
}

// Reads a server's URL, also without "/v2" at its end or without a path.
base::Status ReadServer(const toml::node& at, std::string text, bool override_path, Host& host) {
  if (!text.starts_with("http")) text.insert(0, "https://");
  auto url = http::ParseAbsoluteUrl(text);
  if (!url) return Wrong(at, url.error().message());
  std::string path = url->target.substr(0, url->target.find('?'));
  while (path.ends_with('/')) path.pop_back();
  if (!override_path && !path.ends_with("/v2")) path += "/v2";
  host.server = std::move(*url);
  host.server.target = std::move(path);
  return {};
}

// The keys that a host has, and that the top level has for `server`.
base::Status ReadKeys(const toml::table& table, std::string_view folder, Host& host) {
  if (base::Status read = ReadBool(table, "skip_verify", host.skip_verify); !read) return read;
  if (const toml::node* node = table.get("capabilities")) {
    if (base::Status read = ReadCapabilities(*node, host); !read) return read;
  }
  if (const toml::node* node = table.get("ca")) {
    auto files = Texts(*node, "ca");
    if (!files) return files.status();
    for (const std::string& file : *files) host.ca_files.push_back(InFolder(folder, file));
  }
  if (const toml::node* node = table.get("client")) {
    if (base::Status read = ReadClient(*node, folder, host); !read) return read;
  }
  if (const toml::node* node = table.get("header")) {
    if (base::Status read = ReadHeaders(*node, host); !read) return read;
  }
  if (const toml::node* node = table.get("dial_timeout")) return ReadDialTimeout(*node, host);
  return {};
}

bool HasTlsKey(const Host& host) {
  return !host.ca_files.empty() || !host.client_pairs.empty() || host.skip_verify;
}

base::Result<Host> ReadHost(const toml::node& at, const std::string& url, const toml::table& table,
                            std::string_view folder) {
  Host host;
  bool override_path = false;
  if (base::Status read = ReadBool(table, "override_path", override_path); !read) return read.error();
  if (base::Status read = ReadServer(at, url, override_path, host); !read) return read.error();
  if (base::Status read = ReadKeys(table, folder, host); !read) return read.error();
  host.https_first = host.server.scheme == "http" && HasTlsKey(host) && host.server.port != 80;
  return host;
}

struct Written {
  std::string url;
  const toml::node* table;
};

// [host."…"] tables in the order of the text.
base::Result<std::vector<Written>> WrittenHosts(const toml::table& root, const RuntimeRules& rules) {
  std::vector<Written> hosts;
  const toml::node* node = root.get("host");
  if (node == nullptr) {
    if (rules.hosts_table_required) return base::InvalidArgument("no [host] table, which this runtime needs");
    return hosts;
  }
  if (!node->is_table()) return Wrong(*node, "host is no table");
  for (const auto& [url, table] : *node->as_table()) {
    if (!table.is_table()) return Wrong(table, "a host is no table");
    if (table.as_table()->contains("host")) return Wrong(table, "a host within a host");
    hosts.push_back({std::string(url.str()), &table});
  }
  if (hosts.size() > kMaxHosts) return Wrong(*node, "too many hosts");
  std::sort(hosts.begin(), hosts.end(), [](const Written& a, const Written& b) {
    return a.table->source().begin < b.table->source().begin;
  });
  return hosts;
}

base::Result<Host> ReadLastHost(const toml::table& root, std::string_view folder, std::string_view registry,
                                const RuntimeRules& rules) {
  const toml::node* server = root.get("server");
  if (server != nullptr && !server->is_string()) return Wrong(*server, "server is no string");
  if (server != nullptr && !server->as_string()->get().empty()) {
    return ReadHost(*server, server->as_string()->get(), root, folder);
  }
  Host host = DefaultHost(registry, rules);
  bool skip_verify = host.skip_verify;
  host.skip_verify = false;
  if (base::Status read = ReadKeys(root, folder, host); !read) return read.error();
  host.skip_verify |= skip_verify;
  host.pull = host.resolve = true;  // as containerd does, whatever the file says
  return host;
}

}  // namespace

base::Result<std::vector<Host>> ParseHostsToml(std::string_view text, std::string_view folder,
                                               std::string_view registry, const RuntimeRules& rules) {
  if (text.size() > kMaxHostsBytes) return base::InvalidArgument("the file is too long");
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  const toml::table& root = toml->root();
  auto written = WrittenHosts(root, rules);
  if (!written) return std::move(written).error();
  std::vector<Host> hosts;
  for (const Written& one : *written) {
    auto host = ReadHost(*one.table, one.url, *one.table->as_table(), folder);
    if (!host) return std::move(host).error();
    hosts.push_back(std::move(*host));
  }
  auto last = ReadLastHost(root, folder, registry, rules);
  if (!last) return std::move(last).error();
  hosts.push_back(std::move(*last));
  return hosts;
}

}  // namespace prefetch::registry
