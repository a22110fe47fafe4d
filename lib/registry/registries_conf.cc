#include "registry/registries_conf.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "image/reference.h"
#include "registry/go_toml.h"
#include "registry/obstacle.h"

namespace prefetch::registry {

namespace {

// Our own limits. A cluster's mirror policies have some hundred entries, and distributions ship 200 aliases.
constexpr std::size_t kMaxConfBytes = 1024 * 1024;
constexpr std::size_t kMaxConfEntries = 2048;
constexpr std::size_t kMaxConfMirrors = 64;  // of one entry
constexpr std::size_t kMaxConfSearch = 64;
constexpr std::size_t kMaxConfAliases = 8192;

// Removes slashes at the end, as the library does, and rejects URLs.
base::Status TrimLocation(const toml::node& at, std::string& location) {
  while (location.ends_with('/')) location.pop_back();
  bool url = location.starts_with("http://") || location.starts_with("https://");
  return url ? base::Status(TomlError(at, "a location is a name without http:// or https://"))
             : base::Status();
}

// An entry and its place, for error messages.
struct LocatedEntry {
  const toml::node* at;
  ConfRegistry entry;
};

base::Result<std::string> ConfLocation(const toml::table& table) {
  auto text = GoText(table, "location");
  if (!text) return std::move(text).error();
  if (base::Status trimmed = TrimLocation(GoMemberOrTable(table, "location"), *text); !trimmed)
    return trimmed.error();
  return std::move(*text);
}

base::Status ReadMirror(const toml::node& at, ConfRegistry& entry) {
  const toml::table* table = at.as_table();
  if (table == nullptr) return TomlError(at, "a mirror is no table");
  ConfEndpoint mirror;
  auto location = ConfLocation(*table);
  if (!location) return std::move(location).error();
  if (location->empty()) return TomlError(at, "a mirror without a location");
  mirror.location = std::move(*location);
  if (base::Status read = GoBool(*table, "insecure", mirror.insecure); !read) return read;
  auto use = GoText(*table, "pull-from-mirror");
  if (!use) return std::move(use).error();
  if (entry.mirrors_by_digest_only && !use->empty()) {
    // CRI-O rejects the whole file for this and for the other contradictions below.
    return TomlError(at, "pull-from-mirror beside the registry's mirror-by-digest-only");
  }
  if (*use == "digest-only") {
    mirror.use = MirrorUse::kDigestOnly;
  } else if (*use == "tag-only") {
    mirror.use = MirrorUse::kTagOnly;
  } else if (!use->empty() && *use != "all") {
    return TomlError(at, "pull-from-mirror is neither all, digest-only nor tag-only");
  }
  entry.mirrors.push_back(std::move(mirror));
  return {};
}

base::Status ReadMirrors(const toml::table& table, ConfRegistry& entry) {
  auto node = GoMember(table, "mirror");
  if (!node) return std::move(node).error();
  if (*node == nullptr) return {};
  const toml::array* mirrors = (*node)->as_array();
  if (mirrors == nullptr)
    return TomlError(**node, "mirror is written [mirror] instead of [[registry.mirror]]");
  if (mirrors->size() > kMaxConfMirrors) return TomlError(**node, "too many mirrors");
  for (const toml::node& mirror : *mirrors) {
    if (base::Status read = ReadMirror(mirror, entry); !read) return read;
  }
  return {};
}

base::Result<ConfRegistry> ReadRegistryEntry(const toml::node& at) {
  const toml::table* table = at.as_table();
  if (table == nullptr) return TomlError(at, "a registry is no table");
  ConfRegistry entry;
  auto prefix = GoText(*table, "prefix");
  if (!prefix) return std::move(prefix).error();
  entry.prefix = *prefix;
  if (base::Status trimmed = TrimLocation(GoMemberOrTable(*table, "prefix"), entry.prefix); !trimmed)
    return trimmed.error();
  auto location = ConfLocation(*table);
  if (!location) return std::move(location).error();
  entry.own.location = std::move(*location);
  // "/" is a prefix that matches no image.
  if (prefix->empty()) {
    if (entry.own.location.empty()) return TomlError(at, "a registry with neither prefix nor location");
    entry.prefix = entry.own.location;
  }
  auto use = GoText(*table, "pull-from-mirror");
  if (!use) return std::move(use).error();
  if (!use->empty()) return TomlError(at, "pull-from-mirror belongs to a mirror");
  if (base::Status read = GoBool(*table, "insecure", entry.own.insecure); !read) return read.error();
  if (base::Status read = GoBool(*table, "blocked", entry.blocked); !read) return read.error();
  if (base::Status read = GoBool(*table, "mirror-by-digest-only", entry.mirrors_by_digest_only); !read) {
    return read.error();
  }
  if (base::Status read = ReadMirrors(*table, entry); !read) return read.error();
  return entry;
}

base::Result<std::vector<LocatedEntry>> ReadEntries(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return TomlError(node, "registry is written [registry] instead of [[registry]]");
  if (array->size() > kMaxConfEntries) return TomlError(node, "too many registries");
  std::vector<LocatedEntry> entries;
  for (const toml::node& at : *array) {
    auto entry = ReadRegistryEntry(at);
    if (!entry) return std::move(entry).error();
    entries.push_back({&at, std::move(*entry)});
  }
  return entries;
}

base::Status ValidatePrefix(const toml::node& at, const ConfRegistry& entry) {
  bool wildcard = entry.prefix.starts_with("*.");
  if (!wildcard && entry.own.location.empty()) return TomlError(at, "a registry without a location");
  if (wildcard && entry.prefix.find_first_of("/@:") != std::string::npos) {
    return TomlError(at, "a prefix with * is *.example.com, without port and path");
  }
  return {};
}

// The first entry of a prefix counts. Entries with the same location must agree, or the library rejects the
// file.
base::Result<std::vector<ConfRegistry>> ValidateEntries(std::vector<LocatedEntry> written) {
  std::map<std::string, std::pair<bool, bool>> of_location;
  std::map<std::string, ConfRegistry> by_prefix;
  for (LocatedEntry& one : written) {
    ConfRegistry& entry = one.entry;
    if (base::Status judged = ValidatePrefix(*one.at, entry); !judged) return judged.error();
    const std::string& where = entry.own.location.empty() ? entry.prefix : entry.own.location;
    std::pair<bool, bool> settings{entry.own.insecure, entry.blocked};
    if (of_location.try_emplace(where, settings).first->second != settings) {
      return TomlError(*one.at, "a location is there twice, and insecure or blocked differ");
    }
    std::string prefix = entry.prefix;
    by_prefix.try_emplace(std::move(prefix), std::move(entry));
  }
  std::vector<ConfRegistry> entries;
  for (auto& [prefix, entry] : by_prefix) entries.push_back(std::move(entry));
  return entries;
}

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

base::Status ValidateSearch(const toml::node& at, std::vector<std::string>& search) {
  for (std::string& host : search) {
    if (base::Status trimmed = TrimLocation(at, host); !trimmed) return trimmed;
    if (!IsDomain(host))
      return TomlError(at, "unqualified-search-registries holds something that is no host");
  }
  return {};
}

base::Result<std::map<std::string, std::string>> ReadAliases(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return TomlError(node, "aliases is no table");
  if (table->size() > kMaxConfAliases) return TomlError(node, "too many aliases");
  std::map<std::string, std::string> aliases;
  for (const auto& [key, value] : *table) {
    std::string name(key.str());
    const auto* text = value.as_string();
    if (text == nullptr || text->get().size() > kLongestGoText)
      return TomlError(value, "an alias must be a short string");
    auto alias = image::Reference::Parse(name);
    if (!alias || image::NamesRegistry(name) || alias->has_tag_or_digest())
      return TomlError(value, "an alias must be for a short name");
    std::string means = TextOf(*text);
    // An empty alias revokes one of an earlier file (R49).
    if (means.empty()) {
      aliases[name] = "";
      continue;
    }
    auto reference = image::Reference::Parse(means);
    if (!reference || !image::NamesRegistry(means) || reference->has_tag_or_digest()) {
      return TomlError(value, "an alias is registry/repository, without tag and digest");
    }
    aliases[name] = reference->Repository();
  }
  return aliases;
}

// Version 1 of the format: [registries.search], [registries.insecure] and [registries.block], each with a
// list `registries`.
struct V1Lists {
  std::optional<std::vector<std::string>> search, insecure, block;
  bool any() const { return search || insecure || block; }
};

base::Result<V1Lists> ReadV1Lists(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return TomlError(node, "registries is no table");
  V1Lists found;
  const std::pair<const char*, std::optional<std::vector<std::string>>*> lists[] = {
      {"search", &found.search}, {"insecure", &found.insecure}, {"block", &found.block}};
  for (const auto& [key, list] : lists) {
    auto member = GoMember(*table, key);
    if (!member) return std::move(member).error();
    if (*member == nullptr) continue;
    if (!(*member)->is_table()) return TomlError(**member, "a list of registries is no table");
    auto texts = GoTexts(*(*member)->as_table(), "registries", kMaxConfEntries);
    if (!texts) return std::move(texts).error();
    *list = std::move(*texts);
  }
  return found;
}

// Turns the lists of version 1 into entries of version 2. A location may be in both lists.
base::Result<std::vector<LocatedEntry>> EntriesOf(const toml::node& at, const V1Lists& first) {
  std::vector<LocatedEntry> entries;
  std::map<std::string, std::size_t> known;
  auto entry_of = [&](const std::string& location) -> ConfRegistry& {
    auto [found, is_new] = known.try_emplace(location, entries.size());
    if (is_new) {
      entries.push_back({&at, {.prefix = location, .own = {.location = location}}});
    }
    return entries[found->second].entry;
  };
  for (const auto* list : {&first.block, &first.insecure}) {
    for (std::string location : list->value_or(std::vector<std::string>())) {
      if (base::Status trimmed = TrimLocation(at, location); !trimmed) return trimmed.error();
      ConfRegistry& entry = entry_of(location);
      (list == &first.block ? entry.blocked : entry.own.insecure) = true;
    }
  }
  return entries;
}

base::Status ValidateMode(const toml::node& at, std::string_view mode) {
  bool known = mode.empty() || mode == "disabled" || mode == "enforcing" || mode == "permissive";
  return known ? base::Status() : base::Status(TomlError(at, "short-name-mode is none that there is"));
}

// Reads the top level of a file, of either version.
class ConfReader {
 public:
  explicit ConfReader(const toml::table& root) : root_(root) {}

