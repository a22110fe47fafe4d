// What sources are called, so that each name is one source. Internal to config/.
#pragma once

#include <string>
#include <vector>

namespace prefetch::config {

// One name for each of `paths` (absolute, each once): the file's name; where several files share it, as much
// of the path before it as tells them apart ("team-a/images.yaml"). Pure.
std::vector<std::string> SourceNames(const std::vector<std::string>& paths);

}  // namespace prefetch::config
