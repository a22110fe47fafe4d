#include "list/source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "list/canonical.h"

namespace prefetch::list {

namespace {

// Comments alone are what a writer begins with, and are no list.
bool IsBlank(std::string_view text) {
  const std::vector<std::string_view> lines = base::Split(text, '\n');
  return std::ranges::all_of(lines, [](std::string_view line) {
    line = base::TrimSpace(line);
    return line.empty() || line.starts_with('#');
  });
}

bool IsBlankFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const base::Result<std::string> text = base::ReadFile(path, kMaxSourceBytes);
  return text && IsBlank(*text);
}

// kubelet publishes a ConfigMap volume by renaming a symbolic link of this name
// (kubernetes: pkg/volume/util/atomic_writer.go).
constexpr const char* kDataLink = "/..data";

// Paths are made absolute once, so that a later change of the working directory has no influence and the same
// file is recognised in different spellings. Symbolic links are kept: a mounted ConfigMap replaces them.
std::string Absolute(const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return base::WithoutTrailingSlashes(
      (error ? std::filesystem::path(path) : absolute).lexically_normal().string());
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

ListSources::ListSources(const std::vector<std::string>& paths, const Capabilities& capabilities,
                         std::chrono::milliseconds pipe_timeout, base::Duration blank_grace)
    : capabilities_(capabilities), pipe_timeout_(pipe_timeout), blank_grace_(blank_grace) {
  for (const std::string& path : paths) {
    std::string absolute = Absolute(path);
    if (std::ranges::find(paths_, absolute) == paths_.end()) paths_.push_back(absolute);
  }
}

ListSources::Found ListSources::KeepKnown(const std::string& path, std::string error) const {
  auto known = known_.find(path);
  bool none = known == known_.end() || known->second.empty();
  // Without known sources, the path itself stands for one, since an error needs a source that carries it.
  return {none ? std::vector<std::string>{path} : known->second, std::move(error)};
}

ListSources::Found ListSources::InspectDirectory(const std::string& path) {
  base::Result<std::vector<std::string>> names = base::ListDirectory(path, kMostDirectoryEntries);
  if (!names) return KeepKnown(path, names.error().message());
  Found found;
  for (const std::string& name : *names) {
    if (IsListFileName(name)) found.files.push_back(path + "/" + name);
  }
  bool data_link = Exists(path + kDataLink);
  bool& mounted = mounted_[path];
  // A directory that once had ..data and lost it is the empty mount point below a volume that went away. An
  // empty directory would otherwise clear the list.
  if (found.files.empty() && mounted && !data_link) {
    return KeepKnown(path, "the volume is not mounted at " + path + " any more");
  }
  mounted = mounted || data_link;
  return found;
}

ListSources::Found ListSources::Inspect(const std::string& path) {
  base::Result<base::FileKind> kind = base::KindOf(path);
  if (!kind) return KeepKnown(path, kind.error().message());
  if (*kind == base::FileKind::kDirectory) return InspectDirectory(path);
  return {{path}, ""};
}

void ListSources::Fail(Source& source, const std::string& error) {
  // The same error at every poll is no change, so that callers are not woken and logs are not filled.
  if (std::exchange(source.loaded.info.error, error) != error) changed_ = true;
}

base::Result<std::string> ListSources::ReadBytes(Source& source) const {
  const std::string& path = source.loaded.info.path;
  auto kind = base::KindOf(path);
  // Only pipes that the process was started with are read. Any other FIFO could block the agent for as long
  // as nobody writes to it.
  bool piped = source.is_explicit && kind && *kind == base::FileKind::kOther && base::IsOwnDescriptor(path);
  return piped ? source.pipe.Read(path, kMaxSourceBytes, pipe_timeout_)
               : base::ReadFile(path, kMaxSourceBytes);
}

// Returns true until the file has been blank for blank_grace_.
bool ListSources::IsWithinBlankGrace(const std::string& path, bool blank, base::TimePoint at) {
  if (!blank) {
    blank_since_.erase(path);
    return false;
  }
  if (at - blank_since_.try_emplace(path, at).first->second >= blank_grace_) return false;
  blank_pending_.insert(path);
  return true;
}

// Reads the source if its bytes have changed. A failure or a mistake keeps the last valid content in force,
// and is reported beside it.
void ListSources::Load(Source& source, base::WallTime now, base::TimePoint at) {
  base::Result<std::string> bytes = ReadBytes(source);
  if (!bytes) {
    // The next successful reading is then a change, even with the bytes of before, and ends the error.
    source.bytes_hash.clear();
    return Fail(source, bytes.error().message());
  }
  // A writer that truncates a file and fills it later leaves it blank for a moment. Until it has been blank
  // for long enough, it replaces neither entries nor an error.
  auto& [info, content] = source.loaded;
  const bool lists_nothing = content && content->entries.empty() && info.error.empty();
  if (IsWithinBlankGrace(info.path, IsBlank(*bytes), at) && !lists_nothing) return;
  // The name is part of the hash because error messages contain it: a changed name needs another decoding.
  std::string bytes_hash = base::Sha256Hex(info.name + "\n" + *bytes);
  if (bytes_hash == source.bytes_hash) return;
  source.bytes_hash = bytes_hash;
  changed_ = true;
  base::Result<SourceContent> decoded = DecodeSource(info.name, *bytes, capabilities_);
  // The last valid content stays in force, beside the error.
  info.error = decoded ? "" : decoded.error().message();
  if (!decoded) return;
  content = std::make_shared<const SourceContent>(*std::move(decoded));
  info.hash = SourceHash(*content);
  info.entries = content->entries.size();
  info.loaded_at = now;
}

// Returns whether anything has changed: the files, their order, their names, contents or errors. Files that
// are being written keep their last version until their writer is done.
bool ListSources::Refresh(base::WallTime now, const std::set<std::string>& being_written,
                          base::TimePoint at) {
  const base::SequenceChecker::Use use(sequence_checker_);
  std::vector<std::string> order;
  std::set<std::string> present;
  blank_pending_.clear();
  has_new_blank_ = false;
  for (const std::string& file : being_written) blank_since_.erase(file);  // its writer is still there
  std::map<std::string, std::string> path_errors;  // source path -> why its path cannot be looked at
  for (const std::string& path : paths_) {
    Found found = Inspect(path);
    if (found.error.empty()) known_[path] = found.files;
    for (const std::string& file : found.files) {
      if (!present.insert(file).second) continue;
      // A new file that is still being written does not exist yet; a known one keeps its last version
      // (below).
      if (being_written.contains(file) && !sources_.contains(file)) continue;
      // An agent may start between a writer's truncation and its writing.
      if (!sources_.contains(file) && IsWithinBlankGrace(file, IsBlankFile(file), at)) {
        has_new_blank_ = true;
        continue;
      }
      order.push_back(file);
      if (!found.error.empty()) path_errors[file] = found.error;
    }
  }
  std::erase_if(blank_since_, [&](const auto& blank) { return !present.contains(blank.first); });
  // The order counts: it decides the order of entries with equal priority.
  if (order != std::exchange(order_, order)) changed_ = true;
  std::erase_if(sources_,
                [&](const auto& source) { return std::ranges::find(order, source.first) == order.end(); });

  std::vector<std::string> names = SourceNames(order);
  loaded_.clear();
  for (std::size_t i = 0; i < order.size(); i++) {
    Source& source = sources_[order[i]];
    plan::ListSource& info = source.loaded.info;
    info.path = order[i];
    source.is_explicit = std::ranges::find(paths_, order[i]) != paths_.end();
    if (std::exchange(info.name, names[i]) != names[i]) changed_ = true;
    if (auto error = path_errors.find(order[i]); error != path_errors.end()) {
      source.bytes_hash.clear();
      Fail(source, error->second);
    } else if (!being_written.contains(order[i])) {
      Load(source, now, at);
    }
    loaded_.push_back(source.loaded);
  }
  return std::exchange(changed_, false);
}

std::optional<base::TimePoint> ListSources::NextBlankDeadline() const {
  std::optional<base::TimePoint> first;
  for (const std::string& file : blank_pending_) {
    const base::TimePoint at = blank_since_.at(file) + blank_grace_;
    if (!first || at < *first) first = at;
  }
  return first;
}

namespace {

// The last `count` parts of `path`.
std::string Suffix(const std::string& path, std::size_t count) {
  std::vector<std::string_view> parts = base::Split(path, '/');
  std::string suffix(parts.back());
  for (std::size_t i = 2; i <= count && i <= parts.size(); i++) {
    suffix = std::string(parts[parts.size() - i]) + "/" + suffix;
  }
  return suffix;
}

}  // namespace

std::vector<std::string> SourceNames(const std::vector<std::string>& paths) {
  // Number of path components in each name. It grows only for names that are still ambiguous, until all
  // differ; paths are unique, so this ends.
  std::vector<std::size_t> parts(paths.size(), 1);
  std::vector<std::string> names(paths.size());
  while (true) {
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < paths.size(); i++) uses[names[i] = Suffix(paths[i], parts[i])]++;
    bool longer = false;
    for (std::size_t i = 0; i < paths.size(); i++) {
      if (uses[names[i]] < 2 || names[i] == paths[i]) continue;
      parts[i]++;
      longer = true;
    }
    if (!longer) return names;
  }
}

}  // namespace prefetch::list
