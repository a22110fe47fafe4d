// The container image of this project, from a private registry, as the pod that each platform's overlay makes
// of it: unchanged but for the node's name, which no scheduler is here to choose.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "cluster/programs.h"
#include "cluster/real_node.h"
#include "rig/expect_ok.h"
#include "screen/status_document.h"

namespace prefetch::cluster::as_shipped_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kPods = "/api/v1/namespaces/prefetchd/pods";

// As Pod Security "restricted" wants a container.
constexpr const char* kRestricted =
    "    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: "
    "true,\n"
    "      runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}\n";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string TextOf(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Built once for all platforms.
const std::string& ImageArchive() {
  static const rig::Scratch* scratch = new rig::Scratch;  // NOLINT(cppcoreguidelines-owning-memory)
  static const std::string archive = [] {
    auto built = rig::RunProgram({{FromEnvironment("PREFETCH_SOURCE") + "/deploy/image/build",
                                   *scratch / "image", FromEnvironment("PREFETCH_BUILD")},
                                  {}},
                                 std::chrono::minutes(5));
    EXPECT_OK(built);
    EXPECT_TRUE(built && built->exit == rig::Exit{}) << (built ? built->err : "");
    return *scratch / "image/image.tar";
  }();
  return archive;
}

// What a node of the platform has, and the overlay names.
struct Platform {
  const char* name;
  NodePaths paths;
  std::vector<std::string> files = {};  // of type File, besides
};

void PrintTo(const Platform& platform, std::ostream* out) {
  *out << platform.name;
}

const Platform kShipped[] = {
    {"generic", {"/var/lib/kubelet", "/var/lib/kubelet/config.yaml", "", ""}},
    {"eks",
     {"/var/lib/kubelet", "/etc/kubernetes/kubelet/config.json",
      "/etc/eks/image-credential-provider/config.json", "/etc/eks/image-credential-provider"},
     {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}},
    {"gke",
     {"/var/lib/kubelet", "/home/kubernetes/kubelet-config.yaml", "/etc/srv/kubernetes/cri_auth_config.yaml",
      "/home/kubernetes/bin"}},
    {"aks",
     {"/var/lib/kubelet", "/etc/default/kubeletconfig.json",
      "/var/lib/kubelet/credential-provider-config.yaml", "/var/lib/kubelet/credential-provider"},
     {"/etc/kubernetes/azure.json"}},
};

class AsShipped : public testing::TestWithParam<Platform> {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    MakePaths();
    node_.emplace(*SharedControlPlane(), KubeletOptions{}, GetParam().paths);
    MountRuntime();
    image_ = node_->PushArchive(ImageArchive(), "platform/prefetchd");
    listed_ = HasProviders() ? node_->Push("team/app")
                             : node_->open_registry().Push("team/app", "v1", {{1, 100'000}});
  }
  void TearDown() override {
    if (!node_) return;
    SharedControlPlane()->Kubectl(
        {"delete", "--ignore-not-found", "--force", "--grace-period=0", "--timeout=90s", "-f", manifests_});
    node_.reset();
    ::umount2("/run/containerd", MNT_DETACH);
    rig::RemoveTree("/var/lib/kubelet");
  }
  static bool HasProviders() { return !GetParam().paths.provider_config.empty(); }

  static void MakePaths() {
    const NodePaths& paths = GetParam().paths;
    fs::create_directories(paths.kubelet_root);
    fs::create_directories(fs::path(paths.kubelet_config).parent_path());
    for (const std::string& file : GetParam().files) {
      fs::create_directories(fs::path(file).parent_path());
      if (!fs::exists(file)) std::ofstream(file) << "{}\n";
    }
    if (!HasProviders()) return;
    // The node's plugins are its own programs, linked against its libc: a script would find no shell in the
    // image.
    fs::create_directories(paths.provider_bin);
    fs::create_directories(fs::path(paths.provider_config).parent_path());
    fs::copy_file(FromEnvironment("PREFETCH_PLUGIN"), paths.provider_bin + "/login",
                  fs::copy_options::overwrite_existing);
    std::ofstream(paths.provider_bin + "/answer.json")
        << R"({"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse",)"
        << R"("cacheKeyType":"Registry","cacheDuration":"10m","auth":{")" << kHost << R"(":{"username":")"
        << kNodeUser.name << R"(","password":")" << kNodeUser.password << "\"}}}";
    std::ofstream(paths.provider_config)
        << R"({"apiVersion":"kubelet.config.k8s.io/v1","kind":"CredentialProviderConfig","providers":[{"name":"login",)"
        << R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","matchImages":[")" << kHost
        << R"("],"defaultCacheDuration":"10m"}]})";
  }
  // containerd's folder where everybody looks for its socket.
  void MountRuntime() {
    const std::string folder = fs::path(node_->node().containerd().socket()).parent_path();
    fs::create_directories("/run/containerd");
    ASSERT_EQ(::mount(folder.c_str(), "/run/containerd", nullptr, MS_BIND, nullptr), 0);
  }

  void Install(const std::string& list) {
    const rig::Scratch& scratch = node_->node().scratch();
    scratch.Write("shipped/images.txt", list);
    scratch.Write(
        "shipped/agent.yaml",
        "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\npreflight:\n  namespaces: [ci]\n");
    rig::Ran made = node_->node().Ctl({"generate", "--platform", GetParam().name, "--list",
                                       scratch / "shipped/images.txt", "--image", image_, "--component",
                                       "preflight", "--agent-config", scratch / "shipped/agent.yaml"});
    ASSERT_TRUE(made.exit == rig::Exit{}) << made.err;
    manifests_ = scratch.Write("shipped/all.yaml", made.out);
    rig::Ran applied = SharedControlPlane()->Kubectl({"apply", "--server-side", "-f", manifests_});
    ASSERT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  }
  // Gives pods that wait for a scheduler their node.
  void Schedule() {
    const ApiAnswer pods = node_->api().Get(kPods);
    for (const doc::Node& pod : doc::ItemsAt(pods.body, {"items"})) {
      const std::string name = doc::TextAt(pod, {"metadata", "name"});
      if (!doc::TextAt(pod, {"spec", "nodeName"}).empty()) continue;
      (void)node_->api().Post(std::string(kPods) + "/" + name + "/binding",
                              R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + name +
                                  R"("},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
    }
  }
  // The pod that is ready and of this list, if there is one.
  std::optional<doc::Node> ReadyPod(const std::string& not_uid = "") {
    const ApiAnswer pods = node_->api().Get(kPods);
    for (const doc::Node& pod : doc::ItemsAt(pods.body, {"items"})) {
      if (doc::TextAt(pod, {"metadata", "uid"}) == not_uid ||
          doc::ValueAt(pod, {"metadata", "deletionTimestamp"}) != nullptr)
        continue;
      for (const doc::Node& condition : doc::ItemsAt(pod, {"status", "conditions"})) {
        if (doc::TextAt(condition, {"type"}) == "Ready" && doc::TextAt(condition, {"status"}) == "True")
          return pod;
      }
    }
    return std::nullopt;
  }
  std::optional<doc::Node> AwaitReady(const std::string& not_uid = "") {
    std::optional<doc::Node> pod;
    EXPECT_TRUE(rig::Eventually(seconds(90),
                                [&] {
                                  Schedule();
                                  pod = ReadyPod(not_uid);
                                  return pod.has_value();
                                }))
        << SharedControlPlane()->Kubectl({"describe", "pods", "-n", "prefetchd"}).out << LogsOfAgent();
    return pod;
  }
  // Nothing declares kubelet's version: the shipped right to read the Node is what tells it.
  static void ExpectLearntVersion() {
    screen::StatusKubelet kubelet;
    rig::Eventually(seconds(30), [&] {
      auto ran = rig::RunProgram({{FromEnvironment("PREFETCHCTL"), "status", "-o", "json"}, {}}, seconds(20));
      auto status = screen::ParseStatusDocument(ran ? ran->out : "");
      if (status) kubelet = status->kubelet;
      return kubelet.version == KubeletVersion();
    });
    EXPECT_EQ(kubelet.version, KubeletVersion());
    EXPECT_EQ(kubelet.version_from, "Node status");
  }
  // An ordinary job's pod of namespace ci, with the init container that the page makes for it: how that
  // ended, and its last words.
  std::string Preflight(const std::string& image, const std::string& policy) {
    const rig::Scratch& scratch = node_->node().scratch();
    const std::string name = "job-" + std::to_string(jobs_++);
    const std::string job = scratch.Write(
        "shipped/job.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
            "\n  namespace: ci\nspec:\n  nodeName: n1\n  restartPolicy: Never\n  containers:\n"
            "  - name: app\n    image: " +
            image + "\n    imagePullPolicy: " + policy + "\n    command: [/none]\n" + kRestricted);
    rig::Ran made = node_->node().Ctl(
        {"generate", "init-container", "--platform", GetParam().name, "--image", image_, "-f", job});
    EXPECT_TRUE(made.exit == rig::Exit{}) << made.err;
    rig::Ran applied =
        SharedControlPlane()->Kubectl({"apply", "-f", scratch.Write("shipped/checked.yaml", made.out)});
    EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
    const std::string pod = "/api/v1/namespaces/ci/pods/" + name;
    std::string ended = "it has not ended";
    rig::Eventually(seconds(90), [&] {
      const ApiAnswer now = node_->api().Get(pod);
      for (const doc::Node& container : doc::ItemsAt(now.body, {"status", "initContainerStatuses"})) {
        const doc::Node* code = doc::ValueAt(container, {"state", "terminated", "exitCode"});
        if (code == nullptr) continue;
        ended =
            std::to_string(code->integer) + " " + doc::TextAt(container, {"state", "terminated", "message"});
      }
      return ended != "it has not ended";
    });
    EXPECT_TRUE(node_->api().Kill(pod).ok());
    return ended;
  }
  // A finalizer keeps the pod, so that it can be read how its container ended: 137 after SIGKILL. The time
  // until the pod is gone would say nothing, for kubelet takes seconds of its own to see what has ended.
  std::string ExitCodeOfDeleted(const std::string& pod) {
    std::string code = "it has not ended";
    EXPECT_TRUE(node_->api().MergePatch(pod, R"({"metadata":{"finalizers":["owner.test/reads"]}})").ok());
    EXPECT_TRUE(node_->api().Delete(pod).ok());
    rig::Eventually(seconds(30), [&] {
      const ApiAnswer now = node_->api().Get(pod);
      for (const doc::Node& container : doc::ItemsAt(now.body, {"status", "containerStatuses"})) {
        const doc::Node* ended = doc::ValueAt(container, {"state", "terminated", "exitCode"});
        if (ended != nullptr) code = std::to_string(ended->integer);
      }
      return code != "it has not ended";
    });
    EXPECT_TRUE(node_->api().MergePatch(pod, R"({"metadata":{"finalizers":null}})").ok());
    return code;
  }
  std::string LogsOfAgent() {
    std::string all;
    std::error_code ignored;
    for (const auto& entry :
         fs::recursive_directory_iterator(node_->node().scratch() / "pod-logs", ignored)) {
      if (entry.is_regular_file(ignored) && entry.path().string().find("/prefetchd/") != std::string::npos)
        all += TextOf(entry.path());
    }
    return all;
  }
  // Its lines that are errors.
  std::string ErrorsOfAgent() {
    std::string errors;
    std::istringstream lines(LogsOfAgent());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"level\":\"error\"") != std::string::npos) errors += line + "\n";
    }
    return errors;
  }
  // Of the agent's process, from its status.
  static std::string StatusLine(const std::string& key) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      if (TextOf(entry.path() / "comm") != "prefetchd\n") continue;
      std::istringstream lines(TextOf(entry.path() / "status"));
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(key + ":")) return line.substr(line.find_last_of("\t ") + 1);
      }
    }
    return "no process";
  }

  std::optional<RealNode> node_;
  std::string image_, listed_, manifests_;
  int jobs_ = 0;
};

