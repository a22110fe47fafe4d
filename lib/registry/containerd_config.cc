#include "registry/containerd_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "base/find_with_default.h"
#include "base/go_url.h"
#include "base/secret.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/toml_rim.h"
#include "registry/obstacle.h"

namespace prefetch::registry {

namespace {

using doc::FromAsciiToml;
using doc::GoMember;
using doc::TextOf;
using doc::Toml;
using doc::TomlError;

constexpr std::size_t kMaxConfigBytes = 1024 * 1024;
constexpr std::size_t kMaxImports = 64;
constexpr std::int64_t kNewestVersion = 4;  // containerd 2.3
// The oldest version that has a table of its own for images, and the one to which releases up to 2.2 bring
// all.
constexpr std::int64_t kImagesVersion = 3;
constexpr const char* kOldPlugin = "io.containerd.grpc.v1.cri";
constexpr const char* kNewPlugin = "io.containerd.cri.v1.images";
constexpr const char* kShortPlugin = "cri";
// The default of containerd. Any other number keeps pulls local (C29).
constexpr std::int64_t kDefaultDownloads = 3;

// The types of containerd's configuration (Config of cmd/containerd/server/config, ImageConfig of
// internal/cri/config): with another one, containerd or its CRI plugin does not start. Keys that containerd
// does not know are ignored.
enum class Shape {
  kText,
  kInteger,
  kBool,
  kDuration,      // a text
  kDurations,     // a table of such texts, none empty
  kTexts,         // a list of texts
  kTextMap,       // a table of texts
  kTextsMap,      // a table of lists of texts
  kTable,         // a table with these members
  kTables,        // a table of such tables
  kTablesOfUrls,  // each with the name of a URL
};

struct Member {
  std::string_view keys;  // of this type, with blanks between them
  Shape kind;
  std::span<const Member> members = {};
};

constexpr Member kMirrorMembers[] = {{"endpoint", Shape::kTexts}};
constexpr std::string_view kAuthKeys = "username password auth identitytoken";
constexpr Member kAuthMembers[] = {{kAuthKeys, Shape::kText}};
constexpr Member kConfigMembers[] = {{"auth", Shape::kTable, kAuthMembers}};
constexpr Member kRegistryMembers[] = {{"config_path", Shape::kText},
                                       {"mirrors", Shape::kTables, kMirrorMembers},
                                       {"configs", Shape::kTables, kConfigMembers},
                                       {"auths", Shape::kTablesOfUrls, kAuthMembers},
                                       {"headers", Shape::kTextsMap}};
constexpr Member kPlatformMembers[] = {{"platform snapshotter", Shape::kText}};
constexpr Member kDecryptionMembers[] = {{"key_model", Shape::kText}};

// Members of the plugin's tables in both versions of the configuration.
constexpr Member kCommonMembers[] = {{"registry", Shape::kTable, kRegistryMembers},
                                     {"image_decryption", Shape::kTable, kDecryptionMembers},
                                     {"max_concurrent_downloads stats_collect_period", Shape::kInteger},
                                     {"image_pull_progress_timeout", Shape::kDuration},
                                     {"image_pull_with_sync_fs", Shape::kBool}};
// Members of the table `containerd` in version 2, and of the plugin's own table in version 3.
constexpr Member kSnapshotsMembers[] = {
    {"snapshotter", Shape::kText}, {"disable_snapshot_annotations discard_unpacked_layers", Shape::kBool}};
constexpr Member kNewMembers[] = {{"pinned_images", Shape::kTextMap},
                                  {"runtime_platforms", Shape::kTables, kPlatformMembers},
                                  {"concurrent_layer_fetch_buffer", Shape::kInteger},
                                  {"use_local_image_pull", Shape::kBool}};
constexpr Member kOldMembers[] = {{"sandbox_image", Shape::kText}, {"containerd", Shape::kTable}};
constexpr Member kRuntimesMembers[] = {{"runtimes", Shape::kTables}};

constexpr Member kGrpcMembers[] = {{"address tcp_address tcp_tls_ca tcp_tls_cert tcp_tls_key", Shape::kText},
                                   {"uid gid max_recv_message_size max_send_message_size", Shape::kInteger}};
constexpr Member kTtrpcMembers[] = {{"address", Shape::kText}, {"uid gid", Shape::kInteger}};
constexpr Member kDebugMembers[] = {{"address level format", Shape::kText}, {"uid gid", Shape::kInteger}};
constexpr Member kMetricsMembers[] = {{"address", Shape::kText}, {"grpc_histogram", Shape::kBool}};
constexpr Member kCgroupMembers[] = {{"path", Shape::kText}};
constexpr Member kProxyMembers[] = {
    {"type address platform", Shape::kText}, {"exports", Shape::kTextMap}, {"capabilities", Shape::kTexts}};
constexpr Member kProcessorMembers[] = {{"accepts args env", Shape::kTexts}, {"returns path", Shape::kText}};
constexpr Member kServerMembers[] = {{"version oom_score", Shape::kInteger},
                                     {"root state temp", Shape::kText},
                                     {"grpc", Shape::kTable, kGrpcMembers},
                                     {"ttrpc", Shape::kTable, kTtrpcMembers},
                                     {"debug", Shape::kTable, kDebugMembers},
                                     {"metrics", Shape::kTable, kMetricsMembers},
                                     {"disabled_plugins required_plugins imports", Shape::kTexts},
                                     {"plugins", Shape::kTable},
                                     {"cgroup", Shape::kTable, kCgroupMembers},
                                     {"proxy_plugins", Shape::kTables, kProxyMembers},
                                     {"timeouts", Shape::kDurations},
                                     {"stream_processors", Shape::kTables, kProcessorMembers}};

bool AreTexts(const toml::node& node) {
  const toml::array* array = node.as_array();
  return array != nullptr &&
         std::all_of(array->begin(), array->end(), [](const toml::node& item) { return item.is_string(); });
}

template <typename Fits>
bool AreAll(const toml::node& node, Fits fits) {
  const toml::table* table = node.as_table();
  return table != nullptr &&
         std::all_of(table->begin(), table->end(), [&](const auto& entry) { return fits(entry.second); });
}

bool IsDuration(const toml::node& node) {
  return node.is_string() && doc::ParseDuration(TextOf(*node.as_string())).has_value();
}

bool IsEmpty(const toml::node& node) {
  return node.is_string() && node.as_string()->get().empty();
}

// Returns the mistake of the value, or nullptr if it fits. Members of tables are checked by ShapeCheck.
const char* Mistake(const toml::node& node, Shape kind) {
  switch (kind) {
    case Shape::kText:
      return node.is_string() ? nullptr : " is no string";
    case Shape::kInteger:
      return node.is_integer() ? nullptr : " is no whole number";
    case Shape::kBool:
      return node.is_boolean() ? nullptr : " is neither true nor false";
    case Shape::kDuration:
      return IsEmpty(node) || IsDuration(node) ? nullptr : " is no duration";
    case Shape::kTexts:
      return AreTexts(node) ? nullptr : " is no list of strings";
    case Shape::kTextMap:
      return AreAll(node, [](const toml::node& one) { return one.is_string(); }) ? nullptr
                                                                                 : " is no table of strings";
    case Shape::kDurations:
      return AreAll(node, IsDuration) ? nullptr : " is no table of durations";
    case Shape::kTextsMap:
      return AreAll(node, AreTexts) ? nullptr : " is no table of lists of strings";
    case Shape::kTable:
    case Shape::kTables:
    case Shape::kTablesOfUrls:
      return node.is_table() ? nullptr : " is no table";
  }
  return nullptr;
}

bool IsUrl(const toml::key& name) {
  return base::ParseGoUrl(FromAsciiToml(name.str())).has_value();
}

// How keys are found: go-toml matches those of containerd's structures in any case. Keys that are carried
// over from version 2 count as they are written.
enum class KeyCase { kAny, kAsWritten };

// Walks over tables, and stops at the first mistake. One mistake keeps containerd or its plugin from
// starting, so further ones do not matter.
class ShapeCheck {
 public:
  // A key that is there twice, in different spellings, is a mistake.
  base::Status Members(const toml::table& table, std::initializer_list<std::span<const Member>> all,
                       KeyCase key_case = KeyCase::kAny) {
    for (std::span<const Member> members : all) {
      for (const Member& member : members) {
        for (std::string_view key : base::Split(member.keys, ' ')) {
          auto node = key_case == KeyCase::kAny ? GoMember(table, key) : table.get(key);
          if (!node) return node.status();
          if (*node == nullptr) continue;
          other_case_ |= table.get(key) == nullptr;
          if (base::Status checked = Value(**node, key, member); !checked) return checked;
        }
      }
    }
    return {};
  }

