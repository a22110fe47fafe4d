#include "config/settings.h"

#include <cstdlib>

#include "base/text.h"

namespace prefetch::config {
const char* GroupTitle(SettingGroup group) {
  switch (group) {
    case SettingGroup::kList:
      return "List and configuration";
    case SettingGroup::kRuntime:
      return "Runtime and credentials";
    case SettingGroup::kKubelet:
      return "Kubelet: how it decides about pods";
    case SettingGroup::kRegistry:
      return "Registries: checks for changed tags";
    case SettingGroup::kTouch:
      return "Touch: images that kubelet has closed";
    case SettingGroup::kNode:
      return "Node object: state for the cluster";
    case SettingGroup::kEndpoints:
      return "Endpoints and logs";
    case SettingGroup::kOnce:
      return "One run";
  }
  std::abort();
}

// A name in the source that is in no row is an error of the program.
const Setting& SettingNamed(std::string_view name) {
  for (const Setting& setting : Settings()) {
    if (name == setting.name) return setting;
  }
  std::abort();
}

std::string FlagOf(const Setting& setting) {
  return std::string("--") + (setting.flag_name != nullptr ? setting.flag_name : setting.name);
}

std::string VariableOf(const Setting& setting) {
  std::string variable = "PREFETCHD_";
  for (const char* c = setting.name; *c != '\0'; c++) {
    variable += *c == '-' ? '_' : static_cast<char>(*c - 'a' + 'A');
  }
  return variable;
}

std::string FieldOf(const Setting& setting) {
  std::string field;
  bool capital = false;
  for (const char* c = setting.name; *c != '\0'; c++) {
    if (*c != '-') field += capital ? static_cast<char>(*c - 'a' + 'A') : *c;
    capital = *c == '-';
  }
  return field;
}

std::string HelpOf(const Setting& setting) {
  std::string help = setting.help;
  if (std::holds_alternative<Setting::Texts>(setting.member)) help += " (repeatable)";
  if (*setting.fallback != '\0') help += std::string(" [") + setting.fallback + "]";
  return help;
}

std::vector<std::string> WordsOf(const Setting& setting) {
  std::vector<std::string> words;
  if (*setting.words == '\0') return words;
  for (std::string_view word : base::Split(setting.words, '|')) words.emplace_back(word);
  return words;
}

}  // namespace prefetch::config
