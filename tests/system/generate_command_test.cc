// `prefetchctl generate --from-cluster` as built, against an API server on loopback with an installation.
#include <gtest/gtest.h>

#include "doc/node.h"
#include "doc/problems.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "system/cluster_account.h"

namespace prefetch::system::generate_command_test {
namespace {

using std::chrono::seconds;

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
  EXPECT_NE(fleet.out.find("image: r.io/prefetchd:7"), std::string::npos) << fleet.out;
  EXPECT_NE(fleet.err.find("note: --image is r.io/prefetchd:7, as the cluster runs it"), std::string::npos)
      << fleet.err;
  EXPECT_NE(fleet.err.find(
                "these manifests remove settings of the DaemonSet in the cluster; to keep them, give their "
                "options, too: --node-condition, --node-label, --startup-taint"),
            std::string::npos)
      << fleet.err;
  rig::Ran both = Run(0, {"--from-cluster", "--component", "node-gate", "--component", "fleet", "--image",
                          "r.io/prefetchd:8", kubeconfig()});
  EXPECT_NE(both.out.find("image: r.io/prefetchd:8"), std::string::npos) << both.out;
  EXPECT_EQ(both.err.find("take"), std::string::npos) << both.err;
}

TEST_F(GenerateFromCluster, WithoutAnInstallationNothingIsWritten) {
  rig::Ran none = Run(2, {"--from-cluster", kubeconfig()});
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("--from-cluster: the namespace prefetchd has no DaemonSet prefetchd: give --image"),
            std::string::npos)
      << none.err;
}

TEST_F(GenerateFromCluster, AMissingRightIsNamed) {
  WriteKubeconfig(server_.AddToken("ci-user", {"others"}));
  rig::Ran refused = Run(4, {"--from-cluster", kubeconfig()});
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("daemonsets"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace prefetch::system::generate_command_test