  // A key had other letters than containerd's.
  bool other_case() const { return other_case_; }

 private:
  // Checks the type of one value, and then the members of a table.
  base::Status Value(const toml::node& node, std::string_view key, const Member& member) {
    if (const char* mistake = Mistake(node, member.kind)) return TomlError(node, std::string(key) + mistake);
    if (member.kind == Shape::kTable) return Members(*node.as_table(), {member.members});
    if (member.kind != Shape::kTables && member.kind != Shape::kTablesOfUrls) return {};
    for (const auto& [name, one] : *node.as_table()) {
      const std::string which = "an entry of " + std::string(key);
      if (!one.is_table()) return TomlError(one, which + " is no table");
      if (member.kind == Shape::kTablesOfUrls && !IsUrl(name)) return TomlError(one, which + " is no URL");
      if (base::Status checked = Members(*one.as_table(), {member.members}); !checked) return checked;
    }
    return {};
  }

  bool other_case_ = false;
};

// Each function below reads a table whose types are checked.
const toml::node* Find(const toml::table& table, std::string_view key, KeyCase key_case = KeyCase::kAny) {
  if (key_case == KeyCase::kAsWritten) return table.get(key);
  for (auto&& [name, node] : table) {
    if (base::EqualsIgnoreCase(name.str(), key)) return &node;
  }
  return nullptr;
}

const toml::table* FindTable(const toml::table& table, std::string_view key,
                             KeyCase key_case = KeyCase::kAny) {
  const toml::node* node = Find(table, key, key_case);
  return node == nullptr ? nullptr : node->as_table();
}

bool HasEntries(const toml::table& entry, std::string_view key) {
  const toml::table* table = FindTable(entry, key);
  return table != nullptr && !table->empty();
}

// A credential, not an empty one.
bool HasAuth(const toml::table& entry) {
  const toml::table* auth = FindTable(entry, "auth");
  if (auth == nullptr) return false;
  const std::vector<std::string_view> keys = base::Split(kAuthKeys, ' ');
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    const toml::node* node = Find(*auth, key);
    return node != nullptr && !node->as_string()->get().empty();
  });
}

