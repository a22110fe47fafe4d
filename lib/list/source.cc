#include "list/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/fs.h"
#include "base/sha256.h"
#include "base/text.h"
#include "list/canonical.h"

namespace prefetch::list {

namespace {

bool IsEmptyFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0;
}

// kubelet publishes a ConfigMap volume by renaming a symbolic link of this name
// (kubernetes: pkg/volume/util/atomic_writer.go).
constexpr const char* kDataLink = "/..data";

// Paths are made absolute once, so that a later change of the working directory has no influence and the same
// file is recognised in different spellings. Symbolic links are kept: a mounted ConfigMap replaces them.
std::string Absolute(const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return base::WithoutEndSlashes(
      (error ? std::filesystem::path(path) : absolute).lexically_normal().string());
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

ListSources::ListSources(const std::vector<std::string>& paths, const Capabilities& capabilities,
                         std::chrono::milliseconds pipe_patience, Reads reads)
    : capabilities_(capabilities), pipe_patience_(pipe_patience), reads_(reads) {
  for (const std::string& path : paths) {
    std::string absolute = Absolute(path);
    if (std::find(paths_.begin(), paths_.end(), absolute) == paths_.end()) paths_.push_back(absolute);
  }
}

ListSources::Found ListSources::KeepKnown(const std::string& path, std::string error) const {
  auto known = known_.find(path);
  bool none = known == known_.end() || known->second.empty();
  // Without known sources, the path itself stands for one, since an error needs a source that carries it.
  return {none ? std::vector<std::string>{path} : known->second, std::move(error)};
}

ListSources::Found ListSources::LookIntoDirectory(const std::string& path) {
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

ListSources::Found ListSources::Look(const std::string& path) {
  base::Result<base::FileKind> kind = base::KindOf(path);
  if (!kind) return KeepKnown(path, kind.error().message());
  if (*kind == base::FileKind::kDirectory) return LookIntoDirectory(path);
  return {{path}, ""};
}

void ListSources::Fail(Source& source, std::string error) {
  // The same error at every poll is no change, so that callers are not woken and logs are not filled.
  if (source.error != error) changed_ = true;
  source.error = std::move(error);
}

base::Result<std::string> ListSources::ReadBytes(Source& source) const {
  auto kind = base::KindOf(source.path);
  // Only pipes that the process was started with are read. Any other FIFO could block the agent for as long
  // as nobody writes to it.
  bool piped = source.given && kind && *kind == base::FileKind::kOther && IsOwnDescriptor(source.path);
  return piped ? source.pipe.Read(source.path, kMaxSourceBytes, pipe_patience_)
               : base::ReadFile(source.path, kMaxSourceBytes);
}

void ListSources::Load(Source& source, base::WallTime now) {
  base::Result<std::string> bytes = ReadBytes(source);
  if (!bytes) {
    // The next successful reading is then a change, even with the bytes of before, and ends the error.
    source.bytes_hash.clear();
    return Fail(source, bytes.error().message());
  }
  // A writer that truncates a file and fills it later leaves it empty for a moment. Therefore an empty file
  // replaces entries only at the second reading in a row.
  const bool first_empty = !std::exchange(source.was_empty, bytes->empty()) && bytes->empty();
  if (first_empty && source.content && !source.content->entries.empty()) return;
  // The name is part of the hash because error messages contain it: a changed name needs another decoding.
  std::string bytes_hash = base::Sha256Hex(source.name + "\n" + *bytes);
  if (bytes_hash == source.bytes_hash) return;
  source.bytes_hash = bytes_hash;
  changed_ = true;
  base::Result<SourceContent> content =
      DecodeSource(source.name, FormOfFile(source.name, *bytes), *bytes, capabilities_);
  // The last valid content stays in force, beside the error.
  if (!content) {
    source.error = content.error().message();
    return;
  }
  source.content = std::make_shared<const SourceContent>(*std::move(content));
  source.content_hash = SourceHash(*source.content);
  source.loaded_at = now;
  source.error.clear();
}

bool ListSources::Refresh(base::WallTime now, const std::set<std::string>& being_written) {
  const base::OneAtATime::Use use(one_at_a_time_);
  std::vector<std::string> order;
  std::set<std::string> empty;
  std::map<std::string, std::string> path_errors;  // source path -> why its path cannot be looked at
  for (const std::string& path : paths_) {
    Found found = Look(path);
    if (found.error.empty()) known_[path] = found.files;
    for (const std::string& file : found.files) {
      if (std::find(order.begin(), order.end(), file) != order.end()) continue;
      // A new file that is still being written does not exist yet; a known one keeps its last version
      // (below).
      if (being_written.contains(file) && !sources_.contains(file)) continue;
      // An agent may start between a writer's truncation and its writing.
      if (reads_ == Reads::kAgain && !sources_.contains(file) && IsEmptyFile(file)) {
        empty.insert(file);
        if (!new_empty_.contains(file)) continue;
      }
      order.push_back(file);
      if (!found.error.empty()) path_errors[file] = found.error;
    }
  }
  new_empty_ = std::move(empty);
  // The order counts: it decides the order of entries with equal priority.
  if (order != std::exchange(order_, order)) changed_ = true;
  std::erase_if(sources_, [&](const auto& source) {
    return std::find(order.begin(), order.end(), source.first) == order.end();
  });

  std::vector<std::string> names = SourceNames(order);
  loaded_.clear();
  for (std::size_t i = 0; i < order.size(); i++) {
    Source& source = sources_[order[i]];
    source.path = order[i];
    source.given = std::find(paths_.begin(), paths_.end(), order[i]) != paths_.end();
    if (std::exchange(source.name, names[i]) != names[i]) changed_ = true;
    if (auto error = path_errors.find(order[i]); error != path_errors.end()) {
      source.bytes_hash.clear();
      Fail(source, error->second);
    } else if (!being_written.contains(order[i])) {
      Load(source, now);
    }
    plan::ListSource info{.name = source.name,
                          .path = source.path,
                          .hash = source.content_hash,
                          .entries = source.content ? source.content->entries.size() : 0,
                          .loaded_at = source.loaded_at,
                          .error = source.error};
    loaded_.push_back({std::move(info), source.content});
  }
  return std::exchange(changed_, false);
}

bool ListSources::HasNewEmpty() const {
  return std::any_of(new_empty_.begin(), new_empty_.end(),
                     [&](const std::string& path) { return !sources_.contains(path); });
}

ListReading ListSources::Read(base::WallTime now, const std::set<std::string>& being_written) {
  const base::OneAtATime::Use use(one_at_a_time_);
  const bool changed = Refresh(now, being_written);
  return {List(), changed};
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
