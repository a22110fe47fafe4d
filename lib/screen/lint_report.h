// The findings of `prefetchctl lint`: LintText for a terminal, LintJson, LintGithub and LintSarif for other
// programs. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "doc/write.h"
#include "manifest/lint/linter.h"

namespace prefetch::screen {

// A line each, `file:line:column  severity  id  message`, then a line that sums up and, if `took` is given,
// says in how long. `color` is for a terminal.
struct LintTextOptions {
  bool color = false;
  std::size_t width = 0;  // columns of the terminal; 0: a finding is one line, however long
  std::optional<std::chrono::milliseconds> took;
};
std::string LintText(const manifest::lint::LintResult& result, const LintTextOptions& options);

// Writes an object with an image that is not seen: its place, kind and name, and `message` about it.
void WriteUnread(doc::JsonWriter& json, const manifest::UnseenImage& object, std::string_view message);

// {"apiVersion": "prefetchd.dev/v1", "kind": "LintReport", "findings": […], "summary": {…}}; one line.
std::string LintJson(const manifest::lint::LintResult& result);

// GitHub's workflow commands, a line each, which it shows beside the code of a pull request
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions); then the line that sums
// up.
std::string LintGithub(const manifest::lint::LintResult& result);
// Returns one such command. `level` is "error", "warning" or "notice"; line 0: no place.
std::string GithubCommand(std::string_view level, const manifest::lint::Place& place, std::string_view title,
                          std::string_view message);

// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), for code scanning; one line. `version` is
// that of this program.
std::string LintSarif(const manifest::lint::LintResult& result, std::string_view version);

// The rules themselves: id, severity, name, what each is about.
std::string LintRulesText(std::size_t width = 100);

}  // namespace prefetch::screen
