#include "kubelet/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "must.h"
#include "rows.h"

namespace prefetch::kubelet::settings_test {
namespace {

using Policy = VerificationPolicy;
using Strings = std::vector<std::string>;
using enum VerificationPolicy;

// The possibilities, one word each: "1.34:off", "1.36:AlwaysVerify"; or "refused".
Strings Words(const SettingsFacts& facts) {
  auto possible = PossibleSettings(facts);
  if (!possible) return {"refused"};
  Strings words;
  for (const KubeletSettings& each : *possible) {
    words.push_back(each.version.ToString() + ":" +
                    (each.gate ? std::string(base::EnumName(each.policy)) : "off"));
  }
  return words;
}

struct SettingsCase {
  std::string name;
  SettingsFacts facts;
  Strings expect;
};

constexpr image::KubeletVersion V(unsigned minor) {
  return {1, minor};
}

// A kubelet whose configuration was read.
SettingsFacts Read(unsigned minor, std::optional<bool> gate = {}, std::optional<Policy> policy = {}) {
  return {.version = V(minor),
          .configuration_known = true,
          .gates = {.ensure_secret_pulled_images = gate},
          .policy = policy};
}

constexpr unsigned kNewest = image::kNewestKnownMinor;

// One of each release, "1.35:AlwaysVerify", up to the first one whose rules are not known.
Strings Since(unsigned oldest, const std::string& policy, unsigned newest = kNewest + 1) {
  Strings words;
  for (unsigned minor = oldest; minor <= newest; minor++) words.push_back(V(minor).ToString() + ":" + policy);
  return words;
}

TEST(SettingsTest, Enumerates) {
  const SettingsCase rows[] = {
      // K7, K8 and K10.
      {"Default132", Read(32), Strings{"1.32:off"}},
      {"Default133", Read(33), Strings{"1.33:off"}},
      {"Default134", Read(34), Strings{"1.34:off"}},
      {"Default135", Read(35), Strings{"1.35:NeverVerifyPreloadedImages"}},
      {"Default136", Read(36), Strings{"1.36:NeverVerifyPreloadedImages"}},
      {"Default137", Read(37), Strings{"1.37:NeverVerifyPreloadedImages"}},
      {"GateOff137", Read(37, false), Strings{"1.37:off"}},
      {"PolicyAgainstGate137", Read(37, false, kNeverVerify), Strings{"refused"}},
      // These rules do not know with which settings a newer kubelet refuses to start.
      {"Newer", Read(99), Strings{"1.99:NeverVerifyPreloadedImages"}},
      {"NewerWithTheGateOff", Read(99, false, kNeverVerify), Strings{"1.99:off"}},
      {"NewerWithAnAllowlistOfAnotherPolicy",
       SettingsFacts{.version = V(99), .policy = kAlwaysVerify, .allowlist = {"**"}},
       Strings{"1.99:AlwaysVerify"}},
      {"NewerByOlderRules", SettingsFacts{.version = V(99), .rules = V(37), .configuration_known = true},
       Strings{"1.37:NeverVerifyPreloadedImages"}},
      {"NewerByTheRulesOf134", SettingsFacts{.version = V(99), .rules = V(34), .configuration_known = true},
       Strings{"1.34:off"}},
      {"RulesAreForNewerKubeletsOnly",
       SettingsFacts{.version = V(34), .rules = V(37), .configuration_known = true}, Strings{"1.34:off"}},
      {"RulesTellNoVersion",
       SettingsFacts{.rules = V(kNewest), .configuration_known = true, .policy = kAlwaysVerify},
       Since(35, "AlwaysVerify", kNewest)},
      {"GateOn134", Read(34, true), Strings{"1.34:NeverVerifyPreloadedImages"}},
      {"GateOff136", Read(36, false), Strings{"1.36:off"}},
      {"PolicyNeedsGate", Read(34, {}, kAlwaysVerify), Strings{"refused"}},
      {"PolicyAgainstGate", Read(36, false, kNeverVerify), Strings{"refused"}},
      {"GateThatIsNotThere", Read(32, true), Strings{"refused"}},
      {"DeclaredPolicyMeansGate", SettingsFacts{.version = V(34), .policy = kAlwaysVerify},
       Strings{"1.34:AlwaysVerify"}},
      {"DeclaredPolicyOfOldKubelet", SettingsFacts{.version = V(32), .policy = kAlwaysVerify},
       Strings{"1.32:off"}},
      {"DeclaredPolicyOfAnyKubelet", SettingsFacts{.policy = kNeverVerify}, Since(33, "NeverVerify")},
      {"PolicyInFileOfAnyKubelet", SettingsFacts{.configuration_known = true, .policy = kAlwaysVerify},
       Since(35, "AlwaysVerify")},
      {"PolicyAgainstGateOfAnyKubelet",
       SettingsFacts{.configuration_known = true,
                     .gates = {.ensure_secret_pulled_images = false},
                     .policy = kAlwaysVerify},
       Strings{"refused"}},
      {"OnlyVersionKnown", SettingsFacts{.version = V(36)},
       Strings{"1.36:off", "1.36:NeverVerify", "1.36:NeverVerifyPreloadedImages", "1.36:AlwaysVerify"}},
      {"AllowlistOfAnotherPolicy",
       SettingsFacts{.version = V(36), .policy = kAlwaysVerify, .allowlist = {"reg.io/a"}},
       Strings{"refused"}},
      {"AllowlistNarrowsVersions",
       SettingsFacts{.policy = kNeverVerifyAllowlistedImages, .allowlist = {"ubuntu"}},
       Since(36, "NeverVerifyAllowlistedImages")},
      {"BadAllowlist", SettingsFacts{.policy = kNeverVerifyAllowlistedImages, .allowlist = {"*"}},
       Strings{"refused"}},
      {"AlphasOn134",
       SettingsFacts{.version = V(34), .configuration_known = true, .gates = {.all_alpha = true}},
       Strings{"1.34:NeverVerifyPreloadedImages"}},
      {"PolicyWithBetasOff",
       SettingsFacts{.version = V(36),
                     .configuration_known = true,
                     .gates = {.all_beta = false},
                     .policy = kAlwaysVerify},
       Strings{"refused"}}};
  for (const SettingsCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Words(row.facts), row.expect);
  }
}

TEST(Settings, NothingKnownIsEveryKubeletFrom131OnAndANewerOne) {
  Strings words = Words({});
  EXPECT_EQ(words.front(), "1.31:off");
  EXPECT_EQ(words.back(), Since(kNewest + 1, "AlwaysVerify").back());
  EXPECT_EQ(words.size(), 2 + 4 * (kNewest - 31));
  EXPECT_EQ(Words({.rules = V(kNewest)}).back(), Since(kNewest, "AlwaysVerify", kNewest).back())
      << "the operator says what a newer one does";
}

TEST(Settings, PoliciesHaveNamesThatReadBack) {
  for (Policy policy :
       {kNeverVerify, kNeverVerifyPreloadedImages, kNeverVerifyAllowlistedImages, kAlwaysVerify}) {
    EXPECT_EQ(base::EnumNamed<kubelet::VerificationPolicy>(base::EnumName(policy)), policy);
  }
  EXPECT_FALSE(base::EnumNamed<kubelet::VerificationPolicy>("alwaysverify"));
}

// K12: which patterns kubelet starts with.
TEST(Allowlist, ValidatesAsKubeletDoes) {
  struct Row {
    std::string pattern;
    bool good_136, good_before;
  };
  for (const Row& row :
       {Row{"", false, false}, Row{"*", false, false}, Row{"foo*", false, false}, Row{"a/*/b", false, false},
        Row{"a/*/*", false, false}, Row{"/*", false, false}, Row{"repo/", false, false},
        Row{" reg.io/a", false, false}, Row{"reg.io/a/* ", false, false}, Row{"reg.io/a:v1", false, false},
        Row{"reg.io/a@sha256:" + std::string(64, 'a'), false, false}, Row{"reg.io/A", false, false},
        Row{"reg.io/a", true, true}, Row{"reg.io/*", true, true}, Row{"reg.io/a/*", true, true},
        Row{"docker.io/library/ubuntu", true, true}, Row{"ubuntu", true, false},
        Row{"index.docker.io/a/b", true, false}}) {
    EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, 36}).ok(), row.good_136) << row.pattern;
    for (unsigned minor : {33U, 34U, 35U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor}).ok(), row.good_before) << row.pattern;
    }
  }
}

