// `prefetchctl check`: would pods start on this node with these images? For init containers, CI and
// operators.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ctl/agent_client.h"
#include "screen/check_items.h"

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
  std::vector<std::string> pod_template_paths, allow_unread;
  bool assume_always_pull = false;
  std::optional<std::string> default_policy, default_check_policy;
  std::vector<std::string> pod_secrets;  // NAMESPACE/NAME/UID; with a token NAME[/UID]
  std::string token_file;                // a pod's token, shown to an agent over the network; empty: none
  std::optional<std::string> pod_service_account;
  // The namespace of manifests that name none. If unset: "default", and with a token the namespace of the pod
  // that shows it.
  std::optional<std::string> default_namespace;
  std::string timeout = "60s";
  bool unknown_passes = false;
  bool pull = false;  // have the agent pull missing images
  CheckOutput output = CheckOutput::kText;
  std::size_t width = 0;  // of the terminal; 0: it is none
  std::string annotate;   // where the job's page gets its line (ctl/annotate.h); empty: nowhere
};

// Asks the agent about all of them side by side, and keeps trying to reach it within the timeout, telling so
// on `err`. Exit code: 0 every image starts, 1 some do not, 2 bad input with all mistakes on `err`, 3 timed
// out with the results so far on `out`, 4 the agent could not be asked.
int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err);

// Asks an agent all questions, several at a time, until each is answered.
//
// Fills `result` with an answer for each item, by its number; an item without an answer has an empty result.
// If the agent is not there yet, or busy, it is asked again until the call's deadline, and `err` reports that
// from time to time. Questions to registries do not delay the others. The error is that of the first question
// that stayed without an answer; a permanent error (InvalidArgument, Internal …) ends all. With `pull`, the
// agent pulls absent images, and is asked again until that has ended; pulls that run at the call's deadline
// stay `pending`.
base::Status AskAll(const base::Call& call, const AgentClient& agent,
                    const std::vector<screen::CheckItem>& items, bool pull, status::CheckResult& result,
                    std::ostream& err);

// Returns true if the same question may be answered in a moment.
bool ComesBack(base::Code code);

}  // namespace prefetch::ctl
