// The fields of the agent's configuration file. Settings and limits come from the tables by which the agent
// reads the file, so that this page cannot differ from them. The other fields have no such table.
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/text.h"
#include "config/file_fields.h"
#include "config/settings.h"
#include "doc/duration.h"
#include "plan/limits.h"
#include "reference/field_parts.h"
#include "reference/schema.h"

namespace prefetch::reference {
namespace {

// A JSON Schema knows no "absolute path" and no "text that is not empty", so patterns express them.
constexpr const char* kAbsolutePath = "^/";
constexpr const char* kAnyText = "[^\\u0000]";
constexpr const char* kNamePattern = "^[^\\u0000-\\u0020\\u007f]{1,500}$";
constexpr const char* kAccountPattern = "^[^\\u0000-\\u0020\\u007f]*/[^\\u0000-\\u0020\\u007f]*$";

Field FieldOfSetting(const config::Setting& setting) {
  Field field{.path = config::FieldOf(setting), .help = setting.help, .fallback = setting.fallback};
  field.words = config::WordsOf(setting);
  field.pattern = setting.pattern;
  if (!field.words.empty()) field.form = Form::kWord;
  if (std::holds_alternative<config::Setting::Switch>(setting.member)) {
    field.form = Form::kBool;
    field.fallback = "false";
  } else if (std::holds_alternative<config::Setting::Texts>(setting.member)) {
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
    field.help += ", from " + doc::FormatDuration(std::chrono::seconds(limit.least)) + " to " +
                  doc::FormatDuration(std::chrono::seconds(limit.most));
    if (std::string_view(limit.help).find(". ") != std::string_view::npos) {
      // A range behind a second sentence would belong to that one.
      field.help = std::string(limit.help) + ". From " +
                   doc::FormatDuration(std::chrono::seconds(limit.least)) + " to " +
                   doc::FormatDuration(std::chrono::seconds(limit.most));
    }
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
      {.path = "preflight",
       .form = Form::kObject,
       .help = "The pods that may ask this agent in their own name, and what they are told"},
      {.path = "preflight.namespaces",
       .form = Form::kTexts,
       .help = "Namespaces whose pods may ask, as names or patterns with `*`",
       .fallback = "none: nobody is admitted",
       .pattern = kNamePattern,
       .most_items = config::kMostPreflightPatterns},
      {.path = "preflight.serviceAccounts",
       .form = Form::kTexts,
       .help = "Service accounts of these namespaces that may ask, as patterns of `NAMESPACE/NAME`",
       .fallback = "all of these namespaces",
       .pattern = kAccountPattern,
       .most_items = config::kMostPreflightPatterns},
      {.path = "preflight.always",
       .form = Form::kWord,
       .help = "`ask`: the agent asks the registry for pods with `Always`, and for absent images. "
               "`known`: it answers from the last refresh",
       .words = {"known", "ask"},
       .fallback = "known"},
      {.path = "preflight.unlisted",
       .form = Form::kWord,
       .help = "`ask`: the agent also answers about images that are on no list",
       .words = {"known", "ask"},
       .fallback = "known"},
      {.path = "preflight.pull",
       .form = Form::kWord,
       .help = "The absent images that pods may have pulled (`check --pull`). `any` needs `unlisted: ask`",
       .words = {"never", "listed", "any"},
       .fallback = "never"}};
}

Fields CredentialFields() {
  return {
      {.path = "pullSecrets",
       .form = Form::kObjects,
       .help = "Mounted pull secrets. Every pod of the node can use images that the agent pulled with one"},
      {.path = "pullSecrets[].name",
       .help = "A unique name, which `status` and logs show",
       .required = true,
       .pattern = kAnyText},
      {.path = "pullSecrets[].path",
       .help = "The mounted file, a `.dockerconfigjson` or `.dockercfg`",
       .required = true,
       .pattern = kAbsolutePath},
      {.path = "pullSecrets[].allowRepositories",
       .form = Form::kTexts,
       .help = "The repositories that are pulled with the secret, with the patterns of kubelet's "
               "`matchImages`",
       .required = true,
       .least_items = 1},
      {.path = "pullSecrets[].sources",
       .form = Form::kTexts,
       .help = "The sources of the list whose entries are pulled with the secret, by name: `team.yaml`",
       .required = true,
       .least_items = 1},
      {.path = "providerServiceAccount",
       .form = Form::kObject,
       .help = "The service account for credential providers with `tokenAttributes`. Without it, the "
               "agent skips them"},
      {.path = "providerServiceAccount.namespace",
       .help = "Namespace of the service account",
       .required = true,
       .pattern = kAnyText},
      {.path = "providerServiceAccount.name",
       .help = "Name of the service account",
       .required = true,
       .pattern = kAnyText},
      {.path = "providerEnvironment",
       .form = Form::kTextOrMap,
       .help = "The whole environment of credential plugins: a file of `NAME=value` lines, or a map",
       .fallback = "an empty environment"}};
}

Fields LimitsFields() {
  Fields fields = {{.path = "limits",
                    .form = Form::kObject,
                    .help = "How much the agent does at a time, and for how long"}};
  for (const config::LimitField& limit : config::LimitFields()) fields.push_back(FieldOfLimit(limit));
  return fields;
}

Fields AgentFields() {
  Fields fields = FormatFields("prefetchd.dev/v1alpha1", "AgentConfiguration");
  for (const config::Setting& setting : config::Settings()) {
    if (setting.place != config::SettingPlace::kNotInFile) fields.push_back(FieldOfSetting(setting));
  }
  Append(fields, CredentialFields());
  Append(fields, LimitsFields());
  Append(fields, PreflightFields());
  return fields;
}

}  // namespace prefetch::reference