TEST(Allowlist, TellsEveryPatternThatIsRefused) {
  const auto error = tests::MustFail(Allowlist::Parse({"reg.io/a", "*", "reg.io/b:v1"}, {1, 36}));
  EXPECT_EQ(error.message(),
            "allowlist pattern \"*\": a * is allowed only as the last part, after a /\n"
            "allowlist pattern \"reg.io/b:v1\": must have no tag and no digest");
}

TEST(Allowlist, ComparesAsItsVersionDoes) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  struct Row {
    std::string pattern, image;
    bool since_136, before;
  };
  for (const Row& row :
       {Row{"test.io/a/b", "test.io/a/b", true, true}, Row{"test.io/a/b", "test.io/a/b:v1", true, false},
        Row{"test.io/a/b", "test.io/a/b" + digest, true, false},
        Row{"test.io/a/b", "test.io/a/bc", false, false}, Row{"test.io/a/b", "test.io/a/b/c", false, false},
        Row{"test.io/a/*", "test.io/a/b:v1", true, true},
        Row{"test.io/a/*", "test.io/a/b/c" + digest, true, true},
        Row{"test.io/a/*", "test.io/a:v1", false, false}, Row{"docker.io/library/*", "ubuntu", false, false},
        Row{"docker.io/library/ubuntu", "ubuntu", false, false}}) {
    image::Reference image = *image::Reference::Parse(row.image);
    for (unsigned minor : {36U, 37U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor})->Matches(image), row.since_136)
          << row.pattern << " " << row.image;
    }
    for (unsigned minor : {33U, 35U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor})->Matches(image), row.before)
          << row.pattern << " " << row.image;
    }
  }
  EXPECT_TRUE(Allowlist::Parse({"ubuntu"}, {1, 36})->Matches(*image::Reference::Parse("ubuntu:24.04")));
  EXPECT_TRUE(
      Allowlist::Parse({"x.io/a", "x.io/a", "x.io/b"}, {1, 36})->Matches(*image::Reference::Parse("x.io/b")));
  EXPECT_FALSE(Allowlist().Matches(*image::Reference::Parse("x.io/b")));
}

