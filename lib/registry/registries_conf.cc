#include "registry/registries_conf.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "doc/toml_rim.h"
#include "image/reference.h"
#include "registry/obstacle.h"

namespace prefetch::registry {

namespace {

using doc::GoMember;
using doc::TextOf;
using doc::Toml;
using doc::TomlError;

// Our own limits. A cluster's mirror policies have some hundred entries, and distributions ship 200 aliases.
constexpr std::size_t kMaxConfBytes = 1024 * 1024;
constexpr std::size_t kMaxConfEntries = 2048;
constexpr std::size_t kMaxConfMirrors = 64;  // of one entry
constexpr std::size_t kMaxConfSearch = 64;
constexpr std::size_t kMaxConfAliases = 8192;
constexpr std::size_t kLongestGoText = 1024;

// Returns the node of the key, else that of its table: the place of a mistake.
const toml::node& GoMemberOrTable(const toml::table& table, std::string_view key) {
  auto node = GoMember(table, key);
  return node && *node != nullptr ? **node : table;
}

// Reads the members of one file's tables as a program in Go takes them (BurntSushi/toml, by which
// containers/image reads its files): in whatever case they are written, and of the right type or not at all.
// Keeps the first mistake of the file. A member that is wrong reads as an absent one, so that callers ask for
// the status once, at the end. A value.
class GoReader {
 public:
  // Returns success, or InvalidArgument with the line and never a value.
  const base::Status& status() const { return status_; }

  // Notes a mistake. Only the first one counts.
  void Reject(const toml::node& at, std::string_view what) {
    if (status_) status_ = TomlError(at, what);
  }

  // Returns nullptr if there is no such member.
  const toml::node* Member(const toml::table& table, std::string_view key) {
    auto node = GoMember(table, key);
    if (node) return *node;
    if (status_) status_ = std::move(node).error();
    return nullptr;
  }

  const toml::table* Table(const toml::table& table, std::string_view key) {
    const toml::node* node = Member(table, key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) Reject(*node, std::string(key) + " is no table");
    return node->as_table();
  }

  std::string Text(const toml::table& table, std::string_view key) {
    const toml::node* node = Member(table, key);
    if (node == nullptr) return "";
    const auto* text = node->as_string();
    if (text != nullptr && text->get().size() <= kLongestGoText) return TextOf(*text);
    Reject(*node, std::string(key) + (text == nullptr ? " is no string" : " is too long"));
    return "";
  }

  // Sets `value`, which stays as it is if the key is missing.
  void Bool(const toml::table& table, std::string_view key, bool& value) {
    const toml::node* node = Member(table, key);
    if (node == nullptr) return;
    if (!node->is_boolean()) return Reject(*node, std::string(key) + " is neither true nor false");
    value = node->as_boolean()->get();
  }

  // Returns nullopt if the key is missing, which is not the same as an empty list. A list of more than `most`
  // is a mistake.
  std::optional<std::vector<std::string>> Texts(const toml::table& table, std::string_view key,
                                                std::size_t most) {
    const toml::node* node = Member(table, key);
    if (node == nullptr) return std::nullopt;
    std::vector<std::string> texts;
    const toml::array* array = node->as_array();
    if (array == nullptr || array->size() > most) {
      Reject(*node, std::string(key) + (array == nullptr ? " is no list" : " is too long a list"));
      return texts;
    }
    for (const toml::node& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr || text->get().size() > kLongestGoText) {
        Reject(item, std::string(key) + " holds something that is no short string");
      } else {
        texts.push_back(TextOf(*text));
      }
    }
    return texts;
  }

 private:
  base::Status status_;
};

// The library's DomainRegexp, which knows neither addresses of IPv6 nor "_".
bool IsDomain(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  }
  for (std::string_view label : base::Split(text.substr(0, colon), '.')) {
    const bool ends =
        !label.empty() && base::IsAlphanumeric(label.front()) && base::IsAlphanumeric(label.back());
    const bool inner =
        std::all_of(label.begin(), label.end(), [](char c) { return c == '-' || base::IsAlphanumeric(c); });
    if (!ends || !inner) return false;
  }
  return true;
}

