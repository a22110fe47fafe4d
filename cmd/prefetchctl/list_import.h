// `prefetchctl list import`: a list from wherever images are named already.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "agent_client.h"
#include "config/list_draft.h"

namespace prefetch::ctl {

struct ListImportOptions {
  std::vector<std::string> manifests;  // files, folders, patterns; "-" is standard input
  std::vector<std::string> pod_template_paths;
  std::vector<std::string> lists;   // list files, plain ones too
  std::vector<std::string> crictl;  // files with the output of `crictl images -o json`; "-" is standard input
  std::optional<std::string> marker;
  std::vector<std::string> marked;   // files, folders, patterns that have the marker
  std::vector<std::string> exclude;  // patterns as of a shell, against normalised names
  config::DraftOutput output = config::DraftOutput::kYaml;
};

// Prints one list of all of it on `out`. `agent` is asked for what its node has, unless it is null. Exit
// code: 0; 2 bad input, with all mistakes on `err` and nothing printed; 4 the agent could not be asked.
int ImportList(const base::Call& call, const AgentClient* agent, const ListImportOptions& options,
               std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
