#include "config/settings.h"

#include <cstddef>
#include <cstdlib>

#include "base/text.h"

namespace prefetch::config {

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

namespace {

// Every member of RawConfig that has no row is one of those that only the file has.
// C++ cannot list the members of a struct, so their sizes are compared.
constexpr std::size_t SizeOfRows() {
  std::size_t size = 0;
  for (const Setting& setting : kSettings) {
    size += setting.member.index() == 0   ? sizeof(std::optional<SourcedValue<std::string>>)
            : setting.member.index() == 1 ? sizeof(std::optional<SourcedValue<bool>>)
                                          : sizeof(std::optional<SourcedValue<std::vector<std::string>>>);
  }
  return size;
}
static_assert(sizeof(RawConfig) == SizeOfRows() + sizeof(FileOnlyConfig), "a member of RawConfig has no row");

// Each part of AgentConfig has a text, a switch and texts, in the order of Setting::member.
constexpr bool TargetsFit() {
  for (const Setting& setting : kSettings) {
    if (setting.sets.index() != 0 && (setting.sets.index() - 1) % 3 != setting.member.index()) return false;
  }
  return true;
}
static_assert(TargetsFit(), "a row sets a member of another type");

template <typename T>
void InheritValue(const std::optional<T>& fallback, std::optional<T>& over) {
  if (!over) over = fallback;
}

std::optional<SourcedValue<std::string>> Variable(const GetEnv& get, const std::string& name) {
  const char* value = get(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return SourcedValue<std::string>{value, name};
}

// Each Read takes one variable's text into one member.
void Read(SourcedValue<std::string> given, const Setting&, std::optional<SourcedValue<std::string>>& field,
          doc::Problems&) {
  field = std::move(given);
}

void Read(const SourcedValue<std::string>& given, const Setting&, std::optional<SourcedValue<bool>>& field,
          doc::Problems& problems) {
  if (given.value != "true" && given.value != "false") {
    problems.Add({}, given.source, "must be true or false");
  } else {
    field = SourcedValue<bool>{given.value == "true", given.source};
  }
}

void Read(const SourcedValue<std::string>& given, const Setting& setting,
          std::optional<SourcedValue<std::vector<std::string>>>& field, doc::Problems&) {
  field = SourcedValue<std::vector<std::string>>{{}, given.source};
  for (std::string_view part : base::Split(given.value, setting.divider)) {
    // A divider at the end is no empty value.
    if (!part.empty()) field->value.emplace_back(part);
  }
}

}  // namespace

RawConfig Overlay(const RawConfig& fallback, RawConfig over) {
  for (const Setting& setting : Settings()) {
    std::visit([&](auto member) { InheritValue(fallback.*member, over.*member); }, setting.member);
  }
  // The table has only settings with flags; these are of the file alone.
  InheritValue(fallback.pull_secrets, over.pull_secrets);
  InheritValue(fallback.provider_service_account, over.provider_service_account);
  InheritValue(fallback.provider_environment, over.provider_environment);
  InheritValue(fallback.provider_environment_file, over.provider_environment_file);
  InheritValue(fallback.limits, over.limits);
  InheritValue(fallback.preflight, over.preflight);
  return over;
}

RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems) {
  RawConfig raw;
  for (const Setting& setting : Settings()) {
    std::optional<SourcedValue<std::string>> given = Variable(get, VariableOf(setting));
    if (!given) continue;
    std::visit([&](auto member) { Read(*std::move(given), setting, raw.*member, problems); }, setting.member);
  }
  // crictl's variable, which many nodes have.
  if (!raw.runtime_endpoint) raw.runtime_endpoint = Variable(get, "CONTAINER_RUNTIME_ENDPOINT");
  return raw;
}

}  // namespace prefetch::config
