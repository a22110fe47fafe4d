// List files as the commands read them that are about lists and not about one agent.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ctl/exit_code.h"
#include "list/image_list.h"
#include "list/merge.h"
#include "plan/desired.h"

namespace prefetch::ctl {

// All features of agents: each agent itself judges whether it has those that a list needs.
inline constexpr list::Capabilities kAnyAgent{.refresh = true, .touch = true, .registry_checks = true};

struct ListFiles {
  plan::ImageList list;                     // merged
  std::vector<list::LoadedSource> sources;  // one by one; those that are good
  std::string stdin_text;                   // of the source that has kStdin for a path
};
inline constexpr const char* kStdin = "-";
// Time limit for a command in a shell's <(…).
inline constexpr std::chrono::seconds kPipeTimeout{60};
// "-", and the system's name for it: "/dev/stdin".
bool IsStdin(const std::string& path);

// Files whatever their names, the list files of folders, and "-" for standard input, as agents with
// `capabilities` read them. Invalid lists go to `mistakes`, as does a path with no list file.
ListFiles ReadListFiles(const std::vector<std::string>& paths, Mistakes& mistakes,
                        const list::Capabilities& capabilities = kAnyAgent);

}  // namespace prefetch::ctl
