#include "manifest/image_use.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "doc/yaml.h"
#include "manifest/pod_template.h"
#include "manifest/read.h"
#include "rows.h"

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

TEST_TABLE(EffectivePolicyTest, Is, PolicyCase) {
  std::optional<image::Reference> reference;
  if (auto parsed = image::Reference::Parse(row.image)) reference = *parsed;
  EXPECT_EQ(EffectivePolicy(row.said, reference, row.rules), row.expect);
}

// kubelet's rule K2, and the two ways in which a cluster departs from its default.
TEST_ROWS(Policy, EffectivePolicyTest, {"NoTag", "nginx", kNone, {}, PullPolicy::kAlways},
          {"Latest", "nginx:latest", kNone, {}, PullPolicy::kAlways},
          {"LatestOfARegistry", "reg:5000/a:latest", kNone, {}, PullPolicy::kAlways},
          {"PortIsNoTag", "reg:5000/a", kNone, {}, PullPolicy::kAlways},
          {"LatestBesideADigest", "nginx:latest" + kDigest, kNone, {}, PullPolicy::kAlways},
          {"Tag", "nginx:1.27", kNone, {}, PullPolicy::kIfNotPresent},
          {"OtherCase", "nginx:Latest", kNone, {}, PullPolicy::kIfNotPresent},
          {"BeginsLikeLatest", "nginx:latest-alpine", kNone, {}, PullPolicy::kIfNotPresent},
          {"Digest", "nginx" + kDigest, kNone, {}, PullPolicy::kIfNotPresent},
          {"TagAndDigest", "nginx:1.27" + kDigest, kNone, {}, PullPolicy::kIfNotPresent},
          {"NoReference", "Nginx:latest", kNone, {}, PullPolicy::kIfNotPresent},
          {"SaidNever", "nginx", PullPolicy::kNever, {}, PullPolicy::kNever},
          {"SaidIfNotPresent", "nginx:latest", PullPolicy::kIfNotPresent, {}, PullPolicy::kIfNotPresent},
          {"SaidAlways", "nginx:1.27", PullPolicy::kAlways, {}, PullPolicy::kAlways},
          {"ControllersDefault", "nginx:1.27", kNone, PolicyRules{.default_policy = PullPolicy::kAlways},
           PullPolicy::kAlways},
          {"ControllersDefaultForLatest", "nginx", kNone, PolicyRules{.default_policy = PullPolicy::kNever},
           PullPolicy::kNever},
          {"SaidBeatsControllersDefault", "nginx:1", PullPolicy::kNever,
           PolicyRules{.default_policy = PullPolicy::kAlways}, PullPolicy::kNever},
          {"AlwaysPullImages", "nginx:1.27", kNone, {.assume_always_pull = true}, PullPolicy::kAlways},
          {"AlwaysPullImagesBeatsWhatIsSaid", "nginx:1.27", PullPolicy::kNever,
           PolicyRules{.assume_always_pull = true, .default_policy = PullPolicy::kIfNotPresent},
           PullPolicy::kAlways});

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

const std::string kStrongestDigest = "sha256:" + std::string(64, 'a');

struct Asked {
  std::string image, policy;
  bool init = false;
};
struct StrongestCase {
  std::string name;
  std::vector<Asked> asked;
  std::vector<std::string> expect;  // "image policy: containers"
};

TEST_TABLE(StrongestTest, Is, StrongestCase) {
  std::string text = "apiVersion: v1\nkind: Pod\nspec:\n";
  std::size_t n = 0;
  for (const Asked& asked : row.asked) {
    if (n == 0 || asked.init != row.asked[n - 1].init)
      text += asked.init ? "  initContainers:\n" : "  containers:\n";
    text += "  - {name: c" + std::to_string(n++) + ", image: \"" + asked.image +
            "\", imagePullPolicy: " + asked.policy + "}\n";
  }
  doc::Problems problems("pod.yaml");
  Manifests manifests = ReadManifests(text, problems);
  ASSERT_TRUE(problems.empty()) << base::Join(problems.Lines(), "\n");
  std::vector<std::string> got;
  for (const UsedImage& wanted :
       CombineUses(manifests.uses, [](const ImageUse& use) { return use.policy; })) {
    std::string line = wanted.image + " " + std::string(base::EnumName(wanted.policy)) + ":";
    for (const ImageUse& use : wanted.uses) line += " " + use.name;
    got.push_back(line);
  }
  EXPECT_EQ(got, row.expect);
}

