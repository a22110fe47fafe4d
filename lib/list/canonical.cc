#include "list/canonical.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/enum_name.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/write.h"
#include "list/entry_fields.h"

namespace prefetch::list {
using doc::Node;

namespace {

std::string Hash(std::string_view bytes) {
  return "sha256:" + base::Sha256Hex(bytes);
}

}  // namespace

std::vector<std::string> CanonicalNames(const std::vector<image::Reference>& references) {
  std::unordered_map<std::string, int> counts;
  for (const image::Reference& reference : references) counts[reference.SpecImage()]++;
  std::vector<std::string> names;
  for (const image::Reference& reference : references) {
    // "a" and "a:latest" in one source are two entries. By their normalised names the canonical form would
    // list one name twice, and such a list is rejected.
    const std::string name = reference.SpecImage();
    names.push_back(counts[name] > 1 ? reference.written() : name);
  }
  return names;
}

Node CanonicalEntry(const plan::DesiredImage& image) {
  // Only members that differ from the built-in defaults are written, in the order below, which never changes:
  // a field that a later version adds then changes no hash of a list without it.
  static const plan::DesiredImage kDefault;
  Node node = Node::Mapping();
  node.Set("image", Node::String(image.reference.SpecImage()));
  auto text = [&](const char* key, bool differs, std::string_view value) {
    if (differs) node.Set(key, Node::String(std::string(value)));
  };
  auto directive = [&](const char* key, plan::OnFailure value, plan::OnFailure standard) {
    text(key, value != standard, base::EnumName(value));
  };
  if (image.required != kDefault.required) node.Set("required", Node::Bool(image.required));
  text("readyFor", image.ready_for != kDefault.ready_for, base::EnumName(image.ready_for));
  text("refresh", image.refresh != kDefault.refresh, base::EnumName(image.refresh));
  text("refreshInterval", image.refresh_interval != kDefault.refresh_interval,
       doc::FormatDuration(image.refresh_interval));
  if (image.max_age) node.Set("maxAge", Node::String(doc::FormatDuration(*image.max_age)));
  directive("onUnreachable", image.on_unreachable, kDefault.on_unreachable);
  directive("onAccessDenied", image.on_access_denied, kDefault.on_access_denied);
  directive("onTagMissing", image.on_tag_missing, kDefault.on_tag_missing);
  directive("onStale", image.on_stale, kDefault.on_stale);
  if (image.priority != kDefault.priority) node.Set("priority", Node::Int(image.priority));
  text("open", image.open != kDefault.open, base::EnumName(image.open));
  text("pullTimeout", image.pull_timeout != kDefault.pull_timeout, doc::FormatDuration(image.pull_timeout));
  if (!image.nodes.platforms.empty()) {
    std::vector<Node> platforms;
    for (const image::Platform& platform : image.nodes.platforms)
      platforms.push_back(Node::String(platform.ToString()));
    node.Set("platforms", Node::Sequence(std::move(platforms)));
  }
  if (!image.nodes.node_selector.empty()) {
    Node selector = Node::Mapping();
    for (const auto& [key, value] : image.nodes.node_selector) selector.Set(key, Node::String(value));
    node.Set("nodeSelector", std::move(selector));
  }
  if (!image.ready_as->empty()) node.Set("readyAs", ReadyAsNode(*image.ready_as));
  if (image.pin) node.Set("pin", Node::Bool(true));
  if (!image.pull_windows.empty()) node.Set("pullWindow", PullWindowNode(image.pull_windows.front()));
  return node;
}

Node ListDocument(std::string_view kind, std::vector<Node> images) {
  Node root = Node::Mapping({{"apiVersion", Node::String(std::string(kListApiVersion))},
                             {"kind", Node::String(std::string(kind))}});
  root.Set("images", Node::Sequence(std::move(images)));
  return root;
}

Node CanonicalForm(const SourceContent& source) {
  std::vector<const ListEntry*> order;
  for (const ListEntry& entry : source.entries) order.push_back(&entry);
  // Agents pull by priority, so two lists that differ only in the position of entries with different
  // priorities ask for the same. Entries with equal priority keep their order, which does count.
  std::ranges::stable_sort(order, std::greater(),
                           [](const ListEntry* entry) { return entry->image.priority; });
  std::vector<image::Reference> references;
  for (const ListEntry* entry : order) references.push_back(entry->image.reference);
  const std::vector<std::string> names = CanonicalNames(references);
  std::vector<Node> images;
  for (std::size_t i = 0; i < order.size(); i++) {
    images.push_back(CanonicalEntry(order[i]->image));
    images.back().members.front().value = Node::String(names[i]);
  }
  return ListDocument(kListKind, std::move(images));
}

std::string SourceHash(const SourceContent& source) {
  return Hash(doc::WriteJson(CanonicalForm(source)));
}

std::string ListHash(std::vector<std::string> source_hashes) {
  // Sorted, so that the order and the names of the files have no influence.
  std::ranges::sort(source_hashes);
  return Hash(base::Join(source_hashes, "\n"));
}

}  // namespace prefetch::list
