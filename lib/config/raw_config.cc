#include "config/raw_config.h"

#include "base/text.h"
#include "config/settings.h"

namespace prefetch::config {
namespace {

template <typename T>
void InheritValue(const std::optional<T>& under, std::optional<T>& over) {
  if (!over) over = under;
}

std::optional<SourcedValue<std::string>> Variable(const GetEnv& get, const std::string& name) {
  const char* value = get(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return SourcedValue<std::string>{value, name};
}

// Each Read takes one variable's text into one member.
void Read(SourcedValue<std::string> said, const Setting&, std::optional<SourcedValue<std::string>>& field,
          doc::Problems&) {
  field = std::move(said);
}

void Read(const SourcedValue<std::string>& said, const Setting&, std::optional<SourcedValue<bool>>& field,
          doc::Problems& problems) {
  if (said.value != "true" && said.value != "false") {
    problems.Add({}, said.by, "must be true or false");
  } else {
    field = SourcedValue<bool>{said.value == "true", said.by};
  }
}

void Read(const SourcedValue<std::string>& said, const Setting& setting,
          std::optional<SourcedValue<std::vector<std::string>>>& field, doc::Problems&) {
  field = SourcedValue<std::vector<std::string>>{{}, said.by};
  for (std::string_view part : base::Split(said.value, setting.divider)) {
    if (!part.empty()) field->value.emplace_back(part);
  }
}

}  // namespace

RawConfig Overlay(const RawConfig& under, RawConfig over) {
  for (const Setting& setting : Settings()) {
    std::visit([&](auto member) { InheritValue(under.*member, over.*member); }, setting.member);
  }
  InheritValue(under.pull_secrets, over.pull_secrets);
  InheritValue(under.provider_service_account, over.provider_service_account);
  InheritValue(under.provider_environment, over.provider_environment);
  InheritValue(under.provider_environment_file, over.provider_environment_file);
  InheritValue(under.limits, over.limits);
  InheritValue(under.preflight, over.preflight);
  return over;
}

RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems) {
  RawConfig raw;
  for (const Setting& setting : Settings()) {
    std::optional<SourcedValue<std::string>> said = Variable(get, VariableOf(setting));
    if (!said) continue;
    std::visit([&](auto member) { Read(*std::move(said), setting, raw.*member, problems); }, setting.member);
  }
  // crictl's, which many nodes have.
  if (!raw.runtime_endpoint) raw.runtime_endpoint = Variable(get, "CONTAINER_RUNTIME_ENDPOINT");
  return raw;
}

}  // namespace prefetch::config
