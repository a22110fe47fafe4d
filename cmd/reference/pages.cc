#include "reference/pages.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "config/settings.h"
#include "doc/duration.h"
#include "list/image_list.h"
#include "manifest/lint/rule.h"
#include "plan/caller.h"
#include "plan/reason.h"
#include "reference/schema.h"
#include "status/check_document.h"
#include "status/metrics_table.h"
#include "status/status_json.h"

namespace prefetch::reference {

namespace {

constexpr const char* kGenerated = "This page is generated.\n";
constexpr std::size_t kMostColumns = 120;

// Returns the anchor that GitHub makes from a heading.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (unsigned char c : heading) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

constexpr std::string_view kLintHead =
    "# Rules of lint\n\n"
    "`prefetchctl lint` compares manifests with lists, without cluster, registry or agent. It finds images "
    "that no\n"
    "node prefetches, unused entries, and pull policies that make pods depend on the registry for present "
    "images.\n"
    "An id is never given to another rule.\n\n";

constexpr std::string_view kLintUse = R"(
## Run it

```sh
prefetchctl lint -f deploy/ --list images.yaml
helm template ci/ | prefetchctl lint -f - --list images.yaml
kubectl get pods -A -o json | prefetchctl lint -f - --list images.yaml --select PF1
```

Manifests are files, directories, patterns or standard input, as YAML, JSON or Lists. Render templates first. In a
directory, `*.yaml`, `*.yml` and `*.json` count. `--assume-always-pull`, `--default-policy` and `--default-check-policy`
describe a cluster or a controller that sets other policies.

`-o text` is for a terminal, `json` for scripts, `github` for annotations in pull requests, and `sarif` for code
scanning. All of them report inputs that could not be read. [Exit codes](exit-codes.md): notes do not fail a job.

## Which images are seen

`lint`, `check -f` and `list import -f` read manifests by the same rules.

### Pods

| object | where the pods are |
|---|---|
| Kubernetes' own kinds, OpenShift's DeploymentConfig | at their place; a misspelt `template`, `spec`, `containers` or `image` is a mistake |
| `List`, OpenShift's `Template`, Tekton's TriggerTemplate | in the objects in it, with the default values of the parameters |
| Tekton's Task, Pipeline (also nested), their runs, StepAction | steps and sidecars; parameters with a default or a given value count |
| Argo's Workflow and its templates | containers, `templateDefaults`, `resource.manifest`, `podSpecPatch`, executor plugins |
| known custom resources | at their place, with the policy that their controller fills in |
| every other object | each mapping with `containers` that have a `name` and an `image`, at any depth |
| GitLab runner's `config.toml`, Jenkins' configuration as code | by themselves, or in a ConfigMap |
| a text in a ConfigMap | if it has the comment `# prefetchctl: manifest` |

Known are the kinds of Prometheus Operator, Knative, KServe, Kubeflow, Ray, Spark, Flink, JobSet, LeaderWorkerSet,
Volcano, KEDA, KubeVirt, Strimzi, CloudNativePG, Argo Rollouts, Actions Runner Controller, OpenKruise, Prow, OLM and
Crossplane.

For containers without names in another kind, use `--pod-template-path spec.template`. It is repeatable, and `*` is any
key. A path that leads to no pod is a mistake.

### Images that are no containers

A field such as `spec.image`, `spec.baseImage` or `image: {repository, tag}` of a custom resource counts as an image,
with the note `policy unknown`. Rules about pull policies leave it out. For images in `args` and `env`, name the words
in front of them:

```sh
prefetchctl list import --marker=-image= --marker RELATED_IMAGE_ --in operator.yaml
```

### Objects without images

If an object may run pods, and has no image, the commands name its kind, name, file and line. `lint` (PF107) and
`check` then end with exit code 1. `list import` prints the names to standard error, and as comments in the list. There
are four cures:

- Name the place of its pods: `--pod-template-path spec.template`.
- Render it first, if it is a patch or a chart.
- List the controller's images, and accept the kind: `--allow-unread Kafka`. Patterns of kind and group work, too:
  `--allow-unread '*.acme.io'`.
- If the kind never runs pods, accept it as well. Many such kinds are known already: certificates, policies, routes,
  monitors.

### Sizes

All commands read up to 256 MiB, and 10 MiB of one document or item of a list.

## Select and ignore rules

`--select` and `--ignore` take ids or their beginnings: `--select PF1,PF201`. A comment with a reason switches rules
off. At the end of a line, it covers that line. On a line of its own, it covers the next line, and the whole container,
volume or list entry that begins there.

```yaml
containers:
# prefetchctl: ignore=PF101,PF303 pulled by hand for the demo
- name: demo
  image: demo:v1
- name: app
  image: quay.io/acme/app        # prefetchctl: ignore=PF201 the mirror runs on the node
```

## All rules

| id | name | severity | finding | effect, and what to do |
|---|---|---|---|---|
)";

constexpr std::string_view kLintDetails = R"(
- `PF102` is right to ignore if manifests of another repository, or a test, use the image.
- `PF105` and `PF302`: a pod without secrets gets those of its service account, which manifests do not show.
- `PF106`: a policy that the step or its `stepTemplate` sets is not seen.
- `PF203` takes `latest`, `main`, `nightly` and similar tags for moving ones.
- `PF204` compares init containers with their own pod. It compares containers with names like `check`, `preflight`,
  `prepull` or `verify` with all pods of all manifests.
- `PF301` finds two spellings of a repository, a tag here and a digest there, one digest in two repositories, and the
  same path and tag in two registries.
)";