  // Version 2 comes first: whether the file has any of its members decides whether those of version 1 are a
  // mistake.
  base::Result<RegistriesConf> Read(ConfKind kind) {
    if (base::Status read = ReadV2(); !read) return read.error();
    if (base::Status read = ReadV1(kind); !read) return read.error();
    auto entries = ValidateEntries(std::move(entries_));
    if (!entries) return std::move(entries).error();
    conf_.registries = std::move(*entries);
    if (conf_.search) {
      const char* key = is_v2_ ? "unqualified-search-registries" : "registries";
      base::Status judged = ValidateSearch(GoMemberOrTable(root_, key), *conf_.search);
      if (!judged) return judged.error();
    }
    return std::move(conf_);
  }

 private:
  base::Status ReadV2() {
    auto registry = GoMember(root_, "registry");
    if (!registry) return std::move(registry).error();
    if (*registry != nullptr) {
      auto entries = ReadEntries(**registry);
      if (!entries) return std::move(entries).error();
      entries_ = std::move(*entries);
    }
    auto search = GoTexts(root_, "unqualified-search-registries", kMaxConfSearch);
    if (!search) return std::move(search).error();
    conf_.search = std::move(*search);
    auto aliases = GoMember(root_, "aliases");
    if (!aliases) return std::move(aliases).error();
    if (*aliases != nullptr) {
      auto read = ReadAliases(**aliases);
      if (!read) return std::move(read).error();
      conf_.aliases = std::move(*read);
    }
    auto mode = GoText(root_, "short-name-mode");
    if (!mode) return std::move(mode).error();
    if (base::Status judged = ValidateMode(GoMemberOrTable(root_, "short-name-mode"), *mode); !judged)
      return judged;
    auto helpers = GoTexts(root_, "credential-helpers", kMaxConfSearch);
    if (!helpers) return std::move(helpers).error();
    conf_.helpers = std::move(*helpers);
    // This setting does not influence the servers, but a wrong type makes CRI-O reject the file.
    auto layers = GoText(root_, "additional-layer-store-auth-helper");
    if (!layers) return std::move(layers).error();
    is_v2_ = *registry != nullptr || conf_.search || *aliases != nullptr || !mode->empty() || conf_.helpers ||
             !layers->empty();
    return {};
  }

