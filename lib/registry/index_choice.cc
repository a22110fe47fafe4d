#include "registry/index_choice.h"

#include <optional>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "doc/json.h"
#include "image/reference.h"

namespace prefetch::registry {
namespace {

struct Entry {
  std::string digest;
  std::optional<image::Platform> platform;
};

std::optional<Entry> ReadEntry(const doc::Node& node) {
  const doc::Node* platform = node.Find("platform");
  Entry entry{.digest = doc::TextAt(node, {"digest"})};
  if (!image::IsDigest(entry.digest)) return std::nullopt;
  if (platform == nullptr || platform->kind != doc::Node::Kind::kMapping) return entry;
  entry.platform = {.os = doc::TextAt(*platform, {"os"}),
                    .architecture = doc::TextAt(*platform, {"architecture"}),
                    .variant = doc::TextAt(*platform, {"variant"})};
  return entry;
}

// Returns the level of a variant. A missing variant means v1 for amd64, v7 for arm and v8 for arm64; other
// architectures have none. nullopt: the word is no level.
std::optional<std::uint64_t> LevelOf(const std::string& architecture, std::string_view variant) {
  if (variant.empty()) return architecture == "arm" ? 7 : architecture == "arm64" ? 8 : 1;
  if (variant.starts_with('v')) variant.remove_prefix(1);
  return base::ParseUint(variant);
}

// Higher is better: entries with a platform, then the level. Without a platform, containerd reads it from the
// image's configuration.
using Rank = std::pair<bool, std::uint64_t>;

// Returns nullopt if the runtime does not take the entry (C20). A node without a variant has the lowest
// level, since containerd detects levels of arm and arm64 only.
std::optional<Rank> RankOf(const image::Platform& node, const std::optional<image::Platform>& entry) {
  if (!entry) return Rank{false, 0};
  if (!entry->os.empty() && entry->os != node.os) return std::nullopt;
  if (entry->architecture != node.architecture) return std::nullopt;
  const std::optional<std::uint64_t> level = LevelOf(entry->architecture, entry->variant);
  if (!level || *level > LevelOf(node.architecture, node.variant).value_or(1)) return std::nullopt;
  return Rank{true, *level};
}

}  // namespace

base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node) {
  const base::LargeTextLock turn(index.size());
  const doc::Node root = doc::ParseOrNull(index, kManifestLimits);
  const doc::Node* manifests = root.Find("manifests");
  if (manifests == nullptr || manifests->kind != doc::Node::Kind::kSequence) {
    return base::InvalidArgument("this is no index of manifests");
  }
  std::optional<std::string> best;
  std::optional<Rank> best_rank;
  for (const doc::Node& item : manifests->items) {
    auto entry = ReadEntry(item);
    if (!entry) continue;
    const std::optional<Rank> rank = RankOf(node, entry->platform);
    // The first of equal entries wins.
    if (!rank || (best_rank && *rank <= *best_rank)) continue;
    best_rank = rank;
    best = std::move(entry->digest);
  }
  if (!best) return base::NotFound("the index has nothing for " + node.ToString());
  return *std::move(best);
}

}  // namespace prefetch::registry
