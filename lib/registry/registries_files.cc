#include "registry/registries_files.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/fs.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxRegistriesBytes = 1024 * 1024;
constexpr std::size_t kMaxDropIns = 256;
constexpr std::size_t kMaxFolderNames = 1000;

// containers/image pkg/sysregistriesv2: paths_common.go, system_registries_v2.go, shortnames.go. CRI-O runs
// as root, and a file in root's own folder is taken instead of the usual one, unless CRI-O was told another.
constexpr const char* kUsualFile = "/etc/containers/registries.conf";
constexpr const char* kUsualDropIns = "/etc/containers/registries.conf.d";
constexpr const char* kRootsFile = "/root/.config/containers/registries.conf";
constexpr const char* kRootsDropIns = "/root/.config/containers/registries.conf.d";
constexpr const char* kShortNames = "/var/cache/containers/short-name-aliases.conf";

constexpr const char* kUntilThen = "; until then pulling again is the question";

// A link that leads out of what is mounted here must not be taken for a file that is not there.
bool IsLink(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_symlink(path, error);
}

std::string FolderOf(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

// Loads all files, keeping in mind every path that it looked at.
class RegistriesLoader {
 public:
  RegistriesLoader(const std::string& file, const std::string& host_root)
      : file_(file), host_root_(host_root) {}

  RegistriesWord Load() {
    RegistriesWord word{.file = file_, .conf = nullptr, .notes = {}};
    if (auto problem = ReadAll()) {
      word.notes.push_back(std::move(*problem));
    } else {
      word.conf = std::make_shared<const RegistriesConf>(std::move(conf_));
    }
    return word;
  }

  std::vector<std::string> TakeWatched() { return std::move(watched_); }
  std::vector<base::FileStamp> TakeStamps() { return std::move(stamps_); }

 private:
  // What keeps the configuration from being followed, a sentence.
  using Problem = std::optional<std::string>;
  enum class Absent { kMay, kMustNot };

  std::string Here(const std::string& path) const { return host_root_ + path; }

  // Before it is read: a change in between is seen the next time.
  void Watch(const std::string& path) {
    watched_.push_back(Here(path));
    stamps_.push_back(base::StampOf(Here(path)));
  }

  Problem ReadAll() {
    bool usual = file_ == kUsualFile;
    if (usual) Watch(kRootsFile);
    if (usual && base::KindOf(Here(kRootsFile))) {
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
    // Every node of CRI-O has the folder, be it without that file: if it is not here, it is not mounted.
    std::string folder = FolderOf(file_);
    Watch(folder);
    auto kind = base::KindOf(Here(folder));
    if (!kind || *kind != base::FileKind::kDirectory) {
      return folder +
             ", where CRI-O finds its mirrors (registries.conf), is not to be seen here: mount it at the "
             "same "
             "path, or set registryHostRoot" +
             kUntilThen;
    }
    return Read(file_, ConfKind::kMain, Absent::kMay);
  }

  Problem Read(const std::string& path, ConfKind kind, Absent absent) {
    auto conf = Parse(path, kind, absent);
    if (!conf) return conf.error().message();
    if (*conf) Update(conf_, **conf);
    return std::nullopt;
  }

  // nullopt: it is not there, and may be absent.
  base::Result<std::optional<RegistriesConf>> Parse(const std::string& path, ConfKind kind, Absent absent) {
    Watch(path);
    auto text = base::ReadFile(Here(path), kMaxRegistriesBytes);
    if (!text && text.error().code() == base::Code::kNotFound) {
      if (IsLink(Here(path))) {
        return base::NotFound(path + " is a link to what is not to be seen here: mount that as well" +
                              kUntilThen);
      }
      if (absent == Absent::kMay) return std::optional<RegistriesConf>();
      return base::NotFound(path + " is not to be seen here: mount it at the same path" + kUntilThen);
    }
    if (!text) {
      return base::NotFound(path + " cannot be read, and until it can pulling again is the question: " +
                            text.error().message());
    }
    auto conf = ParseRegistriesConf(*text, kind);
    if (conf) return std::optional(std::move(*conf));
    return base::InvalidArgument(
        path + " cannot be used, and until it can pulling again is the question: " + conf.error().message());
  }

  Problem ReadDropIns(const std::string& folder) {
    Watch(folder);
    auto names = base::ListDirectory(Here(folder), kMaxFolderNames);
    if (!names && names.error().code() == base::Code::kNotFound && !IsLink(Here(folder))) return std::nullopt;
    if (!names) {
      return folder +
             " cannot be read, and until it can pulling again is the question: " + names.error().message();
    }
    for (const std::string& name : *names) {
      std::string path = folder + "/" + name;
      if (!name.ends_with(".conf")) continue;
      auto kind = base::KindOf(Here(path));
      if (kind && *kind == base::FileKind::kDirectory) continue;
      if (++drop_ins_ > kMaxDropIns) return folder + " has too many files" + kUntilThen;
      if (auto problem = Read(path, ConfKind::kDropIn, Absent::kMay)) return problem;
    }
    return std::nullopt;
  }

  // What podman was told by people on the node; it counts for CRI-O, too.
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
  RegistriesConf conf_;
  std::size_t drop_ins_ = 0;
  std::vector<std::string> watched_;
  std::vector<base::FileStamp> stamps_;
};

}  // namespace

RegistriesFiles::RegistriesFiles(std::string file, std::string host_root)
    : file_(std::move(file)), host_root_(std::move(host_root)) {}

std::shared_ptr<const RegistriesWord> RegistriesFiles::Look() {
  base::Lock lock(mutex_);
  if (word_ && base::StampsOf(watched_) == stamps_) return word_;
  RegistriesLoader loader(file_, host_root_);
  auto word = std::make_shared<const RegistriesWord>(loader.Load());
  watched_ = loader.TakeWatched();
  stamps_ = loader.TakeStamps();
  // What was written anew and says the same is no news.
  if (!word_ || *word_ != *word) word_ = std::move(word);
  return word_;
}

}  // namespace prefetch::registry
