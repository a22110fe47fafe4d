// Tests the agent as shipped when it runs out of memory, and what jobs get from it.
#include <memory>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "cluster/as_shipped.h"
#include "rig/expect_ok.h"
#include "text_of.h"

namespace prefetch::cluster::as_shipped_jobs_test {
namespace {

namespace fs = std::filesystem;

class AsShippedWithItsLimit : public AsShipped {
 protected:
  // Others take the memory that the container may have: each of them less than the agent, so the kernel ends
  // the agent first.
  void ExhaustMemory() {
    const std::string folder = MemoryCgroup();
    ASSERT_TRUE(fs::exists(folder + "/cgroup.procs")) << folder;
    const fs::path agent = AgentProcess();
    std::vector<std::unique_ptr<rig::Process>> others;
    for (int i = 0; i < 40; i++) {
      others.push_back(std::make_unique<rig::Process>());
      ASSERT_OK(others.back()->Start({{"sh", "-c", "echo $$ > \"$1\" && exec \"$2\" hold 4", "sh",
                                       folder + "/cgroup.procs", FromEnvironment("PREFETCH_PAUSE")},
                                      {}},
                                     node_->node().scratch() / "others.log"));
    }
    EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return !fs::exists(agent / "exe"); }))
        << tests::TextSoFar(folder + "/memory.oom_control")
        << tests::TextSoFar(node_->node().scratch() / "others.log");
  }
  // How the container of the pod ended the last time.
  std::string LastEnd() {
    const ApiAnswer pods = node_->api().Get(kAgentPods);
    for (const doc::Node& pod : doc::ItemsAt(pods.body, {"items"})) {
      for (const doc::Node& container : doc::ItemsAt(pod, {"status", "containerStatuses"}))
        return doc::TextAt(container, {"lastState", "terminated", "reason"});
    }
    return "no pod";
  }
};

TEST_P(AsShippedWithItsLimit, TheOneThatRanOutOfMemoryIsReplacedAndReadyAgain) {
  Install(listed_ + "\n");
  auto pod = AwaitReady();
  ASSERT_TRUE(pod);
  const fs::path before = AgentProcess();
  ASSERT_NO_FATAL_FAILURE(ExhaustMemory());
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return LastEnd() == "OOMKilled"; })) << LastEnd();
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] {
    return !AgentProcess().empty() && AgentProcess() != before && AwaitReady().has_value();
  })) << LogsOfAgent();
  EXPECT_EQ(node_->pods().Ask({.images = {listed_}})[0].answer, PodAnswer::kStarts);
  EXPECT_EQ(doc::TextAt(*AwaitReady(), {"metadata", "uid"}), doc::TextAt(*pod, {"metadata", "uid"}));
}

INSTANTIATE_TEST_SUITE_P(On, AsShippedWithItsLimit, testing::Values(GenericPlatform()), NameOfPlatform);

