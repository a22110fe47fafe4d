#include "kubelet/node_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "kubelet/facts_words.h"
#include "rows.h"

namespace prefetch::kubelet::node_facts_test {
namespace {

using facts_words::kAllowed;
using facts_words::kNoFiles;
using facts_words::kUnseen;
using facts_words::Line;
using facts_words::Origin;
using facts_words::PolicyLine;
using facts_words::Read;
using facts_words::Show;
using facts_words::Source;
using facts_words::V;
using enum VerificationPolicy;
using Strings = std::vector<std::string>;

const std::string kOn = "featureGates: {KubeletEnsureSecretPulledImages: true}\n";
const std::string kOff = "featureGates: {KubeletEnsureSecretPulledImages: false}\n";

// The version and the settings that are declared.
KubeletDeclarations Kubelet(unsigned minor, std::optional<VerificationPolicy> policy = {},
                            const Strings& allowlist = {}) {
  return {.version = V(minor), .policy = policy, .allowlist = allowlist};
}

struct SettingsCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::string settings;
  std::string problem = "";  // in the only one; empty: there is none
  std::optional<CommandLine> line = kUnseen;
};

TEST_TABLE(CombineSettings, Settles, SettingsCase) {
  NodeFacts facts = MakeNodeFacts(row.declared, row.reading, row.line);
  EXPECT_EQ(Show(facts.settings), row.settings);
  EXPECT_EQ(facts.settings.version, row.declared.version);
  EXPECT_EQ(facts.problems.size(), row.problem.empty() ? 0U : 1U) << base::Join(facts.problems, "\n");
  if (!facts.problems.empty()) {
    EXPECT_NE(facts.problems[0].find(row.problem), std::string::npos) << facts.problems[0];
  }
}

TEST_ROWS(Precedence, CombineSettings, {"NothingIsKnown", {}, kNoFiles, ""},
          {"OnlyTheVersion", Kubelet(36), kNoFiles, ""},
          {"DeclaredAlone", Kubelet(36, kAlwaysVerify), kNoFiles, "AlwaysVerify"},
          {"DeclaredAllowlist", Kubelet(36, kNeverVerifyAllowlistedImages, {"reg.io/b/*"}), kNoFiles,
           "NeverVerifyAllowlistedImages reg.io/b/*"},
          {"File", Kubelet(36), Read(kAllowed), "known NeverVerifyAllowlistedImages reg.io/a/*"},
          {"FileOfDefaults", Kubelet(36), Read(""), "known"},
          {"FileBeatsDeclaration", Kubelet(36, kAlwaysVerify), Read(PolicyLine(kNeverVerify)),
           "known NeverVerify"},
          {"FileOfDefaultsBeatsDeclaration", Kubelet(36, kAlwaysVerify), Read(""), "known"},
          {"DropInBeatsFile", Kubelet(36), Read(PolicyLine(kNeverVerify), PolicyLine(kAlwaysVerify)),
           "known AlwaysVerify"},
          {"GateOfTheFile", Kubelet(34), Read(kOn), "known gate:on", "", Line({"--config=/c"})},
          {"FlagBeatsFile", Kubelet(36),
           Read("featureGates: {KubeletEnsureSecretPulledImages: false, AllBeta: true}\n"
                "imagePullCredentialsVerificationPolicy: \"\"\n"),
           "known gate:off beta:off", "", Line({"--config=/c", "--feature-gates=AllBeta=false"})},
          {"FlagOfAnUnknownFile", Kubelet(36), kNoFiles, "gate:off", "",
           Line({"--config=/c", "--feature-gates=KubeletEnsureSecretPulledImages=false"})},
          {"NoFileOnTheCommandLineIsAllDefaults", Kubelet(36), kNoFiles, "known", "", Line({})},
          {"FileThatWasNotFound", Kubelet(36), kNoFiles, "", "", Line({"--config=/c"})},
          {"VersionUnknown", {}, Read(PolicyLine(kAlwaysVerify)), "known AlwaysVerify"});

TEST_ROWS(
    Problems, CombineSettings, {"BrokenFile", Kubelet(36), Read("maxPods: many\n"), "", "/c:3:10"},
    {"DeclarationHelpsWhereAFileIsBroken", Kubelet(36, kNeverVerify), Read("maxPods: many\n"), "NeverVerify",
     "/c:3:10"},
    {"AllowlistOfAnotherPolicy", Kubelet(36),
     Read(PolicyLine(kAlwaysVerify) + "preloadedImagesVerificationAllowlist: [reg.io/a/*]\n"), "",
     "/c: kubelet would not start: an allowlist"},
    {"AllowlistOfANewerVersion", Kubelet(35),
     Read(PolicyLine(kNeverVerifyAllowlistedImages) + "preloadedImagesVerificationAllowlist: [ubuntu]\n"), "",
     "docker.io/library/ubuntu"},
    {"PolicyWithoutItsGate", Kubelet(34), Read(PolicyLine(kAlwaysVerify)), "",
     "KubeletEnsureSecretPulledImages is off"},
    {"GateThatDoesNotExist", Kubelet(32), Read(kOn), "", "has no feature gate"},
    {"GateTurnedOffTooLate", Kubelet(36), Read("", kOff), "", "fills in its verification policy before"},
    {"RulesOfANewerKubeletAreNotKnown", Kubelet(99), Read("", kOff), "known gate:off"},
    {"ImageGcThresholds", Kubelet(36), Read("imageGCLowThresholdPercent: 90\n"), "",
     "/c: kubelet would not start: imageGCLowThresholdPercent (90) must be lower"},
    {"RefusedFileIsNotReplacedByADeclaration", Kubelet(36, kNeverVerify),
     Read("imageGCLowThresholdPercent: 90\n"), "", "must be lower"},
    {"DeclarationThatNoKubeletHas", Kubelet(36, kNeverVerify, {"reg.io/a/*"}), kNoFiles, "",
     "what was declared: kubelet would not start"},
    {"BrokenFlag", Kubelet(36), Read(""), "", "--image-gc-low-threshold",
     Line({"--config=/c", "--image-gc-low-threshold=low"})},
    {"HalfReadGates", Kubelet(36), Read(""), "", "--feature-gates",
     Line({"--config=/c", "--feature-gates=AllBeta=false,Other"})});

struct GcCase {
  std::string name;
  ConfigReading reading;
  std::string gc;
  std::string source;
  std::optional<CommandLine> line = kUnseen;
};

TEST_TABLE(CombineGc, Settles, GcCase) {
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, row.reading, row.line);
  EXPECT_EQ(Show(facts.gc), row.gc);
  EXPECT_EQ(Source(facts, "imageGC"), row.source);
}

