// `prefetchctl check`: would pods start on this node with these images? For init containers, CI and people.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ctl/agent_client.h"

namespace prefetch::ctl {

enum class CheckOutput { kText, kJson, kGithub };

// As written on the command line.
struct CheckOptions {
  std::vector<std::string> files;  // manifests: files, folders, patterns; "-" is standard input
  struct Image {
    std::string image;
    std::optional<std::string> policy;  // else what Kubernetes fills in
  };
  std::vector<Image> images;
  std::vector<std::string> pod_template_paths;
  bool assume_always_pull = false;
  std::optional<std::string> default_policy, default_check_policy;
  std::vector<std::string> pod_secrets;  // NAMESPACE/NAME/UID; with a token NAME[/UID]
  std::string token_file;                // shows who asks, to an agent over the network; empty: nobody
  std::optional<std::string> pod_service_account;
  std::string default_namespace = "default";  // of manifests that name none
  std::string timeout = "60s";
  bool unknown_passes = false;
  bool pull = false;  // have the agent pull what is not here
  CheckOutput output = CheckOutput::kText;
  std::size_t width = 0;  // of the terminal; 0: it is none
};

// Asks the agent about all of them side by side, and keeps trying to reach it within the timeout, telling so
// on `err`. Exit code: 0 every image starts, 1 some do not, 2 bad input with all mistakes on `err`, 3 timed
// out with what was decided on `out`, 4 the agent could not be asked.
int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err);

}  // namespace prefetch::ctl
