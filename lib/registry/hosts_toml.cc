#include "registry/hosts_toml.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/go_url.h"
#include "base/redactor.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/problems.h"
#include "doc/toml_rim.h"
#include "http/headers.h"

namespace prefetch::registry {

namespace {

using doc::FromAsciiToml;
using doc::TextOf;
using doc::Toml;
using doc::TomlError;
using doc::TomlExpression;
using doc::TomlExpressions;

constexpr std::size_t kMaxHosts = 32;
constexpr std::size_t kMaxValues = 32;  // of one key

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

std::string InFolder(std::string_view folder, const std::string& file) {
  if (file.starts_with('/')) return file;
  return base::CleanedPath(std::string(folder) + "/" + file);
}

// Gives the host a server that does not exist. The runtime keeps such a host in its chain, although nothing
// can be asked there.
void MarkUnusable(Host& host, std::string why) {
  host.server = {.scheme = "https", .host = "invalid", .port = 443, .target = "/v2"};
  host.problem = std::move(why);
}

void TakeServer(const base::GoUrl& url, const std::string& path, Host& host) {
  auto server = http::ParseAbsoluteUrl(url.scheme + "://" + url.host);
  if (!server) return MarkUnusable(host, "its URL cannot be asked: " + server.error().message());
  host.server = std::move(*server);
  host.server.target = path == "/" ? "" : base::EscapedPath(base::ReplaceAll(path, "//", "/"));
  // containerd puts the path into another URL as it is.
  bool fits = path.find_first_of("?#%") == std::string::npos;
  fits = fits && http::ParseAbsoluteUrl(host.server.ToString()).ok();
  if (!fits) MarkUnusable(host, "the path of its URL cannot be asked for");
}

// One file. containerd ignores it for one mistake, and so the first one counts.
class HostsFile {
 public:
  HostsFile(const std::vector<TomlExpression>& expressions, std::string_view folder,
            std::string_view registry, const RuntimeRules& rules)
      : expressions_(expressions), folder_(folder), registry_(registry), rules_(rules) {}

  base::Result<std::vector<Host>> Read(const toml::table& root) {
    if (Panics(root)) RejectAsUnknown(*root.get("host"), "a host is no table");
    HostSettings top;
    std::string server;
    const toml::node* server_node = &root;
    for (const toml::node* node : Find(root, "server")) {
      server_node = node;
      if (const auto* text = node->as_string()) {
        server = TextOf(*text);
      } else {
        Reject(*node, "server is no string");
      }
    }
    Decode(root, top);
    Collect(root);
    if (!status_) return std::move(status_).error();
    std::vector<Host> hosts;
    for (const std::string& url : Order()) {
      const HostEntry& one = ByUrl(url);
      hosts.push_back(HostAt(*one.node, url, one.settings));
      if (hosts.back().server.host.empty()) MarkUnusable(hosts.back(), "its URL names no host");
    }
    if (hosts.size() > kMaxHosts) RejectAsUnknown(root, "there are too many hosts");
    hosts.push_back(HostAt(*server_node, server, top));
    if (!status_) return std::move(status_).error();
    if (hosts.back().server.host.empty()) hosts.back() = OwnServer(top);
    return hosts;
  }

 private:
  struct HostEntry {
    std::string url;
    const toml::node* node;
    HostSettings settings;
  };

  void Reject(const toml::node& at, std::string_view what) {
    if (status_) status_ = TomlError(at, what);
  }
  // The file may be valid for the runtime, and is beyond the limits of the agent.
  void RejectAsUnknown(const toml::node& at, std::string_view what) {
    if (status_) status_ = base::ResourceExhausted(TomlError(at, what).message());
  }

  std::vector<const toml::node*> Find(const toml::table& table, std::string_view key) const {
    return registry::Find(table, key, rules_.toml);
  }

  // --- What go-toml decodes: types alone ---

  void Decode(const toml::table& table, HostSettings& settings) {
    for (const toml::node* node : Find(table, "capabilities")) {
      const toml::array* array = node->as_array();
      bool strings = array != nullptr && std::all_of(array->begin(), array->end(),
                                                     [](const toml::node& item) { return item.is_string(); });
      if (!strings) return Reject(*node, "capabilities is no list of strings");
      settings.capabilities = node;
    }
    for (const toml::node* node : Find(table, "skip_verify")) {
      if (!node->is_boolean()) return Reject(*node, "skip_verify is neither true nor false");
      settings.skip_verify = node->as_boolean()->get();
    }
    for (const toml::node* node : Find(table, "override_path")) {
      if (!node->is_boolean()) return Reject(*node, "override_path is neither true nor false");
      settings.override_path = node->as_boolean()->get();
    }
    if (rules_.dial_timeout) {
      for (const toml::node* node : Find(table, "dial_timeout")) {
        if (!node->is_string()) return Reject(*node, "dial_timeout is no string");
        settings.dial_timeout = node;
      }
    }
    DecodeAny(table, "ca", settings.ca);
    DecodeAny(table, "client", settings.client);
    DecodeHeader(table, settings);
  }