// Whether the gate is on in 1.32, 1.33, 1.34, 1.35, 1.36, 1.37.
struct GateCase {
  std::string name;
  FeatureGates gates;
  std::string on;
};

TEST_TABLE(VerifiesImagesTest, ByVersion, GateCase) {
  std::string on;
  for (unsigned minor = 32; minor <= 37; minor++) on += VerifiesImages(row.gates, {1, minor}) ? '1' : '0';
  EXPECT_EQ(on, row.on);
}

// K7: since 1.33, alpha and off; since 1.35 beta and on.
TEST_ROWS(Spec31, VerifiesImagesTest, {"Default", {}, "000111"},
          {"On", {.ensure_secret_pulled_images = true}, "011111"},
          {"Off", {.ensure_secret_pulled_images = false}, "000000"},
          {"AlphasOn", {.all_alpha = true}, "011111"}, {"AlphasOff", {.all_alpha = false}, "000111"},
          {"BetasOff", {.all_beta = false}, "000000"}, {"BetasOn", {.all_beta = true}, "000111"},
          {"NamedBeatsAlphas", {.ensure_secret_pulled_images = false, .all_alpha = true}, "000000"},
          {"NamedBeatsBetas", {.ensure_secret_pulled_images = true, .all_beta = false}, "011111"});

TEST(FeatureGates, TheStrongerSpeaksGateByGate) {
  FeatureGates file{.ensure_secret_pulled_images = true, .all_alpha = true};
  FeatureGates flag{.ensure_secret_pulled_images = false, .all_beta = true};
  EXPECT_EQ(MergeGates(file, flag),
            (FeatureGates{.ensure_secret_pulled_images = false, .all_alpha = true, .all_beta = true}));
  EXPECT_EQ(MergeGates(file, {}), file);
  EXPECT_EQ(MergeGates({}, file), file);
}

