#include "registry/containerd_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "registry/containerd_shape.h"
#include "registry/obstacle.h"
#include "registry/toml_rim.h"
#include "registry/toml_text.h"

namespace prefetch::registry {
namespace {

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
constexpr std::int64_t kUsualDownloads = 3;

// How keys are found: go-toml matches those of containerd's structures in any case (containerd_shape.h
// refuses two of them). Those that are carried over from version 2 count as they are written.
enum class Letters { kAny, kAsWritten };

// Each function below reads a table whose types are checked.
const toml::node* Find(const toml::table& table, std::string_view key, Letters letters = Letters::kAny) {
  if (letters == Letters::kAsWritten) return table.get(key);
  for (auto&& [name, node] : table) {
    if (base::EqualsIgnoreCase(name.str(), key)) return &node;
  }
  return nullptr;
}

const toml::table* FindTable(const toml::table& table, std::string_view key,
                             Letters letters = Letters::kAny) {
  const toml::node* node = Find(table, key, letters);
  return node == nullptr ? nullptr : node->as_table();
}

template <typename T>
std::optional<T> Value(const toml::table& table, std::string_view key, Letters letters) {
  const toml::node* node = Find(table, key, letters);
  return node == nullptr ? std::nullopt : node->value_exact<T>();
}

bool HasEntries(const toml::table& entry, std::string_view key) {
  const toml::table* table = FindTable(entry, key);
  return table != nullptr && !table->empty();
}

// A credential, not an empty one.
bool HasAuth(const toml::table& entry) {
  const toml::table* auth = FindTable(entry, "auth");
  constexpr std::array<const char*, 4> kMembers = {"username", "password", "auth", "identitytoken"};
  return auth != nullptr && std::any_of(kMembers.begin(), kMembers.end(), [&](const char* key) {
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
  registry.has_others = AddHosts(table, "configs", has_credentials_or_tls, registry.hosts);
  registry.has_others |= AddHosts(table, "auths", always, registry.hosts);
  if (const toml::table* headers = FindTable(table, "headers")) {
    for (auto&& [name, value] : *headers) registry.hosts.AddHeader(name.str());
  }
  return registry;
}

// Reads the fields that both plugins' tables have.
ImagesTable ReadCommon(const toml::table& table, Letters letters) {
  ImagesTable images;
  if (const toml::table* registry = FindTable(table, "registry", letters)) {
    images.registry = ReadRegistry(*registry);
  }
  images.max_concurrent_downloads = Value<std::int64_t>(table, "max_concurrent_downloads", letters);
  images.image_pull_with_sync_fs = Value<bool>(table, "image_pull_with_sync_fs", letters);
  return images;
}

void ReadSnapshots(const toml::table& table, ImagesTable& images, Letters letters) {
  images.disable_snapshot_annotations = Value<bool>(table, "disable_snapshot_annotations", letters);
  images.discard_unpacked_layers = Value<bool>(table, "discard_unpacked_layers", letters);
}

ImagesTable ReadOldPlugin(const toml::table& table) {
  ImagesTable images = ReadCommon(table, Letters::kAsWritten);
  if (const toml::table* containerd = FindTable(table, "containerd", Letters::kAsWritten)) {
    images.has_runtimes = containerd->contains("runtimes");
    ReadSnapshots(*containerd, images, Letters::kAsWritten);
  }
  return images;
}

ImagesTable ReadNewPlugin(const toml::table& table) {
  ImagesTable images = ReadCommon(table, Letters::kAny);
  ReadSnapshots(table, images, Letters::kAny);
  images.use_local_image_pull = Value<bool>(table, "use_local_image_pull", Letters::kAny);
  return images;
}

// Nested tables are merged key by key. A later value replaces the earlier one, even by an empty one.
template <typename T>
void Override(std::optional<T>& under, const std::optional<T>& over) {
  if (over) under = over;
}

void Override(RegistryTable& under, const RegistryTable& over) {
  Override(under.config_path, over.config_path);
  under.hosts.Add(over.hosts);
  under.has_mirrors |= over.has_mirrors;
  under.has_others |= over.has_others;
}

void Override(ImagesTable& under, const ImagesTable& over) {
  if (over.registry) {
    if (!under.registry) under.registry.emplace();
    Override(*under.registry, *over.registry);
  }
  Override(under.max_concurrent_downloads, over.max_concurrent_downloads);
  Override(under.image_pull_with_sync_fs, over.image_pull_with_sync_fs);
  Override(under.use_local_image_pull, over.use_local_image_pull);
  Override(under.disable_snapshot_annotations, over.disable_snapshot_annotations);
  Override(under.discard_unpacked_layers, over.discard_unpacked_layers);
  under.has_runtimes |= over.has_runtimes;
}

// Migrates from version 2 to 3: members of the old table replace those of the new one, and a `registry` is
// replaced as a whole.
void Migrate(const ImagesTable& cri, ImagesTable& images) {
  Override(images.max_concurrent_downloads, cri.max_concurrent_downloads);
  Override(images.image_pull_with_sync_fs, cri.image_pull_with_sync_fs);
  if (cri.registry) images.registry = cri.registry;
  if (!cri.has_runtimes) return;
  Override(images.disable_snapshot_annotations, cri.disable_snapshot_annotations);
  Override(images.discard_unpacked_layers, cri.discard_unpacked_layers);
}

base::Status ReadPlugins(const toml::table& plugins, ContainerdConfig& config) {
  auto idle = [&](const toml::node* node) {
    if (node != nullptr && config.idle_line == 0) config.idle_line = node->source().begin.line;
  };
  const toml::node* short_node = plugins.get(kShortPlugin);
  const toml::node* old_node = plugins.get(kOldPlugin);
  const toml::node* new_node = plugins.get(kNewPlugin);
  // Plugins have full names since version 2, so a short name has no effect.
  if (config.version >= 2) idle(std::exchange(short_node, nullptr));
  for (const toml::node* node : {old_node, short_node, new_node}) {
    if (node == nullptr) continue;
    if (!node->is_table()) return Wrong(*node, "a plugin is no table");
    const toml::table& table = *node->as_table();
    auto checked = node == new_node ? CheckImages(table) : CheckOldPlugin(table);
    if (!checked) return checked.status();
    config.other_letters |= *checked;
  }
  if (short_node != nullptr && old_node != nullptr) {
    // Go's maps have no order.
    return Wrong(*short_node, "the plugin is there twice, in different spellings");
  }
  if (short_node != nullptr) old_node = short_node;
  if (old_node != nullptr) config.cri = ReadOldPlugin(*old_node->as_table());
  const ImagesTable nothing{.has_runtimes = config.cri.has_runtimes};
  if (config.version >= kImagesVersion && config.cri != nothing) idle(old_node);
  if (new_node != nullptr) config.images = ReadNewPlugin(*new_node->as_table());
  return {};
}

// Since version 2, plugins have names with dots.
base::Status CheckPluginLists(const toml::table& root, std::int64_t version) {
  for (const char* key : {"disabled_plugins", "required_plugins"}) {
    const toml::node* node = Find(root, key);
    if (node == nullptr || version < 2) continue;
    for (const toml::node& item : *node->as_array()) {
      if (item.as_string()->get().find('.') == std::string::npos) {
        return Wrong(item, std::string(key) + " holds a short name");
      }
    }
  }
  return {};
}

// Releases up to 2.2 merge all files, and then migrate the result to version 3 if the last file with a
// version has version 2. In files of version 1 the plugins are renamed, and they count as of the version
// reached so far, so that such a file alone is never migrated.
ImagesTable TogetherFirst(const std::vector<NamedConfig>& files) {
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
ImagesTable EachFirst(const std::vector<NamedConfig>& files) {
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
  return images.use_local_image_pull.value_or(false) || !images.disable_snapshot_annotations.value_or(true) ||
         images.discard_unpacked_layers.value_or(false) || images.image_pull_with_sync_fs.value_or(false) ||
         images.max_concurrent_downloads.value_or(kUsualDownloads) != kUsualDownloads ||
         registry.has_mirrors || registry.has_others;
}

image::RuntimeRegistries Reduced(const ImagesTable& images) {
  RegistryTable registry = images.registry.value_or(RegistryTable{});
  image::RuntimeRegistries known{.known = true, .config_path = registry.config_path.value_or("")};
  if (!image::IsConfigPath(known.config_path)) {
    known.config_path.clear();
    // A path that cannot be followed may name servers for any registry.
    registry.hosts.AddAny();
  }
  known.in_tables = registry.hosts.Hosts();
  known.has_mirrors = registry.has_mirrors;
  known.local_pull = PullsLocally(images, registry);
  known.discards_layers = images.discard_unpacked_layers.value_or(false);
  return known;
}

std::string IdleNote(const NamedConfig& file) {
  std::string note = file.path + ", line " + std::to_string(file.config.idle_line);
  note += ": this plugin's table has no effect in a file of version " + std::to_string(file.config.version);
  note += "; [plugins.\"" + std::string(kNewPlugin) + "\"] of version 3 configures pulls";
  return note;
}

std::string DiscordNote(const std::string& root) {
  std::string note = "containerd's releases do not agree on what " + root;
  note += " says of registries, since it and its imports are of several versions or older than 2, or have ";
  note += "tables of another version: write them in version 3, as `containerd config migrate` does";
  note += kUntilThen;
  return note;
}

}  // namespace

base::Result<ContainerdConfig> ParseContainerdConfig(std::string_view text) {
  if (text.size() > kMaxConfigBytes) return base::InvalidArgument("the file is too long");
  if (!base::IsUtf8(text)) return base::InvalidArgument("the file is not UTF-8");
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  const toml::table& root = toml->root();
  if (base::Status checked = CheckServer(root); !checked) return checked.error();
  ContainerdConfig config;
  config.version = Value<std::int64_t>(root, "version", Letters::kAny).value_or(0);
  if (config.version < 0 || config.version > kNewestVersion) {
    return Wrong(*Find(root, "version"), "no version from 0 to " + std::to_string(kNewestVersion));
  }
  if (const toml::node* imports = Find(root, "imports")) {
    if (imports->as_array()->size() > kMaxImports) return Wrong(*imports, "imports is too long a list");
    for (const toml::node& item : *imports->as_array()) config.imports.push_back(TextOf(*item.as_string()));
  }
  if (base::Status checked = CheckPluginLists(root, config.version); !checked) return checked.error();
  if (const toml::table* plugins = FindTable(root, "plugins")) {
    if (base::Status read = ReadPlugins(*plugins, config); !read) return read.error();
  }
  return config;
}

ContainerdSettings Assemble(const std::vector<NamedConfig>& files) {
  ContainerdSettings word;
  const ImagesTable images = TogetherFirst(files);
  word.registries = Reduced(images);
  for (const NamedConfig& file : files) {
    if (file.config.idle_line > 0) word.notes.push_back(IdleNote(file));
  }
  const std::string& root = files.front().path;
  const bool other_letters = std::any_of(files.begin(), files.end(),
                                         [](const NamedConfig& file) { return file.config.other_letters; });
  std::string unknown;
  // The release is not known here. If the two ways of merging differ, no reading can be trusted.
  if (word.registries != Reduced(EachFirst(files))) {
    unknown = DiscordNote(root);
  } else if (files.size() > 1 && other_letters) {
    unknown = root +
              " and its imports have keys of plugins in different spellings: write them in lower case" +
              kUntilThen;
  } else if (word.registries.has_mirrors && !images.registry->config_path.value_or("").empty()) {
    unknown = root + " has both mirrors and a config_path: containerd's CRI plugin does not start with it";
  }
  if (!unknown.empty()) {
    word.registries = {.in_tables = {"*"}};
    word.notes.push_back(std::move(unknown));
  }
  return word;
}

ContainerdSettings OnlyTheRuntimeKnows(std::string note) {
  ContainerdSettings word;
  word.registries.in_tables = {"*"};
  word.notes.push_back(std::move(note));
  return word;
}

}  // namespace prefetch::registry