// Reads a file of either version. CRI-O rejects the whole file for one mistake, and so the first one counts.
class ConfReader {
 public:
  explicit ConfReader(const toml::table& root) : root_(root) {}

  // Version 2 comes first: whether the file has any of its members decides whether those of version 1 are a
  // mistake.
  base::Result<RegistriesConf> Read(ConfKind kind) {
    ReadV2();
    ReadV1(kind);
    TakeEntries();
    if (conf_.search) CheckSearch(*conf_.search);
    if (!go_.status()) return go_.status().error();
    return std::move(conf_);
  }

 private:
  // An entry and its place, for error messages.
  struct LocatedEntry {
    const toml::node* at;
    ConfRegistry entry;
  };
  using Texts = std::optional<std::vector<std::string>>;

  void ReadV2() {
    const toml::node* registry = go_.Member(root_, "registry");
    if (registry != nullptr) ReadEntries(*registry);
    conf_.search = go_.Texts(root_, "unqualified-search-registries", kMaxConfSearch);
    const toml::table* aliases = go_.Table(root_, "aliases");
    if (aliases != nullptr) ReadAliases(*aliases);
    const std::string mode = go_.Text(root_, "short-name-mode");
    if (!mode.empty() && mode != "disabled" && mode != "enforcing" && mode != "permissive")
      go_.Reject(GoMemberOrTable(root_, "short-name-mode"), "short-name-mode is none that there is");
    conf_.helpers = go_.Texts(root_, "credential-helpers", kMaxConfSearch);
    // This setting does not influence the servers, but a wrong type makes CRI-O reject the file.
    const std::string layers = go_.Text(root_, "additional-layer-store-auth-helper");
    is_v2_ = registry != nullptr || conf_.search || aliases != nullptr || !mode.empty() || conf_.helpers ||
             !layers.empty();
  }

