// What `prefetchctl check` prints for machines. Pure.
#pragma once

#include <string>
#include <vector>

#include "report/check_document.h"
#include "report/check_items.h"

namespace prefetch::report {

// The agent's CheckResult, and of each image also who asks for it and why so strongly: `containers`,
// `policyFrom`, `file`, `line`, `column`, `advice`. What was not decided in time has the result "Undecided".
// One line.
std::string CheckReportJson(const std::vector<CheckItem>& items, const CheckResult& result);

// GitHub's workflow commands: an error for each image that does not pass, a warning for each that was not
// decided, at its place in the manifests; then what CheckSummary says.
std::string CheckGithub(const std::vector<CheckItem>& items, const CheckResult& result, bool unknown_passes);

}  // namespace prefetch::report