// Returns the page with links to its chapters below the title, if it has two or more.
std::string WithContents(const std::string& page) {
  std::vector<std::string> links;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("## ")) continue;
    line.remove_prefix(3);
    links.push_back("[" + std::string(line) + "](#" + AnchorOf(line) + ")");
  }
  if (links.size() < 2) return page;
  std::string contents, row;
  for (std::size_t i = 0; i < links.size(); i++) {
    const std::string link = links[i] + (i + 1 < links.size() ? " ·" : "");
    if (!row.empty() && row.size() + 1 + link.size() > kMostColumns) {
      contents += row + "\n";
      row.clear();
    }
    row += (row.empty() ? "" : " ") + link;
  }
  // The links go below the title, which is the first line.
  const std::size_t end_of_title = page.find('\n');
  return page.substr(0, end_of_title) + "\n\n" + contents + row + "\n" + page.substr(end_of_title + 1);
}

std::string LintPage() {
  std::string page(kLintHead);
  page += kGenerated;
  page += kLintUse;
  for (const manifest::lint::Rule& rule : manifest::lint::kRules) {
    page += "| `" + std::string(rule.id) + "` | " + std::string(rule.name) + " | " +
            std::string(SeverityName(rule.severity)) + " | " + std::string(rule.summary) + " | " +
            CellText(std::string(rule.help)) + " |\n";
  }
  return page + std::string(kLintDetails);
}

// The page of the agent's HTTP API: endpoints, preflights, status document.

constexpr const char* kBoth = "both";
constexpr const char* kLocalOnly = "socket";
constexpr const char* kLocalOrFleet = "socket; TCP with a fleet token";

