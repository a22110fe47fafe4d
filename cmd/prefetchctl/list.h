// `prefetchctl list check|print`: the same code that the agent reads its list with, at a desk or in CI.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "agent_client.h"
#include "config/capabilities.h"

namespace prefetch::ctl {

enum class ListOutput { kYaml, kJson, kHash };

// Checks files, and the list files in directories. A line for each good one on `out`
// ("images.yaml: 12 entries, sha256:…"), a line for each mistake and each warning on `err`.
// Exit code: 0 if all are good, 2 if not. `capabilities` are those of the agents that will read the list.
int ListCheck(const std::vector<std::string>& paths, const config::Capabilities& capabilities,
              std::ostream& out, std::ostream& err);

// The same, and then names the entries that are missing by what an agent sees: other names, on its node, of
// images of the list, a note each on `err`. Notes do not change the exit code; an agent that cannot be asked
// is 4 where the list is good.
int ListCheckWithAgent(const base::Call& call, const AgentClient& agent,
                       const std::vector<std::string>& paths, const config::Capabilities& capabilities,
                       std::ostream& out, std::ostream& err);

// The canonical form of each source, apart by `---` (YAML), a line each (JSON), or the hash: of each source
// with its name, and then of the list. Prints nothing but the mistakes, and gives 2, if any source is not
// good.
int ListPrint(const std::vector<std::string>& paths, ListOutput output,
              const config::Capabilities& capabilities, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
