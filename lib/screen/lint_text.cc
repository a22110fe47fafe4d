#include <algorithm>

#include "base/ascii_output.h"
#include "base/scrub.h"
#include "base/text.h"
#include "screen/lint_report.h"
#include "screen/text_layout.h"

namespace prefetch::screen {
namespace {

using manifest::lint::Finding;
using manifest::lint::LintResult;
using manifest::lint::Rule;
using manifest::lint::Severity;

constexpr std::size_t kSeverityWidth = 9;
// Maximum width of the column of places: a path of hundreds of characters must not push the others off the
// screen.
constexpr std::size_t kWidestPlace = 60;
constexpr std::size_t kPathMargin = 4;  // indent of a message below its place

std::string_view Color(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return base::kCyan;
    case Severity::kWarning:
      return base::kYellow;
    case Severity::kError:
      return base::kRed;
  }
  return "";
}

std::string Line(const Finding& finding, std::size_t place_width, const LintTextOptions& options) {
  const Rule& rule = RuleOf(finding.rule);
  // Padded before the colour is added, since escape sequences have no width.
  std::string severity = PadRight(SeverityName(rule.severity), kSeverityWidth);
  if (options.color)
    severity = std::string(Color(rule.severity)) + severity + std::string(base::kPlainColour);
  const std::string head =
      PadRight(PlaceText(finding.place), place_width) + "  " + severity + std::string(rule.id);
  std::string message = base::InOneLine(finding.message);
  if (finding.other) message += " (" + PlaceText(*finding.other) + ")";
  if (options.width == 0 || DisplayWidth(head) + 1 + DisplayWidth(message) <= options.width) {
    return head + " " + message + "\n";
  }
  std::string text = head + "\n";
  for (const std::string& line : Wrap(message, options.width - kPathMargin)) {
    text += std::string(kPathMargin, ' ') + line + "\n";
  }
  return text;
}

}  // namespace

std::string PlaceText(const manifest::lint::Place& place) {
  std::string text = base::InOneLine(place.file);
  if (place.at.line == 0) return text;
  return text + ":" + std::to_string(place.at.line) + ":" + std::to_string(place.at.column);
}

std::string LintSummary(const LintResult& result) {
  std::vector<std::string> parts;
  auto add = [&](Severity severity) {
    std::size_t count = result.counts[static_cast<std::size_t>(severity)];
    if (count == 0) return;
    parts.push_back(std::to_string(count) + " " + std::string(SeverityName(severity)) +
                    (count == 1 ? "" : "s"));
  };
  add(Severity::kError);
  add(Severity::kWarning);
  add(Severity::kNote);
  std::string text = base::Join(parts, ", ");
  // "clean" would be wrong for files that nobody could read.
  if (parts.empty()) text = result.unread.empty() ? "clean:" : "nothing found in the readable files:";
  auto count = [](std::size_t n, const char* one, const char* many) {
    return std::to_string(n) + (n == 1 ? one : many);
  };
  text += parts.empty() ? " " : " in ";
  text += count(result.files, " file, ", " files, ") + count(result.pods, " pod", " pods");
  if (result.dropped > 0) text += ", " + std::to_string(result.dropped) + " not shown";
  if (!result.unread.empty())
    text += "; " + count(result.unread.size(), " mistake", " mistakes") + " in reading";
  return text;
}

std::string LintText(const LintResult& result, const LintTextOptions& options) {
  std::size_t width = 0;
  // The column takes at most half of the terminal, so that messages keep the other half.
  const std::size_t widest = options.width == 0 ? kWidestPlace : std::min(kWidestPlace, options.width / 2);
  for (const Finding& finding : result.findings) {
    std::size_t own = DisplayWidth(PlaceText(finding.place));
    // Longer places stick out of the column, and only their own lines move.
    if (own <= widest) width = std::max(width, own);
  }
  std::string text;
  for (const Finding& finding : result.findings) text += Line(finding, width, options);
  text += LintSummary(result);
  if (options.took) {
    auto tenths = (options.took->count() + 50) / 100;
    text += " (" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s)";
  }
  return text + "\n";
}

std::string LintRulesText(std::size_t width) {
  std::string text;
  for (const Rule& rule : manifest::lint::Rules()) {
    text += std::string(rule.id) + "  " + PadRight(SeverityName(rule.severity), kSeverityWidth) +
            std::string(rule.name) + "\n";
    for (std::string_view sentence : {rule.summary, rule.help}) {
      for (const std::string& line : Wrap(sentence, std::min<std::size_t>(width, 100) - 8))
        text += "       " + line + "\n";
    }
  }
  return text;
}

}  // namespace prefetch::screen
