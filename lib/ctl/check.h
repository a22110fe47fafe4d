// Check: `prefetchctl check`, which tells whether pods would start on this node with these images. Init
// containers, CI and operators use it.
// Annotate: `--annotate`, one line for the page of the CI job.
// RetryPause: the pauses between tries.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "ctl/agent_client.h"
#include "ctl/manifest_files.h"
#include "screen/check_text.h"

namespace prefetch::ctl {

enum class CheckOutput { kText, kJson, kGithub };

// Options as written on the command line.
struct CheckOptions {
  std::vector<std::string> files;  // manifests: files, folders, patterns; "-" is standard input
  struct Image {
    std::string image;
    std::optional<std::string> policy;  // else what Kubernetes fills in
  };
  std::vector<Image> images;
  ManifestFlags manifests;
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
  std::size_t width = 0;          // of the terminal; 0: it is none
  std::string annotation_target;  // where the job's page gets its line; empty: nowhere
};

// Asks the agent about all of them side by side. Keeps trying to reach it within the timeout, and reports
// that on `err`. Exit code: 0 every image starts, 1 some do not, 2 bad input with all mistakes on `err`, 3
// timed out with the results so far on `out`, 4 the agent could not be asked.
int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err);

// `prefetchctl check --annotate`: shows `line` on the page of the CI job, in the way of `target`. An empty
// line shows nothing, and removes the content of a file.
//
//   github     a workflow command on `out`: https://docs.github.com/actions, "Workflow commands"
//   gitlab     prefetchd-annotations.json, for artifacts:reports:annotations, with a link to the job
//   buildkite  buildkite-agent annotate, which the job has on PATH
//   else       a file of this name, such as /dev/termination-log
//
// The error has the reason of a failure; it does not change the result of the check.
base::Status Annotate(const base::Call& call, const std::string& target, const std::string& line,
                      const config::GetEnv& get_env, std::ostream& out);

// The pauses between the tries of one question, if the agent is away or busy. The question is given up at
// `deadline`. Pure.
//
// An agent that is away is asked twice a second. One that sends Retry-After is asked after that time and a
// random part more: jobs that started at once come back one after the other. Where the deadline is earlier,
// the agent is asked a last time shortly before it.
class RetryPause {
 public:
  explicit RetryPause(base::TimePoint deadline) : deadline_(deadline) {}

  // The pause before the next try. `retry_after`: the agent's Retry-After; zero: none. `spread`: a random
  // number from [0, 1). nullopt: there is no time for another try.
  std::optional<base::Duration> Next(base::TimePoint now, base::Duration retry_after, double spread);

 private:
  base::TimePoint deadline_;
  bool last_ = false;  // the last try has been announced
};

}  // namespace prefetch::ctl
