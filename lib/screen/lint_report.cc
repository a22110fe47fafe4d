#include "screen/lint_report.h"

#include <algorithm>
#include <unordered_map>

#include "base/ascii_output.h"
#include "base/scrub.h"
#include "base/sha256.h"
#include "base/text.h"
#include "screen/text_layout.h"
#include "status/documents.h"

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

// Returns "deploy/app.yaml:22:9".
std::string PlaceText(const manifest::lint::Place& place) {
  std::string text = base::InOneLine(place.file);
  if (place.at.line == 0) return text;
  return text + ":" + std::to_string(place.at.line) + ":" + std::to_string(place.at.column);
}

// Returns "1 error, 2 notes in 48 files, 51 pods".
std::string LintSummary(const LintResult& result) {
  std::vector<std::string> parts;
  auto add = [&](Severity severity) {
    std::size_t count = result.counts[static_cast<std::size_t>(severity)];
    const std::string name = SeverityName(severity);
    if (count > 0) parts.push_back(base::Plural(count, name, name + "s"));
  };
  add(Severity::kError);
  add(Severity::kWarning);
  add(Severity::kNote);
  std::string text = base::Join(parts, ", ");
  // "clean" would be wrong for files that nobody could read.
  if (parts.empty()) text = result.unread.empty() ? "clean:" : "nothing found in the readable files:";
  text += parts.empty() ? " " : " in ";
  text += base::Plural(result.files, "file, ", "files, ") + base::Plural(result.pods, "pod", "pods");
  if (result.dropped > 0) text += ", " + std::to_string(result.dropped) + " not shown";
  if (!result.unread.empty())
    text += "; " + base::Plural(result.unread.size(), "mistake", "mistakes") + " in reading";
  return text;
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
  const std::string margin(kPathMargin, ' ');
  return head + "\n" + WrapIndented(message, margin, margin, options.width);
}

}  // namespace

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
  for (const Rule& rule : manifest::lint::kRules) {
    text += std::string(rule.id) + "  " + PadRight(SeverityName(rule.severity), kSeverityWidth) +
            std::string(rule.name) + "\n";
    for (std::string_view sentence : {rule.summary, rule.help}) {
      for (const std::string& line : Wrap(sentence, std::min<std::size_t>(width, 100) - 8))
        text += "       " + line + "\n";
    }
  }
  return text;
}

namespace {

using manifest::lint::Place;

void Write(doc::JsonWriter& json, const Place& place) {
  json.Member("file", base::InOneLine(place.file));
  json.MemberNumber("line", place.at.line);
  json.MemberNumber("column", place.at.column);
}

void Write(doc::JsonWriter& json, const Finding& finding) {
  const manifest::lint::Rule& rule = RuleOf(finding.rule);
  json.Member("rule", rule.id);
  json.Member("name", rule.name);
  json.Member("severity", SeverityName(rule.severity));
  Write(json, finding.place);
  json.Member("message", base::InOneLine(finding.message));
  // Present in every finding, so that programs need no cases.
  if (!finding.other) return json.MemberNull("other");
  json.Object("other", [&] {
    Write(json, *finding.other);
    json.Member("message", base::InOneLine(finding.other_message));
  });
}

void Write(doc::JsonWriter& json, const manifest::lint::Unread& unread) {
  json.Object([&] {
    json.MemberOrNull("file", base::InOneLine(unread.file));
    json.Member("message", base::InOneLine(unread.mistake));
  });
}

}  // namespace

void WriteUnread(doc::JsonWriter& json, const manifest::UnseenImage& object, std::string_view message) {
  json.Object([&] {
    Write(json, Place{object.pod->source, object.at});
    json.Member("kind", base::InOneLine(object.type.empty() ? object.pod->kind : object.type));
    json.MemberOrNull("namespace", base::InOneLine(object.pod->object_namespace));
    json.MemberOrNull("name", base::InOneLine(object.pod->name));
    json.Member("message", base::InOneLine(message));
  });
}

std::string LintJson(const manifest::lint::LintResult& result) {
  return status::JsonDocument("LintReport", [&](doc::JsonWriter& json) {
    // Notes do not count.
    json.MemberBool("clean", result.Clean());
    json.Objects("findings", result.findings, [&](const Finding& finding) { Write(json, finding); });
    json.Array("unread", [&] {
      for (const manifest::lint::Unread& unread : result.unread) Write(json, unread);
      // Objects that were not read may run pods, so they are reported like unreadable files.
      for (const manifest::UnseenImage& object : result.objects) {
        WriteUnread(json, object, object.why + " (" + object.type + ")");
      }
    });
    json.Object("summary", [&] {
      json.MemberNumber("errors", result.counts[static_cast<std::size_t>(Severity::kError)]);
      json.MemberNumber("warnings", result.counts[static_cast<std::size_t>(Severity::kWarning)]);
      json.MemberNumber("notes", result.counts[static_cast<std::size_t>(Severity::kNote)]);
      // The counts include findings beyond the limit, which `findings` lacks.
      json.MemberNumber("notShown", result.dropped);
      json.MemberNumber("files", result.files);
      json.MemberNumber("pods", result.pods);
      json.MemberNumber("images", result.uses);
    });
  });
}

// LintSarif writes only members that SARIF requires, or that code scanning of GitHub or GitLab shows. Section
// numbers are those of SARIF 2.1.0.

