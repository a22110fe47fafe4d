// ImageList: all sources of the list, merged: what should be on this node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "plan/desired.h"

namespace prefetch::plan {

// One file of the list.
struct ListSource {
  std::string name;  // the file's name: "images.yaml"; unique among the sources
  std::string path;
  std::string hash;         // "sha256:…" over its canonical form; of the version in force; empty if none is
  std::size_t entries = 0;  // of the version in force
  std::optional<base::WallTime> loaded_at;  // when the version in force was loaded; none: none is in force
  // Why the newest version is not in force; empty if it is. All errors of the source, one a line.
  std::string error;

  friend bool operator==(const ListSource&, const ListSource&) = default;
};

// A value; immutable once published. Built by config/, read by everybody.
struct ImageList {
  std::string hash;                  // "sha256:…" over the sources' hashes
  std::vector<DesiredImage> images;  // highest priority first, then as listed; each normalised name once
  std::vector<ListSource> sources;
  std::vector<std::string> warnings;  // valid, but worth a word: an empty list
};

}  // namespace prefetch::plan
