#include "base/scrub.h"
#include "base/text.h"
#include "screen/lint_report.h"

namespace prefetch::screen {
namespace {

using manifest::lint::Finding;
using manifest::lint::Severity;

// Escapes as GitHub's runner takes them back: https://github.com/actions/toolkit,
// packages/core/src/command.ts. Line ends have escapes as well, but none are left here.
std::string Data(std::string_view text) {
  return base::ReplaceAll(base::InOneLine(text), "%", "%25");
}

std::string Property(std::string_view text) {
  return base::ReplaceAll(base::ReplaceAll(Data(text), ":", "%3A"), ",", "%2C");
}

std::string_view Level(Severity severity) {
  return severity == Severity::kNote ? "notice" : SeverityName(severity);
}

}  // namespace

std::string GithubCommand(std::string_view level, const manifest::lint::Place& place, std::string_view title,
                          std::string_view message) {
  std::string line = "::" + std::string(level) + " ";
  if (!place.file.empty()) line += "file=" + Property(place.file) + ",";
  // A mistake about a whole file has no line.
  if (place.at.line > 0) {
    line += "line=" + std::to_string(place.at.line) + ",col=" + std::to_string(place.at.column) + ",";
  }
  return line + "title=" + Property(title) + "::" + Data(message) + "\n";
}

std::string LintGithub(const manifest::lint::LintResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    const manifest::lint::Rule& rule = RuleOf(finding.rule);
    std::string title = std::string(rule.id) + " " + std::string(rule.name);
    std::string message = finding.message;
    if (finding.other) message += " (" + PlaceText(*finding.other) + ")";
    text += GithubCommand(Level(rule.severity), finding.place, title, message);
  }
  for (const manifest::lint::Unread& unread : result.unread) {
    text += GithubCommand("error", {unread.file, {}}, "prefetchctl lint cannot read this", unread.mistake);
  }
  return text + LintSummary(result) + "\n";
}

}  // namespace prefetch::screen