// K17.
TEST(TrimmedImage, KeepsTheSpellingSince136) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  struct Row {
    std::string written, since_136, before;
  };
  for (const Row& row :
       {Row{"nginx:1.27", "nginx", "docker.io/library/nginx"},
        Row{"nginx", "nginx", "docker.io/library/nginx"},
        Row{"library/nginx:1", "library/nginx", "docker.io/library/nginx"},
        Row{"reg.io/a/b:v1@" + digest, "reg.io/a/b", "reg.io/a/b"},
        Row{"reg.io/a/b@" + digest, "reg.io/a/b", "reg.io/a/b"},
        Row{"reg:5000/a:latest", "reg:5000/a", "reg:5000/a"}, Row{"reg:5000/a", "reg:5000/a", "reg:5000/a"},
        Row{"foo.io:5000", "foo.io", "docker.io/library/foo.io"},
        Row{"index.docker.io/a/b", "index.docker.io/a/b", "docker.io/a/b"}}) {
    image::Reference image = *image::Reference::Parse(row.written);
    for (unsigned minor : {36U, 37U})
      EXPECT_EQ(TrimmedImage(image, {1, minor}), row.since_136) << row.written;
    for (unsigned minor : {33U, 34U, 35U})
      EXPECT_EQ(TrimmedImage(image, {1, minor}), row.before) << row.written;
  }
}

const std::string kDigest = "@sha256:" + std::string(64, 'a');
const std::string kLikeAnId(64, 'a');

std::vector<image::Reference> References(const Strings& written) {
  std::vector<image::Reference> out;
  for (const std::string& each : written) out.push_back(*image::Reference::Parse(each));
  return out;
}

// K12 and K13. An empty pattern: the name cannot be exempt.
struct PatternCase {
  std::string name;
  std::string image;
  std::string since_136, before;
};

TEST_TABLE(AllowlistExportTest, TakesTheNarrowestPatternThatMatches, PatternCase) {
  for (unsigned minor : {33U, 34U, 35U, 36U, 37U}) {
    const std::string& pattern = minor >= 36 ? row.since_136 : row.before;
    auto out = tests::Must(ExportAllowlist(References({row.image}), {1, minor}));
    EXPECT_EQ(out->patterns, pattern.empty() ? Strings{} : std::vector{pattern}) << minor;
    EXPECT_EQ(out->unmatched.size(), pattern.empty() ? 1U : 0U) << minor;
  }
}

TEST_ROWS(All, AllowlistExportTest, {"Tag", "reg.io/t/a:v1", "reg.io/t/a", "reg.io/t/*"},
          {"Digest", "reg.io/t/a" + kDigest, "reg.io/t/a", "reg.io/t/*"},
          {"TagAndDigest", "reg.io/t/a:v1" + kDigest, "reg.io/t/a", "reg.io/t/*"},
          {"Neither", "reg.io/t/a", "reg.io/t/a", "reg.io/t/a"},
          {"NeitherButNotInFull", "team/a", "team/a", "team/*"},
          {"LegacyHub", "index.docker.io/t/a", "index.docker.io/t/a", "index.docker.io/t/*"},
          {"Port", "localhost:5000/a:v1", "localhost:5000/a", "localhost:5000/*"},
          {"PortAlone", "localhost:5000/a", "localhost:5000/a", "localhost:5000/a"},
          {"Short", "nginx:1.27", "nginx", ""}, {"ShortAlone", "nginx", "nginx", ""},
          {"ShortDigest", "nginx" + kDigest, "nginx", ""},
          {"HubImageThatLooksLikeAHost", "foo.io:5000", "foo.io", ""},
          {"HubInFull", "docker.io/library/nginx:1.27", "docker.io/library/nginx", "docker.io/library/*"},
          {"LikeAnImageId", kLikeAnId + ":v1", "", ""},
          {"LikeAnImageIdInAFolder", "t/" + kLikeAnId + ":v1", "t/" + kLikeAnId, "t/*"});

