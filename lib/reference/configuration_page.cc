// The page of the agent's configuration: settings, and the fields that only the file has.
#include <optional>
#include <string>

#include "base/text.h"
#include "config/settings.h"
#include "reference/field_parts.h"
#include "reference/page_parts.h"

namespace prefetch::reference {
namespace {

std::string SettingCells(const config::Setting& setting) {
  // Settings that belong in the file have a flag that --help hides, and so does this page.
  const bool shown = setting.place != config::SettingPlace::kFileFirst;
  const std::string flag = shown ? "`" + config::FlagOf(setting) + "`" : "";
  const bool in_file = setting.place != config::SettingPlace::kNotInFile;
  const std::string field = in_file ? "`" + config::FieldOf(setting) + "`" : "";
  return "| " + field + " | " + flag + " | `" + config::VariableOf(setting) + "` | " + setting.fallback +
         " | " + base::ReplaceAll(setting.help, "|", "\\|") + " |\n";
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

}  // namespace

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

}  // namespace prefetch::reference
