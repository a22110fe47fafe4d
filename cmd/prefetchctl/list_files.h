// List files as the commands read them that are about lists and not about one agent.
#pragma once

#include <string>
#include <vector>

#include "config/merge.h"
#include "plan/list.h"

namespace prefetch::ctl {

struct ListFiles {
  plan::ImageList list;                       // merged
  std::vector<config::LoadedSource> sources;  // one by one; those that are good
};

// Files, and the list files of folders, with everything that any agent can do allowed. What the agent would
// refuse goes to `mistakes`, as does a path with no list file.
ListFiles ReadListFiles(const std::vector<std::string>& paths, std::vector<std::string>& mistakes);

}  // namespace prefetch::ctl