TEST(AllowlistExport, PatternsAreSortedAndUnique) {
  auto out = ExportAllowlist(References({"reg.io/b:v1", "reg.io/a:v1", "reg.io/b:v2", "nginx"}), {1, 36});
  EXPECT_EQ(out->patterns, (Strings{"nginx", "reg.io/a", "reg.io/b"}));
  out = ExportAllowlist(References({"reg.io/b:v1", "reg.io/a:v1", "reg.io/b"}), {1, 35});
  EXPECT_EQ(out->patterns, (Strings{"reg.io/*", "reg.io/b"}));
}

TEST(AllowlistExport, SaysWhatToWriteInstead) {
  auto out = ExportAllowlist(References({"nginx:1.27", "nginx" + kDigest, "nginx"}), {1, 34});
  ASSERT_EQ(out->unmatched.size(), 3U);
  EXPECT_EQ(out->unmatched[0],
            (UnmatchedName{"nginx:1.27",
                           "no pattern of kubelet 1.34 matches \"nginx:1.27\"; write "
                           "\"docker.io/library/nginx:1.27\" in the list and in the pods"}));
  EXPECT_NE(out->unmatched[1].why.find("\"docker.io/library/nginx" + kDigest + "\""), std::string::npos);
  EXPECT_NE(out->unmatched[2].why.find("\"docker.io/library/nginx\""), std::string::npos);
}

TEST(AllowlistExport, RefusesAKubeletWithoutAnAllowlist) {
  for (unsigned minor : {31U, 32U}) {
    const auto error = tests::MustFail(ExportAllowlist(References({"reg.io/a"}), {1, minor}));
    EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
    EXPECT_NE(error.message().find("has no allowlist"), std::string::npos);
  }
}

TEST(AllowlistExport, TheGateIsOffBefore135) {
  EXPECT_TRUE(NeedsFeatureGate({1, 34}));
  EXPECT_FALSE(NeedsFeatureGate({1, 35}));
}

// Names put together from parts, with a fixed seed.
std::vector<image::Reference> RandomList(std::mt19937& random) {
  const Strings hosts = {"", "reg.io/", "localhost:5000/", "docker.io/", "index.docker.io/"};
  const Strings folders = {"", "library/", "t/", "t/u/"};
  const Strings names = {"a", "nginx", "b__c", kLikeAnId};
  const Strings ends = {"", ":v1", ":latest", kDigest, ":v1" + kDigest, ":latest" + kDigest};
  auto any = [&](const Strings& of) { return of[random() % of.size()]; };
  std::vector<image::Reference> list;
  for (int i = 0; i < 8; i++) {
    auto reference = image::Reference::Parse(any(hosts) + any(folders) + any(names) + any(ends));
    if (reference) list.push_back(*reference);
  }
  return list;
}

// The text between the last quotes of the sentence.
std::string WhatToWriteInstead(const UnmatchedName& each) {
  std::size_t end = each.why.rfind('"');
  std::size_t begin = each.why.rfind('"', end - 1) + 1;
  return each.why.substr(begin, end - begin);
}

void CheckExport(const std::vector<image::Reference>& list, image::KubeletVersion version) {
  auto out = tests::Must(ExportAllowlist(list, version));
  auto allowlist = tests::Must(Allowlist::Parse(out->patterns, version));
  EXPECT_TRUE(std::is_sorted(out->patterns.begin(), out->patterns.end()));
  for (const image::Reference& image : list) {
    bool told = std::any_of(out->unmatched.begin(), out->unmatched.end(),
                            [&](const UnmatchedName& each) { return each.image == image.written(); });
    EXPECT_NE(told, allowlist->Matches(image)) << image.written() << " " << version.ToString();
  }
  for (const UnmatchedName& each : out->unmatched) {
    auto instead = ExportAllowlist(References({WhatToWriteInstead(each)}), version);
    EXPECT_EQ(instead->unmatched.size(), 0U) << each.why;
  }
}

TEST(AllowlistExportProperties, EveryNameIsMatchedOrToldAndWhatToWriteInsteadIsMatched) {
  std::mt19937 random(36);
  for (int round = 0; round < 2000; round++) {
    std::vector<image::Reference> list = RandomList(random);
    for (unsigned minor : {33U, 34U, 35U, 36U}) CheckExport(list, {1, minor});
  }
}

}  // namespace
}  // namespace prefetch::kubelet::settings_test
