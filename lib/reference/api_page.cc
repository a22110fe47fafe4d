// The page of the agent's HTTP API: endpoints, preflights, status document.

#include <array>
#include <string>
#include <utility>

#include "doc/duration.h"
#include "plan/caller.h"
#include "reference/page_parts.h"
#include "reference/schema.h"
#include "status/check_document.h"
#include "status/status_json.h"

namespace prefetch::reference {
namespace {

constexpr const char* kBoth = "both";
constexpr const char* kLocalOnly = "socket";
constexpr const char* kLocalOrFleet = "socket; TCP with a fleet token";

// A test compares these rows with the endpoints that the agent serves.
constexpr std::array kEndpointRows = {
    EndpointRow{"GET", "/livez", "", "200 while the agent's loop turns, else 503", kBoth},
    EndpointRow{
        "GET", "/readyz",
        "`verbose`: a line for each image. `policy=P`: ready for pods with this pull policy. `hash=H`: "
        "insist on a list hash. `source=NAME`: one source alone",
        "200 if every required image is ready, else 503", kBoth},
    EndpointRow{"GET", "/v1/status", "", "the status document", kBoth},
    EndpointRow{"GET", "/metrics", "", "[metrics](metrics.md)", kBoth},
    EndpointRow{"POST", "/v1/check", "", "verdicts for the images of pods: a preflight", kBoth},
    EndpointRow{
        "POST", "/v1/retry",
        "The body may name images: `{\"images\": [\"quay.io/acme/app:v1\"]}`. Without it: all that wait",
        "what `prefetchctl retry -o json` prints; 429 with `Retry-After` after too many", kLocalOrFleet},
    EndpointRow{
        "GET", "/v1/images/",
        "The image's name follows the path. `credentials=false`: without credentials. `identities`: with "
        "the names of recorded secrets",
        "all facts about one image, as `prefetchctl explain -o json` prints them", kLocalOnly},
};

std::string EndpointTable() {
  std::string table = "| method | path | parameters | answer | listener |\n|---|---|---|---|---|\n";
  for (const EndpointRow& row : kEndpointRows) {
    table += std::string("| ") + row.method + " | `" + row.path + "` | " + row.parameters + " | " +
             row.answer + " | " + row.audience + " |\n";
  }
  return table;
}

constexpr const char* kErrors =
    "\nErrors are JSON, `{\"error\": \"…\"}`, except those of `/livez` and `/readyz`. Every endpoint may "
    "answer:\n\n"
    "| status | cause |\n|---|---|\n"
    "| 400 | a parameter, the image's name or the body is not valid |\n"
    "| 404 | the listener has no such path: over TCP, that includes `/v1/images/` |\n"
    "| 404, with all facts | `/v1/images/`: the image is neither listed nor present |\n"
    "| 405 | the path has another method; the header `Allow` names it |\n"
    "| 413 | the body is too long |\n"
    "| 421 | over TCP: the `Host` is a name that others may own. [Use an address](../gate.md#rejections) |\n"
    "| 503 | not now: too many requests at once. `/livez`, `/readyz`: the answer is no |\n";

// Returns the fields of an object, without those of a part that has its own table: the table of the status
// document would otherwise be too long to read.
Fields Part(const Fields& all, const std::string& prefix, const std::string& without = "-") {
  Fields part;
  for (const Field& field : all) {
    if (field.path.starts_with(prefix) && !field.path.starts_with(without)) part.push_back(field);
  }
  return part;
}

std::string HiddenItems() {
  std::string items;
  for (const std::string& member : status::HiddenMembers()) items += "- `" + member + "`\n";
  return items;
}

std::string PreflightChapter() {
  std::string text =
      "\n## Request of a preflight\n\n"
      "The body of `POST /v1/check` is JSON, at most " +
      std::to_string(status::kMostQuestions) +
      " questions. The list of `checks` may stand alone. Unknown members are\n"
      "errors.\n\n"
      "```json\n"
      "{\"checks\": [{\"image\": \"quay.io/acme/app:v1\", \"policy\": \"Never\",\n"
      "             \"identity\": {\"secrets\": [\"team/pull\"]}}],\n"
      " \"within\": \"20s\"}\n"
      "```\n\n";
  text += TableOf(CheckRequestFields(), TableFor::kInput);
  text +=
      "\n## Answer of a preflight\n\n"
      "`prefetchctl check -o json` prints the same document. It adds the members that its rows name, and has "
      "no\n"
      "`pending`.\n\n";
  text += TableOf(CheckResultFields(), TableFor::kOutput);
  text +=
      "\n| status | cause |\n|---|---|\n"
      "| 200 | answered; `ok` and `results` have the verdicts |\n"
      "| 400 | the body is not valid; the error names each mistake |\n"
      "| 401 | the token is not valid here |\n"
      "| 403 | the configuration does not admit this caller, or this question |\n"
      "| 429 | too many questions; `Retry-After` says when to ask again |\n"
      "| 503 | the API server could not be asked about the token, or the agent has no room |\n";
  return text;
}

}  // namespace

std::span<const EndpointRow> EndpointRows() {
  return kEndpointRows;
}

std::string ApiPage() {
  const Fields status = StatusFields();
  std::string page =
      "# HTTP API of the agent\n\n"
      "The agent listens on a Unix socket (`local`) for users of the node, and on a TCP address (`listen`) "
      "for "
      "probes,\nmetrics and pods.\n\n";
  page += kGenerated;
  page +=
      "\n```sh\n"
      "curl --unix-socket /run/prefetchd/prefetchd.sock http://node/v1/status\n"
      "```\n\n"
      "## Endpoints\n\n";
  page += EndpointTable();
  page += kErrors;
  page += "\n## Tokens\n\nOver TCP, tokens of ServiceAccounts for the audience `" +
          std::string(plan::kCallerAudience) +
          "` open more. A pod shows its own in\n"
          "`Authorization: Bearer`, for [preflights](../gate.md#let-pods-ask). A fleet command shows a token "
          "in\n`" +
          std::string(plan::kFleetHeader) +
          ": Bearer`, for the full status and retries (setting `fleetTokens`).\n";
  page += PreflightChapter();
  page +=
      "\n## Status document\n\n"
      "`GET /v1/status` and `prefetchctl status -o json` have this document. Later versions add members, and "
      "never\n"
      "rename one. `prefetchctl schema status` prints its JSON Schema. Times are RFC 3339 in UTC.\n\n";
  page += TableOf(Part(status, "", "images[]"), TableFor::kOutput);
  page += "\n## Status of an image\n\nThe members of each item of `images`.\n\n";
  page += TableOf(Part(status, "images[]."), TableFor::kOutput, "images[].");
  page +=
      "\n## Hidden members\n\nOver TCP without a fleet token, the status document lacks these members:\n\n" +
      HiddenItems();
  return page;
}

}  // namespace prefetch::reference
