// FindFiles and ReadManifestFiles: manifests as users name them: files, folders, patterns, standard
// input.
// ManifestFlags, ParsePolicyOption and ParseTimeout: options that several commands have.
// ReadListFiles: list files, for commands that are about lists and not about one agent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "ctl/exit_code.h"
#include "image/reference.h"
#include "list/image_list.h"
#include "list/merge.h"
#include "manifest/lint/rule.h"
#include "manifest/read.h"
#include "plan/desired.h"

namespace prefetch::ctl {

constexpr std::size_t kMostManifestFiles = 100'000;

struct ManifestPath {
  std::string path;              // "-" is standard input
  bool explicitly_named = true;  // so it has to be a manifest; false: found in a folder or by a pattern
};

// Returns true for *.yaml, *.yml and *.json.
bool IsManifestName(const std::string& name);

// Returns the files that `words` name, each once: a file is itself; a folder stands for all files below it
// whose names `accept` returns true for, sorted, without names that begin with a dot and files below them; a
// word with *, ? or [ that names no file is a pattern as the shell has it. Missing files, and a pattern or
// folder with nothing in it, go to `mistakes`.
std::vector<ManifestPath> FindFiles(const std::vector<std::string>& words, Mistakes& mistakes,
                                    const std::function<bool(const std::string&)>& accept = &IsManifestName);

// "-" is standard input, which can be read once: InvalidArgument then. A pipe that a shell names for
// "<(command)" can be read once, too. ResourceExhausted if it is longer than `most_bytes`; otherwise as
// base::ReadFile.
base::Result<std::string> ReadFileOrStdin(const std::string& path, std::size_t most_bytes);

// Hands over a file, or standard input, in pieces, until `take` returns false. Errors: as ReadFileOrStdin,
// but there is no limit.
base::Status ReadPieces(const std::string& path, const std::function<bool(std::string_view)>& take);

// How `check` and `lint` read manifests: options as written on the command line.
struct ManifestFlags {
  manifest::ReadOptions read;  // but for the policies, which are checked with the other options
  std::optional<std::string> default_policy, default_check_policy;
};
manifest::ReadOptions ReadOptionsOf(const ManifestFlags& flags, Mistakes& mistakes);

// Parses an option's value; nullopt if there is none, or if it is no policy, which goes to `mistakes`.
std::optional<image::PullPolicy> ParsePolicyOption(const std::optional<std::string>& text, const char* flag,
                                                   Mistakes& mistakes);

// Parses the value of --timeout. One that is no duration above zero goes to `mistakes`, and gives zero.
std::chrono::nanoseconds ParseTimeout(const std::string& text, Mistakes& mistakes);

struct ManifestFile {
  std::string name;  // as findings have it: the path, or "stdin"
  manifest::Manifests manifests;
  manifest::lint::Ignores ignores;
  std::vector<std::string> mistakes;  // with line and column; if there is one, `manifests` is to show only
};

// Reads them side by side, a few at a time, and hands them over one by one in their order. Ends early when
// `call` is stopped. A path of pod templates that leads to no pod in any of them goes to `mistakes`.
void ReadManifestFiles(const base::Call& call, const std::vector<ManifestPath>& paths,
                       const manifest::ReadOptions& options, const std::function<void(ManifestFile)>& take,
                       std::vector<std::string>& mistakes);

// "app.yaml:3:7: JobSet shop/js may run pods, and … (JobSet.jobset.x-k8s.io)"
std::string UnseenLine(const manifest::UnseenImage& image);

// All features of agents: each agent itself judges whether it has those that a list needs.
inline constexpr list::Capabilities kAllCapabilities{.refresh = true, .touch = true, .registry_checks = true};

struct ListFiles {
  plan::ImageList list;                     // merged
  std::vector<list::LoadedSource> sources;  // one by one; those that are good
};
inline constexpr const char* kStdin = "-";
// Time limit for a command in a shell's <(…).
inline constexpr std::chrono::seconds kPipeTimeout{60};
// "-", and the system's name for it: "/dev/stdin".
bool IsStdin(const std::string& path);

// Files whatever their names, the list files of folders, and "-" for standard input, as agents with
// `capabilities` read them. Invalid lists go to `mistakes`, as does a path with no list file.
ListFiles ReadListFiles(const std::vector<std::string>& paths, Mistakes& mistakes,
                        const list::Capabilities& capabilities = kAllCapabilities);

}  // namespace prefetch::ctl