TEST_ROWS(
    Uses, StrongestTest, {"None", {}, {}},
    {"AlwaysBeatsIfNotPresent",
     {{"a:1", "IfNotPresent"}, {"a:1", "Always"}, {"a:1", "IfNotPresent"}},
     {"a:1 Always: c0 c1 c2"}},
    {"IfNotPresentPullsForNever", {{"a:1", "Never"}, {"a:1", "IfNotPresent"}}, {"a:1 IfNotPresent: c0 c1"}},
    {"AlwaysPullsForNever", {{"a:1", "Always"}, {"a:1", "Never"}}, {"a:1 Always: c0 c1"}},
    {"AnInitContainerPullsForNever",
     {{"a:1", "IfNotPresent", true}, {"a:1", "Never", true}, {"a:1", "Never"}},
     {"a:1 IfNotPresent: c0 c1 c2"}},
    {"NothingPullsForTheFirstInitContainer",
     {{"a:1", "Never", true}, {"a:1", "Always", true}, {"a:1", "Never"}},
     {"a:1 Never: c0", "a:1 Always: c1 c2"}},
    {"NeverAlone", {{"a:1", "Never"}, {"a:1", "Never"}}, {"a:1 Never: c0 c1"}},
    {"InOrderOfFirstUse",
     {{"b:1", "Never"}, {"a:1", "Always"}, {"b:1", "Always"}},
     {"b:1 Always: c0 c2", "a:1 Always: c1"}},
    {"TwoSpellingsOfOneName",
     {{"nginx", "Never"}, {"docker.io/library/nginx:latest", "Always"}, {"nginx:latest", "Always"}},
     {"nginx Never: c0", "docker.io/library/nginx:latest Always: c1", "nginx:latest Always: c2"}},
    {"SpellingsStandTogether",
     {{"a:1@" + kStrongestDigest, "Never"}, {"a:1", "Never"}, {"a@" + kStrongestDigest, "Never"}},
     {"a:1@" + kStrongestDigest + " Never: c0", "a@" + kStrongestDigest + " Never: c2", "a:1 Never: c1"}},
    {"OtherTags", {{"a:1", "Never"}, {"a:2", "Always"}}, {"a:1 Never: c0", "a:2 Always: c1"}},
    {"WhatIsNoReferenceIsItself",
     {{"A", "Never"}, {"A", "Always"}, {"B", "Never"}},
     {"A Always: c0 c1", "B Never: c2"}});

std::string Shown(const NodeDemand& nodes) {
  std::string text = base::Join(nodes.operating_systems, ",") + "/" + base::Join(nodes.architectures, ",");
  for (const auto& [label, value] : nodes.labels) {
    if (!label.ends_with("/arch") && !label.ends_with("/os")) text += " " + label + "=" + value;
  }
  return nodes.at ? text + " " + std::to_string(nodes.at->line) : text;
}

struct DemandCase {
  std::string name, spec, expect;
};
TEST_TABLE(NodeDemandTest, Is, DemandCase) {
  doc::Problems problems("spec");
  auto spec = doc::ParseYaml(row.spec, problems);
  ASSERT_TRUE(spec && problems.empty());
  EXPECT_EQ(Shown(ReadNodeDemand(*spec)), row.expect);
}

std::string Required(const std::string& terms) {
  return "x: 1\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [" +
         terms + "]}}}\n";
}

TEST_ROWS(
    All, NodeDemandTest, {"Nothing", "containers: []\n", "/"}, {"NoMapping", "5\n", "/"},
    {"Selector", "nodeSelector: {kubernetes.io/arch: arm64, kubernetes.io/os: linux}\n", "linux/arm64 1"},
    {"OldLabels", "nodeSelector: {beta.kubernetes.io/arch: arm64, beta.kubernetes.io/os: windows}\n",
     "windows/arm64 1"},
    {"OtherLabels", "nodeSelector: {pool: ci}\n", "/ pool=ci"},
    {"OfAWrongType", "nodeSelector: 5\naffinity: [1]\nos: yes\n", "/"},
    {"Affinity", Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}"),
     "/a,b 2"},
    {"AlternativesAddUp",
     Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}, "
              "{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [b, c]}]}"),
     "/a,b,c 2"},
    {"AnAlternativeThatDoesNotSay",
     Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a]}]}, "
              "{matchExpressions: [{key: pool, operator: In, values: [ci]}]}"),
     "/"},
    {"NotIn", Required("{matchExpressions: [{key: kubernetes.io/arch, operator: NotIn, values: [a]}]}"), "/"},
    {"TheSelectorIsNarrower",
     "nodeSelector: {kubernetes.io/arch: a}\n" +
         Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}"),
     "/a 1"},
    {"Os", "os: {name: windows}\n", "windows/ 1"});

}  // namespace
}  // namespace prefetch::manifest::effective_policy_test
