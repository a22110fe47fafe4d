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
using facts_words::Policy;
using facts_words::PolicyLine;
using facts_words::Read;
using facts_words::Show;
using facts_words::Source;
using facts_words::V;
using Strings = std::vector<std::string>;

struct SettingsCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string settings;
  std::string problem;  // in the only one; empty: there is none
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

TEST_ROWS(
    Precedence, CombineSettings, {"NothingIsKnown", {}, kNoFiles, kUnseen, ""},
    {"OnlyTheVersion", {.version = V(36)}, kNoFiles, kUnseen, ""},
    {"DeclaredAlone", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify}, kNoFiles,
     kUnseen, "AlwaysVerify"},
    {"DeclaredAllowlist",
     KubeletDeclarations{
         .version = V(36), .policy = Policy::kNeverVerifyAllowlistedImages, .allowlist = {"reg.io/b/*"}},
     kNoFiles, kUnseen, "NeverVerifyAllowlistedImages reg.io/b/*"},
    {"File", KubeletDeclarations{.version = V(36)}, Read(kAllowed), kUnseen,
     "known NeverVerifyAllowlistedImages reg.io/a/*"},
    {"FileOfDefaults", {.version = V(36)}, Read(""), kUnseen, "known"},
    {"FileBeatsDeclaration", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
     Read(PolicyLine(Policy::kNeverVerify)), kUnseen, "known NeverVerify"},
    {"FileOfDefaultsBeatsDeclaration", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
     Read(""), kUnseen, "known"},
    {"DropInBeatsFile", KubeletDeclarations{.version = V(36)},
     Read(PolicyLine(Policy::kNeverVerify), PolicyLine(Policy::kAlwaysVerify)), kUnseen,
     "known AlwaysVerify"},
    {"GateOfTheFile", KubeletDeclarations{.version = V(34)},
     Read("featureGates: {KubeletEnsureSecretPulledImages: true}\n"), Line({"--config=/c"}), "known gate:on"},
    {"FlagBeatsFile", KubeletDeclarations{.version = V(36)},
     Read("featureGates: {KubeletEnsureSecretPulledImages: false, AllBeta: true}\n" +
          std::string("imagePullCredentialsVerificationPolicy: \"\"\n")),
     Line({"--config=/c", "--feature-gates=AllBeta=false"}), "known gate:off beta:off"},
    {"FlagOfAnUnknownFile", KubeletDeclarations{.version = V(36)}, kNoFiles,
     Line({"--config=/c", "--feature-gates=KubeletEnsureSecretPulledImages=false"}), "gate:off"},
    {"NoFileOnTheCommandLineIsAllDefaults", {.version = V(36)}, kNoFiles, Line({}), "known"},
    {"FileThatWasNotFound", {.version = V(36)}, kNoFiles, Line({"--config=/c"}), ""},
    {"VersionUnknown", {}, Read(PolicyLine(Policy::kAlwaysVerify)), kUnseen, "known AlwaysVerify"});

