#include "kubelet/node_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::kubelet::start_check_test {
namespace {

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

class WhyNotStartedTest : public testing::TestWithParam<StartCase> {};

TEST_P(WhyNotStartedTest, ByVersion) {
  ConfigDocuments documents;
  if (GetParam().main) documents.main = ConfigDocument{"main", kHead + *GetParam().main};
  if (GetParam().drop_in) documents.drop_ins = {{"1", kHead + *GetParam().drop_in}};
  auto config = MergeKubeletConfigs(documents);
  ASSERT_TRUE(config.ok()) << config.error().message();
  std::vector<std::string> arguments = {"kubelet"};
  arguments.insert(arguments.end(), GetParam().flags.begin(), GetParam().flags.end());
  CommandLine flags = ParseCommandLine(arguments);
  std::string refusing;
  for (unsigned minor = 32; minor <= 37; minor++) {
    std::vector<std::string> reasons = StartupErrors(*config, flags, image::KubeletVersion{1, minor});
    if (!reasons.empty()) refusing += (refusing.empty() ? "" : " ") + std::to_string(minor);
  }
  EXPECT_EQ(refusing, GetParam().refusing);
}

const std::vector<std::string> kFlagOn = {"--feature-gates=KubeletEnsureSecretPulledImages=true"};
const std::vector<std::string> kFlagOff = {"--feature-gates=KubeletEnsureSecretPulledImages=false"};

// K49, the trap: the default policy is filled in before drop-ins and flags come.
INSTANTIATE_TEST_SUITE_P(
    Gate, WhyNotStartedTest,
    testing::Values(StartCase{"Defaults", kNone, {}, {}, ""},                 //
                    StartCase{"OffInMain", kOff, {}, {}, ""},                 //
                    StartCase{"OnInMain", kOn, {}, {}, ""},                   //
                    StartCase{"OffInDropIn", kNone, kOff, {}, "35 36 37"},    //
                    StartCase{"OnThenOff", kOn, kOff, {}, "33 34 35 36 37"},  //
                    StartCase{"OffInMainAndDropIn", kOff, kOff, {}, ""},      //
                    StartCase{"OffInDropInWithPolicyNull", kNone, kOff + kNoPolicy, {}, ""},
                    StartCase{"OnInDropIn", kNone, kOn, {}, ""},        //
                    StartCase{"OffThenOn", kOff, kOn, {}, ""},          //
                    StartCase{"PolicyNull", kNone, kNoPolicy, {}, ""},  //
                    StartCase{"NamedPolicyIsCheckedElsewhere", kNone, kOff + kAlways, {}, ""},
                    StartCase{"FlagOff", kNone, {}, kFlagOff, ""},  //
                    StartCase{"FlagOn", kNone, {}, kFlagOn, ""},    //
                    StartCase{"FlagOffAgainstMain", kOn, {}, kFlagOff, "33 34 35 36 37"},
                    StartCase{"FlagOnAgainstMain", kOff, {}, kFlagOn, "33 34 35 36 37"},
                    StartCase{"FlagOnAgainstDropIn", kNone, kOff, kFlagOn, ""},      //
                    StartCase{"FlagOffWithoutFiles", {}, {}, kFlagOff, "35 36 37"},  //
                    StartCase{"FlagOnWithoutFiles", {}, {}, kFlagOn, "33 34"},       //
                    StartCase{"NothingAtAll", {}, {}, {}, ""},                       //
                    StartCase{"DropInWithoutMain", {}, kOn, {}, ""}),
    [](const auto& row) { return row.param.name; });

const char kEvery[] = "32 33 34 35 36 37";

// K44.
INSTANTIATE_TEST_SUITE_P(
    ImageGc, WhyNotStartedTest,
    testing::Values(
        StartCase{"LowIsHigh", "imageGCLowThresholdPercent: 85\n", {}, {}, kEvery},
        StartCase{"LowJustBelowHigh", "imageGCLowThresholdPercent: 84\n", {}, {}, ""},
        StartCase{"HighBelowTheDefaultLow", "imageGCHighThresholdPercent: 70\n", {}, {}, kEvery},
        StartCase{"MendedByADropIn",
                  "imageGCHighThresholdPercent: 70\n",
                  "imageGCLowThresholdPercent: 60\n",
                  {},
                  ""},
        StartCase{
            "MendedByAFlag", "imageGCHighThresholdPercent: 70\n", {}, {"--image-gc-low-threshold=60"}, ""},
        StartCase{"BrokenByAFlag", kNone, {}, {"--image-gc-low-threshold=90"}, kEvery},
        StartCase{"MaximumAgeBelowTheDefaultMinimum", "imageMaximumGCAge: 1m\n", {}, {}, kEvery},
        StartCase{"MaximumAgeIsMinimum", "imageMaximumGCAge: 2m\n", {}, {}, kEvery},
        StartCase{"MaximumAgeAboveMinimum", "imageMaximumGCAge: 121s\n", {}, {}, ""},
        StartCase{"MinimumAgeByFlag", "imageMaximumGCAge: 1m\n", {}, {"--minimum-image-ttl-duration=0"}, ""}),
    [](const auto& row) { return row.param.name; });

TEST(StartCheck, WithoutAVersionTheGateIsNotChecked) {
  auto config = MergeKubeletConfigs(
      {.main = ConfigDocument{"main", kHead}, .drop_ins = std::vector<ConfigDocument>{{"1", kHead + kOff}}});
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(StartupErrors(*config, {}, std::nullopt).empty());
}

}  // namespace
}  // namespace prefetch::kubelet::start_check_test
