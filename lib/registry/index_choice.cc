#include "registry/index_choice.h"

#include <optional>
#include <tuple>

#include "base/text.h"
#include "doc/json.h"
#include "image/digest.h"

namespace prefetch::registry {
namespace {

constexpr doc::Limits kLimits{.bytes = 4 * 1024 * 1024, .depth = 32, .nodes = 200'000};

std::string MemberText(const doc::Node& object, const std::string& key) {
  const doc::Node* value = object.Find(key);
  return value != nullptr && value->kind == doc::Node::Kind::kString ? value->text : "";
}

struct Entry {
  std::string digest;
  image::Platform platform;
};

std::optional<Entry> ReadEntry(const doc::Node& node) {
  const doc::Node* platform = node.Find("platform");
  Entry entry{.digest = MemberText(node, "digest"), .platform = {}};
  if (!image::IsDigest(entry.digest)) return std::nullopt;
  if (platform == nullptr) return entry;  // containerd then looks at the image's own configuration
  entry.platform = {.os = MemberText(*platform, "os"),
                    .architecture = MemberText(*platform, "architecture"),
                    .variant = MemberText(*platform, "variant")};
  return entry;
}

// Higher is better.
std::tuple<bool, bool, std::uint64_t> Rank(const image::Platform& node, const image::Platform& entry) {
  std::uint64_t level =
      entry.variant.starts_with('v') ? base::ParseUint(entry.variant.substr(1)).value_or(0) : 0;
  // No variant is arm's v7 and arm64's v8 (image::Runs).
  if (entry.variant.empty()) level = entry.architecture == "arm" ? 7 : entry.architecture == "arm64" ? 8 : 1;
  return {entry.os == node.os, entry.architecture == node.architecture, level};
}

}  // namespace

base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node) {
  doc::Problems problems("index");
  auto root = doc::ParseJson(index, problems, doc::JsonRules::kLenient, kLimits);
  const doc::Node* manifests = root ? root->Find("manifests") : nullptr;
  if (manifests == nullptr || manifests->kind != doc::Node::Kind::kSequence) {
    return base::InvalidArgument("this is no index of manifests");
  }
  std::optional<Entry> best;
  for (const doc::Node& item : manifests->items) {
    auto entry = ReadEntry(item);
    if (!entry || entry->platform.os == "unknown" || !image::Runs(node, entry->platform)) continue;
    if (!best || Rank(node, entry->platform) > Rank(node, best->platform)) best = std::move(entry);
  }
  if (!best) return base::NotFound("the index has nothing for " + node.ToString());
  return best->digest;
}

}  // namespace prefetch::registry
