#include "kubelet/node_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::kubelet::node_facts_test {
namespace {

using State = ConfigReading::State;
using Origin = ConfigReading::Origin;
using Policy = VerificationPolicy;

const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

constexpr image::KubeletVersion V(unsigned minor) {
  return {1, minor};
}

// A main file "/c" with these fields.
ConfigReading Read(const std::string& main, Origin origin = Origin::kUsual) {
  auto config = MergeKubeletConfigs({.main = ConfigDocument{"/c", kHead + main}});
  if (!config) return {.state = State::kBroken, .origin = origin, .problems = {config.error().message()}};
  return {.state = State::kRead, .origin = origin, .config = *config};
}

// With a drop-in "/d/1.conf".
ConfigReading Read(const std::string& main, const std::string& drop_in) {
  auto config =
      MergeKubeletConfigs({.main = ConfigDocument{"/c", kHead + main},
                           .drop_ins = std::vector<ConfigDocument>{{"/d/1.conf", kHead + drop_in}}});
  if (!config) return {.state = State::kBroken, .problems = {config.error().message()}};
  return {.state = State::kRead, .config = *config};
}

const ConfigReading kNoFiles;

std::optional<CommandLine> Line(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"kubelet"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return ParseCommandLine(arguments);
}

const std::optional<CommandLine> kUnseen;

std::string PolicyLine(Policy policy) {
  return "imagePullCredentialsVerificationPolicy: " + std::string(VerificationPolicyName(policy)) + "\n";
}

// "known gate:on policy allowlist", what is not known left out.
std::string Show(const SettingsFacts& settings) {
  std::vector<std::string> words;
  if (settings.configuration_known) words.emplace_back("known");
  if (settings.gate) words.emplace_back(*settings.gate ? "gate:on" : "gate:off");
  if (settings.all_alpha) words.emplace_back(*settings.all_alpha ? "alpha:on" : "alpha:off");
  if (settings.all_beta) words.emplace_back(*settings.all_beta ? "beta:on" : "beta:off");
  if (settings.policy) words.emplace_back(VerificationPolicyName(*settings.policy));
  words.insert(words.end(), settings.allowlist.begin(), settings.allowlist.end());
  return base::Join(words, " ");
}

std::string Show(const std::optional<GcRules>& gc) {
  if (!gc) return "unknown";
  auto seconds = [](std::chrono::nanoseconds age) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(age).count());
  };
  return std::to_string(gc->high_percent) + " " + std::to_string(gc->low_percent) + " " +
         seconds(gc->minimum_age) + " " + seconds(gc->maximum_age);
}

struct SettingsCase {
  std::string name;
  Declared declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string settings;
  std::string problem;  // in the only one; empty: there is none
};

class CombineSettings : public testing::TestWithParam<SettingsCase> {};

TEST_P(CombineSettings, Settles) {
  const SettingsCase& row = GetParam();
  NodeFacts facts = Combine(row.declared, row.reading, row.line);
  EXPECT_EQ(Show(facts.settings), row.settings);
  EXPECT_EQ(facts.settings.version, row.declared.version);
  EXPECT_EQ(facts.problems.size(), row.problem.empty() ? 0U : 1U) << base::Join(facts.problems, "\n");
  if (!facts.problems.empty()) {
    EXPECT_NE(facts.problems[0].find(row.problem), std::string::npos) << facts.problems[0];
  }
}

std::string SettingsName(const testing::TestParamInfo<SettingsCase>& row) {
  return row.param.name;
}

const std::string kAllowed = PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                             "preloadedImagesVerificationAllowlist: [reg.io/a/*]\n";

