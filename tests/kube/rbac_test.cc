#include "fakes/rbac.h"

#include <gtest/gtest.h>

namespace prefetch::tests::rbac_test {
namespace {

constexpr std::string_view kManifests = R"yaml(
apiVersion: v1
kind: Namespace
metadata: {name: prefetchd}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agent}
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [daemonsets]
  verbs: [list]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  resourceNames: [ecr]
  verbs: [create]
- nonResourceURLs: [/metrics]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: agent}
subjects:
- {kind: ServiceAccount, name: agent, namespace: prefetchd}
---
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: touch, namespace: touch}
  rules:
  - {apiGroups: [""], resources: [pods], verbs: ["*"]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: touch, namespace: touch}
  roleRef: {kind: Role, name: touch}
  subjects: [{kind: Group, name: touchers}, {kind: User, name: ann}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: agent-here, namespace: here}
  roleRef: {kind: ClusterRole, name: agent}
  subjects: [{kind: User, name: ann}]
)yaml";

constexpr const char* kAgent = "system:serviceaccount:prefetchd:agent";

struct AttemptCase {
  std::string name;
  Attempt attempt;
  bool expect;
};
class AttemptTest : public testing::TestWithParam<AttemptCase> {};
TEST_P(AttemptTest, IsDecided) {
  Rbac rbac;
  base::Status loaded = rbac.Load(kManifests);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(rbac.Allows(GetParam().attempt), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    Rbac, AttemptTest,
    testing::Values(
        AttemptCase{"Granted", {kAgent, {}, "get", "", "nodes", "", "n1"}, true},
        AttemptCase{"OtherVerb", {kAgent, {}, "delete", "", "nodes", "", "n1"}, false},
        AttemptCase{"OtherResource", {kAgent, {}, "get", "", "pods", "", "p"}, false},
        AttemptCase{"OtherGroup", {kAgent, {}, "get", "metrics.k8s.io", "nodes", "", "n1"}, false},
        AttemptCase{"AGroupOfItsOwn", {kAgent, {}, "list", "apps", "daemonsets", "x", ""}, true},
        AttemptCase{"SubresourceGranted", {kAgent, {}, "patch", "", "nodes/status", "", "n1"}, true},
        AttemptCase{
            "AResourceIsNotItsSubresources", {kAgent, {}, "get", "", "nodes/status", "", "n1"}, false},
        AttemptCase{"NorTheProxy", {kAgent, {}, "get", "", "nodes/proxy", "", "n1"}, false},
        AttemptCase{
            "OtherUser", {"system:serviceaccount:prefetchd:other", {}, "get", "", "nodes", "", "n1"}, false},
        AttemptCase{"OtherNamespacesAccount",
                    {"system:serviceaccount:x:agent", {}, "get", "", "nodes", "", "n1"},
                    false},
        AttemptCase{"NameGranted", {kAgent, {}, "create", "", "serviceaccounts/token", "a", "ecr"}, true},
        AttemptCase{"OtherName", {kAgent, {}, "create", "", "serviceaccounts/token", "a", "gcr"}, false},
        AttemptCase{"NamesDoNotGrantTheCollection",
                    {kAgent, {}, "create", "", "serviceaccounts/token", "a", ""},
                    false},
        AttemptCase{"ByGroup", {"bob", {"touchers"}, "create", "", "pods", "touch", ""}, true},
        AttemptCase{"ByUser", {"ann", {}, "delete", "", "pods", "touch", "p"}, true},
        AttemptCase{"OtherNamespace", {"ann", {}, "delete", "", "pods", "default", "p"}, false},
        AttemptCase{"AllNamespaces", {"ann", {}, "list", "", "pods", "", ""}, false},
        AttemptCase{
            "ClusterRoleBoundInANamespace", {"ann", {}, "list", "apps", "daemonsets", "here", ""}, true},
        AttemptCase{"AndNowhereElse", {"ann", {}, "list", "apps", "daemonsets", "there", ""}, false}),
    [](const auto& row) { return row.param.name; });

struct GrantCase {
  std::string name, rule;
  std::vector<std::string> expect;
};
class GrantTest : public testing::TestWithParam<GrantCase> {};
TEST_P(GrantTest, IsFound) {
  Rbac rbac;
  base::Status loaded =
      rbac.Load("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [" +
                GetParam().rule + "]\n");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(rbac.ForbiddenGrants(), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    Rbac, GrantTest,
    testing::Values(
        GrantCase{"Harmless",
                  R"({apiGroups: [""], resources: [nodes, nodes/status, pods], verbs: [get, patch]})",
                  {}},
        GrantCase{"NodesProxy",
                  R"({apiGroups: [""], resources: [nodes/proxy], verbs: [get]})",
                  {"ClusterRole r: resource \"nodes/proxy\""}},
        GrantCase{"Secrets",
                  R"({apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]})",
                  {"ClusterRole r: resource \"secrets\""}},
        GrantCase{"Exec",
                  R"({apiGroups: [""], resources: [pods, pods/exec, pods/attach], verbs: [create]})",
                  {"ClusterRole r: resource \"pods/exec\"", "ClusterRole r: resource \"pods/attach\""}},
        GrantCase{"AllVerbs",
                  R"({apiGroups: [""], resources: [nodes], verbs: ["*"]})",
                  {"ClusterRole r: verb \"*\""}},
        GrantCase{"AllResources",
                  R"({apiGroups: [""], resources: ["*"], verbs: [get]})",
                  {"ClusterRole r: resource \"*\""}},
        GrantCase{"AllSubresources",
                  R"({apiGroups: [""], resources: ["*/status"], verbs: [get]})",
                  {"ClusterRole r: resource \"*/status\""}},
        GrantCase{"AllGroups",
                  R"({apiGroups: ["*"], resources: [nodes], verbs: [get]})",
                  {"ClusterRole r: apiGroup \"*\""}},
        GrantCase{
            "MoreForOneself",
            R"({apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind, escalate]})",
            {"ClusterRole r: verb \"bind\"", "ClusterRole r: verb \"escalate\""}}),
    [](const auto& row) { return row.param.name; });

struct BadManifest {
  std::string name, text;
};
class BadManifestTest : public testing::TestWithParam<BadManifest> {};
TEST_P(BadManifestTest, IsRefused) {
  Rbac rbac;
  EXPECT_FALSE(rbac.Load("apiVersion: rbac.authorization.k8s.io/v1\n" + GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(
    Rbac, BadManifestTest,
    testing::Values(
        BadManifest{"NoYaml", "kind: ["}, BadManifest{"NoName", "kind: ClusterRole\nrules: []"},
        BadManifest{"NoVerbs",
                    "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [\"\"], "
                    "resources: [nodes]}]"},
        BadManifest{"NoApiGroups",
                    "kind: ClusterRole\nmetadata: {name: r}\nrules: [{resources: [nodes], verbs: [get]}]"},
        BadManifest{"RoleNowhere", "kind: Role\nmetadata: {name: r}\nrules: []"},
        BadManifest{"ClusterBindingOfARole",
                    "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}"},
        BadManifest{"BindingOfNothing", "kind: RoleBinding\nmetadata: {name: b, namespace: n}"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::tests::rbac_test
