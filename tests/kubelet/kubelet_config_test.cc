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
  const char* main;
  std::vector<std::string> drop_ins;
  std::string field;
  std::string expect;
};

TEST_TABLE(KubeletConfigMerge, Merges, MergeCase) {
  auto config = tests::Must(MergeKubeletConfigs(Documents(row.main, row.drop_ins)));
  EXPECT_EQ(Show(*config, row.field), row.expect);
  EXPECT_EQ(config->main_file, row.main != nullptr ? "main" : "");
  EXPECT_EQ(config->drop_ins, !row.drop_ins.empty());
}

const char kPolicy[] = "imagePullCredentialsVerificationPolicy: ";

// Each field from one file.
TEST_ROWS(Spec53, KubeletConfigMerge, {"DefaultIsTheMainFiles", "", {}, "low", "-@main"},
          {"Low", "imageGCLowThresholdPercent: 70\n", {}, "low", "70@main"},
          {"High", "imageGCHighThresholdPercent: 100\n", {}, "high", "100@main"},
          {"ZeroPercentIsAValue", "imageGCLowThresholdPercent: 0\n", {}, "low", "0@main"},
          {"MinimumAge", "imageMinimumGCAge: 1h30m\n", {}, "minimumAge", "1h30m@main"},
          {"ZeroMinimumAgeIsTheDefault", "imageMinimumGCAge: 0s\n", {}, "minimumAge", "-@main"},
          {"MaximumAge", "imageMaximumGCAge: 168h\n", {}, "maximumAge", "168h@main"},
          {"ZeroMaximumAge", "imageMaximumGCAge: 0s\n", {}, "maximumAge", "0s@main"},
          {"Runtime", "containerRuntimeEndpoint: unix:///r\n", {}, "runtime", "unix:///r@main"},
          {"EmptyEndpointIsTheDefault", "imageServiceEndpoint: \"\"\n", {}, "imageService", "-@main"},
          {"ImageService", "imageServiceEndpoint: unix:///i\n", {}, "imageService", "unix:///i@main"},
          {"MaxPods", "maxPods: 250\n", {}, "maxPods", "250@main"},
          {"ZeroPodsAreTheDefault", "maxPods: 0\n", {}, "maxPods", "-@main"},
          {"NegativeMinimumAge", "imageMinimumGCAge: -1s\n", {}, "minimumAge", "-1s@main"},
          {"NullGateOfTheMainFileIsOff", "featureGates: {AllBeta: null}\n", {}, "gates", " beta:false@main"},
          {"EmptyPolicyIsTheDefault", "imagePullCredentialsVerificationPolicy: \"\"\n", Strings{}, "policy",
           "-@main"},
          {"GatesOfAllStages", "featureGates: {AllAlpha: true, AllBeta: false, Other: true}\n", Strings{},
           "gates", " alpha:true beta:false@main"},
          {"NullGates", "featureGates: null\n", {}, "gates", "-@main"});