// Adds the hosts of `mirrors`, `configs` or `auths`, each a table with an entry for each host. `counts`
// decides which hosts matter. Returns true if there is any entry.
template <typename Counts>
bool AddHosts(const toml::table& registry, std::string_view key, Counts counts, image::TableHosts& hosts) {
  const toml::table* table = FindTable(registry, key);
  if (table == nullptr) return false;
  for (auto&& [host, entry] : *table) {
    if (counts(*entry.as_table())) hosts.Add(FromAsciiToml(host.str()));
  }
  return !table->empty();
}

RegistryTable ReadRegistry(const toml::table& table) {
  RegistryTable registry;
  if (const toml::node* path = Find(table, "config_path")) registry.config_path = TextOf(*path->as_string());
  auto always = [](const toml::table&) { return true; };
  auto has_credentials_or_tls = [](const toml::table& entry) {
    return HasAuth(entry) || HasEntries(entry, "tls");
  };
  registry.has_mirrors = AddHosts(table, "mirrors", always, registry.hosts);
  registry.has_credentials = AddHosts(table, "configs", has_credentials_or_tls, registry.hosts);
  registry.has_credentials |= AddHosts(table, "auths", always, registry.hosts);
  if (const toml::table* headers = FindTable(table, "headers")) {
    for (auto&& [name, value] : *headers) registry.hosts.AddHeader(name.str());
  }
  return registry;
}

