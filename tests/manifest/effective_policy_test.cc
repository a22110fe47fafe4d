#include "manifest/image_use.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::manifest::effective_policy_test {
namespace {

using image::PullPolicy;

constexpr auto kNone = std::nullopt;
const std::string kDigest = "@sha256:" + std::string(64, 'a');

struct PolicyCase {
  std::string name, image;
  std::optional<PullPolicy> said;
  PolicyRules rules;
  PullPolicy expect;
};

class EffectivePolicyTest : public testing::TestWithParam<PolicyCase> {};

TEST_P(EffectivePolicyTest, Is) {
  std::optional<image::Reference> reference;
  if (auto parsed = image::Reference::Parse(GetParam().image)) reference = *parsed;
  EXPECT_EQ(EffectivePolicy(GetParam().said, reference, GetParam().rules), GetParam().expect);
}

// kubelet's rule K2, and the two ways in which a cluster departs from its default.
INSTANTIATE_TEST_SUITE_P(
    Policy, EffectivePolicyTest,
    testing::Values(
        PolicyCase{"NoTag", "nginx", kNone, {}, PullPolicy::kAlways},
        PolicyCase{"Latest", "nginx:latest", kNone, {}, PullPolicy::kAlways},
        PolicyCase{"LatestOfARegistry", "reg:5000/a:latest", kNone, {}, PullPolicy::kAlways},
        PolicyCase{"PortIsNoTag", "reg:5000/a", kNone, {}, PullPolicy::kAlways},
        PolicyCase{"LatestBesideADigest", "nginx:latest" + kDigest, kNone, {}, PullPolicy::kAlways},
        PolicyCase{"Tag", "nginx:1.27", kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"OtherCase", "nginx:Latest", kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"BeginsLikeLatest", "nginx:latest-alpine", kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"Digest", "nginx" + kDigest, kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"TagAndDigest", "nginx:1.27" + kDigest, kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"NoReference", "Nginx:latest", kNone, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"SaidNever", "nginx", PullPolicy::kNever, {}, PullPolicy::kNever},
        PolicyCase{
            "SaidIfNotPresent", "nginx:latest", PullPolicy::kIfNotPresent, {}, PullPolicy::kIfNotPresent},
        PolicyCase{"SaidAlways", "nginx:1.27", PullPolicy::kAlways, {}, PullPolicy::kAlways},
        PolicyCase{"ControllersDefault",
                   "nginx:1.27",
                   kNone,
                   {.default_policy = PullPolicy::kAlways},
                   PullPolicy::kAlways},
        PolicyCase{"ControllersDefaultForLatest",
                   "nginx",
                   kNone,
                   {.default_policy = PullPolicy::kNever},
                   PullPolicy::kNever},
        PolicyCase{"SaidBeatsControllersDefault",
                   "nginx:1",
                   PullPolicy::kNever,
                   {.default_policy = PullPolicy::kAlways},
                   PullPolicy::kNever},
        PolicyCase{
            "AlwaysPullImages", "nginx:1.27", kNone, {.assume_always_pull = true}, PullPolicy::kAlways},
        PolicyCase{"AlwaysPullImagesBeatsWhatIsSaid",
                   "nginx:1.27",
                   PullPolicy::kNever,
                   {.assume_always_pull = true, .default_policy = PullPolicy::kIfNotPresent},
                   PullPolicy::kAlways}),
    [](const auto& row) { return row.param.name; });

// A controller's own check may have another default than what it checks for, and nothing else has.
TEST(EffectivePolicy, OfACheck) {
  auto reference = *image::Reference::Parse("nginx:1.27");
  PolicyRules rules{.default_policy = PullPolicy::kAlways, .default_check_policy = PullPolicy::kIfNotPresent};
  EXPECT_EQ(EffectivePolicy(kNone, reference, rules, Purpose::kCheck), PullPolicy::kIfNotPresent);
  EXPECT_EQ(EffectivePolicy(kNone, reference, rules, Purpose::kWork), PullPolicy::kAlways);
  EXPECT_EQ(EffectivePolicy(PullPolicy::kNever, reference, rules, Purpose::kCheck), PullPolicy::kNever);
  rules.default_check_policy.reset();
  EXPECT_EQ(EffectivePolicy(kNone, reference, rules, Purpose::kCheck), PullPolicy::kAlways);
  rules.assume_always_pull = true;
  EXPECT_EQ(EffectivePolicy(PullPolicy::kNever, reference, rules, Purpose::kCheck), PullPolicy::kAlways);
}

}  // namespace
}  // namespace prefetch::manifest::effective_policy_test
