// Every rendering is what a real API server takes, and what it gives back whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "cluster/foreign_kinds.h"
#include "cluster/real_node.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::renderings_test {
namespace {

// The names of the folders in deploy/FOLDER: whoever adds one adds it here, too.
std::vector<std::string> FoldersOf(const std::string& folder) {
  const char* source = std::getenv("PREFETCH_SOURCE");
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(source == nullptr ? "." : source) + "/deploy/" + folder, error))
    names.push_back(entry.path().filename());
  EXPECT_FALSE(error) << "PREFETCH_SOURCE: " << error.message();
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Platforms() {
  return FoldersOf("overlays");
}

// Components that do not go with all others, and a platform that they fit.
const std::map<std::string, std::string> kAlone = {{"monitoring-gke", "gke"},
                                                   {"no-api-access", "generic"},
                                                   {"openshift-aws", "openshift"},
                                                   {"openshift-azure", "openshift"},
                                                   {"openshift-gcp", "openshift"}};

std::vector<std::string> ComponentsTogether() {
  std::vector<std::string> names = FoldersOf("components");
  std::erase_if(names, [](const std::string& name) { return kAlone.contains(name); });
  return names;
}

// Further options of generate, one set a line.
const std::vector<std::vector<std::string>> kOptions = {
    {"--node-selector", "pool=ci", "--node-selector", "example.org/zone=a"},
    {"--toleration", "dedicated=ci:NoSchedule", "--toleration", "spot"},
    {"--include-control-plane"},
    {"--image", "registry.example.test/prefetchd:v1", "--image-pull-secret", "mirror"},
    {"--component", "monitoring", "--monitoring-label", "release=kube-prometheus-stack"},
    {"--instance", "ci", "--port", "9478"},
    {"--namespace", "prefetchd-touch"},
    {"--component", "node-gate", "--gate", "label"},
    {"--kubelet-version", "1.36"},
};

// The one warning that is known: the affinity also names the label that control planes had before 1.20.
bool IsKnown(const std::string& warning) {
  return warning.find("node-role.kubernetes.io/master is use") != std::string::npos;
}

std::string UnknownWarnings(const std::string& text) {
  std::string unknown;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Warning") != std::string::npos && !IsKnown(line)) unknown += line + "\n";
  }
  return unknown;
}

