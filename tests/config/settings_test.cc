#include "config/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "doc/problems.h"

namespace prefetch::config::settings_test {
namespace {

// What each kind of setting is given here, and what a member then holds.
struct Given {
  std::string in_file, in_variable;
};
Given GivenFor(const Setting& setting) {
  switch (setting.member.index()) {
    case 0:
      return {"word", "word"};
    case 1:
      return {"true", "true"};
    default:
      return {"[a/b, c]", std::string("a/b") + setting.divider + "c"};
  }
}

std::string Held(const RawConfig& raw, const Setting& setting) {
  if (auto* text = std::get_if<Setting::Text>(&setting.member))
    return (raw.**text) ? (raw.**text)->value : "";
  if (auto* flag = std::get_if<Setting::Switch>(&setting.member)) {
    return (raw.**flag) && (raw.**flag)->value ? "true" : "";
  }
  const auto& texts = raw.*std::get<Setting::Texts>(setting.member);
  if (!texts) return "";
  std::string all;
  for (const std::string& one : texts->value) all += "<" + one + ">";
  return all;
}

std::string Expected(const Setting& setting) {
  return setting.member.index() == 2 ? "<a/b><c>" : GivenFor(setting).in_variable;
}

// Only that setting is set, and Overlay keeps it from either side.
void ExpectAlone(const RawConfig& raw, const Setting& setting) {
  for (const Setting& other : Settings()) {
    EXPECT_EQ(Held(raw, other), &other == &setting ? Expected(setting) : "") << other.name;
  }
  EXPECT_EQ(Held(Overlay(raw, {}), setting), Expected(setting));
  EXPECT_EQ(Held(Overlay({}, raw), setting), Expected(setting));
}

class EachSetting : public testing::TestWithParam<Setting> {};

TEST_P(EachSetting, IsReadFromItsFieldAlone) {
  const Setting& setting = SettingNamed(GetParam().name);
  doc::Problems problems("agent.yaml");
  auto raw = ReadConfigFile("apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n" +
                                FieldOf(setting) + ": " + GivenFor(setting).in_file + "\n",
                            problems);
  ASSERT_TRUE(raw);
  if (setting.place == SettingPlace::kNotInFile) {
    EXPECT_FALSE(problems.empty());
    return;
  }
  EXPECT_TRUE(problems.empty());
  ExpectAlone(*raw, setting);
}

TEST_P(EachSetting, IsReadFromItsVariableAlone) {
  const Setting& setting = SettingNamed(GetParam().name);
  const std::string value = GivenFor(setting).in_variable;
  doc::Problems problems("environment");
  RawConfig raw = ReadEnvironment(
      [&](const char* name) { return name == VariableOf(setting) ? value.c_str() : nullptr; }, problems);
  EXPECT_TRUE(problems.empty());
  ExpectAlone(raw, setting);
}

INSTANTIATE_TEST_SUITE_P(Settings, EachSetting, testing::ValuesIn(Settings().begin(), Settings().end()),
                         [](const auto& row) { return FieldOf(row.param); });

TEST(Settings, NamesAreSpelledAsTheContractHasThem) {
  std::map<std::string, std::string> wanted = {
      {"list", "--list PREFETCHD_LIST list"},
      {"kubelet-version", "--kubelet-version PREFETCHD_KUBELET_VERSION kubeletVersion"},
      {"registry-trusted-mirrors",
       "--registry-trusted-mirror PREFETCHD_REGISTRY_TRUSTED_MIRRORS registryTrustedMirrors"},
  };
  for (const auto& [name, spelled] : wanted) {
    const Setting& setting = SettingNamed(name);
    EXPECT_EQ(FlagOf(setting) + " " + VariableOf(setting) + " " + FieldOf(setting), spelled);
  }
}

TEST(Settings, NoTwoShareANameAndGroupsStandTogether) {
  std::set<std::string> names;
  std::set<SettingGroup> left;
  std::optional<SettingGroup> here;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(names.insert(FlagOf(setting)).second) << setting.name;
    if (here && *here != setting.group) left.insert(*here);
    here = setting.group;
    EXPECT_FALSE(left.contains(setting.group)) << setting.name << " stands apart from its group";
  }
}

}  // namespace
}  // namespace prefetch::config::settings_test
