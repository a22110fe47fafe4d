#include "registry/registries_files.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/fs.h"
#include "registry/obstacle.h"

namespace prefetch::registry {
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
    RegistriesSettings word{.file = file_, .conf = nullptr, .notes = {}};
    if (auto problem = ReadAll()) {
      word.notes.push_back(std::move(*problem));
    } else {
      word.conf = std::make_shared<const RegistriesConf>(std::move(conf_));
    }
    return word;
  }

 private:
  // A sentence about the obstacle to following the configuration.
  using Problem = std::optional<std::string>;
  enum class Absent { kMay, kMustNot };

  std::string Here(const std::string& path) const { return host_root_ + path; }

  Problem ReadAll() {
    bool usual = file_ == kUsualFile;
    if (usual && disk_.KindOf(Here(kRootsFile))) {
      if (auto problem = Read(kRootsFile, ConfKind::kMain, Absent::kMustNot)) return problem;
    } else {
      if (auto problem = ReadMain(usual)) return problem;
      if (auto problem = ReadDropIns(kUsualDropIns)) return problem;
    }
    if (auto problem = ReadDropIns(kRootsDropIns)) return problem;
    return ReadShortNames();
  }

  Problem ReadMain(bool usual) {
    if (!usual) return Read(file_, ConfKind::kMain, Absent::kMustNot);
    // Every node with CRI-O has the folder, even without the file. If the folder is missing here, it is not
    // mounted.
    std::string folder = FolderOf(file_);
    auto kind = disk_.KindOf(Here(folder));
    if (!kind || *kind != base::FileKind::kDirectory) {
      return NotVisible(folder + ", where CRI-O finds its mirrors (registries.conf),",
                        "mount it at the same path, or set registryHostRoot");
    }
    return Read(file_, ConfKind::kMain, Absent::kMay);
  }

  Problem Read(const std::string& path, ConfKind kind, Absent absent) {
    auto conf = Parse(path, kind, absent);
    if (!conf) return conf.error().message();
    if (*conf) Update(conf_, **conf);
    return std::nullopt;
  }

  // Returns nullopt if the file is absent, and may be.
  base::Result<std::optional<RegistriesConf>> Parse(const std::string& path, ConfKind kind, Absent absent) {
    auto text = disk_.Read(Here(path), kMaxRegistriesBytes);
    if (!text && text.error().code() == base::Code::kNotFound) {
      if (IsLink(Here(path))) {
        return base::NotFound(NotVisible("The target of the link " + path, "mount it as well"));
      }
      if (absent == Absent::kMay) return std::optional<RegistriesConf>();
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
    auto names = disk_.List(Here(folder), kMaxFolderNames);
    if (!names && names.error().code() == base::Code::kNotFound && !IsLink(Here(folder))) return std::nullopt;
    if (!names) return Unreadable(folder, names.error().message());
    for (const std::string& name : *names) {
      std::string path = folder + "/" + name;
      if (!name.ends_with(".conf")) continue;
      auto kind = disk_.KindOf(Here(path));
      if (kind && *kind == base::FileKind::kDirectory) continue;
      if (++drop_ins_ > kMaxDropIns) return Unusable(folder, "too many files");
      if (auto problem = Read(path, ConfKind::kDropIn, Absent::kMay)) return problem;
    }
    return std::nullopt;
  }

  // Reads aliases that users of podman confirmed on the node; CRI-O uses them, too.
  Problem ReadShortNames() {
    auto names = Parse(kShortNames, ConfKind::kMain, Absent::kMay);
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

RegistriesFiles::RegistriesFiles(std::string file, std::string host_root)
    : file_(std::move(file)), host_root_(std::move(host_root)) {}

std::shared_ptr<const RegistriesSettings> RegistriesFiles::Current() {
  base::Lock lock(mutex_);
  return settings_.Get(
      [this](base::StampedFiles& disk) { return RegistriesLoader(file_, host_root_, disk).Load(); });
}

}  // namespace prefetch::registry
