// `prefetchctl uninstall --nodes` as built, against an API server on loopback that grants what
// deploy/examples/node-cleaner.yaml grants.
#include <gtest/gtest.h>

#include <csignal>

#include "base/text.h"
#include "doc/node.h"
#include "doc/problems.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "fakes/rbac.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "system/cluster_account.h"

namespace prefetch::system::uninstall_command_test {
namespace {

using std::chrono::seconds;

// ctl/uninstall_test.cc judges what it clears, and what stays.
class UninstallCommand : public ClusterAccount {
 protected:
  UninstallCommand() : ClusterAccount("node-cleaner.yaml", "prefetchd-node-cleaners") {}

  void SetUp() override {
    ClusterAccount::SetUp();
    server_.Put("nodes/n1", R"({"metadata":{"labels":{"pool":"ci","prefetchd.dev/prefetchd":"ready",
      "prefetchd.dev/team-a":"notready","image-prefetcher.stackrox.io/x":"failed"}}})");
    server_.Put("nodes/n2", R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":"ready"}}})");
  }
  rig::Ran Run(int exit, std::vector<std::string> words) const {
    words.insert(words.begin(), "uninstall");
    words.push_back(kubeconfig());
    return RunToEnd(exit, Prefetchctl(std::move(words)), seconds(120));
  }
};

TEST_F(UninstallCommand, HasItsOptions) {
  EXPECT_EQ(Run(0, {"--nodes", "--dry-run", "--selector", "pool=ci"}).out,
            "n1: would clear label prefetchd.dev/prefetchd, label prefetchd.dev/team-a\n"
            "would clear 1 node of 1; nothing was changed\n");
  EXPECT_EQ(Run(0, {"--nodes", "--instance", "team-a", "--label", "image-prefetcher.stackrox.io/x"}).out,
            "n1: cleared label image-prefetcher.stackrox.io/x, label prefetchd.dev/team-a\n"
            "cleared 1 node; 1 of 2 nodes had nothing of ours\n");
  EXPECT_HAS(Run(2, {"--nodes", "--startup-taint-key", "dedicated"}).err, "must be a key of a domain");
  EXPECT_HAS(Run(2, {}).err, "--nodes is required");
}

TEST_F(UninstallCommand, ASignalHasItsOwnExitCode) {
  server_.SetLatency(seconds(2));
  rig::Process clearing;
  ASSERT_OK(clearing.Start(Prefetchctl({"uninstall", "--nodes", kubeconfig()}), dir_ / "log"));
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !server_.Requests().empty(); }));
  clearing.Signal(SIGINT);
  EXPECT_EQ(clearing.Wait(seconds(20)), (rig::Exit{130, 0}));
}

// `prefetchctl generate --from-cluster` as built, against an API server on loopback with an installation.

class GenerateFromCluster : public ClusterAccount {
 protected:
  GenerateFromCluster() : ClusterAccount("workload-list.yaml", "") {}

  void SetUp() override {
    EXPECT_OK(server_.LoadRbac(Example("workload-list.yaml")));
    WriteKubeconfig(
        server_.AddServiceAccountToken("prefetchd", "prefetchd-workload-lister", std::chrono::minutes(10)));
    dir_.Write("images.txt", "q.io/a:v1\n");
  }
  rig::Ran Run(int exit, std::vector<std::string> more) {
    std::vector<std::string> words = {"generate", "--platform", "eks", "--list", dir_ / "images.txt"};
    words.insert(words.end(), more.begin(), more.end());
    return RunToEnd(exit, Prefetchctl(std::move(words)), seconds(60));
  }
  // Stores the DaemonSet of the manifests, as kubectl apply would.
  void Apply(const std::string& manifests) {
    doc::Problems problems("manifests");
    auto documents = doc::ParseYamlDocuments(manifests, problems);
    ASSERT_TRUE(documents && problems.empty());
    for (const doc::Node& one : *documents) {
      if (doc::TextAt(one, {"kind"}) == "DaemonSet")
        server_.Put("daemonsets/prefetchd/prefetchd", doc::WriteJson(one));
    }
  }
};

TEST_F(GenerateFromCluster, TakesTheImageAndNamesWhatWouldBeTakenAway) {
  Apply(Run(0, {"--image", "r.io/prefetchd:7", "--component", "node-gate"}).out);
  rig::Ran fleet = Run(0, {"--from-cluster", "--component", "fleet", kubeconfig()});
  EXPECT_HAS(fleet.out, "image: r.io/prefetchd:7");
  EXPECT_HAS(fleet.err, "note: --image is r.io/prefetchd:7, as the cluster runs it");
  EXPECT_HAS(fleet.err,
             "these manifests remove settings of the DaemonSet in the cluster; to keep them, "
             "give their options, too: --node-condition, --node-label, --startup-taint");
  rig::Ran both = Run(0, {"--from-cluster", "--component", "node-gate", "--component", "fleet", "--image",
                          "r.io/prefetchd:8", kubeconfig()});
  EXPECT_HAS(both.out, "image: r.io/prefetchd:8");
  EXPECT_LACKS(both.err, "take");
}