  void ReadEntries(const toml::node& node) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return go_.Reject(node, "registry is written [registry] instead of [[registry]]");
    if (array->size() > kMaxConfEntries) return go_.Reject(node, "too many registries");
    for (const toml::node& at : *array) {
      if (const toml::table* table = at.as_table()) {
        entries_.push_back({&at, ReadEntry(*table)});
      } else {
        go_.Reject(at, "a registry is no table");
      }
    }
  }

  ConfRegistry ReadEntry(const toml::table& table) {
    ConfRegistry entry{.prefix = Location(table, "prefix")};
    entry.own.location = Location(table, "location");
    // "/" is a prefix that matches no image.
    if (go_.Text(table, "prefix").empty()) {
      if (entry.own.location.empty()) go_.Reject(table, "a registry with neither prefix nor location");
      entry.prefix = entry.own.location;
    }
    if (!go_.Text(table, "pull-from-mirror").empty())
      go_.Reject(table, "pull-from-mirror belongs to a mirror");
    go_.Bool(table, "insecure", entry.own.insecure);
    go_.Bool(table, "blocked", entry.blocked);
    go_.Bool(table, "mirror-by-digest-only", entry.mirrors_by_digest_only);
    ReadMirrors(table, entry);
    return entry;
  }

  void ReadMirrors(const toml::table& table, ConfRegistry& entry) {
    const toml::node* node = go_.Member(table, "mirror");
    if (node == nullptr) return;
    const toml::array* mirrors = node->as_array();
    if (mirrors == nullptr)
      return go_.Reject(*node, "mirror is written [mirror] instead of [[registry.mirror]]");
    if (mirrors->size() > kMaxConfMirrors) return go_.Reject(*node, "too many mirrors");
    for (const toml::node& mirror : *mirrors) {
      if (!mirror.is_table()) return go_.Reject(mirror, "a mirror is no table");
      ReadMirror(*mirror.as_table(), entry);
    }
  }

  void ReadMirror(const toml::table& table, ConfRegistry& entry) {
    ConfEndpoint mirror{.location = Location(table, "location")};
    if (mirror.location.empty()) go_.Reject(table, "a mirror without a location");
    go_.Bool(table, "insecure", mirror.insecure);
    const std::string use = go_.Text(table, "pull-from-mirror");
    if (entry.mirrors_by_digest_only && !use.empty())
      go_.Reject(table, "pull-from-mirror beside the registry's mirror-by-digest-only");
    if (use == "digest-only") {
      mirror.use = MirrorUse::kDigestOnly;
    } else if (use == "tag-only") {
      mirror.use = MirrorUse::kTagOnly;
    } else if (!use.empty() && use != "all") {
      go_.Reject(table, "pull-from-mirror is neither all, digest-only nor tag-only");
    }
    entry.mirrors.push_back(std::move(mirror));
  }

  void ReadAliases(const toml::table& table) {
    if (table.size() > kMaxConfAliases) return go_.Reject(table, "too many aliases");
    for (const auto& [key, value] : table) {
      std::string name(key.str());
      const auto* text = value.as_string();
      if (text == nullptr || text->get().size() > kLongestGoText)
        return go_.Reject(value, "an alias must be a short string");
      auto alias = image::Reference::Parse(name);
      if (!alias || image::NamesRegistry(name) || alias->has_tag_or_digest())
        return go_.Reject(value, "an alias must be for a short name");
      std::string means = TextOf(*text);
      // An empty alias revokes one of an earlier file (R49).
      if (means.empty()) {
        conf_.aliases[name] = "";
        continue;
      }
      auto reference = image::Reference::Parse(means);
      if (!reference || !image::NamesRegistry(means) || reference->has_tag_or_digest())
        return go_.Reject(value, "an alias is registry/repository, without tag and digest");
      conf_.aliases[name] = reference->Repository();
    }
  }

  // Version 1 of the format: [registries.search], [registries.insecure] and [registries.block], each with a
  // list `registries`.
  void ReadV1(ConfKind kind) {
    const toml::table* table = go_.Table(root_, "registries");
    if (table == nullptr) return;
    Texts search = V1List(*table, "search"), insecure = V1List(*table, "insecure"),
          block = V1List(*table, "block");
    if (!search && !insecure && !block) return;
    if (kind == ConfKind::kDropIn) go_.Reject(*table, "a drop-in of version 1 of the format");
    if (is_v2_) go_.Reject(*table, "versions 1 and 2 of the format in one file");
    // The lists become entries of version 2. A location may be in both.
    for (std::string& location : block.value_or(std::vector<std::string>()))
      V1Entry(*table, std::move(location)).blocked = true;
    for (std::string& location : insecure.value_or(std::vector<std::string>()))
      V1Entry(*table, std::move(location)).own.insecure = true;
    conf_.search = std::move(search);
  }

  Texts V1List(const toml::table& table, std::string_view key) {
    const toml::node* list = go_.Member(table, key);
    if (list == nullptr) return std::nullopt;
    if (list->is_table()) return go_.Texts(*list->as_table(), "registries", kMaxConfEntries);
    go_.Reject(*list, "a list of registries is no table");
    return std::nullopt;
  }

  ConfRegistry& V1Entry(const toml::node& at, std::string location) {
    Trim(at, location);
    for (LocatedEntry& one : entries_) {
      if (one.entry.prefix == location) return one.entry;
    }
    entries_.push_back({&at, {.prefix = location, .own = {.location = location}}});
    return entries_.back().entry;
  }

  // The first entry of a prefix counts. Entries with the same location must agree, or the library rejects the
  // file.
  void TakeEntries() {
    std::map<std::string, std::pair<bool, bool>> of_location;
    for (LocatedEntry& one : entries_) {
      ConfRegistry& entry = one.entry;
      CheckPrefix(*one.at, entry);
      const std::string& where = entry.own.location.empty() ? entry.prefix : entry.own.location;
      std::pair<bool, bool> settings{entry.own.insecure, entry.blocked};
      if (of_location.try_emplace(where, settings).first->second != settings)
        go_.Reject(*one.at, "a location is there twice, and insecure or blocked differ");
      std::string prefix = entry.prefix;
      conf_.registries.try_emplace(std::move(prefix), std::move(entry));
    }
  }

  void CheckPrefix(const toml::node& at, const ConfRegistry& entry) {
    const bool wildcard = entry.prefix.starts_with("*.");
    if (!wildcard && entry.own.location.empty()) go_.Reject(at, "a registry without a location");
    if (wildcard && entry.prefix.find_first_of("/@:") != std::string::npos)
      go_.Reject(at, "a prefix with * is *.example.com, without port and path");
  }

  void CheckSearch(std::vector<std::string>& search) {
    const toml::node& at = GoMemberOrTable(root_, is_v2_ ? "unqualified-search-registries" : "registries");
    for (std::string& host : search) {
      Trim(at, host);
      if (!IsDomain(host)) go_.Reject(at, "unqualified-search-registries holds something that is no host");
    }
  }

  std::string Location(const toml::table& table, std::string_view key) {
    std::string text = go_.Text(table, key);
    Trim(GoMemberOrTable(table, key), text);
    return text;
  }

  // Removes slashes at the end, as the library does, and rejects URLs.
  void Trim(const toml::node& at, std::string& location) {
    while (location.ends_with('/')) location.pop_back();
    if (location.starts_with("http://") || location.starts_with("https://"))
      go_.Reject(at, "a location is a name without http:// or https://");
  }

  const toml::table& root_;
  GoReader go_;
  RegistriesConf conf_;
  std::vector<LocatedEntry> entries_;
  bool is_v2_ = false;
};

}  // namespace

