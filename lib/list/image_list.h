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

// Limits of one source. They bound the memory of the agent, which reads whatever its folder contains.
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
constexpr std::size_t kMostSelectorLabels = 20;
constexpr std::size_t kMostReadyAsSecrets = 100;

inline constexpr std::string_view kListApiVersion = "prefetchd.dev/v1alpha1";  // of lists and of their locks
inline constexpr std::string_view kListKind = "ImageList";

// Capabilities of this build and configuration, as far as a list can ask for them. A list that requires a
// missing capability is rejected as a whole.
struct Capabilities {
  bool refresh = true;  // asks registries whether a tag moved, and pulls again; with registry_checks
  bool touch = false;   // lets kubelet record images (--touch)
  // Asks registries whether a tag is current, for maxAge, directives and readyFor: Always.
  bool registry_checks = true;
  bool keeps_text = false;  // of its sources, for the comments in them: an agent needs none
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
  std::string text = {};              // as it was read; only with Capabilities::keeps_text
};

// Returns whether a file of this name in a directory belongs to the list. The ending decides: .txt, .yaml,
// .yml or .json; a name that begins with a dot does not belong to it.
bool IsListFileName(std::string_view name);

enum class SourceFormat { kPlain, kYaml, kJson };
// Returns the form of a text: a plain list begins with a reference, a document with "{" or a key.
SourceFormat FormatOfText(std::string_view text);

// Decodes one source. Its content decides about the form, whatever its name, so that a plain list may be the
// key images.yaml of a ConfigMap. The ending of `name` only decides about a leading "{", which begins JSON
// and a flow mapping of YAML alike. An empty file is a list without images. Returns InvalidArgument with all
// mistakes, a line each: "images.yaml:12:3: images[3].image: …". Pure.
base::Result<SourceContent> DecodeSource(const std::string& name, std::string_view bytes,
                                         const Capabilities& capabilities);

}  // namespace prefetch::list
