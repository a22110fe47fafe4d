// The lock of a list file: the digests that its tags had when they were looked at. It stands beside the list
// as "images.yaml.lock", a name that no agent takes for a list.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace prefetch::list {

inline constexpr std::size_t kMostLockBytes = 4 << 20;

// Normalised name -> "sha256:…".
using ListLock = std::map<std::string, std::string>;

std::string LockPath(const std::string& list_path);

// Returns the document; the same lock gives the same bytes. `list_name` appears in its first comment. Pure.
std::string WriteLock(const ListLock& lock, const std::string& list_name);
// Returns InvalidArgument with all mistakes, a line each. `name` names the document in them. Pure.
base::Result<ListLock> ReadLock(std::string_view text, const std::string& name);

// Reads the lock beside a list; `list_name` names it in mistakes. Without a lock file, it is empty: all
// entries may have digests.
base::Result<ListLock> ReadLockOf(const std::string& list_path, const std::string& list_name);

struct LockChange {
  std::string image;     // normalised
  std::string from, to;  // digests; empty: it is not in that one

  friend bool operator==(const LockChange&, const LockChange&) = default;
};

// Returns the differences of `now` from `locked`, by name. Pure.
std::vector<LockChange> DiffLocks(const ListLock& locked, const ListLock& now);

}  // namespace prefetch::list