// Keys of numbers and booleans that matter here, in both versions of the configuration.
constexpr std::string_view kCommonKeys[] = {"max_concurrent_downloads", "image_pull_with_sync_fs"};
// Those of the table `containerd` in version 2, and of the plugin's own table in version 3.
constexpr std::string_view kSnapshotsKeys[] = {"disable_snapshot_annotations", "discard_unpacked_layers"};
constexpr std::string_view kNewKeys[] = {"use_local_image_pull"};

void ReadNumbers(const toml::table& table, std::span<const std::string_view> keys, KeyCase key_case,
                 ImagesTable& images) {
  for (std::string_view key : keys) {
    const toml::node* node = Find(table, key, key_case);
    if (node == nullptr) continue;
    const auto* boolean = node->as_boolean();
    images.numbers[key] = boolean != nullptr ? boolean->get() : node->as_integer()->get();
  }
}

// Checks and reads the table of version 3's plugin into `config`.
base::Status ReadNewPlugin(const toml::table& table, ContainerdConfig& config) {
  ShapeCheck check;
  if (base::Status checked = check.Members(table, {kCommonMembers, kSnapshotsMembers, kNewMembers}); !checked)
    return checked;
  // Until all files are merged, such a key is another one than that of another file.
  config.other_case |= check.other_case();
  ReadNumbers(table, kCommonKeys, KeyCase::kAny, config.images);
  ReadNumbers(table, kSnapshotsKeys, KeyCase::kAny, config.images);
  ReadNumbers(table, kNewKeys, KeyCase::kAny, config.images);
  if (const toml::table* registry = FindTable(table, "registry"))
    config.images.registry = ReadRegistry(*registry);
  return {};
}

// The same for the members of version 2's plugin that are carried over. These count only as they are written,
// the keys within them in any letters.
base::Status ReadOldPlugin(const toml::table& table, ContainerdConfig& config) {
  constexpr KeyCase kCase = KeyCase::kAsWritten;
  ShapeCheck check;
  base::Status checked = check.Members(table, {kCommonMembers, kOldMembers}, kCase);
  const toml::table* containerd = checked ? FindTable(table, "containerd", kCase) : nullptr;
  if (containerd != nullptr)
    checked = check.Members(*containerd, {kRuntimesMembers, kSnapshotsMembers}, kCase);
  if (!checked) return checked;
  config.other_case |= check.other_case();
  ReadNumbers(table, kCommonKeys, kCase, config.cri);
  if (const toml::table* registry = FindTable(table, "registry", kCase))
    config.cri.registry = ReadRegistry(*registry);
  if (containerd == nullptr) return {};
  config.cri.has_runtimes = containerd->contains("runtimes");
  ReadNumbers(*containerd, kSnapshotsKeys, kCase, config.cri);
  return {};
}

// Nested tables are merged key by key. A later value replaces the earlier one, even by an empty one.
void Override(ImagesTable& target, const ImagesTable& overlay) {
  if (overlay.registry) {
    if (!target.registry) target.registry.emplace();
    if (overlay.registry->config_path) target.registry->config_path = overlay.registry->config_path;
    target.registry->hosts.Add(overlay.registry->hosts);
    target.registry->has_mirrors |= overlay.registry->has_mirrors;
    target.registry->has_credentials |= overlay.registry->has_credentials;
  }
  for (const auto& [key, number] : overlay.numbers) target.numbers[key] = number;
  target.has_runtimes |= overlay.has_runtimes;
}

// Migrates from version 2 to 3: members of the old table replace those of the new one, and a `registry` is
// replaced as a whole.
void Migrate(const ImagesTable& cri, ImagesTable& images) {
  if (cri.registry) images.registry = cri.registry;
  for (const auto& [key, number] : cri.numbers) {
    const bool of_snapshots = std::ranges::find(kSnapshotsKeys, key) != std::end(kSnapshotsKeys);
    if (!of_snapshots || cri.has_runtimes) images.numbers[key] = number;
  }
}