TEST_ROWS(Problems, CombineSettings,
          {"BrokenFile", {.version = V(36)}, Read("maxPods: many\n"), kUnseen, "", "/c:3:10"},
          {"DeclarationHelpsWhereAFileIsBroken",
           KubeletDeclarations{.version = V(36), .policy = Policy::kNeverVerify}, Read("maxPods: many\n"),
           kUnseen, "NeverVerify", "/c:3:10"},
          {"AllowlistOfAnotherPolicy", KubeletDeclarations{.version = V(36)},
           Read(PolicyLine(Policy::kAlwaysVerify) + "preloadedImagesVerificationAllowlist: [reg.io/a/*]\n"),
           kUnseen, "", "/c: kubelet would not start: an allowlist"},
          {"AllowlistOfANewerVersion", KubeletDeclarations{.version = V(35)},
           Read(PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                "preloadedImagesVerificationAllowlist: [ubuntu]\n"),
           kUnseen, "", "docker.io/library/ubuntu"},
          {"PolicyWithoutItsGate", KubeletDeclarations{.version = V(34)},
           Read(PolicyLine(Policy::kAlwaysVerify)), kUnseen, "", "KubeletEnsureSecretPulledImages is off"},
          {"GateThatDoesNotExist", KubeletDeclarations{.version = V(32)},
           Read("featureGates: {KubeletEnsureSecretPulledImages: true}\n"), kUnseen, "",
           "has no feature gate"},
          {"GateTurnedOffTooLate", KubeletDeclarations{.version = V(36)},
           Read("", "featureGates: {KubeletEnsureSecretPulledImages: false}\n"), kUnseen, "",
           "fills in its verification policy before"},
          {"RulesOfANewerKubeletAreNotKnown", KubeletDeclarations{.version = V(99)},
           Read("", "featureGates: {KubeletEnsureSecretPulledImages: false}\n"), kUnseen, "known gate:off"},
          {"ImageGcThresholds", KubeletDeclarations{.version = V(36)},
           Read("imageGCLowThresholdPercent: 90\n"), kUnseen, "",
           "/c: kubelet would not start: imageGCLowThresholdPercent (90) must be lower"},
          {"RefusedFileIsNotReplacedByADeclaration",
           KubeletDeclarations{.version = V(36), .policy = Policy::kNeverVerify},
           Read("imageGCLowThresholdPercent: 90\n"), kUnseen, "", "must be lower"},
          {"DeclarationThatNoKubeletHas",
           KubeletDeclarations{.version = V(36), .policy = Policy::kNeverVerify, .allowlist = {"reg.io/a/*"}},
           kNoFiles, kUnseen, "", "what was declared: kubelet would not start"},
          {"BrokenFlag", KubeletDeclarations{.version = V(36)}, Read(""),
           Line({"--config=/c", "--image-gc-low-threshold=low"}), "", "--image-gc-low-threshold"},
          {"HalfReadGates", KubeletDeclarations{.version = V(36)}, Read(""),
           Line({"--config=/c", "--feature-gates=AllBeta=false,Other"}), "", "--feature-gates"});

struct GcCase {
  std::string name;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string gc;
  std::string source;
};

TEST_TABLE(CombineGc, Settles, GcCase) {
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, row.reading, row.line);
  EXPECT_EQ(Show(facts.gc), row.gc);
  EXPECT_EQ(Source(facts, "imageGC"), row.source);
}

// K41 to K43.
TEST_ROWS(Spec26, CombineGc, {"Unknown", kNoFiles, kUnseen, "unknown", ""},  //
          {"Defaults", Read(""), kUnseen, "85 80 120 0", "/c"},
          {"DefaultsWithoutFiles", kNoFiles, Line({}), "85 80 120 0", "default"},
          {"File",
           Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\nimageMinimumGCAge: 5m\n"
                "imageMaximumGCAge: 24h\n"),
           kUnseen, "70 50 300 86400", "/c"},
          {"DropIn", Read("imageGCLowThresholdPercent: 50\n", "imageMaximumGCAge: 24h\n"), kUnseen,
           "85 50 120 86400", "/d/1.conf"},
          {"Flags", Read("imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 50\n"),
           Line({"--config=/c", "--image-gc-high-threshold=95", "--minimum-image-ttl-duration=0"}),
           "95 50 0 0", "command line"},
          {"FractionsCountAsASecond", Read("imageMaximumGCAge: 2500ms\nimageMinimumGCAge: 300ms\n"), kUnseen,
           "85 80 1 3", "/c"},
          {"RefusedIsUnknown", Read("imageGCHighThresholdPercent: 70\n"), kUnseen, "unknown", ""},
          {"BrokenIsUnknown", Read("maxPods: many\n"), kUnseen, "unknown", ""},
          {"FlagsAloneAreNotAll", kNoFiles, Line({"--config=/c", "--image-gc-high-threshold=95"}), "unknown",
           ""});

struct SourcesCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::string sources;
};

TEST_TABLE(CombineSources, AreTold, SourcesCase) {
  std::string text;
  for (const auto& [fact, source] : MakeNodeFacts(row.declared, row.reading, row.line).sources) {
    text += (text.empty() ? "" : " ") + fact + "=" + source;
  }
  EXPECT_EQ(text, row.sources);
}

