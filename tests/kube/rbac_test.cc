#include "fakes/rbac.h"

#include <gtest/gtest.h>

namespace prefetch::tests::rbac_test {
namespace {

using Strings = std::vector<std::string>;
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
TEST(AttemptTest, IsDecided) {
  const AttemptCase rows[] = {
      {"Granted", {kAgent, {}, "get", "", "nodes", "", "n1"}, true},
      {"OtherVerb", {kAgent, {}, "delete", "", "nodes", "", "n1"}, false},
      {"OtherResource", {kAgent, {}, "get", "", "pods", "", "p"}, false},
      {"OtherGroup", {kAgent, {}, "get", "metrics.k8s.io", "nodes", "", "n1"}, false},
      {"AGroupOfItsOwn", {kAgent, {}, "list", "apps", "daemonsets", "x", ""}, true},
      {"SubresourceGranted", {kAgent, {}, "patch", "", "nodes/status", "", "n1"}, true},
      {"AResourceIsNotItsSubresources", {kAgent, {}, "get", "", "nodes/status", "", "n1"}, false},
      {"NorTheProxy", {kAgent, {}, "get", "", "nodes/proxy", "", "n1"}, false},
      {"OtherUser", {"system:serviceaccount:prefetchd:other", {}, "get", "", "nodes", "", "n1"}, false},
      {"OtherNamespacesAccount", {"system:serviceaccount:x:agent", {}, "get", "", "nodes", "", "n1"}, false},
      {"NameGranted", {kAgent, {}, "create", "", "serviceaccounts/token", "a", "ecr"}, true},
      {"OtherName", {kAgent, {}, "create", "", "serviceaccounts/token", "a", "gcr"}, false},
      {"NamesDoNotGrantTheCollection", {kAgent, {}, "create", "", "serviceaccounts/token", "a", ""}, false},
      {"ByGroup", {"bob", {"touchers"}, "create", "", "pods", "touch", ""}, true},
      {"ByUser", {"ann", {}, "delete", "", "pods", "touch", "p"}, true},
      {"OtherNamespace", {"ann", {}, "delete", "", "pods", "default", "p"}, false},
      {"AllNamespaces", {"ann", {}, "list", "", "pods", "", ""}, false},
      {"ClusterRoleBoundInANamespace", {"ann", {}, "list", "apps", "daemonsets", "here", ""}, true},
      {"AndNowhereElse", {"ann", {}, "list", "apps", "daemonsets", "there", ""}, false},
  };
  for (const AttemptCase& row : rows) {
    SCOPED_TRACE(row.name);
    Rbac rbac;
    base::Status loaded = rbac.Load(kManifests);
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(rbac.Allows(row.attempt), row.expect);
  }
}

struct GrantCase {
  std::string name, rule;
  std::vector<std::string> expect;
};
TEST(GrantTest, IsFound) {
  const GrantCase rows[] = {
      {"Harmless", R"({apiGroups: [""], resources: [nodes, nodes/status, pods], verbs: [get, patch]})", {}},
      {"NodesProxy", R"({apiGroups: [""], resources: [nodes/proxy], verbs: [get]})",
       Strings{"ClusterRole r: resource \"nodes/proxy\""}},
      {"Secrets", R"({apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]})",
       Strings{"ClusterRole r: resource \"secrets\""}},
      {"Exec", R"({apiGroups: [""], resources: [pods, pods/exec, pods/attach], verbs: [create]})",
       Strings{"ClusterRole r: resource \"pods/exec\"", "ClusterRole r: resource \"pods/attach\""}},
      {"AllVerbs", R"({apiGroups: [""], resources: [nodes], verbs: ["*"]})", {"ClusterRole r: verb \"*\""}},
      {"AllResources", R"({apiGroups: [""], resources: ["*"], verbs: [get]})",
       Strings{"ClusterRole r: resource \"*\""}},
      {"AllSubresources", R"({apiGroups: [""], resources: ["*/status"], verbs: [get]})",
       Strings{"ClusterRole r: resource \"*/status\""}},
      {"AllGroups", R"({apiGroups: ["*"], resources: [nodes], verbs: [get]})",
       Strings{"ClusterRole r: apiGroup \"*\""}},
      {"MoreForOneself",
       R"({apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind, escalate]})",
       Strings{"ClusterRole r: verb \"bind\"", "ClusterRole r: verb \"escalate\""}},
  };
  for (const GrantCase& row : rows) {
    SCOPED_TRACE(row.name);
    Rbac rbac;
    base::Status loaded = rbac.Load(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [" +
        row.rule + "]\n");
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(rbac.ForbiddenGrants(), row.expect);
  }
}

struct BadManifest {
  std::string name, text;
};
TEST(BadManifestTest, IsRefused) {
  const BadManifest rows[] = {
      {"NoYaml", "kind: ["},
      {"NoName", "kind: ClusterRole\nrules: []"},
      {"NoVerbs", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [\"\"], resources: [nodes]}]"},
      {"NoApiGroups", "kind: ClusterRole\nmetadata: {name: r}\nrules: [{resources: [nodes], verbs: [get]}]"},
      {"RoleNowhere", "kind: Role\nmetadata: {name: r}\nrules: []"},
      {"ClusterBindingOfARole",
       "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}"},
      {"BindingOfNothing", "kind: RoleBinding\nmetadata: {name: b, namespace: n}"},
  };
  for (const BadManifest& row : rows) {
    SCOPED_TRACE(row.name);
    Rbac rbac;
    EXPECT_FALSE(rbac.Load("apiVersion: rbac.authorization.k8s.io/v1\n" + row.text));
  }
}

}  // namespace
}  // namespace prefetch::tests::rbac_test
