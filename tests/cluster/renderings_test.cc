// Every rendering is what a real API server takes, and what it gives back whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cluster/real_node.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::renderings_test {
namespace {

constexpr const char* kPlatforms[] = {"aks", "bottlerocket", "crio", "eks",       "generic",
                                      "gke", "k3s",          "kind", "openshift", "rke2"};
constexpr const char* kComponents[] = {"control-plane", "ephemeral",   "fleet",
                                       "kubelet-api",   "live-reload", "monitoring",
                                       "node-gate",     "preflight",   "touch"};

// Kinds of other projects that renderings have, taken as they are.
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

std::string CustomResources() {
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

class Renderings : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    scratch_.Write("images.txt", "quay.io/acme/app:v1\n");
    rig::Ran made = Kubectl({"apply", "--server-side", "-f", scratch_.Write("crds.yaml", CustomResources())});
    ASSERT_TRUE(made.exit == rig::Exit{}) << made.err;
    made = Kubectl({"wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"});
    ASSERT_TRUE(made.exit == rig::Exit{}) << made.err;
  }
  static rig::Ran Kubectl(const std::vector<std::string>& words) {
    return SharedControlPlane()->Kubectl(words);
  }

  // The file of a rendering.
  std::string Render(const std::string& platform, const std::vector<std::string>& components,
                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> argv = {
        std::getenv("PREFETCHCTL"), "generate",          "--platform", platform, "--list",
        scratch_ / "images.txt",    "--kubelet-version", "1.36"};
    for (const std::string& component : components) argv.insert(argv.end(), {"--component", component});
    argv.insert(argv.end(), more.begin(), more.end());
    auto ran = rig::RunProgram({argv, {}}, std::chrono::minutes(1));
    EXPECT_OK(ran);
    EXPECT_TRUE(ran && ran->exit == rig::Exit{}) << (ran ? ran->err : "");
    return scratch_.Write(platform + ".yaml", ran ? ran->out : "");
  }
  // A dry run makes no namespace for the objects behind it.
  void MakeNamespaces() {
    for (const char* name : {"prefetchd", "prefetchd-touch"}) {
      rig::Ran made = Kubectl({"create", "namespace", name});
      EXPECT_TRUE(made.exit == rig::Exit{} || made.err.find("AlreadyExists") != std::string::npos)
          << made.err;
    }
  }
  static void Remove(const std::string& file) {
    rig::Ran gone =
        Kubectl({"delete", "--ignore-not-found", "--force", "--grace-period=0", "--timeout=90s", "-f", file});
    EXPECT_TRUE(gone.exit == rig::Exit{}) << gone.err;
  }
  // What a person sees of it afterwards; empty if nothing is left.
  static std::string Left() {
    std::string left;
    rig::Ran kinds = Kubectl({"api-resources", "--verbs=list", "-o", "name"});
    std::string names;
    std::istringstream lines(kinds.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("events") == std::string::npos && line.find("metrics") == std::string::npos)
        names += (names.empty() ? "" : ",") + line;
    }
    rig::Ran found = Kubectl({"get", names, "-A", "--ignore-not-found", "-o", "name"});
    EXPECT_TRUE(found.exit == rig::Exit{}) << found.err;
    std::istringstream objects(found.out);
    for (std::string line; std::getline(objects, line);) {
      if (line.find("prefetchd") != std::string::npos) left += line + "\n";
    }
    return left;
  }

  rig::Scratch scratch_;
};

TEST_F(Renderings, EveryPlatformWithEveryComponentPassesTheServersDryRun) {
  MakeNamespaces();
  const std::vector<std::string> all(std::begin(kComponents), std::end(kComponents));
  auto dry = [&](const std::string& platform, const std::vector<std::string>& components) {
    SCOPED_TRACE(platform + (components.size() == 1 ? " " + components[0] : ""));
    rig::Ran ran = Kubectl({"apply", "--server-side", "--dry-run=server", "--validate=strict", "-f",
                            Render(platform, components)});
    EXPECT_TRUE(ran.exit == rig::Exit{}) << ran.err;
    EXPECT_EQ(ran.err.find("Warning"), std::string::npos) << ran.err;
  };
  for (const char* platform : kPlatforms) dry(platform, all);
  for (const char* platform : kPlatforms) dry(platform, {});
  for (const std::string& component : all) dry("generic", {component});
  dry("gke", {"monitoring-gke"});
  Kubectl({"delete", "namespace", "prefetchd", "prefetchd-touch", "--timeout=60s"});
}

TEST_F(Renderings, AppliedTwiceChangesNothingAndDeletedLeavesNothing) {
  const std::vector<std::string> all(std::begin(kComponents), std::end(kComponents));
  for (const char* platform : {"generic", "openshift"}) {
    SCOPED_TRACE(platform);
    const std::string file = Render(platform, all);
    for (int i = 0; i < 2; i++) {
      rig::Ran applied = Kubectl({"apply", "--server-side", "-f", file});
      EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
    }
    rig::Ran same = Kubectl({"diff", "--server-side", "-f", file});
    EXPECT_TRUE(same.exit == rig::Exit{}) << same.out << same.err;
    EXPECT_NE(Left(), "") << "the search finds what is there";
    Remove(file);
    EXPECT_EQ(Left(), "");
  }
}

}  // namespace
}  // namespace prefetch::cluster::renderings_test
