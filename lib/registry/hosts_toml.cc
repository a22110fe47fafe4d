#include "registry/hosts_toml.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/go_url.h"
#include "base/redactor.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/problems.h"
#include "http/headers.h"
#include "registry/toml_rim.h"
#include "registry/toml_text.h"

namespace prefetch::registry {

namespace {

constexpr std::size_t kMaxHostsBytes = 256 * 1024;
constexpr std::size_t kMaxHosts = 32;
constexpr std::size_t kMaxValues = 32;  // of one key

// The file may be valid for the runtime, and is beyond the limits of the agent.
base::Error BeyondOwnLimits(const toml::node& node, std::string_view what) {
  return base::ResourceExhausted(TomlError(node, what).message());
}

// --- What go-toml decodes: types alone ---

struct Header {
  std::string name;
  const toml::node* value;
};

// The keys that a host has, and that the top level has for `server`.
struct HostSettings {
  const toml::node* capabilities = nullptr;  // a list of strings
  const toml::node* ca = nullptr;
  const toml::node* client = nullptr;
  std::optional<bool> skip_verify;
  bool override_path = false;
  const toml::node* dial_timeout = nullptr;  // a string
  std::vector<Header> header;
};

bool IsBefore(const toml::node* a, const toml::node* b) {
  return a->source().begin < b->source().begin;
}

// Returns the values of a key in the order of the text; the last one counts. go-toml v1 takes the key as it
// is or all in capitals, and v2 takes any case.
std::vector<const toml::node*> Find(const toml::table& table, std::string_view key, TomlDialect dialect) {
  std::vector<const toml::node*> found;
  if (dialect == TomlDialect::kGoToml1) {
    std::string capitals;
    for (char c : key) capitals += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const toml::node* node = table.get(key);
    if (node == nullptr) node = table.get(capitals);
    if (node != nullptr) found.push_back(node);
    return found;
  }
  for (const auto& [name, node] : table) {
    if (base::EqualsIgnoreCase(name.str(), key)) found.push_back(&node);
  }
  std::sort(found.begin(), found.end(), IsBefore);
  return found;
}

class Decoder {
 public:
  explicit Decoder(const RuntimeRules& rules) : rules_(rules) {}

  base::Status Read(const toml::table& table, HostSettings& settings) const {
    for (const toml::node* node : Find(table, "capabilities")) {
      const toml::array* array = node->as_array();
      bool strings = array != nullptr && std::all_of(array->begin(), array->end(),
                                                     [](const toml::node& item) { return item.is_string(); });
      if (!strings) return TomlError(*node, "capabilities is no list of strings");
      settings.capabilities = node;
    }
    for (const toml::node* node : Find(table, "skip_verify")) {
      if (!node->is_boolean()) return TomlError(*node, "skip_verify is neither true nor false");
      settings.skip_verify = node->as_boolean()->get();
    }
    for (const toml::node* node : Find(table, "override_path")) {
      if (!node->is_boolean()) return TomlError(*node, "override_path is neither true nor false");
      settings.override_path = node->as_boolean()->get();
    }
    if (rules_.dial_timeout) {
      for (const toml::node* node : Find(table, "dial_timeout")) {
        if (!node->is_string()) return TomlError(*node, "dial_timeout is no string");
        settings.dial_timeout = node;
      }
    }
    if (base::Status read = ReadAny(table, "ca", settings.ca); !read) return read;
    if (base::Status read = ReadAny(table, "client", settings.client); !read) return read;
    return ReadHeader(table, settings);
  }

  std::vector<const toml::node*> Find(const toml::table& table, std::string_view key) const {
    return registry::Find(table, key, rules_.toml);
  }

 private:
  // Reads a key of any type. If it is there again, in other letters, a list or a table must have the same
  // type as before.
  base::Status ReadAny(const toml::table& table, std::string_view key, const toml::node*& value) const {
    for (const toml::node* node : Find(table, key)) {
      const toml::table* as_table = node->as_table();
      // A header alone sets nothing.
      if (as_table != nullptr && as_table->empty() && !as_table->is_inline() &&
          rules_.toml == TomlDialect::kGoToml2)
        continue;
      const bool is_same = value == nullptr || node->type() == value->type();
      if (!is_same && (node->is_array() || node->is_table()))
        return TomlError(*node, "another type than before");
      value = node;
    }
    return {};
  }

  base::Status ReadHeader(const toml::table& table, HostSettings& settings) const {
    for (const toml::node* node : Find(table, "header")) {
      const toml::table* header = node->as_table();
      if (header == nullptr) return TomlError(*node, "header is no table");
      for (const auto& [name, value] : *header) {
        std::string text = FromAsciiToml(name.str());
        std::erase_if(settings.header, [&](const Header& earlier) { return earlier.name == text; });
        settings.header.push_back({std::move(text), &value});
      }
    }
    return {};
  }