// K41 to K43.
TEST_ROWS(
    Spec26, CombineGc, {"Unknown", kNoFiles, "unknown", ""}, {"Defaults", Read(""), "85 80 120 0", "/c"},
    {"DefaultsWithoutFiles", kNoFiles, "85 80 120 0", "default", Line({})},
    {"File",
     Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\nimageMinimumGCAge: "
          "5m\nimageMaximumGCAge: 24h\n"),
     "70 50 300 86400", "/c"},
    {"DropIn", Read("imageGCLowThresholdPercent: 50\n", "imageMaximumGCAge: 24h\n"), "85 50 120 86400",
     "/d/1.conf"},
    {"Flags", Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\n"), "95 50 0 0",
     "command line", Line({"--config=/c", "--image-gc-high-threshold=95", "--minimum-image-ttl-duration=0"})},
    {"FractionsCountAsASecond", Read("imageMaximumGCAge: 2500ms\nimageMinimumGCAge: 300ms\n"), "85 80 1 3",
     "/c"},
    {"RefusedIsUnknown", Read("imageGCHighThresholdPercent: 70\n"), "unknown", ""},
    {"BrokenIsUnknown", Read("maxPods: many\n"), "unknown", ""},
    {"FlagsAloneAreNotAll", kNoFiles, "unknown", "", Line({"--config=/c", "--image-gc-high-threshold=95"})});

