// ListSources: reads the list from its files and directories, repeatedly, and keeps the last valid version.
// SourceNames: unique names of sources; internal to list/.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/result.h"
#include "list/image_list.h"
#include "list/merge.h"
#include "plan/desired.h"

namespace prefetch::list {

// A source is a given file, whatever its name, or a list file directly in a given directory. There, file
// names decide (a mounted ConfigMap's `..data` and other names with a leading dot are ignored). Sources are
// in the order of the paths, and by name within a directory. The content of a file decides its format.
// Besides files, only a pipe that the process was started with (/dev/stdin) is read, once.
//
//  - A source with an invalid or unreadable new version (too long, a FIFO, a dangling link, no permission)
//    keeps its last valid one, with an error.
//  - A file that is gone from its directory is gone from the list. An unreadable or absent directory (also a
//    ConfigMap mount that has lost its `..data`) keeps its sources, each with an error. Without sources, one
//    named for the directory carries the error. A given file that does not exist is an error, too.
//  - A file that becomes blank (white space and comments) keeps its last version until it has been blank for
//    `blank_grace`, since its writer may be about to fill it. A new blank file does not exist until then.
//  - A file that is being written (PathWatch) keeps its last version; a new one does not exist yet.
//
// No lock: several threads may use it, one after the other. Blocks for disk reads, and a few seconds on a
// pipe of the process; never on another FIFO.
class ListSources {
 public:
  // `paths` are as the operator gives them; relative ones are resolved against the current working directory.
  // `pipe_timeout` is the time limit for the end of a pipe: its writer has the list ready.
  ListSources(const std::vector<std::string>& paths, const Capabilities& capabilities,
              std::chrono::milliseconds pipe_timeout = std::chrono::seconds(3),
              base::Duration blank_grace = {});

  // Reads the sources. Returns true if anything has changed since the last time: content, the set of sources,
  // or an error. `at` decides how long files have been blank.
  bool Refresh(base::WallTime now, const std::set<std::string>& being_written = {}, base::TimePoint at = {});
  // Merges the sources as they were read last.
  plan::ImageList List() const { return Merge(loaded_); }

  // Returns true if there is a new file that is blank, and does not exist yet.
  bool HasNewBlank() const { return has_new_blank_; }
  // Returns the first time at which a Refresh takes a file as blank; nullopt if none is.
  std::optional<base::TimePoint> NextBlankDeadline() const;

  // Returns the sources one by one, as of the last Refresh.
  const std::vector<LoadedSource>& Loaded() const { return loaded_; }

  const std::vector<std::string>& paths() const { return paths_; }  // absolute

 private:
  struct Source {
    LoadedSource loaded;
    std::string bytes_hash;    // of the newest version that could be read; empty if none
    bool is_explicit = false;  // itself, and not by its directory
    base::PipedFile pipe;
  };
  // The file or folder at one of the paths.
  struct Found {
    std::vector<std::string> files;
    std::string error;  // why the path itself cannot be read; `files` are then those known before
  };

  Found Inspect(const std::string& path);
  Found InspectDirectory(const std::string& path);
  Found KeepKnown(const std::string& path, std::string error) const;
  base::Result<std::string> ReadBytes(Source& source) const;
  bool IsWithinBlankGrace(const std::string& path, bool blank, base::TimePoint at);
  void Load(Source& source, base::WallTime now, base::TimePoint at);
  void Fail(Source& source, const std::string& error);

  base::SequenceChecker sequence_checker_;
  std::vector<std::string> paths_;
  Capabilities capabilities_;
  std::chrono::milliseconds pipe_timeout_;
  const base::Duration blank_grace_;
  // Given paths, each with the paths of its sources at the last reading.
  std::map<std::string, std::vector<std::string>> known_;
  std::map<std::string, bool> mounted_;                 // directories that had a `..data`
  std::map<std::string, Source> sources_;               // by path
  std::map<std::string, base::TimePoint> blank_since_;  // by path
  bool has_new_blank_ = false;
  std::set<std::string> blank_pending_;  // paths of blank files that may still be filled, at the last reading
  std::vector<std::string> order_;       // paths of the sources, as at the last reading
  std::vector<LoadedSource> loaded_;
  bool changed_ = true;
};

// Returns a unique name for each of `paths` (absolute, each once): the file's name; if several files share
// it, as much of the path before it as distinguishes them ("team-a/images.yaml"). Pure.
std::vector<std::string> SourceNames(const std::vector<std::string>& paths);

}  // namespace prefetch::list