TEST_P(AsShipped, RunsAsTheDaemonSetsPod) {
  Install(listed_ + "\n");
  auto pod = AwaitReady();
  ASSERT_TRUE(pod);
  EXPECT_EQ(StatusLine("CapEff"), "0000000000000000");
  EXPECT_EQ(StatusLine("NoNewPrivs"), "1");
  EXPECT_EQ(StatusLine("Seccomp"), "2");
  EXPECT_TRUE(node_->node().Has(listed_));
  EXPECT_EQ(node_->pods().Ask({.images = {listed_}})[0].answer, PodAnswer::kStarts);
  auto status = rig::RunProgram({{FromEnvironment("PREFETCHCTL"), "status"}, {}}, seconds(20));
  ASSERT_OK(status);
  EXPECT_TRUE(status->exit == rig::Exit{}) << status->err << "the local socket is where it is said to be";
  ExpectLearntVersion();

  // A job under Pod Security "restricted" asks this agent, at the node's address, by its token.
  MakeNamespace(node_->api(), "ci");
  EXPECT_TRUE(
      node_->api()
          .MergePatch("/api/v1/namespaces/ci",
                      R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}})")
          .ok());
  EXPECT_EQ(Preflight(listed_, "Never").substr(0, 2), "0 ");
  const std::string refused = Preflight(listed_ + "-absent", "Never");
  EXPECT_EQ(refused.substr(0, 2), "1 ") << refused;
  for (const std::string& words : {listed_ + "-absent", std::string("n1"), std::string("NotListed")}) {
    EXPECT_NE(refused.find(words), std::string::npos) << refused;
  }

  // SIGTERM: it ends before it is killed, and the next one is ready.
  const std::string uid = doc::TextAt(*pod, {"metadata", "uid"});
  EXPECT_EQ(ExitCodeOfDeleted(std::string(kPods) + "/" + doc::TextAt(*pod, {"metadata", "name"})), "0");
  pod = AwaitReady(uid);
  ASSERT_TRUE(pod);

  // A changed list rolls out.
  const std::string more = HasProviders() ? node_->Push("team/more")
                                          : node_->open_registry().Push("team/more", "v1", {{2, 100'000}});
  Install(listed_ + "\n" + more + "\n");
  pod = AwaitReady(doc::TextAt(*pod, {"metadata", "uid"}));
  ASSERT_TRUE(pod);
  EXPECT_TRUE(node_->node().Has(more));

  // The node starts anew: kubelet and containerd stop, and come back.
  node_->kubelet().Stop();
  ASSERT_OK(node_->node().containerd().Stop());
  ASSERT_OK(node_->node().containerd().Start());
  ASSERT_OK(node_->kubelet().Start());
  EXPECT_TRUE(AwaitReady());
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return node_->node().Has(more); }));
  // The generic overlay gives the agent no credential providers, and the error names those of this kubelet.
  EXPECT_EQ(ErrorsOfAgent().find("kubelet uses credential providers from") == std::string::npos,
            HasProviders())
      << ErrorsOfAgent();
  EXPECT_TRUE(ErrorsOfAgent().empty() || !HasProviders()) << ErrorsOfAgent();
}

INSTANTIATE_TEST_SUITE_P(On, AsShipped, testing::ValuesIn(kShipped),
                         [](const testing::TestParamInfo<Platform>& platform) {
                           return std::string(platform.param.name);
                         });

}  // namespace
}  // namespace prefetch::cluster::as_shipped_test
