#include "list/merge.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "list/canonical.h"
#include "list/entry_fields.h"

namespace prefetch::list {
namespace {

using plan::DesiredImage;
using plan::OnFailure;
using plan::Open;

// The merged entry must satisfy every source: of two values, the one that lets a node be ready less often
// wins.
OnFailure Stricter(OnFailure a, OnFailure b) {
  return a == OnFailure::kNotReady ? a : b;
}

std::vector<image::Platform> Union(std::vector<image::Platform> a, const std::vector<image::Platform>& b) {
  // No platforms means all nodes, which includes everything that the other source names.
  if (a.empty() || b.empty()) return {};
  for (const image::Platform& platform : b) {
    if (std::ranges::find(a, platform) == a.end()) a.push_back(platform);
  }
  return a;
}

// Nodes of either source need the image. Platforms of one selector are a union; another selector is a scope
// of its own.
void MergeNodes(DesiredImage& image, const plan::NodeScope& other) {
  auto merge = [&](plan::NodeScope& scope) {
    if (scope.node_selector != other.node_selector) return false;
    scope.platforms = Union(std::move(scope.platforms), other.platforms);
    return true;
  };
  if (merge(image.nodes)) return;
  if (std::ranges::any_of(image.other_nodes, merge)) return;
  image.other_nodes.push_back(other);
}

// A source without a window wants the image at once.
void MergeWindows(DesiredImage& image, const DesiredImage& other, std::vector<std::string>& warnings) {
  std::vector<plan::PullWindow>& windows = image.pull_windows;
  const bool at_once = windows.empty() != other.pull_windows.empty();
  bool differ = at_once;
  if (at_once) windows.clear();
  for (const plan::PullWindow& window : other.pull_windows) {
    if (at_once || std::ranges::find(windows, window) != windows.end()) continue;
    windows.push_back(window);
    differ = true;
  }
  if (!differ) return;
  warnings.push_back(image.reference.written() + ": pullWindow differs at " + image.from.back() + " and " +
                     other.from.front() +
                     (at_once ? "; pulls start at any time" : "; pulls start while one is open"));
}

std::optional<std::chrono::seconds> Shorter(std::optional<std::chrono::seconds> a,
                                            std::optional<std::chrono::seconds> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

Open StricterOpen(Open a, Open b) {
  if (a == Open::kNever || b == Open::kNever) return Open::kNever;
  return a == Open::kAlways ? a : b;
}

// Satisfies both sources. Never asks for more than IfNotPresent: no contact with the registry at all instead
// of at most a manifest check. Always asks the registry, so neither of Always and Never includes the other;
// also_for_never keeps both demands.
void MergeReadyFor(DesiredImage& image, const DesiredImage& other) {
  using image::PullPolicy;
  auto never_asks_registry = [](const DesiredImage& one) {
    return one.ready_for == PullPolicy::kNever || one.also_for_never;
  };
  const bool never = never_asks_registry(image) || never_asks_registry(other);
  const bool always = image.ready_for == PullPolicy::kAlways || other.ready_for == PullPolicy::kAlways;
  image.also_for_never = always && never;
  if (always) {
    image.ready_for = PullPolicy::kAlways;
  } else if (never) {
    image.ready_for = PullPolicy::kNever;
  }
}

// Merges what entries demand of their registry. An entry that never asks it demands nothing: it has these
// fields' defaults. Comes before the merge of `refresh` and `ready_for`, by which entries ask.
void MergeRegistryFields(DesiredImage& image, const DesiredImage& other) {
  if (!AsksRegistry(other)) return;
  const auto merge = [&, first = !AsksRegistry(image)](auto field, auto stricter) {
    image.*field = first ? other.*field : stricter(image.*field, other.*field);
  };
  merge(&DesiredImage::refresh_interval, [](auto a, auto b) { return std::min(a, b); });
  merge(&DesiredImage::max_age, Shorter);
  for (auto field : {&DesiredImage::on_unreachable, &DesiredImage::on_access_denied,
                     &DesiredImage::on_tag_missing, &DesiredImage::on_stale}) {
    merge(field, Stricter);
  }
}

// Merges an entry of another source into the image. Sources may belong to different teams, so each value must
// satisfy both; where that is impossible, a warning names both places.
void MergeInto(DesiredImage& image, const DesiredImage& other, std::vector<std::string>& warnings) {
  if ((image.open == Open::kNever && other.open == Open::kAlways) ||
      (image.open == Open::kAlways && other.open == Open::kNever)) {
    warnings.push_back(image.reference.written() + ": open is Always at one and Never at the other of " +
                       image.from.back() + " and " + other.from.front() + "; Never counts");
  }
  // Refresh and the other enumerations are ordered from weak to strong, so that max is the stronger demand.
  image.required = image.required || other.required;
  MergeRegistryFields(image, other);
  MergeReadyFor(image, other);
  image.refresh = std::max(image.refresh, other.refresh);
  image.pin = image.pin || other.pin;
  image.priority = std::max(image.priority, other.priority);
  image.open = StricterOpen(image.open, other.open);
  image.pull_timeout = std::max(image.pull_timeout, other.pull_timeout);
  MergeWindows(image, other, warnings);
  MergeNodes(image, other.nodes);
  image.from.insert(image.from.end(), other.from.begin(), other.from.end());
  // Sources are merged one after the other, so a repeated source can only be the last one.
  if (image.sources.back() != other.sources.front()) image.sources.push_back(other.sources.front());
}

DesiredImage WithSource(const ListEntry& entry, const std::string& source) {
  DesiredImage image = entry.image;
  image.from = {source + ":" + std::to_string(entry.at.line)};
  image.sources = {source};
  return image;
}

// Returns true if a tag that moves makes nodes not ready until the window opens, whatever its length.
bool NeedsRegistryAgreement(const DesiredImage& image) {
  return image.refresh == plan::Refresh::kAlways ||
         (image.refresh == plan::Refresh::kIfDigestChanged && image.ready_for == image::PullPolicy::kAlways);
}

// Returns true if such a tag makes them not ready after maxAge, before the window opens.
bool GoesStale(const DesiredImage& image) {
  return image.refresh == plan::Refresh::kIfDigestChanged && image.on_stale == OnFailure::kNotReady &&
         image.max_age && *image.max_age < plan::LongestClosed(image.pull_windows);
}

// Warns of windows that keep nodes from being ready. Defaults may concern thousands of entries, so one
// warning names the first image of each kind.
void WarnOfWindows(plan::ImageList& list) {
  const auto warn = [&list](bool (*concerns)(const DesiredImage&), const char* why) {
    const DesiredImage* first = nullptr;
    std::size_t others = 0;
    for (const DesiredImage& image : list.images) {
      if (image.pull_windows.empty() || !image.required || !concerns(image)) continue;
      others += first == nullptr ? 0 : 1;
      first = first == nullptr ? &image : first;
    }
    if (first == nullptr) return;
    std::string name = first->reference.written();
    if (others > 0) name += " and " + base::Plural(others, "other", "others");
    list.warnings.push_back(
        name + ": a tag that moves makes nodes not ready until the pullWindow opens, up to " +
        base::HumanTime(plan::LongestClosed(first->pull_windows)) + ", because of " + why);
  };
  warn(NeedsRegistryAgreement, "refresh: Always or readyFor: Always");
  warn(GoesStale, "onStale: NotReady with a shorter maxAge");
}

}  // namespace

// The result depends on the sources and their order alone, so all nodes with the same files have the same
// list and the same hash.
plan::ImageList Merge(const std::vector<LoadedSource>& sources) {
  plan::ImageList list;
  std::unordered_map<std::string, std::size_t> by_name;
  std::unordered_set<std::string> pods;  // by their spelling and credentials
  std::vector<std::string> hashes;
  for (const LoadedSource& source : sources) {
    list.sources.push_back(source.info);
    hashes.push_back(source.info.hash);
    // No version of this source was ever valid. Its error is in list.sources, and its empty hash keeps the
    // list's hash from equalling that of a list without the source.
    if (!source.content) continue;
    const std::vector<std::string>& warnings = source.content->warnings;
    list.warnings.insert(list.warnings.end(), warnings.begin(), warnings.end());
    // An empty source is valid, but is more often the result of a failed template than intended.
    if (source.content->entries.empty()) list.warnings.push_back(source.info.name + ": lists no images");
    for (const ListEntry& entry : source.content->entries) {
      DesiredImage image = WithSource(entry, source.info.name);
      bool new_pod = pods.insert(image.reference.written() + "\n" + image::TextOf(*image.ready_as)).second;
      auto [at, is_new] = by_name.emplace(image.reference.Normalized(), list.images.size());
      if (is_new) {
        list.images.push_back(std::move(image));
        continue;
      }
      DesiredImage& known = list.images[at->second];
      MergeInto(known, image, list.warnings);
      // kubelet finds a pod's image by its spelling and checks it with the pod's credentials. Each such
      // combination is therefore judged, once.
      if (new_pod) known.other_pods.push_back({std::move(image.reference), std::move(image.ready_as)});
    }
  }
  // Stable, so that equal priorities keep the order in which the sources list them.
  std::ranges::stable_sort(list.images, std::greater(), &DesiredImage::priority);
  WarnOfWindows(list);
  list.hash = ListHash(std::move(hashes));
  return list;
}

}  // namespace prefetch::list
