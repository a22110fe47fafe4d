#include "registry/containerd_files.h"

#include <fnmatch.h>

#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/fs.h"
#include "base/secret.h"
#include "base/text.h"
#include "registry/obstacle.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxFileBytes = 1024 * 1024;
constexpr std::size_t kMaxFiles = 64;  // the first one counted
constexpr std::size_t kMaxImported = 1000;

// Cleans an absolute path like Go's filepath.Clean.
std::string Cleaned(const std::string& path) {
  return base::WithoutEndSlashes(std::filesystem::path(path).lexically_normal());
}

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
      if (loaded.size() > kMaxFiles) return OnlyTheRuntimeKnows(file_ + " imports too many files");
      if (auto word = Read(path)) return *std::move(word);
      for (const std::string& import : files_.back().config.imports) {
        // containerd knows patterns by their "*". Go and fnmatch() do not agree on the other signs.
        if (import.find('*') != std::string::npos && import.find_first_of("?[\\") != std::string::npos) {
          return OnlyTheRuntimeKnows(
              Unusable(path, "imports has ?, [ or \\ beside a *, which only containerd follows"));
        }
        for (std::string& found : Imported(path, import)) pending.push_back(std::move(found));
      }
    }
    ContainerdSettings word = Assemble(files_);
    word.notes.insert(word.notes.end(), notes_.begin(), notes_.end());
    return word;
  }

 private:
  std::string Here(const std::string& path) const { return host_root_ + path; }

  // The result if that file ends the reading.
  std::optional<ContainerdSettings> Read(const std::string& path) {
    auto text = disk_.Read(Here(path), kMaxFileBytes);
    if (!text) return NotRead(path, text.error());
    auto config = ParseContainerdConfig(*text);
    // The file may contain passwords of registries.
    base::WipeString(*text);
    if (!config) {
      return OnlyTheRuntimeKnows(Unusable(path, config.error().message()));
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
      return OnlyTheRuntimeKnows(
          NotVisible(path + ", which " + file_ + " imports,", "mount it at the same path"));
    }
    return OnlyTheRuntimeKnows(Unreadable(path, error.message()));
  }

  std::vector<std::string> Imported(const std::string& by, const std::string& import) {
    std::string path = Cleaned(import.starts_with('/') ? import : by.substr(0, by.rfind('/') + 1) + import);
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
    auto names = disk_.List(Here(folder), kMaxImported);
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

ContainerdFiles::ContainerdFiles(const std::string& file, std::string host_root)
    : file_(Cleaned(file)), host_root_(std::move(host_root)) {}

std::shared_ptr<const ContainerdSettings> ContainerdFiles::Current() {
  base::Lock lock(mutex_);
  return settings_.Get(
      [this](base::StampedFiles& disk) { return ConfigLoader(file_, host_root_, disk).Load(); });
}

}  // namespace prefetch::registry