  const RuntimeRules& rules_;
};

// --- What containerd makes of it ---

std::string InFolder(std::string_view folder, const std::string& file) {
  if (file.starts_with('/')) return file;
  return base::CleanedPath(std::string(folder) + "/" + file);
}

// Reads a string or a list of strings.
base::Result<std::vector<std::string>> Texts(const toml::node& node, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* one = node.as_string()) return std::vector<std::string>{TextOf(*one)};
  const toml::array* array = node.as_array();
  if (array == nullptr)
    return TomlError(node, std::string(key) + " is neither a string nor a list of strings");
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr) return TomlError(item, std::string(key) + " holds something that is no string");
    texts.push_back(TextOf(*text));
  }
  if (texts.size() > kMaxValues) return BeyondOwnLimits(node, std::string(key) + " is too long a list");
  return texts;
}

// How one host's keys are read into a Host.
class HostMaker {
 public:
  HostMaker(std::string_view folder, const RuntimeRules& rules) : folder_(folder), rules_(rules) {}

  // Reads everything but the server. Returns true if the host has TLS settings, which decide whether http is
  // tried by https first (R33).
  base::Result<bool> ReadKeys(const HostSettings& settings, Host& host) const {
    host.skip_verify = settings.skip_verify.value_or(false);
    bool tls = settings.skip_verify.has_value();
    if (settings.capabilities != nullptr) {
      if (base::Status read = ReadCapabilities(*settings.capabilities, host); !read) return read.error();
    }
    if (settings.ca != nullptr) {
      auto files = Texts(*settings.ca, "ca");
      if (!files) return std::move(files).error();
      for (const std::string& file : *files) host.ca_files.push_back(InFolder(folder_, file));
      tls = true;
    }
    if (settings.client != nullptr) {
      if (base::Status read = ReadClient(*settings.client, host); !read) return read.error();
      tls |= !host.client_pairs.empty();
    }
    for (const Header& header : settings.header) {
      if (base::Status read = ReadHeader(header, host); !read) return read.error();
    }
    if (host.headers.size() > kMaxValues) {
      return BeyondOwnLimits(*settings.header.front().value, "there are too many headers");
    }
    if (settings.dial_timeout != nullptr) {
      auto timed = ReadDialTimeout(*settings.dial_timeout, host);
      if (!timed) return std::move(timed).error();
      tls |= *timed && rules_.dial_timeout_means_tls;
    }
    return tls;
  }

  // "https://host:5000/path". Without a server if it names no host.
  base::Result<Host> OfUrl(const toml::node& at, std::string text, const HostSettings& settings) const {
    Host host;
    auto tls = ReadKeys(settings, host);
    if (!tls) return std::move(tls).error();
    if (text.empty()) return host;
    if (!text.starts_with("http")) text.insert(0, "https://");
    auto url = base::ParseGoUrl(text);
    if (!url) return TomlError(at, "this is no URL");
    if (url->host.empty()) return host;
    std::string path = base::CleanedPath(url->path);
    if (!settings.override_path && !path.ends_with("/v2")) path += "/v2";
    TakeServer(*url, path, host);
    PreferHttps(host, HasPort(url->host), *tls, rules_);
    return host;
  }

  // Gives the host a server that does not exist. The runtime keeps such a host in its chain, although nothing
  // can be asked there.
  static void MarkUnusable(Host& host, std::string why) {
    host.server = {.scheme = "https", .host = "invalid", .port = 443, .target = "/v2"};
    host.problem = std::move(why);
  }

 private:
  static void TakeServer(const base::GoUrl& url, const std::string& path, Host& host) {
    auto server = http::ParseAbsoluteUrl(url.scheme + "://" + url.host);
    if (!server) return MarkUnusable(host, "its URL cannot be asked: " + server.error().message());
    host.server = std::move(*server);
    host.server.target = path == "/" ? "" : base::EscapedPath(base::ReplaceAll(path, "//", "/"));
    // containerd puts the path into another URL as it is.
    bool fits = path.find_first_of("?#%") == std::string::npos;
    fits = fits && http::ParseAbsoluteUrl(host.server.ToString()).ok();
    if (!fits) MarkUnusable(host, "the path of its URL cannot be asked for");
  }

