#include "kubelet/settings.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::kubelet::feature_gates_test {
namespace {

// Whether the gate is on in 1.32, 1.33, 1.34, 1.35, 1.36, 1.37.
struct GateCase {
  std::string name;
  FeatureGates gates;
  std::string on;
};

class VerifiesImagesTest : public testing::TestWithParam<GateCase> {};

TEST_P(VerifiesImagesTest, ByVersion) {
  std::string on;
  for (unsigned minor = 32; minor <= 37; minor++)
    on += VerifiesImages(GetParam().gates, {1, minor}) ? '1' : '0';
  EXPECT_EQ(on, GetParam().on);
}

// K7: since 1.33, alpha and off; since 1.35 beta and on.
INSTANTIATE_TEST_SUITE_P(
    Spec31, VerifiesImagesTest,
    testing::Values(
        GateCase{"Default", {}, "000111"}, GateCase{"On", {.ensure_secret_pulled_images = true}, "011111"},
        GateCase{"Off", {.ensure_secret_pulled_images = false}, "000000"},
        GateCase{"AlphasOn", {.all_alpha = true}, "011111"},
        GateCase{"AlphasOff", {.all_alpha = false}, "000111"},
        GateCase{"BetasOff", {.all_beta = false}, "000000"},
        GateCase{"BetasOn", {.all_beta = true}, "000111"},
        GateCase{"NamedBeatsAlphas", {.ensure_secret_pulled_images = false, .all_alpha = true}, "000000"},
        GateCase{"NamedBeatsBetas", {.ensure_secret_pulled_images = true, .all_beta = false}, "011111"}),
    [](const auto& row) { return row.param.name; });

TEST(FeatureGates, TheStrongerSpeaksGateByGate) {
  FeatureGates file{.ensure_secret_pulled_images = true, .all_alpha = true};
  FeatureGates flag{.ensure_secret_pulled_images = false, .all_beta = true};
  EXPECT_EQ(MergeGates(file, flag),
            (FeatureGates{.ensure_secret_pulled_images = false, .all_alpha = true, .all_beta = true}));
  EXPECT_EQ(MergeGates(file, {}), file);
  EXPECT_EQ(MergeGates({}, file), file);
}

TEST(FeatureGates, OfAStageDecideInPossibleSettings) {
  SettingsFacts alphas{
      .version = image::KubeletVersion{1, 34}, .configuration_known = true, .all_alpha = true};
  auto possible = PossibleSettings(alphas);
  ASSERT_TRUE(possible.ok());
  ASSERT_EQ(possible->size(), 1U);
  EXPECT_TRUE(possible->front().gate);
  SettingsFacts no_betas{.version = image::KubeletVersion{1, 36},
                         .configuration_known = true,
                         .policy = VerificationPolicy::kAlwaysVerify,
                         .all_beta = false};
  EXPECT_FALSE(PossibleSettings(no_betas).ok());
}

}  // namespace
}  // namespace prefetch::kubelet::feature_gates_test
