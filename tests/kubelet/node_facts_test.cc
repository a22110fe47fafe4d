#include "kubelet/node_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "kubelet/facts_words.h"

namespace prefetch::kubelet::node_facts_test {
namespace {

using facts_words::kAllowed;
using facts_words::kNoFiles;
using facts_words::kUnseen;
using facts_words::Line;
using facts_words::Origin;
using facts_words::Policy;
using facts_words::PolicyLine;
using facts_words::Read;
using facts_words::Show;
using facts_words::Source;
using facts_words::V;

struct SettingsCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string settings;
  std::string problem;  // in the only one; empty: there is none
};

class CombineSettings : public testing::TestWithParam<SettingsCase> {};

TEST_P(CombineSettings, Settles) {
  const SettingsCase& row = GetParam();
  NodeFacts facts = MakeNodeFacts(row.declared, row.reading, row.line);
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
        SettingsCase{"RulesOfANewerKubeletAreNotKnown",
                     {.version = V(99)},
                     Read("", "featureGates: {KubeletEnsureSecretPulledImages: false}\n"),
                     kUnseen,
                     "known gate:off"},
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

TEST_P(CombineGc, Settles) {
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, GetParam().reading, GetParam().line);
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
  KubeletDeclarations declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string sources;
};

class CombineSources : public testing::TestWithParam<SourcesCase> {};

TEST_P(CombineSources, AreTold) {
  std::string text;
  for (const auto& [fact, source] :
       MakeNodeFacts(GetParam().declared, GetParam().reading, GetParam().line).sources) {
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
                    Read("", Origin::kWellKnown),
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

struct RootCase {
  std::string name;
  std::string declared;
  std::optional<CommandLine> line;
  std::string prefix;
  std::string root;
};

class CombineRoot : public testing::TestWithParam<RootCase> {};

TEST_P(CombineRoot, IsFound) {
  EXPECT_EQ(MakeNodeFacts({.root = GetParam().declared}, kNoFiles, GetParam().line, GetParam().prefix).root,
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

}  // namespace
}  // namespace prefetch::kubelet::node_facts_test
