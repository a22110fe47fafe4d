// What `prefetchctl list diff` shows: what differs between two lists, or a list and a node. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/list.h"
#include "report/status_document.h"

namespace prefetch::report {

struct ListDifference {
  char mark = '~';  // '-': only the first has it, '+': only the second, '~': both, otherwise
  std::string image;
  std::string says;  // in what it differs, or where it stands
};

// From a list to the list that a node's agent has in force, and to what is there: entries that it does not
// have, entries that only it has, entries of which the image is not there, and demands that it does not know
// of. An entry that is not for this node's platform need not be there.
std::vector<ListDifference> DiffWithNode(const plan::ImageList& list, const StatusDocument& node);

// A line each, and one that counts: "2 added, 1 removed". Empty list: "no difference".
std::string ListDifferencesText(const std::vector<ListDifference>& differences);
// {"apiVersion": "prefetchd.dev/v1", "kind": "ListDiff", "differences": […]}; one line.
std::string ListDifferencesJson(const std::vector<ListDifference>& differences);

}  // namespace prefetch::report
