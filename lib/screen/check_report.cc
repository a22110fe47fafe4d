
#include "base/scrub.h"
#include "doc/json_writer.h"
#include "screen/check_text.h"
#include "screen/lint_report.h"

namespace prefetch::screen {
namespace {

void Write(doc::JsonWriter& json, const CheckItem& item, const status::CheckAnswer* answer,
           const std::string& undecided) {
  json.BeginObject();
  json.Member("image", item.question.image);
  json.Member("policy", image::PullPolicyName(item.question.policy));
  json.MemberBool("ok", answer != nullptr && answer->ok);
  json.MemberBool("listed", answer != nullptr && answer->listed);
  json.Member("result", answer != nullptr ? std::string_view(answer->result) : "Undecided");
  json.MemberOrNull("reason", answer != nullptr ? std::string_view(answer->reason) : "");
  json.MemberOrNull("rule", answer != nullptr ? std::string_view(answer->rule) : "");
  json.MemberOrNull("message", answer != nullptr ? answer->message : undecided);
  json.Member("containers", item.containers);
  json.Key("pullSecrets");
  json.BeginArray();
  for (const status::ObjectCoordinates& secret : item.question.identity.secrets)
    json.String(status::CoordinatesText(secret));
  json.EndArray();
  json.Member("policyFrom", item.origin);
  json.MemberOrNull("advice", answer != nullptr ? CheckAdvice(item, *answer) : "");
  json.MemberOrNull("file", item.file);
  json.MemberNumber("line", item.at.line);
  json.MemberNumber("column", item.at.column);
  json.EndObject();
}

void Write(doc::JsonWriter& json, const manifest::UnreadObject& object) {
  json.BeginObject();
  json.Member("file", base::InOneLine(object.pod->source));
  json.MemberNumber("line", object.at.line);
  json.MemberNumber("column", object.at.column);
  json.Member("kind", base::InOneLine(object.type));
  json.MemberOrNull("namespace", base::InOneLine(object.pod->object_namespace));
  json.MemberOrNull("name", base::InOneLine(object.pod->name));
  json.Member("message", base::InOneLine(UnreadTitle(object)));
  json.EndObject();
}

}  // namespace

std::string CheckReportJson(const std::vector<CheckItem>& items, const status::CheckResult& result,
                            const std::vector<manifest::UnreadObject>& unread) {
  doc::JsonWriter json;
  json.BeginObject();
  json.Member("apiVersion", "prefetchd.dev/v1");
  json.Member("kind", "CheckResult");
  json.Member("node", result.node);
  json.MemberOrNull("time", result.time);
  json.MemberBool("ok", result.ok);
  json.Key("results");
  json.BeginArray();
  for (std::size_t i = 0; i < items.size(); i++) {
    Write(json, items[i], DecidedAnswer(result, i), UndecidedWords(result, i));
  }
  json.EndArray();
  if (!unread.empty()) {
    json.Key("unread");
    json.BeginArray();
    for (const manifest::UnreadObject& object : unread) Write(json, object);
    json.EndArray();
  }
  json.EndObject();
  return json.Take();
}

std::string CheckGithub(const std::vector<CheckItem>& items, const status::CheckResult& result,
                        bool unknown_passes, const std::vector<manifest::UnreadObject>& unread) {
  std::string text;
  for (const manifest::UnreadObject& object : unread) {
    text += GithubCommand("error", {object.pod->source, object.at}, "prefetchctl check does not see this",
                          UnreadTitle(object));
  }
  for (std::size_t i = 0; i < items.size(); i++) {
    const status::CheckAnswer* answer = DecidedAnswer(result, i);
    if (answer != nullptr && Passes(*answer, unknown_passes)) continue;
    const CheckItem& item = items[i];
    std::string policy = std::string(image::PullPolicyName(item.question.policy)) + " (" + item.origin + ")";
    text += GithubCommand(
        answer == nullptr ? "warning" : "error", {item.file, item.at},
        "prefetchctl check " + item.question.image,
        item.question.image + ", " + item.containers + ", " + policy + ": " + CheckSays(items, result, i));
  }
  return text + CheckSummary(items, result, unknown_passes) + "\n";
}

}  // namespace prefetch::screen