base::Result<RegistriesConf> ParseRegistriesConf(std::string_view text, ConfKind kind) {
  if (text.size() > kMaxConfBytes) return base::InvalidArgument("the file is too long");
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  return ConfReader(toml->root()).Read(kind);
}

// Applies a later file. Its entries replace earlier ones as a whole, and are not merged with them.
void Update(RegistriesConf& conf, const RegistriesConf& later) {
  // A later file replaces entries with the same prefix (R49).
  for (const auto& [prefix, entry] : later.registries) conf.registries.insert_or_assign(prefix, entry);
  if (later.search) conf.search = later.search;
  if (later.helpers) conf.helpers = later.helpers;
  for (const auto& [name, means] : later.aliases) conf.aliases[name] = means;
}

namespace {

constexpr std::size_t kMaxRegistriesBytes = 1024 * 1024;
constexpr std::size_t kMaxDropIns = 256;
constexpr std::size_t kMaxFolderNames = 1000;

// containers/image names these paths in pkg/sysregistriesv2: paths_common.go, system_registries_v2.go,
// shortnames.go. CRI-O runs as root. A file in root's own folder replaces the usual one, unless CRI-O was
// given another.
constexpr const char* kUsualFile = "/etc/containers/registries.conf";
constexpr const char* kUsualDropIns = "/etc/containers/registries.conf.d";
constexpr const char* kRootsFile = "/root/.config/containers/registries.conf";
constexpr const char* kRootsDropIns = "/root/.config/containers/registries.conf.d";
constexpr const char* kShortNames = "/var/cache/containers/short-name-aliases.conf";

// A link whose target is not mounted must not count as a missing file.
bool IsLink(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_symlink(path, error);
}

std::string FolderOf(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

// Loads all files.
class RegistriesLoader {
 public:
  RegistriesLoader(const std::string& file, const std::string& host_root, base::StampedFiles& disk)
      : file_(file), host_root_(host_root), disk_(disk) {}

  RegistriesSettings Load() {
    RegistriesSettings settings{.file = file_};
    if (auto problem = ReadAll()) {
      settings.notes.push_back(std::move(*problem));
    } else {
      settings.conf = std::make_shared<const RegistriesConf>(std::move(conf_));
    }
    return settings;
  }

 private:
  // A sentence about the obstacle to following the configuration.
  using Problem = std::optional<std::string>;
  enum class IfAbsent { kAllowed, kProblem };

  std::string OnHost(const std::string& path) const { return host_root_ + path; }

  Problem ReadAll() {
    bool usual = file_ == kUsualFile;
    if (usual && disk_.KindOf(OnHost(kRootsFile))) {
      if (auto problem = Read(kRootsFile, ConfKind::kMain, IfAbsent::kProblem)) return problem;
    } else {
      if (auto problem = ReadMain(usual)) return problem;
      if (auto problem = ReadDropIns(kUsualDropIns)) return problem;
    }
    if (auto problem = ReadDropIns(kRootsDropIns)) return problem;
    return ReadShortNames();
  }

  Problem ReadMain(bool usual) {
    if (!usual) return Read(file_, ConfKind::kMain, IfAbsent::kProblem);
    // Every node with CRI-O has the folder, even without the file. If the folder is missing here, it is not
    // mounted.
    std::string folder = FolderOf(file_);
    auto kind = disk_.KindOf(OnHost(folder));
    if (!kind || *kind != base::FileKind::kDirectory) {
      return NotVisible(folder + ", where CRI-O finds its mirrors (registries.conf),",
                        "mount it at the same path, or set registryHostRoot");
    }
    return Read(file_, ConfKind::kMain, IfAbsent::kAllowed);
  }

  Problem Read(const std::string& path, ConfKind kind, IfAbsent absent) {
    auto conf = Parse(path, kind, absent);
    if (!conf) return conf.error().message();
    if (*conf) Update(conf_, **conf);
    return std::nullopt;
  }

  // Returns nullopt if the file is absent, and may be.
  base::Result<std::optional<RegistriesConf>> Parse(const std::string& path, ConfKind kind, IfAbsent absent) {
    auto text = disk_.Read(OnHost(path), kMaxRegistriesBytes);
    if (!text && text.error().code() == base::Code::kNotFound) {
      if (IsLink(OnHost(path))) {
        return base::NotFound(NotVisible("The target of the link " + path, "mount it as well"));
      }
      if (absent == IfAbsent::kAllowed) return std::optional<RegistriesConf>();
      return base::NotFound(NotVisible(path, "mount it at the same path"));
    }
    if (!text) {
      return base::NotFound(Unreadable(path, text.error().message()));
    }
    auto conf = ParseRegistriesConf(*text, kind);
    if (conf) return std::optional(std::move(*conf));
    return base::InvalidArgument(Unusable(path, conf.error().message()));
  }

  Problem ReadDropIns(const std::string& folder) {
    auto names = disk_.List(OnHost(folder), kMaxFolderNames);
    if (!names && names.error().code() == base::Code::kNotFound && !IsLink(OnHost(folder)))
      return std::nullopt;
    if (!names) return Unreadable(folder, names.error().message());
    for (const std::string& name : *names) {
      std::string path = folder + "/" + name;
      if (!name.ends_with(".conf")) continue;
      auto kind = disk_.KindOf(OnHost(path));
      if (kind && *kind == base::FileKind::kDirectory) continue;
      if (++drop_ins_ > kMaxDropIns) return Unusable(folder, "too many files");
      if (auto problem = Read(path, ConfKind::kDropIn, IfAbsent::kAllowed)) return problem;
    }
    return std::nullopt;
  }

  // Reads aliases that users of podman confirmed on the node; CRI-O uses them, too.
  Problem ReadShortNames() {
    auto names = Parse(kShortNames, ConfKind::kMain, IfAbsent::kAllowed);
    if (!names) return names.error().message();
    if (!*names) return std::nullopt;
    RegistriesConf aliases;
    aliases.aliases = std::move((*names)->aliases);
    Update(conf_, aliases);
    return std::nullopt;
  }

  const std::string& file_;
  const std::string& host_root_;
  base::StampedFiles& disk_;
  RegistriesConf conf_;
  std::size_t drop_ins_ = 0;
};

}  // namespace

RegistriesSettings LoadRegistriesConf(const std::string& file, const std::string& host_root,
                                      base::StampedFiles& disk) {
  return RegistriesLoader(file, host_root, disk).Load();
}

namespace {

constexpr std::size_t kMaxCrioConfBytes = 1024 * 1024;
constexpr std::size_t kMaxCrioDropIns = 1000;  // in a folder
constexpr int kMaxCrioFolders = 8;             // in each other

base::Status ReadInto(const std::string& path, const std::string& host_root, CrioSettings& settings) {
  auto text = base::ReadFile(host_root + path, kMaxCrioConfBytes);
  if (!text) return std::move(text).error();
  auto read = UpdateCrioSettings(*text, path, settings);
  return read ? read : base::Status(std::move(read).error().Wrap(path));
}

}  // namespace

base::Status UpdateCrioSettings(std::string_view text, const std::string& path, CrioSettings& settings) {
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  GoReader go;
  const toml::table* crio = go.Table(toml->root(), "crio");
  const toml::table* image = crio == nullptr ? nullptr : go.Table(*crio, "image");
  if (image == nullptr) return go.status();
  // A file with a mistake must not change anything, so that it is read into a copy first.
  CrioSettings read = settings;
  // An empty value counts, since it revokes the value of an earlier file.
  if (go.Member(*image, "global_auth_file") != nullptr) {
    read.global_auth_file = go.Text(*image, "global_auth_file");
    read.auth_file_source = path;
  }
  if (go.Member(*image, "namespaced_auth_dir") != nullptr)
    read.namespaced_auth_dir = go.Text(*image, "namespaced_auth_dir");
  if (go.status()) settings = std::move(read);
  return go.status();
}

namespace {

// Reads the files of a folder and of those in it, each folder in the order of its names, as Go's
// filepath.Walk does.
base::Status ReadFolderInto(const std::string& folder, const std::string& host_root, int depth,
                            CrioSettings& settings) {
  if (depth == kMaxCrioFolders)
    return base::ResourceExhausted(folder + ": folders lie too deep in each other");
  auto names = base::ListDirectory(host_root + folder, kMaxCrioDropIns);
  if (!names) return std::move(names).error();
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    auto kind = base::KindOf(host_root + path);
    if (!kind || *kind == base::FileKind::kOther) continue;
    if (*kind == base::FileKind::kDirectory && IsLink(host_root + path))
      return base::InvalidArgument(path + ": is a link to a folder, with which CRI-O does not start");
    base::Status read = *kind == base::FileKind::kDirectory
                            ? ReadFolderInto(path, host_root, depth + 1, settings)
                            : ReadInto(path, host_root, settings);
    if (!read) return read;
  }
  return {};
}

}  // namespace

base::Result<std::optional<CrioSettings>> ReadCrioSettings(const std::string& file,
                                                           const std::string& host_root) {
  const std::string folder = file + ".d";
  const bool has_file = base::KindOf(host_root + file).ok();
  const auto kind = base::KindOf(host_root + folder);
  const bool has_folder = kind || kind.error().code() != base::Code::kNotFound;
  if (!has_file && !has_folder) return std::optional<CrioSettings>();
  CrioSettings settings;
  base::Status read;
  if (has_file) read = ReadInto(file, host_root, settings);
  if (read && has_folder) read = ReadFolderInto(folder, host_root, 0, settings);
  if (!read) return std::move(read).error();
  return std::optional(std::move(settings));
}

}  // namespace prefetch::registry