// deploy/examples/ci: the pods that the CI systems make of these files, with images that are here.
class AsShippedForJobs : public AsShipped {
 protected:
  static std::string Example(const std::string& name) {
    return tests::TextSoFar(FromEnvironment("PREFETCH_SOURCE") + "/deploy/examples/ci/" + name + ".yaml");
  }
  // The lines below `key`, indented less by as much as they are more than it.
  static std::string Below(const std::string& text, const std::string& key,
                           const std::string& end = "\n---") {
    const std::size_t at = text.find("\n" + key + "\n");
    EXPECT_NE(at, std::string::npos) << key;
    if (at == std::string::npos) return "";
    const std::size_t from = at + key.size() + 2;
    std::istringstream lines(text.substr(from, text.find(end, from) - from));
    const std::size_t indent = key.find_first_not_of(' ') + 2;
    std::string below;
    for (std::string line; std::getline(lines, line);)
      below += (line.size() > indent ? line.substr(indent) : line) + "\n";
    return below;
  }
  static std::string PodOf(const std::string& spec) {
    return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: job\nspec:\n  restartPolicy: Never\n" +
           std::regex_replace(spec, std::regex("(^|\n)(?=.)"), "$1  ");
  }
  std::string PodFor(const std::string& recipe) {
    std::string example = Example(recipe);
    if (recipe == "buildkite") return PodOf(Below(example, "  spec:"));
    if (recipe == "prow") return PodOf(Below(example, "  pod_spec:"));
    if (recipe == "arc") {
      std::string hook = Below("\n" + Below(example, "  template.yaml: |"), "spec:");
      hook = base::ReplaceAll(hook, "name: $job", "name: job\n  image: quay.io/acme/build:v7");
      return PodOf(base::ReplaceAll(hook, "name: $postgres", "name: db\n  image: quay.io/acme/postgres:v16"));
    }
    if (recipe == "tekton") {
      // Steps run one after another: as the first of them, before the others.
      std::string spec = base::ReplaceAll(Below(example, "spec:"), "computeResources:", "resources:");
      spec = base::ReplaceAll(spec, "steps:\n", "initContainers:\n");
      spec = base::ReplaceAll(spec, "- name: unit\n", "containers:\n- name: unit\n");
      return PodOf(base::ReplaceAll(spec, "  script: |\n    make unit\n", "  command: [make, unit]\n"));
    }
    return example;
  }
  // Its images are others, which this node's registry has. The program of that one waits, or ends as its
  // argument says: an init container has to.
  std::string WithImagesOfHere(std::string pod, const std::string& tool) {
    pod = base::ReplaceAll(pod, "registry.example/platform/prefetchd:0.1.0", image_);
    pod =
        std::regex_replace(pod, std::regex("(quay\\.io|docker\\.io|registry\\.gitlab\\.com)/[^\"\n]+"), tool);
    return base::ReplaceAll(pod, "- name: init-permissions\n",
                            "- name: init-permissions\n    args: [\"0\"]\n");
  }
  // How its check ended, or that it has none, once all of its containers have their images; else what it is
  // like.
  std::string Outcome(const std::string& pod) {
    std::string outcome;
    rig::Eventually(seconds(60), [&] {
      const ApiAnswer now = node_->api().Get(pod);
      outcome = "no check";
      for (const doc::Node& check : doc::ItemsAt(now.body, {"status", "initContainerStatuses"})) {
        if (doc::TextAt(check, {"name"}) != "check-images") continue;
        const doc::Node* code = doc::ValueAt(check, {"state", "terminated", "exitCode"});
        outcome = code == nullptr ? "it runs" : std::to_string(code->integer);
        if (outcome != "0" && code != nullptr)
          outcome += doc::TextAt(check, {"state", "terminated", "message"});
      }
      const auto containers = doc::ItemsAt(now.body, {"status", "containerStatuses"});
      bool all = !containers.empty();
      for (const doc::Node& container : containers) {
        const std::string waits = doc::TextAt(container, {"state", "waiting", "reason"});
        const bool has_image = doc::ValueAt(container, {"state", "terminated"}) != nullptr ||
                               doc::ValueAt(container, {"state", "running"}) != nullptr ||
                               waits == "CreateContainerError" || waits == "RunContainerError" ||
                               waits == "CrashLoopBackOff";
        all = all && has_image;
      }
      if (!all) outcome += ", and not all containers have their images: " + now.text;
      return all;
    });
    return outcome;
  }
};

// kubelet starts jobs from images on the node: nobody asks a registry, and the check of each recipe agrees.
TEST_P(AsShippedForJobs, EachRecipesCheckPassesAndKubeletAsksNoRegistry) {
  const std::string tool = node_->PushPause("team/job", node_->open_registry());
  Install(tool + "\n");
  ASSERT_TRUE(AwaitReady());
  ExpectLearntVersion();
  MakeNamespace(node_->api(), "ci");
  // A nodeSelector of the recipe counts for kubelet too; the gate is another test's subject.
  EXPECT_TRUE(
      node_->api()
          .MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":"ready"}}})")
          .ok());
  struct Recipe {
    const char* name;
    const char* outcome;
  };
  for (const Recipe& recipe : {Recipe{"buildkite", "0"}, Recipe{"gitlab-pod", "0"}, Recipe{"arc", "0"},
                               Recipe{"tekton", "0"}, Recipe{"jenkins", "0"}, Recipe{"prow", "no check"}}) {
    SCOPED_TRACE(recipe.name);
    std::string pod = WithImagesOfHere(PodFor(recipe.name), tool);
    pod = std::regex_replace(pod, std::regex("\nspec:\n"), "\nspec:\n  nodeName: n1\n",
                             std::regex_constants::format_first_only);
    pod = std::regex_replace(pod, std::regex("\n  name: [a-z-]+\n"), "\n  name: job\n",
                             std::regex_constants::format_first_only);
    node_->open_registry().proxy().Forget();
    rig::Ran applied = SharedControlPlane()->Kubectl(
        {"apply", "-n", "ci", "-f", node_->node().scratch().Write("shipped/recipe.yaml", pod)});
    ASSERT_TRUE(applied.exit == rig::Exit{}) << applied.err << pod;
    EXPECT_EQ(Outcome("/api/v1/namespaces/ci/pods/job"), recipe.outcome);
    EXPECT_EQ(node_->open_registry().proxy().Count("HEAD", "/team/") +
                  node_->open_registry().proxy().Count("GET", "/team/"),
              0U);
    EXPECT_TRUE(node_->api().Kill("/api/v1/namespaces/ci/pods/job").ok());
    EXPECT_TRUE(rig::Eventually(
        seconds(30), [&] { return node_->api().Get("/api/v1/namespaces/ci/pods/job").status == 404; }));
  }
}

INSTANTIATE_TEST_SUITE_P(On, AsShippedForJobs, testing::Values(GenericPlatform()), NameOfPlatform);

}  // namespace
}  // namespace prefetch::cluster::as_shipped_jobs_test
