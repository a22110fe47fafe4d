// The output of `prefetchctl list diff`: the differences between two lists, or a list and a node. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/desired.h"
#include "status/documents.h"

namespace prefetch::screen {

struct ListDifference {
  char mark = '~';  // '-': only the first has it, '+': only the second, '~': both, otherwise
  std::string image;
  std::string message;  // the difference, or its place
};

// From a list to the list that a node's agent has in force, and to the node's images: entries that
// the agent lacks, entries that only it has, absent images, demands that it lacks, and other
// spellings if kubelet distinguishes them. An entry for other nodes need not be there.
std::vector<ListDifference> DiffWithNode(const plan::ImageList& list, const status::StatusDocument& node);

// A line each, and one that counts: "2 added, 1 removed". Empty list: "no difference".
std::string ListDifferencesText(const std::vector<ListDifference>& differences);
// {"apiVersion": "prefetchd.dev/v1", "kind": "ListDiff", "differences": […]}; one line.
std::string ListDifferencesJson(const std::vector<ListDifference>& differences);

// Finds other names on a node for the images of a list. For each entry of `list` that the node has, its other
// names there that `list` does not name: "images.yaml:12 quay.io/acme/app:v1 is also here as
// mirror.acme.io/app:v1: …". Entries that the node's agent does not list are passed over, as the document
// does not tell of them. Pure.
std::vector<std::string> AliasNotes(const plan::ImageList& list, const status::StatusDocument& document);

}  // namespace prefetch::screen
