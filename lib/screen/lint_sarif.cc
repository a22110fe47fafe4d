// Writes only members that the standard requires, or that code scanning of GitHub or GitLab shows. Section
// numbers are those of SARIF 2.1.0.
#include <string>
#include <unordered_map>

#include "base/scrub.h"
#include "base/sha256.h"
#include "doc/json_writer.h"
#include "screen/lint_report.h"

namespace prefetch::screen {
namespace {

using manifest::lint::Finding;
using manifest::lint::Place;
using manifest::lint::Rule;

// Returns a path as the relative or absolute URI that SARIF requires (3.4.3). Bytes are percent-encoded
// unless RFC 3986 allows them in a path.
std::string Uri(std::string_view path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=@";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return uri;
}

void Text(doc::JsonWriter& json, std::string_view name, std::string_view text) {
  json.Key(name);
  json.BeginObject();
  json.Member("text", base::InOneLine(text));
  json.EndObject();
}

// location.physicalLocation (3.29); a region needs a line of at least 1.
void PhysicalLocation(doc::JsonWriter& json, const Place& place) {
  json.Key("physicalLocation");
  json.BeginObject();
  json.Key("artifactLocation");
  json.BeginObject();
  json.Member("uri", Uri(place.file));
  json.EndObject();
  if (place.at.line > 0) {
    json.Key("region");
    json.BeginObject();
    json.MemberNumber("startLine", place.at.line);
    json.MemberNumber("startColumn", place.at.column);
    json.EndObject();
  }
  json.EndObject();
}

void WriteRule(doc::JsonWriter& json, const Rule& rule) {
  json.BeginObject();
  json.Member("id", rule.id);
  json.Member("name", rule.name);
  Text(json, "shortDescription", rule.summary);
  Text(json, "fullDescription", std::string(rule.summary) + " " + std::string(rule.help));
  Text(json, "help", rule.help);
  json.Key("defaultConfiguration");
  json.BeginObject();
  json.Member("level", SeverityName(rule.severity));
  json.EndObject();
  json.EndObject();
}

// Returns a fingerprint that stays the same when lines move, so that a dismissed finding stays dismissed
// (3.27.17).
std::string Fingerprint(const Finding& finding, std::size_t same_before) {
  return base::Sha256Hex(std::string(RuleOf(finding.rule).id) + "\n" + finding.place.file + "\n" +
                         finding.message + "\n" + std::to_string(same_before));
}

void WriteResult(doc::JsonWriter& json, const Finding& finding, std::size_t same_before) {
  const Rule& rule = RuleOf(finding.rule);
  json.BeginObject();
  json.Member("ruleId", rule.id);
  // Rules are written in the order of the enum (WriteDriver).
  json.MemberNumber("ruleIndex", static_cast<std::size_t>(finding.rule));
  json.Member("level", SeverityName(rule.severity));
  Text(json, "message", finding.message);
  json.Key("locations");
  json.BeginArray();
  json.BeginObject();
  PhysicalLocation(json, finding.place);
  json.EndObject();
  json.EndArray();
  if (finding.other) {
    json.Key("relatedLocations");
    json.BeginArray();
    json.BeginObject();
    json.MemberNumber("id", 1);
    PhysicalLocation(json, *finding.other);
    Text(json, "message", finding.other_message);
    json.EndObject();
    json.EndArray();
  }
  json.Key("partialFingerprints");
  json.BeginObject();
  json.Member("prefetchctlLint/v1", Fingerprint(finding, same_before));
  json.EndObject();
  json.EndObject();
}

void WriteDriver(doc::JsonWriter& json, std::string_view version) {
  json.Key("driver");
  json.BeginObject();
  json.Member("name", "prefetchctl lint");
  json.Member("version", version);
  json.Key("rules");
  json.BeginArray();
  for (const Rule& rule : manifest::lint::Rules()) WriteRule(json, rule);
  json.EndArray();
  json.EndObject();
}

// Writes the run itself (3.20). An unreadable file is no result, and findings that are missing because of it
// are not gone.
void WriteInvocation(doc::JsonWriter& json, const manifest::lint::LintResult& result) {
  json.BeginObject();
  json.MemberBool("executionSuccessful", result.unread.empty());
  json.Key("toolExecutionNotifications");
  json.BeginArray();
  for (const manifest::lint::Unread& unread : result.unread) {
    json.BeginObject();
    json.Member("level", "error");
    Text(json, "message", unread.mistake);
    if (!unread.file.empty()) {
      json.Key("locations");
      json.BeginArray();
      json.BeginObject();
      PhysicalLocation(json, {unread.file, {}});
      json.EndObject();
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string LintSarif(const manifest::lint::LintResult& result, std::string_view version) {
  doc::JsonWriter json;
  json.BeginObject();
  json.Member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.Member("version", "2.1.0");
  json.Key("runs");
  json.BeginArray();
  json.BeginObject();
  json.Key("tool");
  json.BeginObject();
  WriteDriver(json, version);
  json.EndObject();
  json.Key("invocations");
  json.BeginArray();
  WriteInvocation(json, result);
  json.EndArray();
  json.Member("columnKind", "unicodeCodePoints");
  json.Key("results");
  json.BeginArray();
  // Equal findings in one file are told apart by their number.
  std::unordered_map<std::string, std::size_t> same;
  for (const Finding& finding : result.findings) {
    std::string key =
        std::string(RuleOf(finding.rule).id) + "\n" + finding.place.file + "\n" + finding.message;
    WriteResult(json, finding, same[key]++);
  }
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace prefetch::screen
