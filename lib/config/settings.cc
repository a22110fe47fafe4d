#include "config/settings.h"

#include <cstddef>
#include <cstdlib>

#include "base/text.h"

namespace prefetch::config {

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
  if (setting.kind() == SettingKind::kTexts) help += " (repeatable)";
  if (*setting.fallback != '\0') help += std::string(" [") + setting.fallback + "]";
  return help;
}

std::vector<std::string> WordsOf(const Setting& setting) {
  std::vector<std::string> words;
  if (*setting.words == '\0') return words;
  for (std::string_view word : base::Split(setting.words, '|')) words.emplace_back(word);
  return words;
}

namespace {

std::optional<SourcedText> Variable(const GetEnv& get, const std::string& name) {
  const char* value = get(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return SourcedText{value, name};
}

// Takes one variable's text.
void Read(SourcedText text, const Setting& setting, RawConfig& raw, doc::Problems& problems) {
  switch (setting.kind()) {
    case SettingKind::kText:
      raw.given[setting.name] = std::move(text);
      return;
    case SettingKind::kSwitch:
      if (text.value != "true" && text.value != "false") {
        return problems.Add({}, text.source, "must be true or false");
      }
      raw.given[setting.name] = SourcedSwitch{text.value == "true", text.source};
      return;
    case SettingKind::kTexts:
      SourcedTexts texts{{}, text.source};
      for (std::string_view part : base::Split(text.value, setting.divider)) {
        // A divider at the end is no empty value.
        if (!part.empty()) texts.value.emplace_back(part);
      }
      raw.given[setting.name] = std::move(texts);
  }
}

}  // namespace

RawConfig Overlay(const RawConfig& under, RawConfig over) {
  over.given.insert(under.given.begin(), under.given.end());
  static_cast<FileOnlyConfig&>(over) = under;
  return over;
}

RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems) {
  RawConfig raw;
  for (const Setting& setting : kSettings) {
    if (auto text = Variable(get, VariableOf(setting))) Read(*std::move(text), setting, raw, problems);
  }
  // crictl's variable, which many nodes have.
  if (auto endpoint = Variable(get, "CONTAINER_RUNTIME_ENDPOINT")) {
    raw.given.emplace("runtime-endpoint", *std::move(endpoint));
  }
  return raw;
}

}  // namespace prefetch::config