INSTANTIATE_TEST_SUITE_P(
    Precedence, CombineSettings,
    testing::Values(
        SettingsCase{"NothingIsKnown", {}, kNoFiles, kUnseen, ""},
        SettingsCase{"OnlyTheVersion", {.version = V(36)}, kNoFiles, kUnseen, ""},
        SettingsCase{"DeclaredAlone",
                     {.version = V(36), .policy = Policy::kAlwaysVerify},
                     kNoFiles,
                     kUnseen,
                     "AlwaysVerify"},
        SettingsCase{
            "DeclaredAllowlist",
            {.version = V(36), .policy = Policy::kNeverVerifyAllowlistedImages, .allowlist = {"reg.io/b/*"}},
            kNoFiles,
            kUnseen,
            "NeverVerifyAllowlistedImages reg.io/b/*"},
        SettingsCase{"File",
                     {.version = V(36)},
                     Read(kAllowed),
                     kUnseen,
                     "known NeverVerifyAllowlistedImages reg.io/a/*"},
        SettingsCase{"FileOfDefaults", {.version = V(36)}, Read(""), kUnseen, "known"},
        SettingsCase{"FileBeatsDeclaration",
                     {.version = V(36), .policy = Policy::kAlwaysVerify},
                     Read(PolicyLine(Policy::kNeverVerify)),
                     kUnseen,
                     "known NeverVerify"},
        SettingsCase{"FileOfDefaultsBeatsDeclaration",
                     {.version = V(36), .policy = Policy::kAlwaysVerify},
                     Read(""),
                     kUnseen,
                     "known"},
        SettingsCase{"DropInBeatsFile",
                     {.version = V(36)},
                     Read(PolicyLine(Policy::kNeverVerify), PolicyLine(Policy::kAlwaysVerify)),
                     kUnseen,
                     "known AlwaysVerify"},
        SettingsCase{"GateOfTheFile",
                     {.version = V(34)},
                     Read("featureGates: {KubeletEnsureSecretPulledImages: true}\n"),
                     Line({"--config=/c"}),
                     "known gate:on"},
        SettingsCase{"FlagBeatsFile",
                     {.version = V(36)},
                     Read("featureGates: {KubeletEnsureSecretPulledImages: false, AllBeta: true}\n" +
                          std::string("imagePullCredentialsVerificationPolicy: \"\"\n")),
                     Line({"--config=/c", "--feature-gates=AllBeta=false"}),
                     "known gate:off beta:off"},
        SettingsCase{"FlagOfAnUnknownFile",
                     {.version = V(36)},
                     kNoFiles,
                     Line({"--config=/c", "--feature-gates=KubeletEnsureSecretPulledImages=false"}),
                     "gate:off"},
        SettingsCase{"NoFileOnTheCommandLineIsAllDefaults", {.version = V(36)}, kNoFiles, Line({}), "known"},
        SettingsCase{"FileThatWasNotFound", {.version = V(36)}, kNoFiles, Line({"--config=/c"}), ""},
        SettingsCase{
            "VersionUnknown", {}, Read(PolicyLine(Policy::kAlwaysVerify)), kUnseen, "known AlwaysVerify"}),
    SettingsName);