namespace {

// Returns a path as the relative or absolute URI that SARIF requires (3.4.3). Bytes are percent-encoded
// unless RFC 3986 allows them in a path.
std::string Uri(std::string_view path) {
  return (path.starts_with('/') ? "file://" : "") + base::PercentEncode(path, "/!$&'()*+,;=@");
}

void Text(doc::JsonWriter& json, std::string_view name, std::string_view text) {
  json.Object(name, [&] { json.Member("text", base::InOneLine(text)); });
}

// location.physicalLocation (3.29); a region needs a line of at least 1.
void PhysicalLocation(doc::JsonWriter& json, const Place& place) {
  json.Object("physicalLocation", [&] {
    json.Object("artifactLocation", [&] { json.Member("uri", Uri(place.file)); });
    if (place.at.line == 0) return;
    json.Object("region", [&] {
      json.MemberNumber("startLine", place.at.line);
      json.MemberNumber("startColumn", place.at.column);
    });
  });
}

// An array of one location.
void Locations(doc::JsonWriter& json, const Place& place) {
  json.Array("locations", [&] { json.Object([&] { PhysicalLocation(json, place); }); });
}

void WriteRule(doc::JsonWriter& json, const Rule& rule) {
  json.Member("id", rule.id);
  json.Member("name", rule.name);
  Text(json, "shortDescription", rule.summary);
  Text(json, "fullDescription", std::string(rule.summary) + " " + std::string(rule.help));
  Text(json, "help", rule.help);
  json.Object("defaultConfiguration", [&] { json.Member("level", SeverityName(rule.severity)); });
}

// Returns a fingerprint that stays the same when lines move, so that a dismissed finding stays dismissed
// (3.27.17).
std::string Fingerprint(const Finding& finding, std::size_t same_before) {
  return base::Sha256Hex(std::string(RuleOf(finding.rule).id) + "\n" + finding.place.file + "\n" +
                         finding.message + "\n" + std::to_string(same_before));
}

void WriteResult(doc::JsonWriter& json, const Finding& finding, std::size_t same_before) {
  const Rule& rule = RuleOf(finding.rule);
  json.Member("ruleId", rule.id);
  // Rules are written in the order of the enum (WriteRun).
  json.MemberNumber("ruleIndex", static_cast<std::size_t>(finding.rule));
  json.Member("level", SeverityName(rule.severity));
  Text(json, "message", finding.message);
  Locations(json, finding.place);
  if (finding.other) {
    json.Array("relatedLocations", [&] {
      json.Object([&] {
        json.MemberNumber("id", 1);
        PhysicalLocation(json, *finding.other);
        Text(json, "message", finding.other_message);
      });
    });
  }
  json.Object("partialFingerprints",
              [&] { json.Member("prefetchctlLint/v1", Fingerprint(finding, same_before)); });
}

// Writes the run itself (3.20). An unreadable file is no result, and findings that are missing because of it
// are not gone.
void WriteInvocation(doc::JsonWriter& json, const manifest::lint::LintResult& result) {
  json.Object([&] {
    json.MemberBool("executionSuccessful", result.unread.empty());
    json.Objects("toolExecutionNotifications", result.unread, [&](const manifest::lint::Unread& unread) {
      json.Member("level", "error");
      Text(json, "message", unread.mistake);
      if (!unread.file.empty()) Locations(json, {unread.file, {}});
    });
  });
}

void WriteRun(doc::JsonWriter& json, const manifest::lint::LintResult& result, std::string_view version) {
  json.Object("tool", [&] {
    json.Object("driver", [&] {
      json.Member("name", "prefetchctl lint");
      json.Member("version", version);
      json.Objects("rules", manifest::lint::kRules, [&](const Rule& rule) { WriteRule(json, rule); });
    });
  });
  json.Array("invocations", [&] { WriteInvocation(json, result); });
  json.Member("columnKind", "unicodeCodePoints");
  // Equal findings in one file are told apart by their number.
  std::unordered_map<std::string, std::size_t> same;
  json.Objects("results", result.findings, [&](const Finding& finding) {
    const std::string key =
        std::string(RuleOf(finding.rule).id) + "\n" + finding.place.file + "\n" + finding.message;
    WriteResult(json, finding, same[key]++);
  });
}

}  // namespace

std::string LintSarif(const manifest::lint::LintResult& result, std::string_view version) {
  doc::JsonWriter json;
  json.Object([&] {
    json.Member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json.Member("version", "2.1.0");
    json.Array("runs", [&] { json.Object([&] { WriteRun(json, result, version); }); });
  });
  return json.Take() + "\n";
}

namespace {

// Escapes as GitHub's runner takes them back: https://github.com/actions/toolkit,
// packages/core/src/command.ts. Line ends have escapes as well, but none are left here.
std::string EscapeData(std::string_view text) {
  return base::ReplaceAll(base::InOneLine(text), "%", "%25");
}

std::string EscapeProperty(std::string_view text) {
  return base::ReplaceAll(base::ReplaceAll(EscapeData(text), ":", "%3A"), ",", "%2C");
}

std::string Level(Severity severity) {
  return severity == Severity::kNote ? "notice" : SeverityName(severity);
}

}  // namespace

std::string GithubCommand(std::string_view level, const manifest::lint::Place& place, std::string_view title,
                          std::string_view message) {
  std::string line = "::" + std::string(level) + " ";
  if (!place.file.empty()) line += "file=" + EscapeProperty(place.file) + ",";
  // A mistake about a whole file has no line.
  if (place.at.line > 0) {
    line += "line=" + std::to_string(place.at.line) + ",col=" + std::to_string(place.at.column) + ",";
  }
  return line + "title=" + EscapeProperty(title) + "::" + EscapeData(message) + "\n";
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
