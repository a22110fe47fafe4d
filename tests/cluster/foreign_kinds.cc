#include "cluster/foreign_kinds.h"

#include <algorithm>
#include <cctype>

namespace prefetch::cluster {
namespace {

struct Foreign {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
  const char* scope;
};
constexpr Foreign kForeign[] = {
    {"monitoring.coreos.com", "v1", "PodMonitor", "podmonitors", "Namespaced"},
    {"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", "Namespaced"},
    {"monitoring.googleapis.com", "v1", "PodMonitoring", "podmonitorings", "Namespaced"},
    {"monitoring.googleapis.com", "v1", "ClusterRules", "clusterrules", "Cluster"},
    {"security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints", "Cluster"},
};

}  // namespace

std::string ForeignKinds() {
  std::string all;
  for (const Foreign& foreign : kForeign) {
    std::string kind = foreign.kind, lower = kind;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    all +=
        std::string(
            "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ") +
        foreign.plural + "." + foreign.group + "}\nspec:\n  group: " + foreign.group +
        "\n  scope: " + foreign.scope + "\n  names: {kind: " + kind + ", plural: " + foreign.plural +
        ", singular: " + lower + "}\n  versions:\n  - name: " + foreign.version +
        "\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, "
        "x-kubernetes-preserve-unknown-fields: true}}\n";
  }
  return all;
}

}  // namespace prefetch::cluster