struct SourcesCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::string sources;
  std::optional<CommandLine> line = kUnseen;
};

TEST_TABLE(CombineSources, AreTold, SourcesCase) {
  std::string text;
  for (const auto& [fact, source] : MakeNodeFacts(row.declared, row.reading, row.line).sources) {
    text += (text.empty() ? "" : " ") + fact + "=" + source;
  }
  EXPECT_EQ(text, row.sources);
}

TEST_ROWS(
    Facts, CombineSources, {"Nothing", {}, kNoFiles, "root=default"},
    {"Declared",
     KubeletDeclarations{.version = V(36),
                         .policy = kNeverVerifyAllowlistedImages,
                         .allowlist = {"reg.io/a/*"},
                         .root = "/r"},
     kNoFiles, "version=declared verification=declared allowlist=declared root=declared"},
    {"DefaultsAreTheMainFiles", KubeletDeclarations{}, Read("", Origin::kWellKnown),
     "verification=/c allowlist=/c gate=/c imageGC=/c root=default configFile=default"},
    {"DropIn", KubeletDeclarations{}, Read("", kAllowed),
     "verification=/d/1.conf allowlist=/d/1.conf gate=/c imageGC=/c root=default configFile=default"},
    {"CommandLine", KubeletDeclarations{}, Read("", Origin::kCommandLine),
     "verification=/c allowlist=/c gate=command line imageGC=/c root=command line configFile=command line",
     Line({"--config=/c", "--root-dir=/r", "--feature-gates=AllBeta=true"})},
    {"NoFileOnTheCommandLine", KubeletDeclarations{}, kNoFiles,
     "verification=default allowlist=default gate=default imageGC=default root=default", Line({})},
    {"RefusedHasNone", Kubelet(36), Read("imageGCLowThresholdPercent: 90\n", Origin::kDeclared),
     "version=declared root=default configFile=declared"});

struct RootCase {
  std::string name;
  std::string declared;
  std::optional<CommandLine> line;
  std::string prefix;
  std::string root;
};

TEST_TABLE(CombineRoot, IsFound, RootCase) {
  EXPECT_EQ(MakeNodeFacts({.root = row.declared}, kNoFiles, row.line, row.prefix).root, row.root);
}

TEST_ROWS(Roots, CombineRoot, {"Default", "", kUnseen, "", "/var/lib/kubelet"},
          {"DefaultOnHost", "", Line({}), "/host", "/host/var/lib/kubelet"},
          {"CommandLine", "", Line({"--root-dir=/r"}), "", "/r"},
          {"CommandLineOnHost", "", Line({"--root-dir=/r"}), "/host", "/host/r"},
          {"DeclaredIsOurs", "/k", Line({"--root-dir=/r"}), "/host", "/k"});

const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const std::string kNoPolicy = "imagePullCredentialsVerificationPolicy: null\n";
const std::string kAlways = "imagePullCredentialsVerificationPolicy: AlwaysVerify\n";
const char kNone[] = "";

// The versions of 1.32 to 1.37 that would not start, by their minor: "35 36 37".
struct StartCase {
  std::string name;
  std::string refusing;
  std::optional<std::string> main;
  std::optional<std::string> drop_in = {};
  Strings flags = {};
};

TEST_TABLE(WhyNotStartedTest, ByVersion, StartCase) {
  ConfigDocuments documents;
  if (row.main) documents.main = ConfigDocument{"main", kHead + *row.main};
  if (row.drop_in) documents.drop_ins = {{"1", kHead + *row.drop_in}};
  auto config = MergeKubeletConfigs(documents);
  ASSERT_TRUE(config.ok()) << config.error().message();
  std::vector<std::string> arguments = {"kubelet"};
  arguments.insert(arguments.end(), row.flags.begin(), row.flags.end());
  CommandLine flags = ParseCommandLine(arguments);
  std::string refusing;
  for (unsigned minor = 32; minor <= 37; minor++) {
    std::vector<std::string> reasons = StartupErrors(*config, flags, image::KubeletVersion{1, minor});
    if (!reasons.empty()) refusing += (refusing.empty() ? "" : " ") + std::to_string(minor);
  }
  EXPECT_EQ(refusing, row.refusing);
}

