// `prefetchctl list import --from-cluster` as built: the guide's commands and the example's CronJob, with the
// rights of deploy/examples/workload-list.yaml.
#include <gtest/gtest.h>

#include "base/text.h"
#include "fakes/rbac.h"
#include "system/cluster_account.h"

namespace prefetch::system::workload_list_test {
namespace {

using std::chrono::seconds;
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
    EXPECT_NE(ran.out.find("- image: q.io/web:1  # Deployment shop/web\n"), std::string::npos) << ran.out;
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
  EXPECT_NE(Run(4, other).err.find("a right is missing, patch configmaps"), std::string::npos);
}

TEST_F(WorkloadList, NamespacesAreNamedOrAllAreMeant) {
  for (const Words& words : {Words{}, Words{"-n", "shop", "-A"}, Words{"-A", "--configmap", "prefetchd"},
                             Words{"-A", "--configmap", "prefetchd/x", "-o", "json"}}) {
    Words all = {"list", "import", "--from-cluster"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(Run(2, all).out, "");
  }
  EXPECT_NE(Run(2, {"list", "import", "-n", "shop"}).err.find("--from-cluster"), std::string::npos);
  EXPECT_TRUE(server_.Requests().empty());
}

class WorkloadRight : public WorkloadList, public testing::WithParamInterface<const char*> {};

// Each right of the example is needed.
TEST_P(WorkloadRight, IsNamed) {
  const std::string resource = GetParam();
  tests::FakeApiServer poor{clock_, tests::FakeApiServer::OverTls()};
  ASSERT_OK(poor.LoadRbac(tests::WithoutRight(Example("workload-list.yaml"), "list", resource)));
  dir_.Write("kubeconfig", base::ReplaceAll(ReadFile(dir_ / "kubeconfig"), server_.url(), poor.url()));
  const std::string token = poor.AddServiceAccountToken("prefetchd", kAccount);
  std::string text = ReadFile(dir_ / "kubeconfig");
  const std::size_t at = text.find("token: ") + 7;
  text.replace(at, text.find('}', at) - at, token);
  dir_.Write("kubeconfig", text);
  EXPECT_NE(Run(4, {"list", "import", "--from-cluster", "-A"})
                .err.find("a right is missing, list " + resource + " (deploy/examples/workload-list.yaml"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Rights, WorkloadRight,
                         testing::Values("deployments", "statefulsets", "daemonsets", "cronjobs", "jobs",
                                         "pods"));

}  // namespace
}  // namespace prefetch::system::workload_list_test