  base::Status ReadCapabilities(const toml::node& node, Host& host) const {
    const toml::array& array = *node.as_array();
    if (array.empty()) return {};
    host.pull = host.resolve = false;
    for (const toml::node& item : array) {
      std::string word = base::ToLower(item.as_string()->get());
      bool known =
          word == "pull" || word == "resolve" || word == "push" || (word == "referrers" && rules_.referrers);
      if (!known) return TomlError(item, "an unknown capability");
      host.pull |= word == "pull";
      host.resolve |= word == "resolve";
    }
    return {};
  }

  // One of the forms of `client`: "file", ["cert", "key"].
  base::Result<ClientPair> ReadPair(const toml::node& node) const {
    if (const auto* file = node.as_string()) return ClientPair{InFolder(folder_, TextOf(*file)), ""};
    const toml::array* pair = node.as_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
      return TomlError(node, "client holds something that is neither a file nor a pair of files");
    }
    return ClientPair{InFolder(folder_, TextOf(*(*pair)[0].as_string())),
                      InFolder(folder_, TextOf(*(*pair)[1].as_string()))};
  }

  base::Status ReadClient(const toml::node& node, Host& host) const {
    const toml::array* array = node.as_array();
    if (array == nullptr && !node.is_string()) return TomlError(node, "client is neither a file nor a list");
    std::vector<const toml::node*> items;
    if (array == nullptr) items.push_back(&node);
    for (std::size_t i = 0; array != nullptr && i < array->size(); i++) items.push_back(array->get(i));
    for (const toml::node* item : items) {
      auto pair = ReadPair(*item);
      if (!pair) return std::move(pair).error();
      host.client_pairs.push_back(std::move(*pair));
    }
    if (items.size() > kMaxValues) return BeyondOwnLimits(node, "client is too long a list");
    return {};
  }

  static base::Status ReadHeader(const Header& header, Host& host) {
    auto texts = Texts(*header.value, "a header");
    if (!texts) return texts.status();
    if (!http::IsFieldName(header.name)) host.problem = "the name of one of its headers cannot be sent";
    for (std::string& text : *texts) {
      if (!http::IsFieldValue(text)) host.problem = "the value of one of its headers cannot be sent";
      host.headers.emplace_back(header.name, base::Secret(text));
      base::RememberSecret(host.headers.back().second);
      base::WipeString(text);
    }
    return {};
  }

  // Returns false if the text is empty, which sets no timeout.
  static base::Result<bool> ReadDialTimeout(const toml::node& node, Host& host) {
    std::string text = TextOf(*node.as_string());
    if (text.empty()) return false;
    auto duration = doc::ParseDuration(text);
    if (!duration) return TomlError(node, "dial_timeout is no duration");
    if (duration->count() < 0) host.problem = "its dial_timeout is negative";
    if (duration->count() > 0) host.dial_timeout = std::chrono::ceil<std::chrono::milliseconds>(*duration);
    return true;
  }

  const std::string_view folder_;
  const RuntimeRules& rules_;
};

// One file.
class HostsFile {
 public:
  HostsFile(const std::vector<TomlExpression>& expressions, std::string_view registry, const HostMaker& maker,
            const RuntimeRules& rules)
      : expressions_(expressions), registry_(registry), maker_(maker), rules_(rules), decoder_(rules) {}

  base::Result<std::vector<Host>> Read(const toml::table& root) {
    if (Panics(root)) return BeyondOwnLimits(*root.get("host"), "a host is no table");
    HostSettings top;
    std::string server;
    const toml::node* server_node = &root;
    for (const toml::node* node : decoder_.Find(root, "server")) {
      if (!node->is_string()) return TomlError(*node, "server is no string");
      server = TextOf(*node->as_string());
      server_node = node;
    }
    if (base::Status read = decoder_.Read(root, top); !read) return read.error();
    if (base::Status read = Collect(root); !read) return read.error();
    std::vector<Host> hosts;
    for (const std::string& url : Order()) {
      const HostEntry& one = ByUrl(url);
      auto host = maker_.OfUrl(*one.node, url, one.settings);
      if (!host) return std::move(host).error();
      if (host->server.host.empty()) HostMaker::MarkUnusable(*host, "its URL names no host");
      hosts.push_back(std::move(*host));
    }
    if (hosts.size() > kMaxHosts) return BeyondOwnLimits(root, "there are too many hosts");
    auto last = maker_.OfUrl(*server_node, server, top);
    if (!last) return std::move(last).error();
    hosts.push_back(last->server.host.empty() ? OwnServer(top) : std::move(*last));
    return hosts;
  }

 private:
  struct HostEntry {
    std::string url;
    const toml::node* node;
    HostSettings settings;
  };