const std::vector<std::string> kFlagOn = {"--feature-gates=KubeletEnsureSecretPulledImages=true"};
const std::vector<std::string> kFlagOff = {"--feature-gates=KubeletEnsureSecretPulledImages=false"};

// K49, the trap: the default policy is filled in before drop-ins and flags come.
TEST_ROWS(Gate, WhyNotStartedTest, {"Defaults", "", kNone}, {"OffInMain", "", kOff}, {"OnInMain", "", kOn},
          {"OffInDropIn", "35 36 37", kNone, kOff}, {"OnThenOff", "33 34 35 36 37", kOn, kOff},
          {"OffInMainAndDropIn", "", kOff, kOff}, {"OffInDropInWithPolicyNull", "", kNone, kOff + kNoPolicy},
          {"OnInDropIn", "", kNone, kOn}, {"OffThenOn", "", kOff, kOn}, {"PolicyNull", "", kNone, kNoPolicy},
          {"NamedPolicyIsCheckedElsewhere", "", kNone, kOff + kAlways}, {"FlagOff", "", kNone, {}, kFlagOff},
          {"FlagOn", "", kNone, {}, kFlagOn}, {"FlagOffAgainstMain", "33 34 35 36 37", kOn, {}, kFlagOff},
          {"FlagOnAgainstMain", "33 34 35 36 37", kOff, {}, kFlagOn},
          {"FlagOnAgainstDropIn", "", kNone, kOff, kFlagOn},
          {"FlagOffWithoutFiles", "35 36 37", {}, {}, kFlagOff},
          {"FlagOnWithoutFiles", "33 34", {}, {}, kFlagOn}, {"NothingAtAll", "", {}},
          {"DropInWithoutMain", "", {}, kOn});

const char kEvery[] = "32 33 34 35 36 37";

// K44.
TEST_ROWS(ImageGc, WhyNotStartedTest, {"LowIsHigh", kEvery, "imageGCLowThresholdPercent: 85\n"},
          {"LowJustBelowHigh", "", "imageGCLowThresholdPercent: 84\n"},
          {"HighBelowTheDefaultLow", kEvery, "imageGCHighThresholdPercent: 70\n"},
          {"MendedByADropIn", "", "imageGCHighThresholdPercent: 70\n", "imageGCLowThresholdPercent: 60\n"},
          {"MendedByAFlag", "", "imageGCHighThresholdPercent: 70\n", {}, {"--image-gc-low-threshold=60"}},
          {"BrokenByAFlag", kEvery, kNone, {}, {"--image-gc-low-threshold=90"}},
          {"MaximumAgeBelowTheDefaultMinimum", kEvery, "imageMaximumGCAge: 1m\n"},
          {"MaximumAgeIsMinimum", kEvery, "imageMaximumGCAge: 2m\n"},
          {"MaximumAgeAboveMinimum", "", "imageMaximumGCAge: 121s\n"},
          {"MinimumAgeByFlag", "", "imageMaximumGCAge: 1m\n", {}, {"--minimum-image-ttl-duration=0"}});

TEST(StartCheck, WithoutAVersionTheGateIsNotChecked) {
  auto config = MergeKubeletConfigs(
      {.main = ConfigDocument{"main", kHead}, .drop_ins = std::vector<ConfigDocument>{{"1", kHead + kOff}}});
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(StartupErrors(*config, {}, std::nullopt).empty());
}

// Where what is declared and what is found say different things.

struct ContradictionCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  Strings expect = {};
  std::optional<CommandLine> line = kUnseen;
};

