#include "ctl/agent_start.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "config/raw_config.h"
#include "config/settings.h"
#include "doc/path.h"
#include "doc/problems.h"

namespace prefetch::ctl {
namespace {

// Stands for the variables that Kubernetes fills in: $(POD_IP) in --listen.
constexpr std::string_view kAnyPodAddress = "10.0.0.1";

const doc::Node* AgentsContainer(const std::vector<doc::Node>& documents) {
  for (const doc::Node& document : documents) {
    const doc::Node* kind = document.Find("kind");
    if (kind == nullptr || kind->text != "DaemonSet") continue;
    const doc::Node* containers = doc::ValueAt(document, {"spec", "template", "spec", "containers"});
    if (containers != nullptr && !containers->items.empty()) return &containers->items.front();
  }
  return nullptr;
}

// The file is a string inside a ConfigMap.
std::string AgentYaml(const std::vector<doc::Node>& documents) {
  for (const doc::Node& document : documents) {
    const doc::Node* text = doc::ValueAt(document, {"data", "agent.yaml"});
    if (text != nullptr) return text->text;
  }
  return "";
}

// The option parser belongs to cmd; the table of settings has all that is needed here.
void SetFlag(std::string_view arg, config::RawConfig& raw) {
  const std::string_view flag = arg.substr(0, arg.find('='));
  const std::string value(arg.substr(std::min(arg.size(), flag.size() + 1)));
  for (const config::Setting& setting : config::Settings()) {
    if (config::FlagOf(setting) != flag) continue;
    const std::string by(flag);
    if (const auto* text = std::get_if<config::Setting::Text>(&setting.member)) {
      raw.*(*text) = {value, by};
    } else if (const auto* on = std::get_if<config::Setting::Switch>(&setting.member)) {
      // A switch may stand alone.
      raw.*(*on) = {value.empty() || value == "true", by};
    } else {
      auto& values = raw.*std::get<config::Setting::Texts>(setting.member);
      if (!values) values = {std::vector<std::string>(), by};
      values->value.push_back(value);
    }
  }
}

config::RawConfig FlagsOf(const doc::Node& container) {
  config::RawConfig raw;
  const doc::Node* args = container.Find("args");
  if (args == nullptr) return raw;
  for (const doc::Node& arg : args->items) {
    SetFlag(base::ReplaceAll(arg.text, "$(POD_IP)", kAnyPodAddress), raw);
  }
  return raw;
}

std::map<std::string, std::string> VariablesOf(const doc::Node& container) {
  std::map<std::string, std::string> variables;
  const doc::Node* env = container.Find("env");
  if (env == nullptr) return variables;
  for (const doc::Node& variable : env->items) {
    const doc::Node* name = variable.Find("name");
    const doc::Node* value = variable.Find("value");
    if (name != nullptr && value != nullptr) variables[name->text] = value->text;
  }
  return variables;
}

}  // namespace

base::Result<config::AgentConfig> ConfigOfManifests(const std::vector<doc::Node>& documents) {
  const doc::Node* container = AgentsContainer(documents);
  if (container == nullptr) return base::Internal("the manifests have no DaemonSet");
  const std::map<std::string, std::string> variables = VariablesOf(*container);
  doc::Problems problems("agent.yaml");
  config::RawConfig said = config::ReadEnvironment(
      [&](const char* name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      problems);
  std::optional<config::RawConfig> file = config::ReadConfigFile(AgentYaml(documents), problems);
  if (!problems.empty() || !file) return base::InvalidArgument(base::Join(problems.Lines(), "\n"));
  // The same order as in prefetchd: flags win over variables, and both over the file.
  return config::Validate(config::Overlay(*file, config::Overlay(said, FlagsOf(*container))));
}

}  // namespace prefetch::ctl