// K47: RFC 7396, and who spoke last.
TEST_ROWS(Spec52, KubeletConfigMerge,
          {"EmptyDropInLeavesAll", "imageGCLowThresholdPercent: 70\n", {""}, "low", "70@main"},
          {"ScalarIsReplaced", "imageGCLowThresholdPercent: 70\n",
           Strings{"imageGCLowThresholdPercent: 60\n", "imageGCHighThresholdPercent: 90\n"}, "low", "60@1"},
          {"LastCounts", "maxPods: 1\n", {"maxPods: 2\n", "maxPods: 3\n"}, "maxPods", "3@2"},
          {"NullBringsTheDefaultBack", "imageGCLowThresholdPercent: 70\n",
           Strings{"imageGCLowThresholdPercent: null\n"}, "low", "-@1"},
          {"SaidAgainAfterNull", "maxPods: 1\n", {"maxPods: null\n", "maxPods: 3\n"}, "maxPods", "3@2"},
          {"ListIsReplaced", "preloadedImagesVerificationAllowlist: [a.io/a, a.io/b]\n",
           Strings{"preloadedImagesVerificationAllowlist: [a.io/c]\n"}, "allowlist", "[a.io/c]@1"},
          {"ListIsReplacedByNone", "preloadedImagesVerificationAllowlist: [a.io/a]\n",
           Strings{"preloadedImagesVerificationAllowlist: []\n"}, "allowlist", "[]@1"},
          {"ObjectsMerge", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: {Other: true, AllBeta: false}\n"}, "gates", "gate:true beta:false@main"},
          {"ObjectsMemberIsReplaced", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: {KubeletEnsureSecretPulledImages: false}\n"}, "gates", "gate:false@1"},
          {"MainGatesAreKept", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: {KubeletEnsureSecretPulledImages: false}\n"}, "mainGates", "gate:true"},
          {"ObjectsMemberIsTakenBack", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: {KubeletEnsureSecretPulledImages: null}\n"}, "gates", "-@1"},
          {"ObjectIsTakenBack", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: null\n"}, "gates", "-@1"},
          {"ObjectComesBackWithoutTheMember", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"featureGates: null\n", "featureGates: {Other: true}\n"}, "gates", "-@1"},
          {"PolicyOfADropIn", "", {std::string(kPolicy) + "AlwaysVerify\n"}, "policy", "AlwaysVerify@1"},
          {"PolicyTakenBack", "imagePullCredentialsVerificationPolicy: AlwaysVerify\n",
           Strings{std::string(kPolicy) + "null\n"}, "policy", "-@1 emptied"},
          {"PolicyEmptied", "", {std::string(kPolicy) + "\"\"\n"}, "policy", "-@1 emptied"},
          {"DropInsWithoutAMainFile", nullptr, {"maxPods: 5\n"}, "maxPods", "5@1"},
          {"DefaultWithoutAMainFile", nullptr, {"maxPods: 5\n"}, "low", "-@"},
          {"AWrongGateThatIsTakenBack", "", Strings{"featureGates: {Other: 1}\n", "featureGates: null\n"},
           "gates", "-@2"},
          {"AWrongValueThatIsReplaced", "imageGCHighThresholdPercent: 101\n",
           Strings{"imageGCHighThresholdPercent: 90\n"}, "high", "90@1"},
          {"AWrongPolicyThatIsReplaced", "imagePullCredentialsVerificationPolicy: Sometimes\n",
           Strings{std::string(kPolicy) + "NeverVerify\n"}, "policy", "NeverVerify@1"},
          {"WrongTypeThatIsReplacedIsNotSeen", "", {"maxPods: many\n", "maxPods: 4\n"}, "maxPods", "4@2"});

// K47: the merged files are read with keys in any case, the main file is not.
TEST_ROWS(Case, KubeletConfigMerge, {"OfTheMainFile", "maxpods: 5\n", {""}, "maxPods", "-@main"},
          {"FewerCapitalsComeLast", "maxPods: 5\n", {"maxpods: 6\n", "maxPods: 7\n"}, "maxPods", "6@1"},
          {"TakenBack", "maxPods: 5\n", {"maxpods: 6\n", "maxpods: null\n"}, "maxPods", "5@main"},
          {"MoreCapitalsComeBeforeTheDefault", "", {"MaxPods: 6\n"}, "maxPods", "-@main"},
          {"MoreCapitalsWithoutADefault", "",
           Strings{"FeatureGates: {KubeletEnsureSecretPulledImages: false}\n"}, "gates", "gate:false@1"},
          {"MoreCapitalsBeforeTheMainFiles", "featureGates: {KubeletEnsureSecretPulledImages: true}\n",
           Strings{"FeatureGates: {KubeletEnsureSecretPulledImages: false, AllBeta: false}\n"}, "gates",
           "gate:true beta:false@main"});

struct MistakeCase {
  std::string name;
  const char* main;
  std::vector<std::string> drop_ins;
  std::string says;
};

TEST_TABLE(KubeletConfigMistake, IsToldWithItsPlace, MistakeCase) {
  const auto error = tests::MustFail(MergeKubeletConfigs(Documents(row.main, row.drop_ins)));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
  EXPECT_NE(error.message().find(row.says), std::string::npos) << error.message();
}

TEST_ROWS(Fields, KubeletConfigMistake,
          {"Policy", "imagePullCredentialsVerificationPolicy: Sometimes\n", Strings{},
           "main:3:41: imagePullCredentialsVerificationPolicy: is not"},
          {"List", "preloadedImagesVerificationAllowlist: reg.io/a\n", {}, "main:3:39: "},
          {"Gate", "featureGates: {KubeletEnsureSecretPulledImages: 1}\n", Strings{},
           "main:3:49: featureGates.KubeletEnsureSecretPulledImages: must be true or false"},
          {"AnyGate", "featureGates: {Other: \"true\"}\n", {}, "featureGates.Other: must be"},
          {"Gates", "featureGates: [Other]\n", {}, "featureGates: must be a mapping"},
          {"HighAbove100", "imageGCHighThresholdPercent: 101\n", {}, "must be from 0 to 100"},
          {"LowBelow0", "imageGCLowThresholdPercent: -1\n", {}, "must be from 0 to 100"},
          {"PercentAsText", "imageGCLowThresholdPercent: \"80\"\n", {}, "must be an integer"},
          {"NegativeAge", "imageMaximumGCAge: -1s\n", {}, "main:3:20: imageMaximumGCAge: "},
          {"NullAge", "imageMinimumGCAge: null\n", {"imageMinimumGCAge: 1h\n"}, "must be a duration"},
          {"AgeAsNumber", "imageMaximumGCAge: 3600\n", {}, "must be a duration"},
          {"MaxPods", "maxPods: 2147483648\n", {}, "maxPods: must be from"},
          {"GateOfADropIn", "", Strings{"featureGates: {Other: 1}\n", "featureGates: {AllBeta: true}\n"},
           "1:3:23: featureGates.Other: must be"},
          {"GateInOtherCase", "", {"featuregates: {Other: 1}\n"}, "1:3:23: featureGates.Other: must be"},
          {"OverriddenInOtherCase", "", {"MaxPods: many\n"}, "1:3:10: maxPods: must be an integer"},
          {"TwoKinds", "kind: Config\n", {}, "main:3"},
          {"InADropIn", "", {"", "maxPods: many\n"}, "2:3:10: maxPods: must be an integer"},
          // kubelet has decoded a value before a drop-in replaces it.
          {"InTheMainFileThoughReplaced", "maxPods: many\n", {"maxPods: 4\n"}, "main:3:10: maxPods"});

TEST(KubeletConfig, AllMistakesOfAllFilesAreTold) {
  const auto error = tests::MustFail(
      MergeKubeletConfigs(Documents("", {"maxPods: many\n", "imageGCLowThresholdPercent: 800\n"})));
  EXPECT_NE(error.message().find("1:3:10: maxPods"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("2:3:29: imageGC"), std::string::npos) << error.message();
}

TEST(KubeletConfig, EveryFileSaysWhatItIs) {
  const std::string good = kHead;
  for (const std::string& bad :
       {std::string(), std::string("# nothing\n"), std::string("kind: KubeletConfiguration\n"),
        std::string("apiVersion: v1\nkind: KubeletConfiguration\n"), std::string("[]"), std::string("{"),
        std::string("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: CredentialProviderConfig\n")}) {
    auto main = MergeKubeletConfigs({.main = ConfigDocument{"f", bad}});
    ASSERT_FALSE(main.ok()) << bad;
    EXPECT_TRUE(main.error().message().starts_with("f:")) << main.error().message();
    std::vector<ConfigDocument> drop_ins = {{"d", bad}};
    EXPECT_FALSE(MergeKubeletConfigs({.main = ConfigDocument{"f", good}, .drop_ins = drop_ins}).ok()) << bad;
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
