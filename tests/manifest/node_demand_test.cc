#include "manifest/pod_template.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/yaml.h"

namespace prefetch::manifest::node_demand_test {
namespace {

std::string Shown(const NodeDemand& nodes) {
  std::string text = base::Join(nodes.operating_systems, ",") + "/" + base::Join(nodes.architectures, ",");
  return nodes.at ? text + " " + std::to_string(nodes.at->line) : text;
}

struct DemandCase {
  std::string name, spec, expect;
};
class NodeDemandTest : public testing::TestWithParam<DemandCase> {};

TEST_P(NodeDemandTest, Is) {
  doc::Problems problems("spec");
  auto spec = doc::ParseYaml(GetParam().spec, problems);
  ASSERT_TRUE(spec && problems.empty());
  EXPECT_EQ(Shown(ReadNodeDemand(*spec)), GetParam().expect);
}

std::string Required(const std::string& terms) {
  return "x: 1\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [" +
         terms + "]}}}\n";
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeDemandTest,
    testing::Values(
        DemandCase{"Nothing", "containers: []\n", "/"}, DemandCase{"NoMapping", "5\n", "/"},
        DemandCase{"Selector", "nodeSelector: {kubernetes.io/arch: arm64, kubernetes.io/os: linux}\n",
                   "linux/arm64 1"},
        DemandCase{"OldLabels",
                   "nodeSelector: {beta.kubernetes.io/arch: arm64, beta.kubernetes.io/os: windows}\n",
                   "windows/arm64 1"},
        DemandCase{"OtherLabels", "nodeSelector: {pool: ci}\n", "/"},
        DemandCase{"OfAWrongType", "nodeSelector: 5\naffinity: [1]\nos: yes\n", "/"},
        DemandCase{"Affinity",
                   Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}"),
                   "/a,b 2"},
        DemandCase{"AlternativesAddUp",
                   Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}, "
                            "{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [b, c]}]}"),
                   "/a,b,c 2"},
        DemandCase{"AnAlternativeThatDoesNotSay",
                   Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a]}]}, "
                            "{matchExpressions: [{key: pool, operator: In, values: [ci]}]}"),
                   "/"},
        DemandCase{"NotIn",
                   Required("{matchExpressions: [{key: kubernetes.io/arch, operator: NotIn, values: [a]}]}"),
                   "/"},
        DemandCase{
            "TheSelectorIsNarrower",
            "nodeSelector: {kubernetes.io/arch: a}\n" +
                Required("{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [a, b]}]}"),
            "/a 1"},
        DemandCase{"Os", "os: {name: windows}\n", "windows/ 1"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::manifest::node_demand_test