INSTANTIATE_TEST_SUITE_P(
    Problems, CombineSettings,
    testing::Values(
        SettingsCase{"BrokenFile", {.version = V(36)}, Read("maxPods: many\n"), kUnseen, "", "/c:3:10"},
        SettingsCase{"DeclarationHelpsWhereAFileIsBroken",
                     {.version = V(36), .policy = Policy::kNeverVerify},
                     Read("maxPods: many\n"),
                     kUnseen,
                     "NeverVerify",
                     "/c:3:10"},
        SettingsCase{
            "AllowlistOfAnotherPolicy",
            {.version = V(36)},
            Read(PolicyLine(Policy::kAlwaysVerify) + "preloadedImagesVerificationAllowlist: [reg.io/a/*]\n"),
            kUnseen,
            "",
            "/c: kubelet would not start: an allowlist"},
        SettingsCase{"AllowlistOfANewerVersion",
                     {.version = V(35)},
                     Read(PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                          "preloadedImagesVerificationAllowlist: [ubuntu]\n"),
                     kUnseen,
                     "",
                     "docker.io/library/ubuntu"},
        SettingsCase{"PolicyWithoutItsGate",
                     {.version = V(34)},
                     Read(PolicyLine(Policy::kAlwaysVerify)),
                     kUnseen,
                     "",
                     "KubeletEnsureSecretPulledImages is off"},
        SettingsCase{"GateThatDoesNotExist",
                     {.version = V(32)},
                     Read("featureGates: {KubeletEnsureSecretPulledImages: true}\n"),
                     kUnseen,
                     "",
                     "has no feature gate"},
        SettingsCase{"GateTurnedOffTooLate",
                     {.version = V(36)},
                     Read("", "featureGates: {KubeletEnsureSecretPulledImages: false}\n"),
                     kUnseen,
                     "",
                     "fills in its verification policy before"},
        SettingsCase{"ImageGcThresholds",
                     {.version = V(36)},
                     Read("imageGCLowThresholdPercent: 90\n"),
                     kUnseen,
                     "",
                     "/c: kubelet would not start: imageGCLowThresholdPercent (90) must be lower"},
        SettingsCase{"RefusedFileIsNotReplacedByADeclaration",
                     {.version = V(36), .policy = Policy::kNeverVerify},
                     Read("imageGCLowThresholdPercent: 90\n"),
                     kUnseen,
                     "",
                     "must be lower"},
        SettingsCase{"DeclarationThatNoKubeletHas",
                     {.version = V(36), .policy = Policy::kNeverVerify, .allowlist = {"reg.io/a/*"}},
                     kNoFiles,
                     kUnseen,
                     "",
                     "what was declared: kubelet would not start"},
        SettingsCase{"BrokenFlag",
                     {.version = V(36)},
                     Read(""),
                     Line({"--config=/c", "--image-gc-low-threshold=low"}),
                     "",
                     "--image-gc-low-threshold"},
        SettingsCase{"HalfReadGates",
                     {.version = V(36)},
                     Read(""),
                     Line({"--config=/c", "--feature-gates=AllBeta=false,Other"}),
                     "",
                     "--feature-gates"}),
    SettingsName);

struct GcCase {
  std::string name;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string gc;
  std::string source;
};

class CombineGc : public testing::TestWithParam<GcCase> {};

std::string Source(const NodeFacts& facts, const std::string& fact) {
  for (const auto& [name, source] : facts.sources) {
    if (name == fact) return source;
  }
  return "";
}

TEST_P(CombineGc, Settles) {
  NodeFacts facts = Combine({.version = V(36)}, GetParam().reading, GetParam().line);
  EXPECT_EQ(Show(facts.gc), GetParam().gc);
  EXPECT_EQ(Source(facts, "imageGC"), GetParam().source);
}

// K41 to K43.
INSTANTIATE_TEST_SUITE_P(
    Spec26, CombineGc,
    testing::Values(
        GcCase{"Unknown", kNoFiles, kUnseen, "unknown", ""},  //
        GcCase{"Defaults", Read(""), kUnseen, "85 80 120 0", "/c"},
        GcCase{"DefaultsWithoutFiles", kNoFiles, Line({}), "85 80 120 0", "default"},
        GcCase{"File",
               Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\nimageMinimumGCAge: 5m\n"
                    "imageMaximumGCAge: 24h\n"),
               kUnseen, "70 50 300 86400", "/c"},
        GcCase{"DropIn", Read("imageGCLowThresholdPercent: 50\n", "imageMaximumGCAge: 24h\n"), kUnseen,
               "85 50 120 86400", "/d/1.conf"},
        GcCase{"Flags", Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\n"),
               Line({"--config=/c", "--image-gc-high-threshold=95", "--minimum-image-ttl-duration=0"}),
               "95 50 0 0", "command line"},
        GcCase{"FractionsCountAsASecond", Read("imageMaximumGCAge: 2500ms\nimageMinimumGCAge: 300ms\n"),
               kUnseen, "85 80 1 3", "/c"},
        GcCase{"RefusedIsUnknown", Read("imageGCHighThresholdPercent: 70\n"), kUnseen, "unknown", ""},
        GcCase{"BrokenIsUnknown", Read("maxPods: many\n"), kUnseen, "unknown", ""},
        GcCase{"FlagsAloneAreNotAll", kNoFiles, Line({"--config=/c", "--image-gc-high-threshold=95"}),
               "unknown", ""}),
    [](const auto& row) { return row.param.name; });

