// One source of the list: bytes -> entries, or everything that is wrong with them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/node.h"
#include "plan/desired.h"

namespace prefetch::list {

// Limits of one source.
constexpr std::size_t kMaxSourceBytes = 1 << 20;
constexpr std::size_t kMaxEntries = 5000;
constexpr std::size_t kMostLineBytes = 4096;  // of a *.txt
constexpr std::size_t kMostDirectoryEntries = 1000;

// Limits of the fields of an entry.
constexpr std::chrono::seconds kLeastInterval = std::chrono::minutes(1);  // refreshInterval, maxAge
constexpr std::chrono::seconds kLongestInterval = std::chrono::hours(24 * 365);
constexpr std::chrono::seconds kLeastPullTimeout = std::chrono::minutes(1);
constexpr std::chrono::seconds kLongestPullTimeout = std::chrono::hours(24);
constexpr std::int64_t kHighestPriority = 1'000'000'000;  // as Kubernetes' PriorityClass
constexpr std::size_t kMostPlatforms = 100;
constexpr std::size_t kMostReadyAsSecrets = 100;

inline constexpr std::string_view kListApiVersion = "prefetchd.dev/v1alpha1";  // of lists and of their locks
inline constexpr std::string_view kListKind = "ImageList";

// Capabilities: which machinery this build and this configuration have, as far as a list can ask for it.
// A list that requires an unknown capability is refused, never served in part.
struct Capabilities {
  bool refresh = true;  // asks registries whether a tag moved, and pulls again; with registry_checks
  bool touch = false;   // lets kubelet record images (--touch)
  bool registry_checks =
      true;  // knows whether the registry still agrees: maxAge, directives, readyFor: Always
};

// An entry with the source's defaults filled in. `image.from` and `image.sources` are empty: the name of the
// source is given to it when sources are merged (list/merge.h).
struct ListEntry {
  plan::DesiredImage image;
  doc::Position at;
};

struct SourceContent {
  std::vector<ListEntry> entries;     // as listed; each spelling of a name once
  std::vector<std::string> warnings;  // sentences with their place: lines that are repeated in a plain list
};

// Does a file of this name in a directory belong to the list? By its ending: .txt, .yaml, .yml or .json; a
// name that begins with a dot does not.
bool IsListFileName(std::string_view name);

enum class SourceForm { kPlain, kYaml, kJson };
SourceForm FormOfName(std::string_view name);
// Of a text that has no name: a list with a reference a line begins with one, a document with "{" or a key.
SourceForm FormOfText(std::string_view text);
// Of a file that was named itself: by its content, whatever its name. The ending tells only what a "{"
// begins, which is JSON and a flow mapping of YAML alike.
SourceForm FormOfFile(std::string_view name, std::string_view text);

// Decodes one source; the ending of `name`, or `form`, says how. A file with nothing in it is a list of no
// images. InvalidArgument with all mistakes, a line each: "images.yaml:12:3: images[3].image: …". Pure.
base::Result<SourceContent> DecodeSource(const std::string& name, std::string_view bytes,
                                         const Capabilities& capabilities);
base::Result<SourceContent> DecodeSource(const std::string& name, SourceForm form, std::string_view bytes,
                                         const Capabilities& capabilities);

}  // namespace prefetch::list
