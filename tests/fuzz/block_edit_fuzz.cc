// A text that somebody's pod is put into: where lines can be added, no other line changes.
#include <vector>

#include "base/text.h"
#include "doc/block_edit.h"
#include "fuzz/target.h"
#include "manifest/read.h"

FUZZ_TARGET(text) {
  prefetch::doc::Problems problems("fuzz.yaml");
  const std::vector<prefetch::doc::Node> documents = prefetch::manifest::ParseManifests(text, problems);
  prefetch::doc::Node item = prefetch::doc::Node::Mapping();
  item.Set("name", prefetch::doc::Node::String("put-in"));
  std::vector<prefetch::doc::NamedItem> items;
  for (const prefetch::manifest::PodInTree& pod : prefetch::manifest::FindPods(documents, problems)) {
    items.push_back({pod.spec, "initContainers", item, "containers"});
    items.push_back({pod.spec, "volumes", item, "containers"});
  }
  if (!problems.empty() || items.empty()) return;
  auto edited = prefetch::doc::PutIntoText(text, items);
  if (!edited || text.find("put-in") != std::string_view::npos) return;
  // Without the new lines it is the old text, but for keys that had no value.
  std::size_t put = 0;
  for (std::string_view line : prefetch::base::Split(*edited, '\n'))
    put += line.find("- name: put-in") != std::string_view::npos ? 1 : 0;
  if (put != items.size()) std::abort();
}