base::Status ReadPlugins(const toml::table& plugins, ContainerdConfig& config) {
  auto note_ignored = [&](const toml::node* node) {
    if (node != nullptr && config.ignored_table_line == 0)
      config.ignored_table_line = node->source().begin.line;
  };
  const toml::node* short_node = plugins.get(kShortPlugin);
  const toml::node* old_node = plugins.get(kOldPlugin);
  const toml::node* new_node = plugins.get(kNewPlugin);
  // Plugins have full names since version 2, so a short name has no effect.
  if (config.version >= 2) note_ignored(std::exchange(short_node, nullptr));
  for (const toml::node* node : {old_node, short_node, new_node}) {
    if (node == nullptr) continue;
    if (!node->is_table()) return TomlError(*node, "a plugin is no table");
    const toml::table& table = *node->as_table();
    base::Status read = node == new_node ? ReadNewPlugin(table, config) : ReadOldPlugin(table, config);
    if (!read) return read;
  }
  if (short_node != nullptr && old_node != nullptr) {
    // Go's maps have no order.
    return TomlError(*short_node, "the plugin is there twice, in different spellings");
  }
  const bool matters = config.cri.registry || !config.cri.numbers.empty();
  if (config.version >= kImagesVersion && matters) note_ignored(old_node);
  return {};
}

// Since version 2, plugins have names with dots.
base::Status CheckPluginLists(const toml::table& root, std::int64_t version) {
  for (const char* key : {"disabled_plugins", "required_plugins"}) {
    const toml::node* node = Find(root, key);
    if (node == nullptr || version < 2) continue;
    for (const toml::node& item : *node->as_array()) {
      if (item.as_string()->get().find('.') == std::string::npos) {
        return TomlError(item, std::string(key) + " holds a short name");
      }
    }
  }
  return {};
}

// Releases up to 2.2 merge all files, and then migrate the result to version 3 if the last file with a
// version has version 2. In files of version 1 the plugins are renamed, and they count as of the version
// reached so far, so that such a file alone is never migrated.
ImagesTable MergeThenMigrate(const std::vector<NamedConfig>& files) {
  ImagesTable cri, images;
  std::int64_t version = kImagesVersion;
  for (const NamedConfig& file : files) {
    Override(cri, file.config.cri);
    Override(images, file.config.images);
    if (file.config.version >= 2) version = file.config.version;
  }
  if (version < kImagesVersion) Migrate(cri, images);
  return images;
}

// Later releases, whose newest version is 4, migrate each file by itself and then merge them.
ImagesTable MigrateThenMerge(const std::vector<NamedConfig>& files) {
  ImagesTable images;
  for (const NamedConfig& file : files) {
    ImagesTable own = file.config.images;
    if (file.config.version < kNewestVersion) Migrate(file.config.cri, own);
    Override(images, own);
  }
  return images;
}

// Returns whether one of the settings keeps pulls from the transfer service (runtime rule C29).
bool PullsLocally(const ImagesTable& images, const RegistryTable& registry) {
  const auto differs = [&](std::string_view key, std::int64_t from) {
    const auto found = images.numbers.find(key);
    return found != images.numbers.end() && found->second != from;
  };
  return differs("use_local_image_pull", 0) || differs("disable_snapshot_annotations", 1) ||
         differs("discard_unpacked_layers", 0) || differs("image_pull_with_sync_fs", 0) ||
         differs("max_concurrent_downloads", kDefaultDownloads) || registry.has_mirrors ||
         registry.has_credentials;
}

image::RuntimeRegistries ToRuntimeRegistries(const ImagesTable& images) {
  RegistryTable registry = images.registry.value_or(RegistryTable{});
  image::RuntimeRegistries known{.known = true, .config_path = registry.config_path.value_or("")};
  if (!image::IsConfigPath(known.config_path)) {
    known.config_path.clear();
    // A path that cannot be followed may name servers for any registry.
    registry.hosts.AddAny();
  }
  known.hosts_in_tables = registry.hosts.Hosts();
  known.has_mirrors = registry.has_mirrors;
  known.local_pull = PullsLocally(images, registry);
  known.discards_layers = base::FindWithDefault(images.numbers, "discard_unpacked_layers") != 0;
  return known;
}

