#include "kubelet/kubelet_config.h"

#include <gtest/gtest.h>

#include "doc/duration.h"
#include "must.h"
#include "rows.h"

namespace prefetch::kubelet::kubelet_config_test {
namespace {

using Strings = std::vector<std::string>;
const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

TEST(KubeletConfig, WithoutTheFieldsIsAllDefaults) {
  auto facts = tests::Must(DecodeKubeletConfig(kHead + "maxPods: 250\nfeatureGates: {Other: true}\n", "f"));
  EXPECT_EQ(*facts, (SettingsFacts{.configuration_known = true}));
}

TEST(KubeletConfig, ReadsItsFieldsFromJsonAndYaml) {
  const std::string yaml = kHead +
                           "imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\n"
                           "preloadedImagesVerificationAllowlist: [reg.io/a, reg.io/b/*]\n"
                           "featureGates:\n  KubeletEnsureSecretPulledImages: true\n";
  const std::string json = R"({"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration",)"
                           R"("imagePullCredentialsVerificationPolicy":"NeverVerifyAllowlistedImages",)"
                           R"("preloadedImagesVerificationAllowlist":["reg.io/a","reg.io/b/*"],)"
                           R"("featureGates":{"KubeletEnsureSecretPulledImages":true},"unheardOf":1})";
  for (const std::string& text : {yaml, json}) {
    auto facts = tests::Must(DecodeKubeletConfig(text, "f"));
    EXPECT_EQ(*facts, (SettingsFacts{.configuration_known = true,
                                     .gates = {.ensure_secret_pulled_images = true},
                                     .policy = VerificationPolicy::kNeverVerifyAllowlistedImages,
                                     .allowlist = {"reg.io/a", "reg.io/b/*"}}));
  }
}

// K47: what kubelet starts with, although strict readers of YAML refuse it.
TEST(KubeletConfig, ReadsTheMainFileAsKubeletDoes) {
  const std::string limits = "imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 60\n";
  for (const std::string more :
       {"serverTLSBootstrap: true\nserverTLSBootstrap: true\n", "---\n", "---\nkind: [\n", "maxPods: 0110\n",
        "maxPods: 72.0\n", "failSwapOn: no\nfeatureGates: {AllBeta: no}\n",
        "imageGCHighThresholdPercent: 0x46\n", "<<: {imageGCLowThresholdPercent: 60}\n"}) {
    auto config = MergeKubeletConfigs({.main = ConfigDocument{"main", kHead + limits + more}});
    ASSERT_TRUE(config.ok()) << more << config.error().message();
    EXPECT_EQ(config->gc_high_percent.value, 70) << more;
    EXPECT_EQ(config->gc_low_percent.value, 60) << more;
    EXPECT_EQ(config->max_pods.value.value_or(72), 72) << more;
  }
  auto merged = tests::Must(MergeKubeletConfigs(
      {.main = ConfigDocument{"main", kHead + limits + "<<: {imageGCHighThresholdPercent: 75}\n"}}));
  EXPECT_EQ(merged->gc_high_percent.value, 75);
}

// kubelet encodes a drop-in of JSON again before it decodes it.
TEST(KubeletConfig, WholeNumbersOfDropInsMayHaveAFraction) {
  const std::string json =
      R"({"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1","maxPods":)";
  auto pods = [&](const std::string& number) {
    auto config = MergeKubeletConfigs({.drop_ins = {{{"1", json + number + "}"}}}});
    return config ? config->max_pods.value.value_or(0) : -1;
  };
  EXPECT_EQ(pods("72.0"), 72);
  EXPECT_EQ(pods("7.2e1"), 72);
  EXPECT_EQ(pods("72.5"), -1);
  EXPECT_EQ(pods("1e21"), -1);
  EXPECT_FALSE(MergeKubeletConfigs({.main = ConfigDocument{"main", json + "72.0}"}}));
}

TEST(KubeletConfig, ADropInHasEachKeyOnce) {
  const ConfigDocument main{"main", kHead};
  const auto error = tests::MustFail(
      MergeKubeletConfigs({.main = main, .drop_ins = {{{"1", kHead + "maxPods: 5\nmaxPods: 5\n"}}}}));
  EXPECT_NE(error.message().find("1:4:1: duplicate key \"maxPods\""), std::string::npos) << error.message();
  EXPECT_TRUE(MergeKubeletConfigs({.main = main, .drop_ins = {{{"1", kHead + "maxPods: 5\n---\n"}}}}).ok());
}

// The main file, and the drop-ins "1", "2" ...; nullptr: there is no main file.
ConfigDocuments Documents(const char* main, const std::vector<std::string>& drop_ins) {
  ConfigDocuments documents;
  if (main != nullptr) documents.main = ConfigDocument{"main", kHead + main};
  if (!drop_ins.empty()) documents.drop_ins.emplace();
  for (const std::string& text : drop_ins) {
    documents.drop_ins->push_back({std::to_string(documents.drop_ins->size() + 1), kHead + text});
  }
  return documents;
}

std::string Text(bool value) {
  return value ? "true" : "false";
}
std::string Text(int value) {
  return std::to_string(value);
}
std::string Text(const std::string& value) {
  return value;
}
std::string Text(VerificationPolicy value) {
  return std::string(base::EnumName(value));
}
std::string Text(std::chrono::nanoseconds value) {
  return doc::FormatDuration(value);
}
std::string Text(const std::vector<std::string>& value) {
  std::string text;
  for (const std::string& each : value) text += (text.empty() ? "" : " ") + each;
  return "[" + text + "]";
}
std::string Text(const FeatureGates& value) {
  std::string text;
  if (value.ensure_secret_pulled_images) text += "gate:" + Text(*value.ensure_secret_pulled_images);
  if (value.all_alpha) text += " alpha:" + Text(*value.all_alpha);
  if (value.all_beta) text += " beta:" + Text(*value.all_beta);
  return text;
}

// "80@main", "-@2": a default, and who said so.
template <typename T>
std::string Show(const SourcedValue<T>& stated) {
  return (stated.value ? Text(*stated.value) : "-") + "@" + stated.from;
}

std::string Show(const KubeletConfig& config, const std::string& field) {
  if (field == "policy") return Show(config.policy) + (config.policy_cleared ? " emptied" : "");
  if (field == "allowlist") return Show(config.allowlist);
  if (field == "gates") return Show(config.gates);
  if (field == "mainGates") return Text(config.main_gates);
  if (field == "high") return Show(config.gc_high_percent);
  if (field == "low") return Show(config.gc_low_percent);
  if (field == "minimumAge") return Show(config.gc_minimum_age);
  if (field == "maximumAge") return Show(config.gc_maximum_age);
  if (field == "runtime") return Show(config.container_runtime_endpoint);
  if (field == "imageService") return Show(config.image_service_endpoint);
  return field == "maxPods" ? Show(config.max_pods) : "no such field";
}

struct MergeCase {
  std::string name;
  std::string field;
  std::string expect;
  const char* main;
  Strings drop_ins = {};
};

TEST_TABLE(KubeletConfigMerge, Merges, MergeCase) {
  auto config = tests::Must(MergeKubeletConfigs(Documents(row.main, row.drop_ins)));
  EXPECT_EQ(Show(*config, row.field), row.expect);
  EXPECT_EQ(config->main_file, row.main != nullptr ? "main" : "");
  EXPECT_EQ(config->drop_ins, !row.drop_ins.empty());
}

const std::string kPolicy = "imagePullCredentialsVerificationPolicy: ";
const char kGateOn[] = "featureGates: {KubeletEnsureSecretPulledImages: true}\n";
const char kGateOff[] = "featureGates: {KubeletEnsureSecretPulledImages: false}\n";

// Each field from one file.
TEST_ROWS(Spec53, KubeletConfigMerge, {"DefaultIsTheMainFiles", "low", "-@main", ""},
          {"Low", "low", "70@main", "imageGCLowThresholdPercent: 70\n"},
          {"High", "high", "100@main", "imageGCHighThresholdPercent: 100\n"},
          {"ZeroPercentIsAValue", "low", "0@main", "imageGCLowThresholdPercent: 0\n"},
          {"MinimumAge", "minimumAge", "1h30m@main", "imageMinimumGCAge: 1h30m\n"},
          {"ZeroMinimumAgeIsTheDefault", "minimumAge", "-@main", "imageMinimumGCAge: 0s\n"},
          {"MaximumAge", "maximumAge", "168h@main", "imageMaximumGCAge: 168h\n"},
          {"ZeroMaximumAge", "maximumAge", "0s@main", "imageMaximumGCAge: 0s\n"},
          {"Runtime", "runtime", "unix:///r@main", "containerRuntimeEndpoint: unix:///r\n"},
          {"EmptyEndpointIsTheDefault", "imageService", "-@main", "imageServiceEndpoint: \"\"\n"},
          {"ImageService", "imageService", "unix:///i@main", "imageServiceEndpoint: unix:///i\n"},
          {"MaxPods", "maxPods", "250@main", "maxPods: 250\n"},
          {"ZeroPodsAreTheDefault", "maxPods", "-@main", "maxPods: 0\n"},
          {"NegativeMinimumAge", "minimumAge", "-1s@main", "imageMinimumGCAge: -1s\n"},
          {"NullGateOfTheMainFileIsOff", "gates", " beta:false@main", "featureGates: {AllBeta: null}\n"},
          {"EmptyPolicyIsTheDefault", "policy", "-@main", "imagePullCredentialsVerificationPolicy: \"\"\n"},
          {"GatesOfAllStages", "gates", " alpha:true beta:false@main",
           "featureGates: {AllAlpha: true, AllBeta: false, Other: true}\n"},
          {"NullGates", "gates", "-@main", "featureGates: null\n"});

// K47: RFC 7396, and who spoke last.
TEST_ROWS(Spec52, KubeletConfigMerge,
          {"EmptyDropInLeavesAll", "low", "70@main", "imageGCLowThresholdPercent: 70\n", {""}},
          {"ScalarIsReplaced", "low", "60@1", "imageGCLowThresholdPercent: 70\n",
           Strings{"imageGCLowThresholdPercent: 60\n", "imageGCHighThresholdPercent: 90\n"}},
          {"LastCounts", "maxPods", "3@2", "maxPods: 1\n", {"maxPods: 2\n", "maxPods: 3\n"}},
          {"NullBringsTheDefaultBack", "low", "-@1", "imageGCLowThresholdPercent: 70\n",
           Strings{"imageGCLowThresholdPercent: null\n"}},
          {"SaidAgainAfterNull", "maxPods", "3@2", "maxPods: 1\n", {"maxPods: null\n", "maxPods: 3\n"}},
          {"ListIsReplaced", "allowlist", "[a.io/c]@1",
           "preloadedImagesVerificationAllowlist: [a.io/a, a.io/b]\n",
           Strings{"preloadedImagesVerificationAllowlist: [a.io/c]\n"}},
          {"ListIsReplacedByNone", "allowlist", "[]@1", "preloadedImagesVerificationAllowlist: [a.io/a]\n",
           Strings{"preloadedImagesVerificationAllowlist: []\n"}},
          {"ObjectsMerge", "gates", "gate:true beta:false@main", kGateOn,
           Strings{"featureGates: {Other: true, AllBeta: false}\n"}},
          {"ObjectsMemberIsReplaced", "gates", "gate:false@1", kGateOn, Strings{kGateOff}},
          {"MainGatesAreKept", "mainGates", "gate:true", kGateOn, Strings{kGateOff}},
          {"ObjectsMemberIsTakenBack", "gates", "-@1", kGateOn,
           Strings{"featureGates: {KubeletEnsureSecretPulledImages: null}\n"}},
          {"ObjectIsTakenBack", "gates", "-@1", kGateOn, Strings{"featureGates: null\n"}},
          {"ObjectComesBackWithoutTheMember", "gates", "-@1", kGateOn,
           Strings{"featureGates: null\n", "featureGates: {Other: true}\n"}},
          {"PolicyOfADropIn", "policy", "AlwaysVerify@1", "", {kPolicy + "AlwaysVerify\n"}},
          {"PolicyTakenBack", "policy", "-@1 emptied",
           "imagePullCredentialsVerificationPolicy: AlwaysVerify\n", Strings{kPolicy + "null\n"}},
          {"PolicyEmptied", "policy", "-@1 emptied", "", {kPolicy + "\"\"\n"}},
          {"DropInsWithoutAMainFile", "maxPods", "5@1", nullptr, {"maxPods: 5\n"}},
          {"DefaultWithoutAMainFile", "low", "-@", nullptr, {"maxPods: 5\n"}},
          {"AWrongGateThatIsTakenBack", "gates", "-@2", "",
           Strings{"featureGates: {Other: 1}\n", "featureGates: null\n"}},
          {"AWrongValueThatIsReplaced", "high", "90@1", "imageGCHighThresholdPercent: 101\n",
           Strings{"imageGCHighThresholdPercent: 90\n"}},
          {"AWrongPolicyThatIsReplaced", "policy", "NeverVerify@1",
           "imagePullCredentialsVerificationPolicy: Sometimes\n", Strings{kPolicy + "NeverVerify\n"}},
          {"WrongTypeThatIsReplacedIsNotSeen", "maxPods", "4@2", "", {"maxPods: many\n", "maxPods: 4\n"}});

// K47: the merged files are read with keys in any case, the main file is not.
TEST_ROWS(Case, KubeletConfigMerge, {"OfTheMainFile", "maxPods", "-@main", "maxpods: 5\n", {""}},
          {"FewerCapitalsComeLast", "maxPods", "6@1", "maxPods: 5\n", {"maxpods: 6\n", "maxPods: 7\n"}},
          {"TakenBack", "maxPods", "5@main", "maxPods: 5\n", {"maxpods: 6\n", "maxpods: null\n"}},
          {"MoreCapitalsComeBeforeTheDefault", "maxPods", "-@main", "", {"MaxPods: 6\n"}},
          {"MoreCapitalsWithoutADefault", "gates", "gate:false@1", "",
           Strings{"FeatureGates: {KubeletEnsureSecretPulledImages: false}\n"}},
          {"MoreCapitalsBeforeTheMainFiles", "gates", "gate:true beta:false@main", kGateOn,
           Strings{"FeatureGates: {KubeletEnsureSecretPulledImages: false, AllBeta: false}\n"}});

struct MistakeCase {
  std::string name;
  std::string says;
  const char* main;
  Strings drop_ins = {};
};

TEST_TABLE(KubeletConfigMistake, IsToldWithItsPlace, MistakeCase) {
  const auto error = tests::MustFail(MergeKubeletConfigs(Documents(row.main, row.drop_ins)));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
  EXPECT_NE(error.message().find(row.says), std::string::npos) << error.message();
}

TEST_ROWS(Fields, KubeletConfigMistake,
          {"Policy", "main:3:41: imagePullCredentialsVerificationPolicy: is not",
           "imagePullCredentialsVerificationPolicy: Sometimes\n"},
          {"List", "main:3:39: ", "preloadedImagesVerificationAllowlist: reg.io/a\n"},
          {"Gate", "main:3:49: featureGates.KubeletEnsureSecretPulledImages: must be true or false",
           "featureGates: {KubeletEnsureSecretPulledImages: 1}\n"},
          {"AnyGate", "featureGates.Other: must be", "featureGates: {Other: \"true\"}\n"},
          {"Gates", "featureGates: must be a mapping", "featureGates: [Other]\n"},
          {"HighAbove100", "must be from 0 to 100", "imageGCHighThresholdPercent: 101\n"},
          {"LowBelow0", "must be from 0 to 100", "imageGCLowThresholdPercent: -1\n"},
          {"PercentAsText", "must be an integer", "imageGCLowThresholdPercent: \"80\"\n"},
          {"NegativeAge", "main:3:20: imageMaximumGCAge: ", "imageMaximumGCAge: -1s\n"},
          {"NullAge", "must be a duration", "imageMinimumGCAge: null\n", {"imageMinimumGCAge: 1h\n"}},
          {"AgeAsNumber", "must be a duration", "imageMaximumGCAge: 3600\n"},
          {"MaxPods", "maxPods: must be from", "maxPods: 2147483648\n"},
          {"GateOfADropIn", "1:3:23: featureGates.Other: must be", "",
           Strings{"featureGates: {Other: 1}\n", "featureGates: {AllBeta: true}\n"}},
          {"TwoKinds", "main:3", "kind: Config\n"},
          {"GateInOtherCase", "1:3:23: featuregates.Other: must be", "", {"featuregates: {Other: 1}\n"}},
          {"OverriddenInOtherCase", "1:3:10: maxPods: must be an integer", "", {"MaxPods: many\n"}},
          {"InADropIn", "2:3:10: maxPods: must be an integer", "", {"", "maxPods: many\n"}},
          // kubelet has decoded a value before a drop-in replaces it.
          {"InTheMainFileThoughReplaced", "main:3:10: maxPods", "maxPods: many\n", {"maxPods: 4\n"}});

TEST(KubeletConfig, AllMistakesOfAllFilesAreTold) {
  const auto error = tests::MustFail(
      MergeKubeletConfigs(Documents("", {"maxPods: many\n", "imageGCLowThresholdPercent: 800\n"})));
  EXPECT_NE(error.message().find("1:3:10: maxPods"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("2:3:29: imageGC"), std::string::npos) << error.message();
}

TEST(KubeletConfig, EveryFileSaysWhatItIs) {
  for (const std::string bad :
       {"", "# nothing\n", "kind: KubeletConfiguration\n", "apiVersion: v1\nkind: KubeletConfiguration\n",
        "[]", "{", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: CredentialProviderConfig\n"}) {
    auto main = MergeKubeletConfigs({.main = ConfigDocument{"f", bad}});
    ASSERT_FALSE(main.ok()) << bad;
    EXPECT_TRUE(main.error().message().starts_with("f:")) << main.error().message();
    std::vector<ConfigDocument> drop_ins = {{"d", bad}};
    EXPECT_FALSE(MergeKubeletConfigs({.main = ConfigDocument{"f", kHead}, .drop_ins = drop_ins}).ok()) << bad;
  }
}

TEST(KubeletConfig, IsToldFromOtherFiles) {
  EXPECT_TRUE(IsKubeletConfig(kHead));
  EXPECT_TRUE(IsKubeletConfig(kHead + "maxPods: many\n"));
  // apimachinery finds the kind under keys of any case, and takes the last one that is not null.
  EXPECT_TRUE(IsKubeletConfig("Kind: KubeletConfiguration\n"));
  EXPECT_TRUE(IsKubeletConfig(R"({"kind": "Config", "KIND": "KubeletConfiguration"})"));
  EXPECT_TRUE(IsKubeletConfig(R"({"kind": "KubeletConfiguration", "Kind": null})"));
  EXPECT_FALSE(IsKubeletConfig("kind: KubeletConfiguration\nkind: Config\n"));
  EXPECT_TRUE(IsKubeletConfig("kind: KubeletConfiguration\nKind: Config\n"));
  EXPECT_FALSE(IsKubeletConfig("KIND: KubeletConfiguration\nkind: Config\n"));
  EXPECT_FALSE(IsKubeletConfig("apiVersion: v1\nkind: Config\nclusters: []\n"));
  EXPECT_FALSE(IsKubeletConfig("[Service]\nExecStart=/usr/bin/kubelet\n"));
  EXPECT_FALSE(IsKubeletConfig(""));
}

TEST(KubeletConfig, GatesOfAStageGoIntoTheFacts) {
  auto facts =
      tests::Must(DecodeKubeletConfig(kHead + "featureGates: {AllBeta: false, AllAlpha: true}\n", "f"));
  EXPECT_EQ(facts->gates, (FeatureGates{.all_alpha = true, .all_beta = false}));
}

}  // namespace
}  // namespace prefetch::kubelet::kubelet_config_test