class Renderings : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    scratch_.Write("images.txt", "quay.io/acme/app:v1\n");
    rig::Ran made = Kubectl({"apply", "--server-side", "-f", scratch_.Write("crds.yaml", ForeignKinds())});
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
    std::vector<std::string> argv = {std::getenv("PREFETCHCTL"), "generate", "--platform", platform, "--list",
                                     scratch_ / "images.txt"};
    for (const std::string& component : components) argv.insert(argv.end(), {"--component", component});
    argv.insert(argv.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--image") == more.end()) {
      argv.insert(argv.end(), {"--image", ""});
    }
    auto ran = rig::RunProgram({argv, {}}, std::chrono::minutes(1));
    EXPECT_OK(ran);
    EXPECT_TRUE(ran && ran->exit == rig::Exit{}) << (ran ? ran->err : "");
    return scratch_.Write(platform + ".yaml", ran ? ran->out : "");
  }
  // A dry run makes no namespace for the objects behind it.
  void MakeNamespaces() {
    for (const char* name : {"prefetchd", "prefetchd-ci", "prefetchd-touch"}) {
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
  // Returns the names of the objects that are left; empty if there are none.
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
  auto dry = [&](const std::string& platform, const std::vector<std::string>& components,
                 const std::vector<std::string>& more = {}) {
    SCOPED_TRACE(platform + " " + base::Join(components, " ") + " " + base::Join(more, " "));
    rig::Ran ran = Kubectl({"apply", "--server-side", "--dry-run=server", "--validate=strict", "-f",
                            Render(platform, components, more)});
    EXPECT_TRUE(ran.exit == rig::Exit{}) << ran.err;
    EXPECT_EQ(UnknownWarnings(ran.err), "");
  };
  const std::vector<std::string> together = ComponentsTogether();
  for (const std::string& platform : Platforms()) {
    dry(platform, together);
    dry(platform, {});
  }
  for (const std::string& component : together) dry("generic", {component});
  for (const auto& [component, platform] : kAlone) dry(platform, {component});
  for (const std::vector<std::string>& more : kOptions) dry("generic", {}, more);
  Kubectl({"delete", "namespace", "prefetchd", "prefetchd-ci", "prefetchd-touch", "--timeout=60s"});
}

TEST_F(Renderings, AppliedTwiceChangesNothingAndDeletedLeavesNothing) {
  const std::vector<std::string> all = ComponentsTogether();
  for (const std::string& platform : Platforms()) {
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

// Every cluster that was installed at an earlier commit goes through this. A name that a release gives up
// stays in the cluster for ever if no namespace takes it along.
TEST_F(Renderings, AnEarlierOneIsUpgradedPrunedAndUninstalled) {
  const char* source = std::getenv("PREFETCH_SOURCE");
  const std::string earlier =
      std::string(source == nullptr ? "." : source) + "/tests/testdata/cluster/earlier.yaml";
  const std::string now = Render("generic", {"kubelet-api", "monitoring", "node-gate", "touch"});
  auto apply = [](const std::string& file) {
    rig::Ran applied = Kubectl({"apply", "--server-side", "-f", file});
    EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  };
  auto names = [](const std::string& file) {
    std::set<std::string> lines;
    std::istringstream out(Kubectl({"get", "--ignore-not-found", "-o", "name", "-f", file}).out);
    for (std::string line; std::getline(out, line);) lines.insert(line);
    return lines;
  };
  apply(earlier);
  const std::set<std::string> before = names(earlier);
  EXPECT_TRUE(before.contains("daemonset.apps/prefetchd"));
  apply(now);
  rig::Ran same = Kubectl({"diff", "--server-side", "-f", now});
  EXPECT_TRUE(same.exit == rig::Exit{}) << same.out << same.err;
  // As tools that prune: what only the earlier rendering names. Those are versions of the list and its like.
  const std::set<std::string> after = names(now);
  int pruned = 0;
  for (const std::string& name : before) {
    if (after.contains(name)) continue;
    EXPECT_TRUE(name.starts_with("configmap/prefetchd-")) << name << " would stay after an uninstall";
    EXPECT_TRUE(Kubectl({"delete", "-n", "prefetchd", name}).exit == rig::Exit{}) << name;
    pruned++;
  }
  EXPECT_GT(pruned, 0) << "the list has changed, and so has the name of its ConfigMap";
  rig::Ran still = Kubectl({"diff", "--server-side", "-f", now});
  EXPECT_TRUE(still.exit == rig::Exit{}) << "pruning took what is in use: " << still.out << still.err;
  Remove(now);
  EXPECT_EQ(Left(), "");
}

// As the README of stackrox/image-prefetcher has it applied. The page says: without --server-side, which
// would keep the old init container, whose name the new container has.
TEST_F(Renderings, AMigratedDaemonSetLosesItsInitContainer) {
  Kubectl({"create", "namespace", "prefetch-images"});
  const std::string earlier = scratch_.Write(
      "prefetcher.yaml",
      "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: my-images, namespace: prefetch-images}\n"
      "spec:\n  selector: {matchLabels: {app: my-images}}\n  template:\n"
      "    metadata: {labels: {app: my-images}}\n    spec:\n      initContainers:\n"
      "      - {name: prefetch, image: 'quay.io/acme/prefetcher:v1', args: [fetch]}\n      containers:\n"
      "      - {name: sleep, image: 'quay.io/acme/prefetcher:v1', args: [sleep]}\n");
  auto made = rig::RunProgram({{std::getenv("PREFETCHCTL"), "migrate", "image-prefetcher", "my-images",
                                "--namespace", "prefetch-images", "--image", "quay.io/acme/prefetchd:v1"},
                               {}},
                              std::chrono::minutes(1));
  ASSERT_TRUE(made && made->exit == rig::Exit{}) << (made ? made->err : "");
  const std::string now = scratch_.Write("migrated.yaml", made->out);
  for (const std::string& file : {earlier, now}) {
    rig::Ran applied = Kubectl({"apply", "-n", "prefetch-images", "-f", file});
    EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  }
  rig::Ran names =
      Kubectl({"get", "daemonset", "-n", "prefetch-images", "my-images", "-o",
               "jsonpath={.spec.template.spec.initContainers}{.spec.template.spec.containers[*].name}"});
  EXPECT_EQ(names.out, "prefetch") << names.err;
  Remove(now);
  Kubectl({"delete", "namespace", "prefetch-images", "--timeout=60s"});
}

}  // namespace
}  // namespace prefetch::cluster::renderings_test