struct SourcesCase {
  std::string name;
  Declared declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string sources;
};

class CombineSources : public testing::TestWithParam<SourcesCase> {};

TEST_P(CombineSources, AreTold) {
  std::string text;
  for (const auto& [fact, source] :
       Combine(GetParam().declared, GetParam().reading, GetParam().line).sources) {
    text += (text.empty() ? "" : " ") + fact + "=" + source;
  }
  EXPECT_EQ(text, GetParam().sources);
}

INSTANTIATE_TEST_SUITE_P(
    Facts, CombineSources,
    testing::Values(
        SourcesCase{"Nothing", {}, kNoFiles, kUnseen, "root=default"},
        SourcesCase{"Declared",
                    {.version = V(36),
                     .policy = Policy::kNeverVerifyAllowlistedImages,
                     .allowlist = {"reg.io/a/*"},
                     .root = "/r"},
                    kNoFiles,
                    kUnseen,
                    "version=declared verification=declared allowlist=declared root=declared"},
        SourcesCase{"DefaultsAreTheMainFiles",
                    {},
                    Read("", Origin::kUsual),
                    kUnseen,
                    "verification=/c allowlist=/c gate=/c imageGC=/c root=default configFile=default"},
        SourcesCase{"DropIn",
                    {},
                    Read("", kAllowed),
                    kUnseen,
                    "verification=/d/1.conf allowlist=/d/1.conf gate=/c imageGC=/c root=default "
                    "configFile=default"},
        SourcesCase{"CommandLine",
                    {},
                    Read("", Origin::kCommandLine),
                    Line({"--config=/c", "--root-dir=/r", "--feature-gates=AllBeta=true"}),
                    "verification=/c allowlist=/c gate=command line imageGC=/c root=command line "
                    "configFile=command line"},
        SourcesCase{"NoFileOnTheCommandLine",
                    {},
                    kNoFiles,
                    Line({}),
                    "verification=default allowlist=default gate=default imageGC=default root=default"},
        SourcesCase{"RefusedHasNone",
                    {.version = V(36)},
                    Read("imageGCLowThresholdPercent: 90\n", Origin::kDeclared),
                    kUnseen,
                    "version=declared root=default configFile=declared"}),
    [](const auto& row) { return row.param.name; });

struct ContradictionCase {
  std::string name;
  Declared declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::vector<std::string> expect;
};

class CombineContradictions : public testing::TestWithParam<ContradictionCase> {};

TEST_P(CombineContradictions, AreTold) {
  EXPECT_EQ(Combine(GetParam().declared, GetParam().reading, GetParam().line).contradictions,
            GetParam().expect);
}

