// `prefetchctl list check|print`: the same code that the agent reads its list with, at a desk or in CI.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "config/settings.h"
#include "ctl/agent_client.h"
#include "ctl/tag_digests.h"
#include "kube/api.h"
#include "list/draft.h"
#include "list/image_list.h"
#include "manifest/read.h"

namespace prefetch::ctl {

enum class ListOutput { kYaml, kJson, kHash };
// Entries of the same priority are pulled as listed.
enum class ListOrder { kAsListed, kByName };

// Checks files, and the list files in directories. Prints a line for each good one on `out` ("images.yaml: 12
// entries, sha256:…"), and a line for each mistake and each warning on `err`. Exit code: 0 if all are good, 2
// if not. `capabilities` are those of the agents that will read the list.
//
// If all are good and `agent` is not null, prints a note on `err` for each other name that the agent's node
// has for an image of the list, and that the list lacks. Notes do not change the exit code; it is 4 if the
// agent cannot be asked.
int ListCheck(const base::Call& call, const AgentClient* agent, const std::vector<std::string>& paths,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err);

// Prints the canonical form of each source, separated by `---` (YAML), a line each (JSON), or the hash of the
// list and of each source with its name. If any source is not good, prints only the mistakes, and returns 2.
int ListPrint(const std::vector<std::string>& paths, ListOutput output, ListOrder order,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err);

// `prefetchctl list diff`: two lists, or a list and what a node has.
struct ListDiffOptions {
  std::vector<std::string> files;  // two, or one for the node; files or folders
  bool json = false;
};

// Exit code: 0 the same, 1 different, 2 bad input; with the node 4: the agent could not be asked.
int DiffTwoLists(const ListDiffOptions& options, std::ostream& out, std::ostream& err);
int DiffListWithNode(const base::Call& call, const AgentClient& agent, const ListDiffOptions& options,
                     std::ostream& out, std::ostream& err);

// `prefetchctl list import`: a list from wherever images are named already.
struct ListImportOptions {
  std::vector<std::string> manifests;  // files, folders, patterns; "-" is standard input
  manifest::ReadOptions read;          // of these, and of the cluster's workloads
  std::vector<std::string> lists;      // list files, plain ones too
  std::vector<std::string> crictl;  // files with the output of `crictl images -o json`; "-" is standard input
  std::vector<std::string> foreign;  // files with lists of other tools
  std::vector<std::string> markers;
  std::vector<std::string> marked;      // files, folders, patterns that have the marker
  std::vector<std::string> namespaces;  // of the cluster's workloads; empty: all
  std::string config_map;               // "NAMESPACE/NAME", which gets the list instead of `out`; empty: none
  std::vector<std::string> exclude;     // patterns as of a shell, against normalised names
  list::DraftOutput output = list::DraftOutput::kYaml;
};

// Prints one list of all of it on `out`. `agent` is asked for what its node has, and `api` for the cluster's
// workloads, unless they are null. Exit code: 0; 2 bad input or no image at all, with all mistakes on `err`
// and nothing printed; 4 the agent or the API server could not be asked.
int ImportList(const base::Call& call, const AgentClient* agent, kube::Api* api,
               const ListImportOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl list lock`: the digests of a list's tags, asked of the registries and written beside the list.
struct ListLockOptions {
  std::vector<std::string> files;
  bool check = false;
  config::RawConfig credentials;  // as for `prefetchctl credentials`
  NodeRuntime runtime = NodeRuntime::kContainerd;
  std::string timeout = "5m";
};

// Asks for every tag, side by side, with the credentials that this node or this desk has. Without `check`
// each list gets its lock, whole or not at all; with it nothing is written. Exit code: 0 locked, or nothing
// moved; 1 something moved, or a registry says that a tag is not there or not for us; 2 bad input; 3 timed
// out; 4 a registry could not be asked, or only a pull can tell. For CRI-O, a warning on `err` names each
// image that containerd would not pull.
int LockLists(const base::Call& call, const ListLockOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