std::string IgnoredTableNote(const NamedConfig& file) {
  std::string note = file.path + ", line " + std::to_string(file.config.ignored_table_line);
  note += ": this plugin's table has no effect in a file of version " + std::to_string(file.config.version);
  note += "; [plugins.\"" + std::string(kNewPlugin) + "\"] of version 3 configures pulls";
  return note;
}

std::string DisagreementNote(const std::string& root) {
  std::string note = "containerd's releases do not agree on what " + root;
  note += " says of registries, since it and its imports are of several versions or older than 2, or have ";
  note += "tables of another version: write them in version 3, as `containerd config migrate` does";
  note += kChecksByPullNote;
  return note;
}

constexpr std::size_t kMaxFiles = 64;  // the first one counted
constexpr std::size_t kMaxImported = 1000;

// Loads a file and its imports.
class ConfigLoader {
 public:
  ConfigLoader(const std::string& file, const std::string& host_root, base::StampedFiles& disk)
      : file_(file), host_root_(host_root), disk_(disk) {}

  ContainerdSettings Load() {
    // Breadth first, as containerd loads imports, and each file once. The order decides which value wins.
    std::deque<std::string> pending = {file_};
    std::set<std::string> loaded;
    while (!pending.empty()) {
      std::string path = std::move(pending.front());
      pending.pop_front();
      if (!loaded.insert(path).second) continue;
      if (loaded.size() > kMaxFiles) return UnknownSettings(file_ + " imports too many files");
      if (auto settings = Read(path)) return *std::move(settings);
      for (const std::string& import : files_.back().config.imports) {
        // containerd knows patterns by their "*". Go and fnmatch() do not agree on the other signs.
        if (import.find('*') != std::string::npos && import.find_first_of("?[\\") != std::string::npos) {
          return UnknownSettings(
              Unusable(path, "imports has ?, [ or \\ beside a *, which only containerd follows"));
        }
        for (std::string& found : Imported(path, import)) pending.push_back(std::move(found));
      }
    }
    ContainerdSettings settings = MergeContainerdConfigs(files_);
    settings.notes.insert(settings.notes.end(), notes_.begin(), notes_.end());
    return settings;
  }

 private:
  std::string OnHost(const std::string& path) const { return host_root_ + path; }

  // The result if that file ends the reading.
  std::optional<ContainerdSettings> Read(const std::string& path) {
    auto text = disk_.Read(OnHost(path), kMaxConfigBytes);
    if (!text) return NotRead(path, text.error());
    auto config = ParseContainerdConfig(*text);
    // The file may contain passwords of registries.
    base::WipeString(*text);
    if (!config) {
      return UnknownSettings(Unusable(path, config.error().message()));
    }
    files_.push_back({path, std::move(*config)});
    return std::nullopt;
  }

  ContainerdSettings NotRead(const std::string& path, const base::Error& error) const {
    bool absent = error.code() == base::Code::kNotFound;
    // containerd runs without a configuration file, but never with a missing import.
    if (absent && files_.empty()) {
      return {.notes = {path + " is not there: containerd is taken to run with its defaults; if it has its "
                               "configuration elsewhere, set --registry-containerd-config"}};
    }
    if (absent) {
      return UnknownSettings(
          NotVisible(path + ", which " + file_ + " imports,", "mount it at the same path"));
    }
    return UnknownSettings(Unreadable(path, error.message()));
  }

  std::vector<std::string> Imported(const std::string& by, const std::string& import) {
    std::string path =
        base::CleanedPath(import.starts_with('/') ? import : by.substr(0, by.rfind('/') + 1) + import);
    if (path.find('*') == std::string::npos) return {path};
    std::vector<std::string> found = {""};
    for (std::string_view part : base::Split(std::string_view(path).substr(1), '/')) {
      found = Below(std::move(found), std::string(part));
    }
    return found;
  }