std::string ContradictionName(const testing::TestParamInfo<ContradictionCase>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Verification, CombineContradictions,
    testing::Values(
        ContradictionCase{"SaidTheSame",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read(PolicyLine(Policy::kAlwaysVerify)),
                          kUnseen,
                          {}},
        ContradictionCase{"NothingDeclared", {.version = V(36)}, Read(kAllowed), kUnseen, {}},
        ContradictionCase{"NothingToCompareWith",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          kNoFiles,
                          kUnseen,
                          {}},
        ContradictionCase{"Policy",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read("", PolicyLine(Policy::kNeverVerify)),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /d/1.conf says NeverVerify"}},
        ContradictionCase{"PolicyByDefault",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /c leaves it at kubelet's default, "
                           "NeverVerifyPreloadedImages"}},
        ContradictionCase{
            "TheDefaultWasDeclared", {.policy = Policy::kNeverVerifyPreloadedImages}, Read(""), kUnseen, {}},
        ContradictionCase{"GateOff",
                          {.version = V(34), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /c leaves the feature gate "
                           "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
        ContradictionCase{
            "GateOffByFlag",
            {.version = V(36), .policy = Policy::kAlwaysVerify},
            Read(""),
            Line({"--config=/c", "--feature-gates=AllBeta=false"}),
            {"declared verification AlwaysVerify, but kubelet's command line leaves the feature "
             "gate KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
        ContradictionCase{"OldKubeletsHaveNoGate",
                          {.version = V(32), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {}},
        ContradictionCase{"Allowlist",
                          {.version = V(36), .allowlist = {"reg.io/b/*"}},
                          Read(kAllowed),
                          kUnseen,
                          {"declared allowlist reg.io/b/*, but /c says reg.io/a/*"}},
        ContradictionCase{"AllowlistOfNone",
                          {.version = V(36), .allowlist = {"reg.io/b/*"}},
                          Read(""),
                          kUnseen,
                          {"declared allowlist reg.io/b/*, but /c says none"}},
        ContradictionCase{"AllowlistInAnotherOrder",
                          {.version = V(36), .allowlist = {"b.io/b/*", "a.io/a/*", "a.io/a/*"}},
                          Read(PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                               "preloadedImagesVerificationAllowlist: [a.io/a/*, b.io/b/*]\n"),
                          kUnseen,
                          {}},
        ContradictionCase{"WhatIsRefusedContradictsNothing",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read("imageGCLowThresholdPercent: 90\n"),
                          kUnseen,
                          {}}),
    ContradictionName);

INSTANTIATE_TEST_SUITE_P(
    Paths, CombineContradictions,
    testing::Values(
        ContradictionCase{"SameRoot", {.root = "/var/lib/kubelet/"}, kNoFiles, Line({"--config=/c"}), {}},
        ContradictionCase{"BelowAMount", {.root = "/host/r"}, kNoFiles, Line({"--root-dir=/r/"}), {}},
        ContradictionCase{"OtherRoot",
                          {.root = "/var/lib/kubelet"},
                          kNoFiles,
                          Line({"--root-dir=/data/kubelet"}),
                          {"declared kubelet root /var/lib/kubelet, but kubelet's command line says "
                           "/data/kubelet"}},
        ContradictionCase{"OnlyTheEndOfAName",
                          {.root = "/my-r"},
                          kNoFiles,
                          Line({"--root-dir=/r"}),
                          {"declared kubelet root /my-r, but kubelet's command line says /r"}},
        ContradictionCase{"OtherFiles",
                          {.config_file = "/c", .config_dir = "/d"},
                          Read("", Origin::kDeclared),
                          Line({"--config=/e", "--config-dir=/f"}),
                          {"declared kubelet configuration /c, but kubelet's command line says /e",
                           "declared kubelet drop-in folder /d, but kubelet's command line says /f"}},
        ContradictionCase{
            "NoFileOnTheCommandLine", {.config_file = "/c"}, Read("", Origin::kDeclared), Line({}), {}},
        ContradictionCase{"KubeletNotSeen", {.root = "/r"}, kNoFiles, kUnseen, {}}),
    ContradictionName);

struct RootCase {
  std::string name;
  std::string declared;
  std::optional<CommandLine> line;
  std::string prefix;
  std::string root;
};

class CombineRoot : public testing::TestWithParam<RootCase> {};

TEST_P(CombineRoot, IsFound) {
  EXPECT_EQ(Combine({.root = GetParam().declared}, kNoFiles, GetParam().line, GetParam().prefix).root,
            GetParam().root);
}

INSTANTIATE_TEST_SUITE_P(
    Roots, CombineRoot,
    testing::Values(RootCase{"Default", "", kUnseen, "", "/var/lib/kubelet"},
                    RootCase{"DefaultOnHost", "", Line({}), "/host", "/host/var/lib/kubelet"},
                    RootCase{"CommandLine", "", Line({"--root-dir=/r"}), "", "/r"},
                    RootCase{"CommandLineOnHost", "", Line({"--root-dir=/r"}), "/host", "/host/r"},
                    RootCase{"DeclaredIsOurs", "/k", Line({"--root-dir=/r"}), "/host", "/k"}),
    [](const auto& row) { return row.param.name; });

// K45: what kubelet itself tells is stronger than any file.
ToldByKubelet Told(const std::string& fields, std::optional<bool> gate = std::nullopt) {
  auto config = DecodeConfigz("{" + fields + "}");
  EXPECT_TRUE(config.ok()) << config.error().message();
  return {.config = *config, .gate = gate};
}

std::string SourceOf(const NodeFacts& facts, const std::string& fact) {
  for (const auto& [name, source] : facts.sources) {
    if (name == fact) return source;
  }
  return "";
}

TEST(CombineTold, BeatsFilesAndFlagsWhichCountAfterARestart) {
  ToldByKubelet told = Told(R"("imagePullCredentialsVerificationPolicy":"NeverVerifyPreloadedImages",
                               "imageGCLowThresholdPercent":70,"imageGCHighThresholdPercent":75)",
                            true);
  NodeFacts facts = Combine({.version = V(36)}, Read(PolicyLine(Policy::kAlwaysVerify)),
                            Line({"--config=/c", "--image-gc-low-threshold=40"}), "", &told);
  EXPECT_EQ(Show(facts.settings), "known gate:on NeverVerifyPreloadedImages");
  ASSERT_TRUE(facts.gc);
  EXPECT_EQ(facts.gc->low_percent, 70);
  EXPECT_EQ(SourceOf(facts, "verification"), "configz");
  EXPECT_EQ(SourceOf(facts, "imageGC"), "configz");
  EXPECT_EQ(SourceOf(facts, "gate"), "kubelet's metrics");
  EXPECT_TRUE(facts.problems.empty());
  EXPECT_EQ(
      base::Join(facts.contradictions, "\n"),
      "kubelet runs with verification NeverVerifyPreloadedImages, but /c says AlwaysVerify, which counts "
      "once kubelet restarts");
}

TEST(CombineTold, AFileThatIsBrokenSinceKubeletStartedHidesNothing) {
  ToldByKubelet told = Told(R"("imagePullCredentialsVerificationPolicy":"AlwaysVerify")");
  NodeFacts facts = Combine({.version = V(36)}, Read("nonsense: [\n"), kUnseen, "", &told);
  EXPECT_EQ(Show(facts.settings), "known AlwaysVerify");
  EXPECT_TRUE(facts.problems.empty());
  EXPECT_EQ(facts.contradictions.size(), 1U);
  EXPECT_FALSE(Combine({.version = V(36)}, Read("nonsense: [\n"), kUnseen).problems.empty());
}

TEST(CombineTold, ADeclarationThatItContradictsIsSaid) {
  ToldByKubelet told = Told(R"("imagePullCredentialsVerificationPolicy":"NeverVerify")");
  NodeFacts facts =
      Combine({.version = V(36), .policy = Policy::kAlwaysVerify}, kNoFiles, kUnseen, "", &told);
  EXPECT_EQ(Show(facts.settings), "known NeverVerify");
  EXPECT_EQ(base::Join(facts.contradictions, "\n"),
            "declared verification AlwaysVerify, but configz says NeverVerify");
}

TEST(CombineTold, TheGateAloneIsWorthKnowing) {
  ToldByKubelet told{.config = {}, .gate = false};
  NodeFacts facts = Combine({.version = V(36)}, kNoFiles, kUnseen, "", &told);
  auto possible = PossibleSettings(facts.settings);
  ASSERT_TRUE(possible.ok());
  for (const KubeletSettings& settings : *possible) EXPECT_FALSE(settings.gate);
}

TEST(DecodeConfigz, TakesWhatKubeletSendsAndNothingElse) {
  EXPECT_TRUE(DecodeConfigz("{}").ok());
  EXPECT_TRUE(DecodeConfigz(R"({"imageMinimumGCAge":"2m0s","newerField":{"x":1}})").ok());
  EXPECT_FALSE(DecodeConfigz("[]").ok());
  EXPECT_FALSE(DecodeConfigz("<html>").ok());
  EXPECT_FALSE(DecodeConfigz(R"({"imagePullCredentialsVerificationPolicy":3})").ok());
}

}  // namespace
}  // namespace prefetch::kubelet::node_facts_test
