#include "config/raw_config.h"

#include <algorithm>

#include "base/redactor.h"
#include "base/text.h"
#include "config/settings.h"

namespace prefetch::config {

namespace {

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

namespace {

constexpr std::size_t kLongestFile = 64 * 1024;

bool IsName(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// False if a quote is not closed.
bool Unquote(std::string_view& value) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) return true;
  if (value.size() < 2 || value.back() != value.front()) return false;
  value = value.substr(1, value.size() - 2);
  return true;
}

}  // namespace

PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems) {
  PluginEnvironment environment;
  std::optional<std::string_view> text = doc::CheckText(bytes, kLongestFile, problems);
  std::uint32_t number = 0;
  for (std::string_view line : base::Split(text.value_or(""), '\n')) {
    number++;
    line = base::TrimSpace(line);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    std::size_t equals = std::min(line.find('='), line.size());
    std::string_view name = base::TrimSpace(line.substr(0, equals));
    if (equals == line.size() || !IsName(name)) {
      problems.Add({number, 1}, "", "must be NAME=value");
      continue;
    }
    std::string_view value = base::TrimSpace(line.substr(equals + 1));
    if (!Unquote(value)) {
      // The rest of this secret may follow. Reading on could quote a part of it as the name of a variable.
      problems.Add({number, 1}, name, "has a quote that is not closed in its line; what follows is not read");
      break;
    }
    // The last of two counts, as with systemd.
    std::erase_if(environment, [&](const auto& other) { return other.first == name; });
    base::RememberVariable(name, value);
    environment.emplace_back(name, base::Secret(std::string(value)));
  }
  return environment;
}

}  // namespace prefetch::config