// A test compares these rows with the endpoints that the agent serves.
constexpr std::array kEndpointRows = {
    EndpointRow{"GET", "/livez", "", "200 while the agent's loop turns, else 503", kBoth},
    EndpointRow{
        "GET", "/readyz",
        "`verbose`: a line for each image. `policy=P`: this pull policy instead of `readyFor`. `hash=H`: "
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
      "curl --unix-socket " +
      std::string(config::kDefaultLocal) +
      " http://node/v1/status\n"
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

// The pages of commands. They are made from the texts of --help, so that every change there appears here.

// Every footer begins its exit codes with these words.
constexpr std::string_view kExitCode = "\nExit code:";

// In Markdown, stars mark emphasis. Options contain them as patterns.
std::string Plain(const std::string& text) {
  return base::ReplaceAll(CellText(text), "*", "\\*");
}

// Returns "`-o`, `--output`".
std::string NamesOfOption(const std::string& names) {
  std::string text;
  for (std::string_view name : base::Split(names, ','))
    text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
  return text;
}

// An option whose help is this long is explained once on the page.
constexpr std::size_t kLongHelp = 40;

// An exit code in a footer: ("0", "valid").
struct ExitMeaning {
  std::string code, meaning;
};

bool BeginsWithCode(std::string_view text) {
  return text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 && text[1] == ' ';
}

// Reads "0 printed, 2 bad input". Only a digit after a comma begins the next code, since a meaning may
// contain commas.
void AddOnOneLine(std::string_view text, std::vector<ExitMeaning>& codes) {
  for (std::string_view part : base::Split(text, ',')) {
    part = base::TrimSpace(part);
    if (BeginsWithCode(part)) {
      codes.push_back({std::string(part.substr(0, 1)), std::string(base::TrimSpace(part.substr(1)))});
    } else if (!codes.empty()) {
      codes.back().meaning += ", " + std::string(part);
    }
  }
}

// The exit codes of prefetchd, from the text that its --help shows.
std::vector<ExitMeaning> CodesOfAgent() {
  std::vector<ExitMeaning> codes;
  AddOnOneLine(config::kOnceExitCodes, codes);
  return codes;
}

void AddRow(const std::string& name, const std::vector<ExitMeaning>& codes, std::string& page) {
  std::map<std::string, std::string> meanings;
  for (const ExitMeaning& code : codes) meanings[code.code] = code.meaning;
  page += "| " + name + " |";
  for (const char* code : {"0", "1", "2", "3", "4"}) page += " " + CellText(meanings[code]) + " |";
  page += "\n";
}

// Returns the exit codes in a footer.
std::vector<ExitMeaning> ExitCodesIn(const std::string& footer) {
  std::vector<ExitMeaning> codes;
  const std::size_t at = footer.find(kExitCode);
  if (at == std::string::npos) return codes;
  std::string text = footer.substr(at + kExitCode.size());
  text = text.substr(0, text.find("\n\n"));
  // Commands with many codes have a line for each; the others have one sentence.
  if (text.starts_with('\n')) {
    for (std::string_view line : base::Split(text, '\n')) {
      line = base::TrimSpace(line);
      if (!BeginsWithCode(line)) continue;
      codes.push_back({std::string(line.substr(0, 1)), std::string(base::TrimSpace(line.substr(1)))});
    }
    return codes;
  }
  AddOnOneLine(base::ReplaceAll(text, "\n", " "), codes);
  if (!codes.empty() && codes.back().meaning.ends_with('.')) codes.back().meaning.pop_back();
  return codes;
}

std::string FlagsPage(const std::vector<CommandHelp>& commands) {
  std::string page =
      "# Commands and flags\n\n"
      "The flags of `prefetchd` are on the page of its [configuration](configuration.md). This page has "
      "those of\n"
      "`prefetchctl`. `--help` of each command shows examples, too. [Exit codes](exit-codes.md) has a page "
      "of its own.\n"
      "As a plugin of kubectl, the program is called `kubectl prefetch`.\n\n";
  page += kGenerated;
  std::map<std::string, std::string> first_with;  // the first command with a row, by the row
  for (const CommandHelp& command : commands) {
    page += "\n## prefetchctl " + command.words + "\n\n" + Plain(command.help) + ".\n";
    if (!command.options.empty()) page += "\n| option | value | meaning |\n|---|---|---|\n";
    for (const CommandOption& option : command.options) {
      const std::string value = option.value.empty() ? "" : "`" + CellText(option.value) + "`";
      const std::string row = "| " + NamesOfOption(option.names) + " | " + value + " | ";
      const std::string meaning = Plain(option.help);
      auto [first, is_new] = first_with.emplace(row + meaning, command.words);
      // The options of --fleet, and those of generate, would stand there several times.
      const bool refers = !is_new && option.help.size() >= kLongHelp;
      page += row +
              (refers ? "see [" + first->second + "](#" + AnchorOf("prefetchctl " + first->second) + ")"
                      : meaning) +
              " |\n";
    }
  }
  return page;
}

std::string ExitCodesPage(const std::vector<CommandHelp>& commands) {
  std::string page =
      "# Exit codes\n\n"
      "The codes mean the same for all commands. 0: yes, or done. 1: no. 2: bad usage or input. 3: timed "
      "out. 4: the\n"
      "agent, the cluster, a registry or the runtime could not be asked. 130: interrupted. An empty cell: "
      "the command\n"
      "does not use the code. Errors are one sentence each on standard error.\n\n";
  page += kGenerated;
  page += "\n| command | 0 | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|---|\n";
  AddRow("prefetchd with `--once`", CodesOfAgent(), page);
  for (const CommandHelp& command : commands) {
    AddRow("prefetchctl " + command.words, ExitCodesIn(command.footer), page);
  }
  return page;
}

// The page of the agent's configuration: settings, and the fields that only the file has.

std::string SettingCells(const config::Setting& setting) {
  // Settings that belong in the file have a flag that --help hides, and so does this page.
  const bool shown = setting.place != config::SettingPlace::kFileFirst;
  const std::string flag = shown ? "`" + config::FlagOf(setting) + "`" : "";
  const bool in_file = setting.place != config::SettingPlace::kNotInFile;
  const std::string field = in_file ? "`" + config::FieldOf(setting) + "`" : "";
  return "| " + field + " | " + flag + " | `" + config::VariableOf(setting) + "` | " + setting.fallback +
         " | " + CellText(setting.help) + " |\n";
}

std::string SettingTables() {
  std::string text;
  std::optional<config::SettingGroup> group;
  for (const config::Setting& setting : config::Settings()) {
    if (group != setting.group) {
      group = setting.group;
      text += std::string("\n## ") + config::GroupTitle(setting.group) +
              "\n\n| field | flag | variable | default | meaning |\n|---|---|---|---|---|\n";
    }
    text += SettingCells(setting);
  }
  return text;
}

std::string ConfigurationPage() {
  std::string page =
      "# Configuration of prefetchd\n\n"
      "Flags win over environment variables, and variables over fields of the configuration file "
      "(`--config`, kind\n"
      "`AgentConfiguration`). A variable separates several paths by colons and several patterns by commas. "
      "The agent\n"
      "rejects unknown fields. A change needs a restart.\n\n";
  page += kGenerated;
  page +=
      "\n```yaml\n"
      "# yaml-language-server: $schema=agent.schema.json\n"
      "apiVersion: prefetchd.dev/v1alpha1\n"
      "kind: AgentConfiguration\n"
      "logLevel: debug\n"
      "limits:\n"
      "  parallelPulls: 8\n"
      "  diskMinFreeBytes: 21474836480\n"
      "pullSecrets:\n"
      "- name: team-a\n"
      "  path: /etc/prefetchd/secrets/team-a/.dockerconfigjson\n"
      "  allowRepositories: [registry.example/team-a]\n"
      "  sources: [team-a.yaml]\n"
      "```\n\n"
      "Editors check the file while you write it, if the schema is beside it:\n\n"
      "```sh\n"
      "prefetchctl schema agent > agent.schema.json\n"
      "```\n";
  page += SettingTables();
  page +=
      "\n## Fields of the file: credentials\n\n"
      "These fields exist in the file only. See [Registries](../registries.md) and [Security "
      "model](../security.md).\n\n";
  page += TableOf(CredentialFields(), TableFor::kInput);
  page +=
      "\n## Fields of the file: limits\n\n"
      "[Sizing and large fleets](../fleets.md) helps to choose.\n\n";
  page += TableOf(LimitsFields(), TableFor::kInput);
  page +=
      "\n## Fields of the file: preflight\n\n[Let pods ask](../gate.md#let-pods-ask) explains the "
      "fields.\n\n";
  page += TableOf(PreflightFields(), TableFor::kInput);
  return page;
}

// The page of the list.

// Returns the fields of the document itself, or those of an entry.
Fields PartOfList(bool entry) {
  Fields part;
  for (const Field& field : ListFields()) {
    const bool below = field.path.find('.') != std::string::npos;
    if (entry ? field.path.starts_with("images[].") : !below) part.push_back(field);
  }
  return part;
}

std::string Row(const char* name, std::size_t value) {
  return std::string("| ") + name + " | " + std::to_string(value) + " |\n";
}

std::string ListPage() {
  std::string page =
      "# The list\n\n"
      "A list is plain text with one reference a line, or YAML or JSON of kind `ImageList`.\n"
      "[Change the list](../change-the-list.md) explains how to write and deploy it. The agent "
      "rejects\n"
      "unknown fields, wrong types and fields that contradict each other. `prefetchctl list check` reports "
      "all of these\n"
      "with file, line and column.\n\n";
  page += kGenerated;
  page +=
      "\n```yaml\n"
      "# yaml-language-server: $schema=list.schema.json\n"
      "apiVersion: prefetchd.dev/v1alpha1\n"
      "kind: ImageList\n"
      "defaults:\n"
      "  refresh: IfDigestChanged\n"
      "images:\n"
      "- image: ghcr.io/acme/runner:v3\n"
      "  priority: 10\n"
      "- image: ghcr.io/acme/tools@sha256:90f7f8d0b7c9e3c5f2a1d4b6e8c0a2f4d6b8e0c2a4f6d8b0e2c4a6f8d0b2e4c6\n"
      "  required: false\n"
      "```\n\n"
      "Editors check the file while you write it, if the schema is beside it:\n\n"
      "```sh\n"
      "prefetchctl schema list > list.schema.json\n"
      "```\n\n"
      "## Fields of the document\n\n";
  page += TableOf(PartOfList(false), TableFor::kInput);
  page +=
      "\n## Fields of an entry\n\n"
      "`defaults` has the same fields, without `image`. `null` means that the field is not given.\n\n";
  page += TableOf(PartOfList(true), TableFor::kInput, "images[].");
  page +=
      "\n## Durations\n\n"
      "A duration is a text such as `90s`, `10m` or `1h30m`. The units are `ms`, `s`, `m` and `h`. A bare "
      "number is an\n"
      "error. Durations of a list are whole seconds.\n\n"
      "## Limits of a source\n\n| limit | value |\n|---|---|\n";
  page += Row("bytes of a file", list::kMaxSourceBytes);
  page += Row("entries of a file", list::kMaxEntries);
  page += Row("bytes of a line of plain text", list::kMostLineBytes);
  page += Row("files of a directory", list::kMostDirectoryEntries);
  return page;
}

// The page of metrics. Names and texts are those that /metrics itself shows; labels and alerts exist only
// here.

using Id = status::MetricId;

struct AlertRow {
  Id id;
  const char* labels;  // with blanks between them
  const char* alert;
};

// A row for each MetricId, in its order: a new metric does not compile without an alert, or the word that it
// needs none.
constexpr std::array<AlertRow, static_cast<std::size_t>(Id::kCount)> kAlerts = {{
    {Id::kBuildInfo, "version", "`count(count by (version) (prefetchd_build_info)) > 1` for a day"},
    {Id::kReady, "", "`prefetchd_ready == 0` for longer than a first start takes (30 min)"},
    {Id::kReadinessInfo, "phase reason",
     "`prefetchd_readiness_info{phase=\"Failing\"}` for 10 min; `Progressing` is slow, not broken"},
    {Id::kTimeToReady, "", "above what your rollout allows: `> 1200`"},
    {Id::kEntries, "state reason required",
     "`sum by (reason) (prefetchd_entries{state=\"Failing\",required=\"true\"}) > 0` for 15 min"},
    {Id::kEntriesExposed, "", "`> 0` where no pull secret should be mounted"},
    {Id::kImageVerdicts, "policy result reason",
     "`sum by (reason) "
     "(prefetchd_image_verdicts{policy=\"Never\",result=\"Refused\",reason!=\"ImageAbsent\"}) > 0` for 5 "
     "min: present but closed images"},
    {Id::kPulls, "result class",
     "`sum by (class) (rate(prefetchd_pulls_total{result=\"failed\"}[15m])) > 0` on many nodes at once: the "
     "registry"},
    {Id::kPullDuration, "result", "the 0.9 quantile of `result=\"succeeded\"` doubles from week to week"},
    {Id::kPullBytes, "", "nothing; for planning links and mirrors"},
    {Id::kFetchedBytes, "", "nothing; shows how much the agent downloads by itself"},
    {Id::kPullsRunning, "", "nothing"},
    {Id::kPullsQueued, "", "`> 0` for 2 h"},
    {Id::kRetriesWaiting, "", "`> 0` for 1 h"},
    {Id::kEntriesFresh, "fresh reason",
     "`sum(prefetchd_entries_fresh{fresh=\"false\",reason!=\"NotChecked\"}) > 0` for 3 h: images may not be "
     "current"},
    {Id::kRegistryChecks, "answer",
     "`rate(prefetchd_registry_checks_total{answer=\"AccessDenied\"}[1h]) > 0`: a credential; "
     "`{answer=\"RateLimited\"}`: ask less often"},
    {Id::kRegistryRequests, "", "above what the registry allows, summed over the fleet"},
    {Id::kRegistryDuration, "", "the 0.9 quantile above 5 s"},
    {Id::kRegistriesUnreachable, "", "`> 0` for 30 min"},
    {Id::kRegistryUnreachableSince, "registry",
     "`time() - prefetchd_registry_away_since_timestamp_seconds > 3600`"},
    {Id::kRegistryAgreed, "", "older than the longest `maxAge`"},
    {Id::kCredentialLookups, "source outcome",
     "`rate(prefetchd_credential_lookups_total{source=\"provider\",outcome=\"error\"}[15m]) > 0`"},
    {Id::kPluginDuration, "provider outcome", "the 0.9 quantile above 10 s: at 60 s it is killed"},
    {Id::kEntriesTouch, "state obstacle",
     "`sum by (obstacle) (prefetchd_entries_touch{state=\"Ineffective\"}) > 0` for 15 min"},
    {Id::kPreflightCallers, "result",
     "`rate(prefetchd_preflight_callers_total{result=\"NotReviewed\"}[15m]) > 0` for 15 min"},
    {Id::kFleetCallers, "result",
     "`rate(prefetchd_fleet_callers_total{result=\"Rejected\"}[15m]) > 0`: callers with a wrong token"},
    {Id::kTouches, "obstacle", "nothing; what was granted, and how often"},
    {Id::kTouchPods, "obstacle",
     "`sum by (obstacle) (rate(prefetchd_touch_pods_total{obstacle!=\"None\"}[15m])) > 0` for 30 min"},
    {Id::kRuntimeUp, "", "`== 0` for 5 min: then the node is not ready either"},
    {Id::kRuntimeInfo, "name version", "nothing; for finding nodes with an old one"},
    {Id::kKubeletInfo, "version verification",
     "`{version=\"unknown\"}` or `{verification=\"unknown\"}` where `FactsUnknown` shows up among the "
     "verdicts"},
    {Id::kKubeletNewer, "", "`== 1` for 15 min: update prefetchd"},
    {Id::kKubeletRecordsReadable, "", "`== 0` for 5 min: the mount, or the right to read it"},
    {Id::kKubeletContradictions, "", "`> 0` for 10 min: a declaration is out of date"},
    {Id::kProvidersMissing, "",
     "`> 0` for 10 min: mount and name them, see "
     "[Registries](../registries.md#credential-providers-of-kubelet)"},
    {Id::kListInfo, "hash",
     "`count(count by (hash) (prefetchd_list_info)) > 1` for longer than a rollout takes"},
    {Id::kSourceInfo, "source hash", "nothing; shows which source differs between nodes"},
    {Id::kSourceEntries, "source", "`== 0`: probably a mistake"},
    {Id::kSourceLoaded, "source", "nothing by itself; after a change of the list: older than the change"},
    {Id::kSourceInForce, "source", "`== 0`: the node is not ready until it is repaired"},
    {Id::kSourceError, "source", "`== 1` at once: the newest version is not live"},
    {Id::kDiskCapacity, "", "nothing"},
    {Id::kDiskAvailable, "",
     "`/ prefetchd_disk_capacity_bytes < 0.25`: kubelet begins to remove images at 0.15"},
    {Id::kDiskNeeded, "", "`> prefetchd_disk_available_bytes`"},
    {Id::kDiskPressure, "", "`== 1` for 10 min"},
    {Id::kUnlisted, "",
     "`> 0` where the list is meant to be complete: `prefetchctl audit --fleet` names them"},
    {Id::kProblems, "", "`> 0` for 10 min"},
    {Id::kProcessCpu, "", "nothing"},
    {Id::kProcessStart, "", "nothing"},
    {Id::kProcessResident, "", "nothing"},
    {Id::kProcessVirtual, "", "nothing"},
    {Id::kProcessOpenFds, "", "nothing"},
    {Id::kProcessMaxFds, "", "nothing"},
}};

constexpr bool AlertsAreInOrder() {
  for (std::size_t i = 0; i < kAlerts.size(); i++) {
    if (kAlerts[i].id != static_cast<Id>(i)) return false;
  }
  return true;
}
static_assert(AlertsAreInOrder(), "kAlerts has one row for each MetricId, in the order of MetricId");

std::string KindOf(const status::MetricRow& row, const AlertRow& alert) {
  std::string kind = row.kind == status::MetricKind::kGauge     ? "gauge"
                     : row.kind == status::MetricKind::kCounter ? "counter"
                                                                : "histogram";
  if (*alert.labels == '\0') return kind;
  kind += ",";
  for (std::string_view label : base::Split(alert.labels, ' ')) kind += " `" + std::string(label) + "`";
  return kind;
}

std::string MetricsPage() {
  std::string page =
      "# Metrics\n\n"
      "`GET /metrics` is in the text format of Prometheus. Labels are closed sets, or names that the node's\n"
      "configuration bounds (`source`, `registry`, `provider`). The label `provider` exists over the local "
      "socket "
      "only.\n"
      "`state` is `Ready`, `Progressing` or `Failing`. `reason` and `class` are [reasons](reasons.md).\n\n"
      "[Watch](../watch.md#metrics-and-alerts) has the metrics to begin with. The component `monitoring` "
      "alerts on "
      "most of\n"
      "these conditions. The series of a failed pull appears with the first failure of its class. Alert on\n"
      "`prefetchd_entries` where you must not miss one.\n\n";
  page += kGenerated;
  page += "\n| metric | type, labels | meaning | alert when |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < kAlerts.size(); i++) {
    const status::MetricRow& row = status::AllMetrics()[i];
    std::string help = row.help;
    // The texts of /metrics are sentences; cells of a table are phrases.
    if (help.ends_with('.')) help.pop_back();
    page += "| `" + std::string(row.name) + "` | " + KindOf(row, kAlerts[i]) + " | " + help + " | " +
            kAlerts[i].alert + " |\n";
  }
  return page;
}

// The page of reasons.

const char* TitleOf(plan::ReasonGroup group) {
  switch (group) {
    case plan::ReasonGroup::kFine:
      return "Nothing is wrong";
    case plan::ReasonGroup::kUnderWay:
      return "Work is under way";
    case plan::ReasonGroup::kPull:
      return "A pull failed, or cannot start";
    case plan::ReasonGroup::kClosed:
      return "The image is on the node, and kubelet keeps it from pods";
    case plan::ReasonGroup::kRegistry:
      return "The registry's answer about an image on the node";
    case plan::ReasonGroup::kNode:
      return "The list, the node, garbage collection";
  }
  std::abort();
}

// Returns when a failed pull is tried again. Some reasons have a rule beside their class.
const char* RetryWords(const plan::ReasonRow& row) {
  if (row.reason == plan::Reason::kRateLimited) return "after 1 min to 1 h, or a longer `Retry-After`";
  if (row.reason == plan::Reason::kWrongPlatform) return "on a retry, or another image";
  if (row.reason == plan::Reason::kBadCredentialFormat) return "hourly, or on new credentials";
  if (row.reason == plan::Reason::kRuntimeCrashed) return "after 10 s, then 10 min to 1 h";
  if (row.reason == plan::Reason::kEvictedByKubelet) return "after 5 min, doubling to 1 h";
  switch (row.retry) {
    case plan::Retry::kNoRetryRule:
    case plan::Retry::kAtOnce:
      return "";
    case plan::Retry::kTransient:
      return "at once, then up to 5 min apart";
    case plan::Retry::kSlow:
      return "after 5 min, doubling to 1 h";
    case plan::Retry::kHourly:
      return "hourly";
    case plan::Retry::kNever:
      return "on a list change or retry";
  }
  std::abort();
}

std::string ReasonsPage() {
  std::string page =
      "# Reasons\n\n"
      "Status JSON, logs, metrics and `/readyz?verbose` name a reason for the state of each image and of the "
      "node.\n"
      "`prefetchctl status` shows the word of the second column. `prefetchctl explain IMAGE` shows all facts "
      "behind a\n"
      "reason. This page is generated.\n";
  std::optional<plan::ReasonGroup> group;
  for (const plan::ReasonRow& row : plan::kReasons) {
    if (group != row.group) {
      group = row.group;
      page += std::string("\n## ") + TitleOf(row.group) +
              "\n\n| reason | shown as | tried again | what helps |\n|---|---|---|---|\n";
    }
    page += "| `" + std::string(row.name) + "` | " + std::string(row.state) + " | " + RetryWords(row) +
            " | " + std::string(row.advice) + " |\n";
  }
  return page;
}

}  // namespace

std::span<const EndpointRow> EndpointRows() {
  return kEndpointRows;
}

std::vector<File> Pages(const std::vector<CommandHelp>& commands) {
  std::vector<File> pages = {{"docs/reference/list.md", ListPage()},
                             {"docs/reference/configuration.md", ConfigurationPage()},
                             {"docs/reference/flags.md", FlagsPage(commands)},
                             {"docs/reference/api.md", ApiPage()},
                             {"docs/reference/metrics.md", MetricsPage()},
                             {"docs/reference/reasons.md", ReasonsPage()},
                             {"docs/reference/lint.md", LintPage()},
                             {"docs/reference/exit-codes.md", ExitCodesPage(commands)}};
  for (File& page : pages) page.text = WithContents(page.text);
  return pages;
}

}  // namespace prefetch::reference
