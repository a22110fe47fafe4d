// `prefetchctl check --annotate`: one line for the page of the CI job.
#pragma once

#include <ostream>
#include <string>

#include "base/call.h"
#include "base/result.h"
#include "config/raw_config.h"

namespace prefetch::ctl {

// Shows `line` where `target` wants it; an empty one shows nothing, and takes back what a file had.
//
//   github     a workflow command on `out`: https://docs.github.com/actions, "Workflow commands"
//   gitlab     prefetchd-annotations.json, for artifacts:reports:annotations, with a link to the job
//   buildkite  buildkite-agent annotate, which the job has on PATH
//   else       a file of this name, such as /dev/termination-log
//
// An error says what did not work; it changes no answer of the check.
base::Status Annotate(const base::Call& call, const std::string& target, const std::string& line,
                      const config::GetEnv& get_env, std::ostream& out);

}  // namespace prefetch::ctl