  // Returns the matches of `name`, which may be a pattern, in each of the folders, in order.
  std::vector<std::string> Below(std::vector<std::string> folders, const std::string& name) {
    std::vector<std::string> found;
    for (std::string& folder : folders) {
      if (name.find('*') == std::string::npos) {
        found.push_back(std::move(folder) + "/" + name);
        continue;
      }
      for (const std::string& entry : Entries(folder)) {
        bool fits = ::fnmatch(name.c_str(), entry.c_str(), FNM_PATHNAME) == 0;
        if (fits && found.size() <= kMaxFiles) found.push_back(folder + "/" + entry);
      }
    }
    return found;
  }

  std::vector<std::string> Entries(const std::string& folder) {
    auto names = disk_.List(OnHost(folder), kMaxImported);
    if (names) return *std::move(names);
    bool absent = names.error().code() == base::Code::kNotFound;
    notes_.push_back(folder + ", from which " + file_ + " imports, " +
                     (absent ? "is not visible to the agent: if the node has it, mount it at the same path"
                             : "cannot be read: " + names.error().message()));
    return {};
  }

  const std::string& file_;
  const std::string& host_root_;
  base::StampedFiles& disk_;
  std::vector<NamedConfig> files_;
  std::vector<std::string> notes_;
};

}  // namespace

base::Result<ContainerdConfig> ParseContainerdConfig(std::string_view text) {
  if (text.size() > kMaxConfigBytes) return base::InvalidArgument("the file is too long");
  if (!base::IsUtf8(text)) return base::InvalidArgument("the file is not UTF-8");
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  const toml::table& root = toml->root();
  if (base::Status checked = ShapeCheck().Members(root, {kServerMembers}); !checked) return checked.error();
  ContainerdConfig config;
  if (const toml::node* version = Find(root, "version")) config.version = version->as_integer()->get();
  if (config.version < 0 || config.version > kNewestVersion) {
    return TomlError(*Find(root, "version"), "no version from 0 to " + std::to_string(kNewestVersion));
  }
  if (const toml::node* imports = Find(root, "imports")) {
    if (imports->as_array()->size() > kMaxImports) return TomlError(*imports, "imports is too long a list");
    for (const toml::node& item : *imports->as_array()) config.imports.push_back(TextOf(*item.as_string()));
  }
  if (base::Status checked = CheckPluginLists(root, config.version); !checked) return checked.error();
  if (const toml::table* plugins = FindTable(root, "plugins")) {
    if (base::Status read = ReadPlugins(*plugins, config); !read) return read.error();
  }
  return config;
}

ContainerdSettings MergeContainerdConfigs(const std::vector<NamedConfig>& files) {
  ContainerdSettings settings;
  const ImagesTable images = MergeThenMigrate(files);
  settings.registries = ToRuntimeRegistries(images);
  for (const NamedConfig& file : files) {
    if (file.config.ignored_table_line > 0) settings.notes.push_back(IgnoredTableNote(file));
  }
  const std::string& root = files.front().path;
  const bool other_case =
      std::any_of(files.begin(), files.end(), [](const NamedConfig& file) { return file.config.other_case; });
  std::string unknown;
  // The release is not known here. If the two ways of merging differ, no reading can be trusted.
  if (settings.registries != ToRuntimeRegistries(MigrateThenMerge(files))) {
    unknown = DisagreementNote(root);
  } else if (files.size() > 1 && other_case) {
    unknown = root +
              " and its imports have keys of plugins in different spellings: write them in lower case" +
              kChecksByPullNote;
  } else if (settings.registries.has_mirrors && !images.registry->config_path.value_or("").empty()) {
    unknown = root + " has both mirrors and a config_path: containerd's CRI plugin does not start with it";
  }
  if (!unknown.empty()) {
    settings.registries = {.hosts_in_tables = {"*"}};
    settings.notes.push_back(std::move(unknown));
  }
  return settings;
}

ContainerdSettings UnknownSettings(std::string note) {
  ContainerdSettings settings;
  settings.registries.hosts_in_tables = {"*"};
  settings.notes.push_back(std::move(note));
  return settings;
}

ContainerdSettings LoadContainerdConfig(const std::string& file, const std::string& host_root,
                                        base::StampedFiles& disk) {
  const std::string cleaned = base::CleanedPath(file);
  return ConfigLoader(cleaned, host_root, disk).Load();
}

}  // namespace prefetch::registry
