#include "base/scrub.h"
#include "doc/json_writer.h"
#include "screen/lint_report.h"

namespace prefetch::screen {
namespace {

using manifest::lint::Finding;
using manifest::lint::Place;
using manifest::lint::Severity;

void Write(doc::JsonWriter& json, const Place& place) {
  json.Member("file", base::InOneLine(place.file));
  json.MemberNumber("line", place.at.line);
  json.MemberNumber("column", place.at.column);
}

void Write(doc::JsonWriter& json, const Finding& finding) {
  const manifest::lint::Rule& rule = RuleOf(finding.rule);
  json.BeginObject();
  json.Member("rule", rule.id);
  json.Member("name", rule.name);
  json.Member("severity", SeverityName(rule.severity));
  Write(json, finding.place);
  json.Member("message", base::InOneLine(finding.message));
  if (finding.other) {
    json.Key("other");
    json.BeginObject();
    Write(json, *finding.other);
    json.Member("message", base::InOneLine(finding.other_message));
    json.EndObject();
  } else {
    // Present in every finding, so that programs need no cases.
    json.MemberNull("other");
  }
  json.EndObject();
}

void Write(doc::JsonWriter& json, const manifest::lint::Unread& unread) {
  json.BeginObject();
  json.MemberOrNull("file", base::InOneLine(unread.file));
  json.Member("message", base::InOneLine(unread.mistake));
  json.EndObject();
}

void Write(doc::JsonWriter& json, const manifest::lint::UnreadKind& object) {
  json.BeginObject();
  Write(json, object.place);
  json.Member("kind", base::InOneLine(object.type));
  json.MemberOrNull("namespace", base::InOneLine(object.name_space));
  json.MemberOrNull("name", base::InOneLine(object.name));
  json.Member("message", base::InOneLine(object.message));
  json.EndObject();
}

}  // namespace

std::string LintJson(const manifest::lint::LintResult& result) {
  doc::JsonWriter json;
  json.BeginObject();
  json.Member("apiVersion", "prefetchd.dev/v1");
  json.Member("kind", "LintReport");
  // Notes do not count.
  json.MemberBool("clean", result.Clean());
  json.Key("findings");
  json.BeginArray();
  for (const Finding& finding : result.findings) Write(json, finding);
  json.EndArray();
  json.Key("unread");
  json.BeginArray();
  for (const manifest::lint::Unread& unread : result.unread) Write(json, unread);
  // Objects that were not read may run pods, so they are reported like unreadable files.
  for (const manifest::lint::UnreadKind& object : result.objects) Write(json, object);
  json.EndArray();
  json.Key("summary");
  json.BeginObject();
  json.MemberNumber("errors", result.counts[static_cast<std::size_t>(Severity::kError)]);
  json.MemberNumber("warnings", result.counts[static_cast<std::size_t>(Severity::kWarning)]);
  json.MemberNumber("notes", result.counts[static_cast<std::size_t>(Severity::kNote)]);
  // The counts include findings beyond the limit, which `findings` lacks.
  json.MemberNumber("notShown", result.dropped);
  json.MemberNumber("files", result.files);
  json.MemberNumber("pods", result.pods);
  json.MemberNumber("images", result.uses);
  json.EndObject();
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace prefetch::screen