TEST_ROWS(Facts, CombineSources, {"Nothing", {}, kNoFiles, kUnseen, "root=default"},
          {"Declared",
           KubeletDeclarations{.version = V(36),
                               .policy = Policy::kNeverVerifyAllowlistedImages,
                               .allowlist = {"reg.io/a/*"},
                               .root = "/r"},
           kNoFiles, kUnseen, "version=declared verification=declared allowlist=declared root=declared"},
          {"DefaultsAreTheMainFiles", KubeletDeclarations{}, Read("", Origin::kWellKnown), kUnseen,
           "verification=/c allowlist=/c gate=/c imageGC=/c root=default configFile=default"},
          {"DropIn", KubeletDeclarations{}, Read("", kAllowed), kUnseen,
           "verification=/d/1.conf allowlist=/d/1.conf gate=/c imageGC=/c root=default configFile=default"},
          {"CommandLine", KubeletDeclarations{}, Read("", Origin::kCommandLine),
           Line({"--config=/c", "--root-dir=/r", "--feature-gates=AllBeta=true"}),
           "verification=/c allowlist=/c gate=command line imageGC=/c root=command line "
           "configFile=command line"},
          {"NoFileOnTheCommandLine", KubeletDeclarations{}, kNoFiles, Line({}),
           "verification=default allowlist=default gate=default imageGC=default root=default"},
          {"RefusedHasNone", KubeletDeclarations{.version = V(36)},
           Read("imageGCLowThresholdPercent: 90\n", Origin::kDeclared), kUnseen,
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
const std::string kOn = "featureGates: {KubeletEnsureSecretPulledImages: true}\n";
const std::string kOff = "featureGates: {KubeletEnsureSecretPulledImages: false}\n";
const std::string kNoPolicy = "imagePullCredentialsVerificationPolicy: null\n";
const std::string kAlways = "imagePullCredentialsVerificationPolicy: AlwaysVerify\n";
const char kNone[] = "";

// The versions of 1.32 to 1.37 that would not start, by their minor: "35 36 37".
struct StartCase {
  std::string name;
  std::optional<std::string> main;
  std::optional<std::string> drop_in;
  std::vector<std::string> flags;
  std::string refusing;
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
TEST_ROWS(Gate, WhyNotStartedTest, {"Defaults", kNone, {}, {}, ""},  //
          {"OffInMain", kOff, {}, {}, ""},                           //
          {"OnInMain", kOn, {}, {}, ""},                             //
          {"OffInDropIn", kNone, kOff, {}, "35 36 37"},              //
          {"OnThenOff", kOn, kOff, {}, "33 34 35 36 37"},            //
          {"OffInMainAndDropIn", kOff, kOff, {}, ""},                //
          {"OffInDropInWithPolicyNull", kNone, kOff + kNoPolicy, {}, ""},
          {"OnInDropIn", kNone, kOn, {}, ""},        //
          {"OffThenOn", kOff, kOn, {}, ""},          //
          {"PolicyNull", kNone, kNoPolicy, {}, ""},  //
          {"NamedPolicyIsCheckedElsewhere", kNone, kOff + kAlways, {}, ""},
          {"FlagOff", kNone, {}, kFlagOff, ""},  //
          {"FlagOn", kNone, {}, kFlagOn, ""},    //
          {"FlagOffAgainstMain", kOn, {}, kFlagOff, "33 34 35 36 37"},
          {"FlagOnAgainstMain", kOff, {}, kFlagOn, "33 34 35 36 37"},
          {"FlagOnAgainstDropIn", kNone, kOff, kFlagOn, ""},      //
          {"FlagOffWithoutFiles", {}, {}, kFlagOff, "35 36 37"},  //
          {"FlagOnWithoutFiles", {}, {}, kFlagOn, "33 34"},       //
          {"NothingAtAll", {}, {}, {}, ""},                       //
          {"DropInWithoutMain", {}, kOn, {}, ""});

const char kEvery[] = "32 33 34 35 36 37";

// K44.
TEST_ROWS(ImageGc, WhyNotStartedTest, {"LowIsHigh", "imageGCLowThresholdPercent: 85\n", {}, {}, kEvery},
          {"LowJustBelowHigh", "imageGCLowThresholdPercent: 84\n", {}, {}, ""},
          {"HighBelowTheDefaultLow", "imageGCHighThresholdPercent: 70\n", {}, {}, kEvery},
          {"MendedByADropIn", "imageGCHighThresholdPercent: 70\n", "imageGCLowThresholdPercent: 60\n",
           Strings{}, ""},
          {"MendedByAFlag", "imageGCHighThresholdPercent: 70\n", {}, {"--image-gc-low-threshold=60"}, ""},
          {"BrokenByAFlag", kNone, {}, {"--image-gc-low-threshold=90"}, kEvery},
          {"MaximumAgeBelowTheDefaultMinimum", "imageMaximumGCAge: 1m\n", {}, {}, kEvery},
          {"MaximumAgeIsMinimum", "imageMaximumGCAge: 2m\n", {}, {}, kEvery},
          {"MaximumAgeAboveMinimum", "imageMaximumGCAge: 121s\n", {}, {}, ""},
          {"MinimumAgeByFlag", "imageMaximumGCAge: 1m\n", {}, {"--minimum-image-ttl-duration=0"}, ""});

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
  std::optional<CommandLine> line;
  std::vector<std::string> expect;
};

TEST_TABLE(CombineContradictions, AreTold, ContradictionCase) {
  EXPECT_EQ(MakeNodeFacts(row.declared, row.reading, row.line).contradictions, row.expect);
}

TEST_ROWS(Verification, CombineContradictions,
          {"SaidTheSame", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
           Read(PolicyLine(Policy::kAlwaysVerify)), kUnseen, Strings{}},
          {"NothingDeclared", {.version = V(36)}, Read(kAllowed), kUnseen, {}},
          {"NothingToCompareWith", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
           kNoFiles, kUnseen, Strings{}},
          {"Policy", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
           Read("", PolicyLine(Policy::kNeverVerify)), kUnseen,
           Strings{"declared verification AlwaysVerify, but /d/1.conf says NeverVerify"}},
          {"PolicyByDefault", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
           Read(""), kUnseen,
           Strings{"declared verification AlwaysVerify, but /c leaves it at kubelet's "
                   "default, NeverVerifyPreloadedImages"}},
          {"TheDefaultWasDeclared", {.policy = Policy::kNeverVerifyPreloadedImages}, Read(""), kUnseen, {}},
          {"GateOff", KubeletDeclarations{.version = V(34), .policy = Policy::kAlwaysVerify}, Read(""),
           kUnseen,
           Strings{"declared verification AlwaysVerify, but /c leaves the feature gate "
                   "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
          {"GateOffByFlag", KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify}, Read(""),
           Line({"--config=/c", "--feature-gates=AllBeta=false"}),
           Strings{"declared verification AlwaysVerify, but kubelet's command line leaves the feature gate "
                   "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
          {"OldKubeletsHaveNoGate", KubeletDeclarations{.version = V(32), .policy = Policy::kAlwaysVerify},
           Read(""), kUnseen, Strings{}},
          {"Allowlist", KubeletDeclarations{.version = V(36), .allowlist = {"reg.io/b/*"}}, Read(kAllowed),
           kUnseen, Strings{"declared allowlist reg.io/b/*, but /c says reg.io/a/*"}},
          {"AllowlistOfNone", KubeletDeclarations{.version = V(36), .allowlist = {"reg.io/b/*"}}, Read(""),
           kUnseen, Strings{"declared allowlist reg.io/b/*, but /c says none"}},
          {"AllowlistInAnotherOrder",
           KubeletDeclarations{.version = V(36), .allowlist = {"b.io/b/*", "a.io/a/*", "a.io/a/*"}},
           Read(PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                "preloadedImagesVerificationAllowlist: [a.io/a/*, b.io/b/*]\n"),
           kUnseen, Strings{}},
          {"WhatIsRefusedContradictsNothing",
           KubeletDeclarations{.version = V(36), .policy = Policy::kAlwaysVerify},
           Read("imageGCLowThresholdPercent: 90\n"), kUnseen, Strings{}});

TEST_ROWS(Paths, CombineContradictions,
          {"SameRoot", {.root = "/var/lib/kubelet/"}, kNoFiles, Line({"--config=/c"}), {}},
          {"BelowAMount", {.root = "/host/r"}, kNoFiles, Line({"--root-dir=/r/"}), {}},
          {"OtherRoot", KubeletDeclarations{.root = "/var/lib/kubelet"}, kNoFiles,
           Line({"--root-dir=/data/kubelet"}),
           Strings{"declared kubelet root /var/lib/kubelet, but kubelet's command line says /data/kubelet"}},
          {"OnlyTheEndOfAName", KubeletDeclarations{.root = "/my-r"}, kNoFiles, Line({"--root-dir=/r"}),
           Strings{"declared kubelet root /my-r, but kubelet's command line says /r"}},
          {"OtherFiles", KubeletDeclarations{.config_file = "/c", .config_dir = "/d"},
           Read("", Origin::kDeclared), Line({"--config=/e", "--config-dir=/f"}),
           Strings{"declared kubelet configuration /c, but kubelet's command line says /e",
                   "declared kubelet drop-in folder /d, but kubelet's command line says /f"}},
          {"NoFileOnTheCommandLine", {.config_file = "/c"}, Read("", Origin::kDeclared), Line({}), {}},
          {"KubeletNotSeen", {.root = "/r"}, kNoFiles, kUnseen, {}});

}  // namespace
}  // namespace prefetch::kubelet::node_facts_test