  // Collects all hosts with the right types, in the order of their places in the file.
  base::Status Collect(const toml::table& root) {
    const std::vector<const toml::node*> found = decoder_.Find(root, "host");
    bool first = rules_.toml == TomlDialect::kGoToml1 && root.get("host") == nullptr;
    if (rules_.hosts_table_required && (first || !root.get("host")->is_table())) {
      return base::InvalidArgument("no [host] table, which this runtime needs");
    }
    for (const toml::node* node : found) {
      if (!node->is_table()) return TomlError(*node, "host is no table");
      for (const auto& [url, table] : *node->as_table()) {
        if (!table.is_table()) return TomlError(table, "a host is no table");
        HostEntry& one = EntryFor(FromAsciiToml(url.str()), table);
        if (base::Status read = decoder_.Read(*table.as_table(), one.settings); !read) return read;
      }
    }
    return Sort();
  }

  // Returns the first line that names the table, or a table within it.
  static toml::source_index FirstLine(const toml::node& node) {
    toml::source_index line = node.source().begin.line;
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, value] : *table) line = std::min(line, FirstLine(value));
    }
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) line = std::min(line, FirstLine(item));
    }
    return line;
  }

  // The lines of their tables order the hosts. go-toml v1 has none for "x = {…}", and gives hosts of one line
  // no order.
  base::Status Sort() {
    auto line = [](const HostEntry& one) {
      return one.node->as_table()->is_inline() ? 0 : FirstLine(*one.node);
    };
    std::stable_sort(hosts_.begin(), hosts_.end(),
                     [&](const HostEntry& a, const HostEntry& b) { return line(a) < line(b); });
    const auto same =
        std::adjacent_find(hosts_.begin(), hosts_.end(),
                           [&](const HostEntry& a, const HostEntry& b) { return line(a) == line(b); });
    if (rules_.toml == TomlDialect::kGoToml1 && same != hosts_.end()) {
      return BeyondOwnLimits(*same->node, "hosts without an order");
    }
    return {};
  }

  // Whether containerd 1.x panics: it sorts several hosts, and takes each for a table.
  bool Panics(const toml::table& root) const {
    const toml::node* node = root.get("host");
    const toml::table* hosts = node == nullptr ? nullptr : node->as_table();
    if (rules_.toml != TomlDialect::kGoToml1 || hosts == nullptr || hosts->size() < 2) return false;
    return std::any_of(hosts->begin(), hosts->end(),
                       [](const auto& host) { return !host.second.is_table(); });
  }

  HostEntry& EntryFor(const std::string& url, const toml::node& node) {
    for (HostEntry& one : hosts_) {
      if (one.url == url) return one;
    }
    return hosts_.emplace_back(HostEntry{url, &node, {}});
  }

  const HostEntry& ByUrl(const std::string& url) const {
    return *std::find_if(hosts_.begin(), hosts_.end(), [&](const HostEntry& one) { return one.url == url; });
  }

  // The URLs that are asked: by go-toml v1 all, by the place of their tables. For v2 containerd takes them
  // from the headers [host."…"] alone, and each again that comes after another's.
  std::vector<std::string> Order() const {
    std::vector<std::string> urls;
    if (rules_.toml == TomlDialect::kGoToml1) {
      for (const HostEntry& one : hosts_) urls.push_back(one.url);
      return urls;
    }
    std::string last;
    for (const TomlExpression& one : expressions_) {
      if (one.kind != TomlExpression::Kind::kTable) continue;
      if (one.keys.size() < 2 || one.keys[0] != "host" || one.keys[1] == last) continue;
      last = one.keys[1];
      urls.push_back(last);
    }
    return urls;
  }

  // The registry's own server, with the keys of the top level but for the capabilities.
  Host OwnServer(const HostSettings& top) const {
    Host host = DefaultHost(registry_, rules_);
    bool skip_verify = host.skip_verify;
    auto tls = maker_.ReadKeys(top, host);
    bool any_tls = skip_verify || (tls && *tls);
    host.skip_verify |= skip_verify;
    host.pull = host.resolve = true;  // as containerd does, whatever the file says
    host.https_port = 0;
    PreferHttps(host, HasPort(registry_), any_tls, rules_);
    return host;
  }

  const std::vector<TomlExpression>& expressions_;
  const std::string_view registry_;
  const HostMaker& maker_;
  const RuntimeRules& rules_;
  const Decoder decoder_;
  std::vector<HostEntry> hosts_;
};

// --- Texts that only containerd itself can read: its go-toml panics, or has a grammar of its own ---

using Keys = std::vector<std::string>;

bool IsOneOf(std::string_view key, const std::vector<std::string_view>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view one) { return base::EqualsIgnoreCase(key, one); });
}