  // Reads a key of any type. If it is there again, in other letters, a list or a table must have the same
  // type as before.
  void DecodeAny(const toml::table& table, std::string_view key, const toml::node*& value) {
    for (const toml::node* node : Find(table, key)) {
      const toml::table* as_table = node->as_table();
      // A header alone sets nothing.
      if (as_table != nullptr && as_table->empty() && !as_table->is_inline() &&
          rules_.toml == TomlDialect::kGoToml2)
        continue;
      const bool is_same = value == nullptr || node->type() == value->type();
      if (!is_same && (node->is_array() || node->is_table())) Reject(*node, "another type than before");
      value = node;
    }
  }

  void DecodeHeader(const toml::table& table, HostSettings& settings) {
    for (const toml::node* node : Find(table, "header")) {
      const toml::table* header = node->as_table();
      if (header == nullptr) return Reject(*node, "header is no table");
      for (const auto& [name, value] : *header) {
        std::string text = FromAsciiToml(name.str());
        std::erase_if(settings.header, [&](const Header& earlier) { return earlier.name == text; });
        settings.header.push_back({std::move(text), &value});
      }
    }
  }

  // Collects all hosts with the right types, in the order of their places in the file.
  void Collect(const toml::table& root) {
    const std::vector<const toml::node*> found = Find(root, "host");
    bool first = rules_.toml == TomlDialect::kGoToml1 && root.get("host") == nullptr;
    if (rules_.hosts_table_required && (first || !root.get("host")->is_table()) && status_)
      status_ = base::InvalidArgument("no [host] table, which this runtime needs");
    for (const toml::node* node : found) {
      if (!node->is_table()) return Reject(*node, "host is no table");
      for (const auto& [url, table] : *node->as_table()) {
        if (!table.is_table()) return Reject(table, "a host is no table");
        Decode(*table.as_table(), EntryFor(FromAsciiToml(url.str()), table).settings);
      }
    }
    Sort();
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
  void Sort() {
    auto line = [](const HostEntry& one) {
      return one.node->as_table()->is_inline() ? 0 : FirstLine(*one.node);
    };
    std::stable_sort(hosts_.begin(), hosts_.end(),
                     [&](const HostEntry& a, const HostEntry& b) { return line(a) < line(b); });
    const auto same =
        std::adjacent_find(hosts_.begin(), hosts_.end(),
                           [&](const HostEntry& a, const HostEntry& b) { return line(a) == line(b); });
    if (rules_.toml == TomlDialect::kGoToml1 && same != hosts_.end())
      RejectAsUnknown(*same->node, "hosts without an order");
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

  // --- What containerd makes of it ---

  // "https://host:5000/path". Without a server if it names no host.
  Host HostAt(const toml::node& at, std::string text, const HostSettings& settings) {
    Host host;
    const bool tls = ReadKeys(settings, host);
    if (text.empty()) return host;
    if (!text.starts_with("http")) text.insert(0, "https://");
    auto url = base::ParseGoUrl(text);
    if (!url) Reject(at, "this is no URL");
    if (!url || url->host.empty()) return host;
    std::string path = base::CleanedPath(url->path);
    if (!settings.override_path && !path.ends_with("/v2")) path += "/v2";
    TakeServer(*url, path, host);
    PreferHttps(host, HasPort(url->host), tls, rules_);
    return host;
  }

  // The registry's own server, with the keys of the top level but for the capabilities.
  Host OwnServer(const HostSettings& top) {
    Host host = DefaultHost(registry_, rules_);
    const bool skip_verify = host.skip_verify;
    const bool tls = ReadKeys(top, host) || skip_verify;
    host.skip_verify |= skip_verify;
    host.pull = host.resolve = true;  // as containerd does, whatever the file says
    host.https_port = 0;
    PreferHttps(host, HasPort(registry_), tls, rules_);
    return host;
  }

  // Reads everything but the server. Returns true if the host has TLS settings, which decide whether http is
  // tried by https first (R33).
  bool ReadKeys(const HostSettings& settings, Host& host) {
    host.skip_verify = settings.skip_verify.value_or(false);
    bool tls = settings.skip_verify.has_value();
    if (settings.capabilities != nullptr) ReadCapabilities(*settings.capabilities->as_array(), host);
    if (settings.ca != nullptr) {
      for (const std::string& file : Texts(*settings.ca, "ca"))
        host.ca_files.push_back(InFolder(folder_, file));
      tls = true;
    }
    if (settings.client != nullptr) {
      ReadClient(*settings.client, host);
      tls |= !host.client_pairs.empty();
    }
    for (const Header& header : settings.header) ReadHeader(header, host);
    if (host.headers.size() > kMaxValues)
      RejectAsUnknown(*settings.header.front().value, "there are too many headers");
    if (settings.dial_timeout != nullptr)
      tls |= ReadDialTimeout(*settings.dial_timeout, host) && rules_.dial_timeout_means_tls;
    return tls;
  }

  void ReadCapabilities(const toml::array& array, Host& host) {
    if (array.empty()) return;
    host.pull = host.resolve = false;
    for (const toml::node& item : array) {
      std::string word = base::ToLower(item.as_string()->get());
      bool known =
          word == "pull" || word == "resolve" || word == "push" || (word == "referrers" && rules_.referrers);
      if (!known) Reject(item, "an unknown capability");
      host.pull |= word == "pull";
      host.resolve |= word == "resolve";
    }
  }

  // Reads a string or a list of strings.
  std::vector<std::string> Texts(const toml::node& node, std::string_view key) {
    std::vector<std::string> texts;
    if (const auto* one = node.as_string()) return {TextOf(*one)};
    const toml::array* array = node.as_array();
    if (array == nullptr) {
      Reject(node, std::string(key) + " is neither a string nor a list of strings");
      return texts;
    }
    for (const toml::node& item : *array) {
      if (const auto* text = item.as_string()) {
        texts.push_back(TextOf(*text));
      } else {
        Reject(item, std::string(key) + " holds something that is no string");
      }
    }
    if (texts.size() > kMaxValues) RejectAsUnknown(node, std::string(key) + " is too long a list");
    return texts;
  }

  void ReadClient(const toml::node& node, Host& host) {
    if (const auto* file = node.as_string())
      return host.client_pairs.push_back({InFolder(folder_, TextOf(*file)), ""});
    const toml::array* array = node.as_array();
    if (array == nullptr) return Reject(node, "client is neither a file nor a list");
    for (const toml::node& item : *array) {
      // "file", ["cert", "key"]
      const toml::array* pair = item.as_array();
      if (const auto* file = item.as_string()) {
        host.client_pairs.push_back({InFolder(folder_, TextOf(*file)), ""});
      } else if (pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string()) {
        host.client_pairs.push_back({InFolder(folder_, TextOf(*(*pair)[0].as_string())),
                                     InFolder(folder_, TextOf(*(*pair)[1].as_string()))});
      } else {
        Reject(item, "client holds something that is neither a file nor a pair of files");
      }
    }
    if (array->size() > kMaxValues) RejectAsUnknown(node, "client is too long a list");
  }

  void ReadHeader(const Header& header, Host& host) {
    if (!status_) return;  // no copy of a secret
    std::vector<std::string> texts = Texts(*header.value, "a header");
    if (!status_) return;
    if (!http::IsFieldName(header.name)) host.problem = "the name of one of its headers cannot be sent";
    for (std::string& text : texts) {
      if (!http::IsFieldValue(text)) host.problem = "the value of one of its headers cannot be sent";
      host.headers.emplace_back(header.name, base::Secret(text));
      base::RememberSecret(host.headers.back().second);
      base::WipeString(text);
    }
  }

  // Returns false if the text is empty, which sets no timeout.
  bool ReadDialTimeout(const toml::node& node, Host& host) {
    std::string text = TextOf(*node.as_string());
    if (text.empty()) return false;
    auto duration = doc::ParseDuration(text);
    if (!duration) {
      Reject(node, "dial_timeout is no duration");
      return false;
    }
    if (duration->count() < 0) host.problem = "its dial_timeout is negative";
    if (duration->count() > 0) host.dial_timeout = std::chrono::ceil<std::chrono::milliseconds>(*duration);
    return true;
  }

  const std::vector<TomlExpression>& expressions_;
  const std::string_view folder_;
  const std::string_view registry_;
  const RuntimeRules& rules_;
  base::Status status_;
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
  return HostsFile(expressions, folder, registry, rules).Read(toml->root());
}

}  // namespace prefetch::registry
