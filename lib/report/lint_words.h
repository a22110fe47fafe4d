// How findings of lint are put into words, in all outputs. Internal to report/.
#pragma once

#include <string>
#include <string_view>

#include "manifest/lint/linter.h"

namespace prefetch::report {

// On one line, and harmless to a terminal: names come from anybody's manifests.
std::string LineOf(std::string_view text);
std::string PlaceText(const manifest::lint::Place& place);  // "deploy/app.yaml:22:9"
// "1 error, 2 notes in 48 files, 51 pods"
std::string LintSummary(const manifest::lint::LintResult& result);

}  // namespace prefetch::report