  base::Status ReadV1(ConfKind kind) {
    auto registries = GoMember(root_, "registries");
    if (!registries) return std::move(registries).error();
    if (*registries == nullptr) return {};
    const toml::node& at = **registries;
    auto first = ReadV1Lists(at);
    if (!first) return std::move(first).error();
    if (!first->any()) return {};
    if (kind == ConfKind::kDropIn) return TomlError(at, "a drop-in of version 1 of the format");
    if (is_v2_) return TomlError(at, "versions 1 and 2 of the format in one file");
    auto entries = EntriesOf(at, *first);
    if (!entries) return std::move(entries).error();
    entries_ = std::move(*entries);
    conf_.search = std::move(first->search);
    return {};
  }

  const toml::table& root_;
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
  std::map<std::string, ConfRegistry> by_prefix;
  for (ConfRegistry& entry : conf.registries) {
    std::string prefix = entry.prefix;
    // A later file replaces entries with the same prefix (R49).
    by_prefix.insert_or_assign(std::move(prefix), std::move(entry));
  }
  for (const ConfRegistry& entry : later.registries) by_prefix.insert_or_assign(entry.prefix, entry);
  conf.registries.clear();
  for (auto& [prefix, entry] : by_prefix) conf.registries.push_back(std::move(entry));
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
constexpr std::size_t kMaxCrioDropIns = 1000;

// Returns nullptr if the table is absent.
base::Result<const toml::table*> TableAt(const toml::table& parent, std::string_view key) {
  auto node = GoMember(parent, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return static_cast<const toml::table*>(nullptr);
  const toml::table* table = (*node)->as_table();
  if (table == nullptr) return TomlError(**node, std::string(key) + " is no table");
  return table;
}

// Returns true if the key exists. An empty value counts, since it revokes the value of an earlier file.
base::Result<bool> Take(const toml::table& table, std::string_view key, std::string& value) {
  auto node = GoMember(table, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return false;
  auto text = GoText(table, key);
  if (!text) return std::move(text).error();
  value = *std::move(text);
  return true;
}

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
  auto crio = TableAt(toml->root(), "crio");
  if (!crio) return std::move(crio).error();
  if (*crio == nullptr) return {};
  auto image = TableAt(**crio, "image");
  if (!image) return std::move(image).error();
  if (*image == nullptr) return {};
  // A file with a mistake must not change anything, so that it is read into a copy first.
  CrioSettings read = settings;
  auto named = Take(**image, "global_auth_file", read.global_auth_file);
  if (!named) return std::move(named).error();
  if (*named) read.auth_file_source = path;
  auto folder = Take(**image, "namespaced_auth_dir", read.namespaced_auth_dir);
  if (!folder) return std::move(folder).error();
  settings = std::move(read);
  return {};
}

base::Result<std::optional<CrioSettings>> ReadCrioSettings(const std::string& file,
                                                           const std::string& host_root) {
  const std::string folder = file + ".d";
  auto names = base::ListDirectory(host_root + folder, kMaxCrioDropIns);
  const bool has_file = static_cast<bool>(base::KindOf(host_root + file));
  if (!names && names.error().code() != base::Code::kNotFound) return std::move(names).error();
  if (!has_file && !names) return std::optional<CrioSettings>();
  CrioSettings settings;
  if (has_file) {
    if (auto read = ReadInto(file, host_root, settings); !read) return std::move(read).error();
  }
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const std::string path = folder + "/" + name;
    auto kind = base::KindOf(host_root + path);
    if (!kind || *kind != base::FileKind::kRegular) continue;
    if (auto read = ReadInto(path, host_root, settings); !read) return std::move(read).error();
  }
  return std::optional(std::move(settings));
}

}  // namespace prefetch::registry