bool IsHost(const Keys& keys) {
  return !keys.empty() && base::EqualsIgnoreCase(keys[0], "host");
}

// The keys within the top level, or within a host.
Keys Fields(const Keys& keys) {
  const std::size_t outside = IsHost(keys) ? std::min<std::size_t>(keys.size(), 2) : 0;
  return {keys.begin() + static_cast<std::ptrdiff_t>(outside), keys.end()};
}

// A field of a plain type.
bool IsPlain(const Keys& fields, bool of_host) {
  if (!of_host && base::EqualsIgnoreCase(fields[0], "server")) return true;
  return IsOneOf(fields[0], {"capabilities", "skip_verify", "override_path", "dial_timeout"});
}

// Finds where go-toml v2 panics, and containerd with it.
class PanicDetector {
 public:
  bool Panics(const TomlExpression& one) {
    const bool is_value = one.kind == TomlExpression::Kind::kValue;
    Keys keys = is_value ? table_ : Keys();
    keys.insert(keys.end(), one.keys.begin(), one.keys.end());
    if (!is_value) table_ = one.keys;
    if (keys.empty()) return false;
    const bool of_host = IsHost(keys);
    const bool is_again = of_host && keys.size() > 1 && !hosts_.insert(keys[1]).second;
    const Keys fields = Fields(keys);
    // A time is set without a look at the type.
    if (fields.empty()) {
      is_unclear_ |= one.has_time;
      return false;
    }
    const bool is_plain = IsPlain(fields, of_host);
    if (!is_value) return is_plain && fields.size() > 1;  // a table below a plain value
    // A pointer within a host that has no address.
    const bool is_pointer = base::EqualsIgnoreCase(fields[0], "skip_verify");
    if (is_again && is_pointer && one.keys.size() > fields.size()) return true;
    const bool is_header = base::EqualsIgnoreCase(fields[0], "header") && fields.size() == 1;
    return one.has_time && (is_plain || is_header);
  }

  // A time stands in a host that is written as one value, be it in a key that panics or in an unknown one.
  bool is_unclear() const { return is_unclear_; }

 private:
  Keys table_;
  std::set<std::string> hosts_;
  bool is_unclear_ = false;
};

// The reason; empty: there is none.
std::string_view UnpredictableReason(const std::vector<TomlExpression>& file, TomlDialect dialect) {
  PanicDetector search;
  for (const TomlExpression& one : file) {
    if (dialect == TomlDialect::kGoToml2 && search.Panics(one)) return "containerd's own code panics at it";
    if (dialect == TomlDialect::kGoToml1 && one.has_time) return "it has dates or times";
  }
  return search.is_unclear() ? "a time stands in a host of one line" : "";
}

// Whether the name of a table has brackets, as [host."https://[fd00::1]"] has. go-toml v1 refuses it.
bool HasBracketsInTableName(const std::vector<TomlExpression>& file) {
  return std::any_of(file.begin(), file.end(), [](const TomlExpression& one) {
    return one.kind != TomlExpression::Kind::kValue &&
           std::any_of(one.keys.begin(), one.keys.end(),
                       [](const std::string& key) { return key.find_first_of("[]") != std::string::npos; });
  });
}

}  // namespace

base::Result<std::vector<Host>> ParseHostsToml(std::string_view text, std::string_view folder,
                                               std::string_view registry, const RuntimeRules& rules) {
  if (text.size() > kMaxHostsBytes) return base::ResourceExhausted("the file is too long");
  if (rules.toml == TomlDialect::kGoToml1 && text.starts_with(doc::kByteOrderMark))
    text.remove_prefix(doc::kByteOrderMark.size());
  const std::vector<TomlExpression> expressions = TomlExpressions(text);
  if (std::string_view why = UnpredictableReason(expressions, rules.toml); !why.empty()) {
    return base::ResourceExhausted(std::string(why));
  }
  if (rules.toml == TomlDialect::kGoToml1 && HasBracketsInTableName(expressions)) {
    return base::InvalidArgument("containerd 1 takes no brackets in the name of a table");
  }
  if (rules.toml == TomlDialect::kGoToml2 && !base::IsUtf8(text)) {
    return base::InvalidArgument("the file is not UTF-8");
  }
  auto toml = Toml::Parse(text);
  // go-toml v1 takes "[host]" after "host.x = 1"; v2 does not read the values of keys that it does not know.
  if (!toml) return base::ResourceExhausted(toml.error().message() + ", and go-toml may take it");
  const HostMaker maker(folder, rules);
  return HostsFile(expressions, registry, maker, rules).Read(toml->root());
}

}  // namespace prefetch::registry