TEST_TABLE(CombineContradictions, AreTold, ContradictionCase) {
  EXPECT_EQ(MakeNodeFacts(row.declared, row.reading, row.line).contradictions, row.expect);
}

TEST_ROWS(Verification, CombineContradictions,
          {"SaidTheSame", Kubelet(36, kAlwaysVerify), Read(PolicyLine(kAlwaysVerify))},
          {"NothingDeclared", Kubelet(36), Read(kAllowed)},
          {"NothingToCompareWith", Kubelet(36, kAlwaysVerify), kNoFiles},
          {"Policy", Kubelet(36, kAlwaysVerify), Read("", PolicyLine(kNeverVerify)),
           Strings{"declared verification AlwaysVerify, but /d/1.conf says NeverVerify"}},
          {"PolicyByDefault", Kubelet(36, kAlwaysVerify), Read(""),
           Strings{"declared verification AlwaysVerify, but /c leaves it at kubelet's default, "
                   "NeverVerifyPreloadedImages"}},
          {"TheDefaultWasDeclared", {.policy = kNeverVerifyPreloadedImages}, Read("")},
          {"GateOff", Kubelet(34, kAlwaysVerify), Read(""),
           Strings{"declared verification AlwaysVerify, but /c leaves the feature gate "
                   "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
          {"GateOffByFlag", Kubelet(36, kAlwaysVerify), Read(""),
           Strings{"declared verification AlwaysVerify, but kubelet's command line leaves the feature gate "
                   "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"},
           Line({"--config=/c", "--feature-gates=AllBeta=false"})},
          {"OldKubeletsHaveNoGate", Kubelet(32, kAlwaysVerify), Read("")},
          {"Allowlist", Kubelet(36, {}, {"reg.io/b/*"}), Read(kAllowed),
           Strings{"declared allowlist reg.io/b/*, but /c says reg.io/a/*"}},
          {"AllowlistOfNone", Kubelet(36, {}, {"reg.io/b/*"}), Read(""),
           Strings{"declared allowlist reg.io/b/*, but /c says none"}},
          {"AllowlistInAnotherOrder", Kubelet(36, {}, {"b.io/b/*", "a.io/a/*", "a.io/a/*"}),
           Read(PolicyLine(kNeverVerifyAllowlistedImages) +
                "preloadedImagesVerificationAllowlist: [a.io/a/*, b.io/b/*]\n")},
          {"WhatIsRefusedContradictsNothing", Kubelet(36, kAlwaysVerify),
           Read("imageGCLowThresholdPercent: 90\n")});

TEST_ROWS(Paths, CombineContradictions,
          {"SameRoot", {.root = "/var/lib/kubelet/"}, kNoFiles, Strings{}, Line({"--config=/c"})},
          {"BelowAMount", {.root = "/host/r"}, kNoFiles, Strings{}, Line({"--root-dir=/r/"})},
          {"OtherRoot", KubeletDeclarations{.root = "/var/lib/kubelet"}, kNoFiles,
           Strings{"declared kubelet root /var/lib/kubelet, but kubelet's command line says /data/kubelet"},
           Line({"--root-dir=/data/kubelet"})},
          {"OnlyTheEndOfAName", KubeletDeclarations{.root = "/my-r"}, kNoFiles,
           Strings{"declared kubelet root /my-r, but kubelet's command line says /r"},
           Line({"--root-dir=/r"})},
          {"OtherFiles", KubeletDeclarations{.config_file = "/c", .config_dir = "/d"},
           Read("", Origin::kDeclared),
           Strings{"declared kubelet configuration /c, but kubelet's command line says /e",
                   "declared kubelet drop-in folder /d, but kubelet's command line says /f"},
           Line({"--config=/e", "--config-dir=/f"})},
          {"NoFileOnTheCommandLine", {.config_file = "/c"}, Read("", Origin::kDeclared), Strings{}, Line({})},
          {"KubeletNotSeen", {.root = "/r"}, kNoFiles});

}  // namespace
}  // namespace prefetch::kubelet::node_facts_test
