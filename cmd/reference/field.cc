#include "reference/field.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/enum_name.h"
#include "base/text.h"
#include "config/config_file.h"
#include "config/settings.h"
#include "doc/duration.h"
#include "image/reference.h"
#include "kubelet/verdict.h"
#include "list/image_list.h"
#include "plan/desired.h"
#include "plan/limits.h"
#include "reference/schema.h"
#include "status/check_document.h"
#include "status/status_json.h"

namespace prefetch::reference {

namespace {

// Maximum number of words in a cell. More would hide the meaning; the reasons, the only longer enum, have
// their own page.
constexpr std::size_t kMostWordsShown = 12;

std::string Code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

// Returns "`a`, `b` or `c`".
std::string AnyOf(const std::vector<std::string>& words) {
  std::vector<std::string> codes;
  for (const std::string& word : words) codes.push_back(Code(word));
  return base::JoinOr({codes.begin(), codes.end()});
}

std::string RangeOf(const Field& field) {
  if (field.form != Form::kInt) return "";
  if (field.least && field.most) {
    return " from " + std::to_string(*field.least) + " to " + std::to_string(*field.most);
  }
  return "";
}

// Returns "duration", "`Keep` or `NotReady`", "list of texts".
std::string TypeOf(const Field& field) {
  switch (field.form) {
    case Form::kObject:
      return "object";
    case Form::kObjects:
      return "list of objects";
    case Form::kTexts:
      return field.words.empty() ? "list of texts" : "list of " + AnyOf(field.words);
    case Form::kMap:
      return "map of texts";
    case Form::kTextOrMap:
      return "text, or map of texts";
    case Form::kText:
      return "text";
    case Form::kWord:
      return field.words.size() > kMostWordsShown ? "word" : AnyOf(field.words);
    case Form::kBool:
      return "boolean";
    case Form::kInt:
      return "integer" + RangeOf(field);
    case Form::kDuration:
      return "duration";
    case Form::kTime:
      return "time";
  }
  std::abort();
}

// Returns `fields` below another path: "verdicts" and "Never" give "verdicts.Never".
Fields WithPrefix(const std::string& path, Fields fields) {
  for (Field& field : fields) field.path = path + field.path;
  return fields;
}

}  // namespace

std::string CellText(const std::string& text) {
  return base::ReplaceAll(base::ReplaceAll(text, "|", "\\|"), "\n", " ");
}

void Append(Fields& fields, Fields more) {
  std::move(more.begin(), more.end(), std::back_inserter(fields));
}

bool IsValue(const Field& field) {
  switch (field.form) {
    case Form::kBool:
      return field.fallback == "true" || field.fallback == "false";
    case Form::kInt:
      return !field.fallback.empty() && field.fallback.find_first_not_of("-0123456789") == std::string::npos;
    case Form::kDuration:
      return doc::ParseDuration(field.fallback).has_value();
    case Form::kWord:
      return std::find(field.words.begin(), field.words.end(), field.fallback) != field.words.end();
    case Form::kText:
      // A text with a blank is a description of the default, not a value.
      return !field.fallback.empty() && field.fallback.find(' ') == std::string::npos;
    case Form::kObject:
    case Form::kObjects:
    case Form::kTexts:
    case Form::kMap:
    case Form::kTextOrMap:
    case Form::kTime:
      return false;
  }
  std::abort();
}

std::string TableOf(const Fields& fields, TableFor use, std::string_view without) {
  const bool defaults = use == TableFor::kInput;
  std::string table = defaults ? "| field | type | default | meaning |\n|---|---|---|---|\n"
                               : "| field | type | meaning |\n|---|---|---|\n";
  for (const Field& field : fields) {
    std::string_view path = field.path;
    // The heading above the table already names the object.
    if (path.starts_with(without)) path.remove_prefix(without.size());
    table += "| " + Code(path) + " | " + CellText(TypeOf(field)) + (field.nullable ? ", null" : "") + " | ";
    if (defaults) {
      const std::string fallback = IsValue(field) ? Code(field.fallback) : field.fallback;
      table += CellText(field.required ? "required" : fallback) + " | ";
    }
    table += CellText(field.help) + " |\n";
  }
  return table;
}

// The fields of the agent's configuration file. Settings and limits come from the tables by which the agent
// reads the file, so that this page cannot differ from them. The other fields have no such table.

namespace {

constexpr const char* kNamePattern = "^[^\\u0000-\\u0020\\u007f]{1,500}$";
constexpr const char* kAccountPattern = "^[^\\u0000-\\u0020\\u007f]*/[^\\u0000-\\u0020\\u007f]*$";

Field FieldOfSetting(const config::Setting& setting) {
  Field field{.path = config::FieldOf(setting), .help = setting.help, .fallback = setting.fallback};
  field.words = config::WordsOf(setting);
  field.pattern = setting.pattern;
  if (!field.words.empty()) field.form = Form::kWord;
  if (setting.kind() == config::SettingKind::kSwitch) {
    field.form = Form::kBool;
    field.fallback = "false";
  } else if (setting.kind() == config::SettingKind::kTexts) {
    field.form = Form::kTexts;
  }
  if (field.path == "auditIgnore") field.most_items = config::kMostAuditPatterns;
  return field;
}

// Returns the default of a limit as one would write it in the file. The table's own words win, for defaults
// that are no number.
std::string DefaultOf(const config::LimitField& field) {
  if (*field.fallback != '\0') return field.fallback;
  const plan::Limits limits;
  return std::visit(
      [&](auto member) -> std::string {
        using T = std::decay_t<decltype(limits.*member)>;
        if constexpr (std::is_same_v<T, std::chrono::seconds>) {
          return doc::FormatDuration(limits.*member);
        } else if constexpr (std::is_same_v<T, std::optional<int>>) {
          return (limits.*member) ? std::to_string(*(limits.*member)) : "";
        } else {
          return std::to_string(limits.*member);
        }
      },
      field.member);
}

Field FieldOfLimit(const config::LimitField& limit) {
  Field field{.path = std::string("limits.") + limit.name, .help = limit.help, .fallback = DefaultOf(limit)};
  if (std::holds_alternative<std::chrono::seconds plan::Limits::*>(limit.member)) {
    field.form = Form::kDuration;
    field.pattern = limit.least > 0 ? doc::kPositiveDurationPattern : doc::kDurationFromZeroPattern;
    // Behind a second sentence, the range would belong to that one.
    const bool is_one_sentence = field.help.find(". ") == std::string::npos;
    field.help += (is_one_sentence ? ", from " : ". From ") +
                  doc::FormatDuration(std::chrono::seconds(limit.least)) + " to " +
                  doc::FormatDuration(std::chrono::seconds(limit.most));
  } else {
    field.form = Form::kInt;
    field.least = limit.least;
    field.most = limit.most;
  }
  return field;
}

}  // namespace

Fields PreflightFields() {
  return {
      Row("preflight", Form::kObject,
          "The pods that may ask this agent in their own name, and what they are told"),
      Row("preflight.namespaces", Form::kTexts,
          "Namespaces whose pods may ask, as names or patterns with `*`",
          {.fallback = "none: nobody is admitted",
           .pattern = kNamePattern,
           .most_items = config::kMostPreflightPatterns}),
      Row("preflight.serviceAccounts", Form::kTexts,
          "Service accounts of these namespaces that may ask, as patterns of `NAMESPACE/NAME`",
          {.fallback = "all of these namespaces",
           .pattern = kAccountPattern,
           .most_items = config::kMostPreflightPatterns}),
      Row("preflight.always", Form::kWord,
          "`ask`: the agent asks the registry for pods with `Always`, and for absent images. "
          "`known`: it answers from the last refresh",
          {.words = {"known", "ask"}, .fallback = "known"}),
      Row("preflight.unlisted", Form::kWord, "`ask`: the agent also answers about images that are on no list",
          {.words = {"known", "ask"}, .fallback = "known"}),
      Row("preflight.pull", Form::kWord,
          "The absent images that pods may have pulled (`check --pull`). `any` needs `unlisted: ask`",
          {.words = {"never", "listed", "any"}, .fallback = "never"})};
}

Fields CredentialFields() {
  return {Row("pullSecrets", Form::kObjects,
              "Mounted pull secrets. Every pod of the node can use images that the agent pulled with one"),
          Row("pullSecrets[].name", Form::kText, "A unique name, which `status` and logs show",
              {.required = true, .pattern = config::kNotEmpty}),
          Row("pullSecrets[].path", Form::kText, "The mounted file, a `.dockerconfigjson` or `.dockercfg`",
              {.required = true, .pattern = config::kPath}),
          Row("pullSecrets[].allowRepositories", Form::kTexts,
              "The repositories that are pulled with the secret, with the patterns of kubelet's "
              "`matchImages`",
              {.required = true, .least_items = 1}),
          Row("pullSecrets[].sources", Form::kTexts,
              "The sources of the list whose entries are pulled with the secret, by name: `team.yaml`",
              {.required = true, .least_items = 1}),
          Row("providerServiceAccount", Form::kObject,
              "The service account for credential providers with `tokenAttributes`. Without it, the "
              "agent skips them"),
          Row("providerServiceAccount.namespace", Form::kText, "Namespace of the service account",
              {.required = true, .pattern = config::kNotEmpty}),
          Row("providerServiceAccount.name", Form::kText, "Name of the service account",
              {.required = true, .pattern = config::kNotEmpty}),
          Row("providerEnvironment", Form::kTextOrMap,
              "The whole environment of credential plugins: a file of `NAME=value` lines, or a map",
              {.fallback = "an empty environment"})};
}

Fields LimitsFields() {
  Fields fields = {Row("limits", Form::kObject, "How much the agent does at a time, and for how long")};
  for (const config::LimitField& limit : config::LimitFields()) fields.push_back(FieldOfLimit(limit));
  return fields;
}

Fields AgentFields() {
  Fields fields = FormatFields("prefetchd.dev/v1alpha1", "AgentConfiguration");
  for (const config::Setting& setting : config::kSettings) {
    if (setting.place != config::SettingPlace::kNotInFile) fields.push_back(FieldOfSetting(setting));
  }
  Append(fields, CredentialFields());
  Append(fields, LimitsFields());
  Append(fields, PreflightFields());
  return fields;
}

// The members of a preflight's request and answer (status/check_document.cc, screen/check_text.cc).

namespace {

constexpr const char* kAccount = "^[^/]+/[^/]+/[^/]+$";
constexpr const char* kSecret = "^[^/]+(/[^/]+){0,2}$";

// Members that `prefetchctl check -o json` adds.
Fields ReportFields() {
  return {Row("containers", Form::kText, "The containers with this image; from `prefetchctl check`"),
          Row("pullSecrets", Form::kTexts,
              "The pull secrets of the question, as `NAMESPACE/NAME`; from `prefetchctl check`"),
          Row("policyFrom", Form::kText, "Where the policy is from; from `prefetchctl check`"),
          Row("advice", Form::kText, "Advice on how to make the pod start; from `prefetchctl check`",
              {.nullable = true}),
          Row("file", Form::kText, "The manifest; from `prefetchctl check`", {.nullable = true}),
          Row("line", Form::kInt, "Line in it; from `prefetchctl check`"),
          Row("column", Form::kInt, "Column in it; from `prefetchctl check`")};
}

}  // namespace

Fields CheckRequestFields() {
  return {
      Row("checks", Form::kObjects, "The questions, one for each image and policy",
          {.required = true, .least_items = 1, .most_items = status::kMostQuestions}),
      Row("checks[].image", Form::kText, "The image, as the pod has it", {.required = true}),
      Row("checks[].policy", Form::kWord, "The pull policy of the container",
          {.words = base::NamesOf<image::PullPolicy>(), .fallback = "the policy that Kubernetes fills in"}),
      Row("checks[].identity", Form::kObject,
          "The credentials of the pod. A pod with a token may name only its own",
          {.fallback = "a pod without credentials; with a token: the service account of the token"}),
      Row("checks[].identity.secrets", Form::kTexts,
          "Its pull secrets, as `NAMESPACE/NAME` or `NAMESPACE/NAME/UID`; with a token also as `NAME`",
          {.pattern = kSecret, .most_items = status::kMostSecretsOfCheck}),
      Row("checks[].identity.serviceAccount", Form::kText, "Its service account, as `NAMESPACE/NAME/UID`",
          {.pattern = kAccount}),
      Row("pull", Form::kBool, "Whether the agent pulls absent images first, if it may",
          {.fallback = "false"}),
      Row("wait", Form::kDuration,
          "Time that the answer waits for these pulls; longer values count as the default",
          {.fallback = doc::FormatDuration(status::kMostPullWait)}),
      Row("within", Form::kDuration,
          "Time for all questions to registries; longer values count as the default",
          {.fallback = doc::FormatDuration(status::kMostRegistryTime)})};
}

Fields CheckResultFields() {
  Fields fields = status::CheckResultFields();
  Append(fields, WithPrefix("results[].", ReportFields()));
  Append(
      fields,
      {Row("unread", Form::kObjects,
           "Objects that may run pods and whose images were not seen; absent: none. Only prefetchctl check "
           "prints it"),
       Row("unread[].file", Form::kText, "File of the object, or `stdin`", {.required = true}),
       Row("unread[].line", Form::kInt, "Its line", {.required = true}),
       Row("unread[].column", Form::kInt, "Its column", {.required = true}),
       Row("unread[].kind", Form::kText, "Its kind and group, such as `JobSet.jobset.x-k8s.io`",
           {.required = true}),
       Row("unread[].namespace", Form::kText, "Its namespace; null: not written",
           {.required = true, .nullable = true}),
       Row("unread[].name", Form::kText, "Its name; null: not written", {.required = true, .nullable = true}),
       Row("unread[].message", Form::kText, "A sentence about what was not seen", {.required = true})});
  return fields;
}

// The fields of a list.

namespace {

// Names of Secrets and ServiceAccounts, and of namespaces (list/entry_fields.cc).
constexpr const char* kLabelValue = "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$";
constexpr const char* kObjectName = "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$";
constexpr const char* kNamespaceName = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";
constexpr const char* kUid = "^[A-Za-z0-9-]{1,128}$";
constexpr const char* kPlatform = "^[a-z0-9._-]+/[a-z0-9._-]+(/[a-z0-9._-]+)?$";
// The grammar of image::Reference: [domain/]path[:tag][@digest]. A first part with a dot, a colon or a
// capital letter is a domain. A domain may contain an underscore if it is a valid component of a path.
std::string ReferencePattern() {
  const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const std::string port =
      "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
  const std::string domain = "(" + label + "(\\." + label + ")*|\\[[0-9A-Fa-f:]{2,45}\\])(:" + port + ")?";
  const std::string plain = "[a-z0-9]+((__?|-+)[a-z0-9]+)*", part = "[a-z0-9]+((\\.|__?|-+)[a-z0-9]+)*";
  const std::string more = "(/" + part + ")";
  // 64 hexadecimal digits are an image ID, which is no name.
  return "^(?=.{1,1024}$)(?![0-9a-f]{64}$)(" + domain + more + "+|" + plain + more + "+|(?=[^/]*_)" + part +
         more + "+|" + part + ")" +
         "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{"
         "128}))?$";
}

Fields Coordinates(const std::string& path, const std::string& whose) {
  return {Row(path + "namespace", Form::kText, "Namespace of " + whose,
              {.required = true, .pattern = kNamespaceName}),
          Row(path + "name", Form::kText, "Name of " + whose, {.required = true, .pattern = kObjectName}),
          Row(path + "uid", Form::kText,
              "metadata.uid of " + whose + ". Without it, a recorded object of that name counts",
              {.pattern = kUid})};
}

Fields ReadyAs() {
  Fields fields = {
      Row("readyAs", Form::kObject, "The credentials of the pods that use the image, in one namespace",
          {.fallback = "a pod without credentials"}),
      Row("readyAs.secrets", Form::kObjects, "Pull secrets of the pods",
          {.most_items = list::kMostReadyAsSecrets})};
  Append(fields, Coordinates("readyAs.secrets[].", "the Secret"));
  fields.push_back(Row("readyAs.serviceAccount", Form::kObject,
                       "The service account of the pods, for credential providers that use its token"));
  Append(fields, Coordinates("readyAs.serviceAccount.", "the ServiceAccount"));
  return fields;
}

Fields PullWindow() {
  return {Row("pullWindow", Form::kObject,
              "Hours in which pulls start. Requested retries, `check --pull` and `--once` do not wait",
              {.fallback = "at any time"}),
          Row("pullWindow.start", Form::kText, "Time of the day",
              {.required = true, .pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"}),
          Row("pullWindow.end", Form::kText, "Time of the day, up to `24:00`, or of the next day",
              {.required = true, .pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"}),
          Row("pullWindow.days", Form::kTexts, "Days on which it opens",
              {.words = {plan::kDayNames.begin(), plan::kDayNames.end()},
               .fallback = "every day",
               .least_items = 1,
               .most_items = 7}),
          Row("pullWindow.timeZone", Form::kText,
              "Name in the tz database, which is built in. Newer and other names are errors",
              {.fallback = "UTC"})};
}

template <typename E>
Field Choice(const char* path, const std::string& help, E fallback) {
  return Row(path, Form::kWord, help,
             {.words = base::NamesOf<E>(), .fallback = std::string(base::EnumName(fallback))});
}

Field Directive(const char* path, const char* when, plan::OnFailure fallback) {
  return Choice(path, std::string("Readiness of a present image ") + when, fallback);
}

Fields RegistryFields(const plan::DesiredImage& standard) {
  return {
      Choice("refresh",
             "When the agent pulls a present tag again. `IfDigestChanged`: when the registry names "
             "another digest. `Always`: the same, and ready only while the registry agrees",
             standard.refresh),
      Row("refreshInterval", Form::kDuration,
          "Time between two questions to the registry, from " + doc::FormatDuration(list::kLeastInterval) +
              " to " + doc::FormatDuration(list::kLongestInterval),
          {.fallback = doc::FormatDuration(standard.refresh_interval),
           .pattern = doc::kDurationFromAMinutePattern}),
      Row("maxAge", Form::kDuration,
          "Time without an agreeing answer of the registry after which an image is stale. It must "
          "not be shorter than `refreshInterval`",
          {.fallback = "none", .pattern = doc::kDurationFromAMinutePattern}),
      Directive("onUnreachable", "if its registry does not answer", standard.on_unreachable),
      Directive("onAccessDenied", "if its registry denies access", standard.on_access_denied),
      Directive("onTagMissing", "if its tag is gone from the registry", standard.on_tag_missing),
      Directive("onStale", "if it is older than `maxAge`", standard.on_stale)};
}

// Returns the fields that `defaults` and an entry have in common: all except `image`.
Fields CommonEntryFields() {
  // The defaults are those of the agent's own type.
  const plan::DesiredImage standard;
  Fields fields = {
      Row("required", Form::kBool, "`false`: the agent pulls and reports the image, and never waits for it",
          {.fallback = standard.required ? "true" : "false"}),
      Choice("readyFor", "The pull policy of the pods for which the image must be ready",
             standard.ready_for)};
  Append(fields, ReadyAs());
  Append(fields, RegistryFields(standard));
  Append(fields,
         {Row("priority", Form::kInt, "The agent pulls higher numbers first",
              {.fallback = std::to_string(standard.priority),
               .least = -list::kHighestPriority,
               .most = list::kHighestPriority}),
          Choice("open",
                 "When the agent touches the image, if it runs with `--touch`. `Auto`: closed images. "
                 "`Always`: also preloaded ones",
                 standard.open),
          Row("pullTimeout", Form::kDuration,
              "Deadline of a pull, 2h at least where the runtime shows progress; from " +
                  doc::FormatDuration(list::kLeastPullTimeout) + " to " +
                  doc::FormatDuration(list::kLongestPullTimeout),
              {.fallback = doc::FormatDuration(standard.pull_timeout),
               .pattern = doc::kDurationFromAMinutePattern}),
          Row("platforms", Form::kTexts,
              "Platforms of the nodes that need the image, such as `linux/amd64`. Other nodes skip it",
              {.fallback = "every platform", .pattern = kPlatform, .most_items = list::kMostPlatforms}),
          Row("nodeSelector", Form::kMap, "Labels of the Nodes that need the image. Other nodes skip it",
              {.fallback = "every node", .pattern = kLabelValue}),
          Row("pin", Form::kBool, "On containerd, kubelet's garbage collection spares the image",
              {.fallback = "false"})});
  Append(fields, PullWindow());
  return fields;
}

}  // namespace

Fields ListFields() {
  Fields fields = FormatFields(list::kListApiVersion, list::kListKind);
  fields.push_back(Row("defaults", Form::kObject, "Values for entries that do not have the field"));
  Append(fields, WithPrefix("defaults.", CommonEntryFields()));
  fields.push_back(Row("images", Form::kObjects, "The entries, each spelling of an image once",
                       // `images:` without a value is a list of no images.
                       {.required = true, .nullable = true, .most_items = list::kMaxEntries}));
  fields.push_back(Row("images[].image", Form::kText,
                       "The reference, as pods write it: `ghcr.io/acme/runner:v3`",
                       {.required = true, .pattern = ReferencePattern()}));
  Append(fields, WithPrefix("images[].", CommonEntryFields()));
  return fields;
}

}  // namespace prefetch::reference