TEST_F(GenerateFromCluster, WithoutAnInstallationNothingIsWritten) {
  rig::Ran none = Run(2, {"--from-cluster", kubeconfig()});
  EXPECT_EQ(none.out, "");
  EXPECT_HAS(none.err, "--from-cluster: the namespace prefetchd has no DaemonSet prefetchd: give --image");
}

TEST_F(GenerateFromCluster, AMissingRightIsNamed) {
  WriteKubeconfig(server_.AddToken("ci-user", {"others"}));
  rig::Ran refused = Run(4, {"--from-cluster", kubeconfig()});
  EXPECT_EQ(refused.out, "");
  EXPECT_HAS(refused.err, "daemonsets");
}

// `prefetchctl list import --from-cluster` as built: the guide's commands and the example's CronJob, with the
// rights of deploy/examples/workload-list.yaml.

using Words = std::vector<std::string>;

constexpr const char* kAccount = "prefetchd-workload-lister";
constexpr const char* kWeb =
    R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"q.io/web:1"}]}}}})";
constexpr const char* kPause =
    R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"registry.k8s.io/pause:3"}]}}}})";

class WorkloadList : public ClusterAccount {
 protected:
  WorkloadList() : ClusterAccount("workload-list.yaml", "nobody") {}

  void SetUp() override {
    ClusterAccount::SetUp();
    WriteKubeconfig(server_.AddServiceAccountToken("prefetchd", kAccount));
    server_.Put("deployments/shop/web", kWeb);
    server_.Put("daemonsets/ci/pause", kPause);
  }
  rig::Ran Run(int exit, Words words) const {
    words.push_back(kubeconfig());
    return RunToEnd(exit, Prefetchctl(std::move(words)), seconds(120));
  }
  // Words between blanks, without quotes and `apart`.
  static Words WordsOf(std::string_view line, const std::string& apart) {
    Words words;
    for (std::string_view word : base::Split(line, ' ')) {
      if (std::string text = base::ReplaceAll(base::ReplaceAll(word, "'", ""), apart, ""); !text.empty())
        words.push_back(text);
    }
    return words;
  }
};

TEST_F(WorkloadList, TheGuidesCommandsWork) {
  const std::string page = Example("../docs/lists.md");
  int commands = 0;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("prefetchctl list import --from-cluster")) continue;
    Words words = WordsOf(line.substr(0, line.find(" >")), ",");
    words.erase(words.begin());
    rig::Ran ran = Run(0, words);
    EXPECT_HAS(ran.out, "- image: q.io/web:1  # Deployment shop/web\n");
    EXPECT_EQ(ran.out.find("pause") == std::string::npos, line.find("--exclude") != std::string_view::npos)
        << ran.out;
    EXPECT_EQ(ran.err, "");
    commands++;
  }
  EXPECT_EQ(commands, 2);
}

TEST_F(WorkloadList, TheExamplesCronJobWritesItsConfigMapAndNoOther) {
  const std::string text = Example("workload-list.yaml");
  const std::size_t at = text.find("args: [") + 7;
  const Words words = WordsOf(text.substr(at, text.find(']', at) - at), ",");
  server_.Put("configmaps/prefetchd/prefetchd-workloads", "{}");
  EXPECT_EQ(Run(0, words).out, "configmap prefetchd/prefetchd-workloads: 2 images\n");
  server_.Put("configmaps/prefetchd/another", "{}");
  Words other = words;
  other.back() = "--configmap=prefetchd/another";
  EXPECT_HAS(Run(4, other).err, "a right is missing, patch configmaps");
}

TEST_F(WorkloadList, NamespacesAreNamedOrAllAreMeant) {
  for (const Words& words : {Words{}, Words{"-n", "shop", "-A"}, Words{"-A", "--configmap", "prefetchd"},
                             Words{"-A", "--configmap", "prefetchd/x", "-o", "json"}}) {
    Words all = {"list", "import", "--from-cluster"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(Run(2, all).out, "");
  }
  EXPECT_HAS(Run(2, {"list", "import", "-n", "shop"}).err, "--from-cluster");
  EXPECT_TRUE(server_.Requests().empty());
}

// Each right of the example is needed.
TEST_TABLE_F(WorkloadRight, IsNamed, WorkloadList, const char*) {
  const std::string resource = row;
  tests::FakeApiServer poor{clock_, tests::FakeApiServer::OverTls()};
  ASSERT_OK(poor.LoadRbac(tests::WithoutRight(Example("workload-list.yaml"), "list", resource)));
  dir_.Write("kubeconfig", base::ReplaceAll(tests::TextOf(dir_ / "kubeconfig"), server_.url(), poor.url()));
  const std::string token = poor.AddServiceAccountToken("prefetchd", kAccount);
  std::string text = tests::TextOf(dir_ / "kubeconfig");
  const std::size_t at = text.find("token: ") + 7;
  text.replace(at, text.find('}', at) - at, token);
  dir_.Write("kubeconfig", text);
  EXPECT_HAS(Run(4, {"list", "import", "--from-cluster", "-A"}).err,
             "a right is missing, list " + resource + " (deploy/examples/workload-list.yaml");
}

INSTANTIATE_TEST_SUITE_P(Rights, WorkloadRight,
                         testing::Values("deployments", "statefulsets", "daemonsets", "cronjobs", "jobs",
                                         "pods"));

}  // namespace
}  // namespace prefetch::system::uninstall_command_test
