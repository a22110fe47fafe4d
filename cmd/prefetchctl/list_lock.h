// `prefetchctl list lock`: the digests of a list's tags, asked of the registries and written beside the list.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "config/raw_config.h"

namespace prefetch::ctl {

struct ListLockOptions {
  std::vector<std::string> files;
  bool check = false;
  config::RawConfig credentials;  // as for `prefetchctl credentials`
  std::string timeout = "5m";
};

// Asks for every tag, side by side, with the credentials that this node or this desk has. Without `check`
// each list gets its lock, whole or not at all; with it nothing is written. Exit code: 0 locked, or nothing
// moved; 1 something moved, or a registry says that a tag is not there or not for us; 2 bad input; 3 timed
// out; 4 a registry could not be asked.
int LockLists(const base::Call& call, const ListLockOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
