// `prefetchctl uninstall --nodes`: takes what agents have said on Node objects away again.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "kube/api.h"

namespace prefetch::ctl {

struct UninstallOptions {
  // This instance's label, and what the next two name; empty: every label below prefetchd.dev/, the condition
  // ImagesPrefetched and the startup taint, too.
  std::string instance;
  std::vector<std::string> labels;  // of nodeResultLabel, whole keys
  std::string taint_key;            // of startupTaintKey; empty: the default key alone
  std::string selector;             // of nodes; empty: all
  bool dry_run = false;             // says what would be done
};

// Clears the nodes, eight at a time. Concurrent changes of other clients stay: a label and a condition are
// removed by name, and the list of taints is only written as it was just read. Prints each changed node on
// `out`, progress on `err`. Exit code: 0 nothing of ours is left, 1 some nodes could not be cleared (each
// with its reason), 2 no startup taint may have taint_key, 4 the nodes could not be listed.
int Uninstall(const base::Call& call, kube::Api& api, const UninstallOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
