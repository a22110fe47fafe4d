#include "cluster/as_shipped.h"

#include <sys/mount.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "cluster/foreign_kinds.h"
#include "cluster/programs.h"
#include "rig/expect_ok.h"
#include "status/documents.h"
#include "text_of.h"

namespace prefetch::cluster {
namespace {

namespace fs = std::filesystem;

// As Pod Security "restricted" wants a container.
constexpr const char* kRestricted =
    "    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: "
    "true,\n"
    "      runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}\n";

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

}  // namespace

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void PrintTo(const Platform& platform, std::ostream* out) {
  *out << platform.name;
}

std::string NameOfPlatform(const testing::TestParamInfo<Platform>& platform) {
  return platform.param.name;
}

Platform GenericPlatform() {
  return {"generic", {"/var/lib/kubelet", "/var/lib/kubelet/config.yaml", "", ""}};
}

void AsShipped::SetUp() {
  ASSERT_NE(SharedControlPlane(), nullptr);
  MakePaths();
  if (GetParam().on_crio) on_crio_.emplace();
  node_.emplace(*SharedControlPlane(), KubeletOptions{}, GetParam().paths);
  MountRuntime();
  image_ = node_->PushArchive(ImageArchive(), "platform/prefetchd");
  if (!GetParam().docker_config.empty()) {
    std::ofstream(GetParam().docker_config)
        << R"({"auths":{")" << node_->registry() << R"(":{"auth":")"
        << base::Base64Encode(kNodeUser.name + ":" + kNodeUser.password) << "\"}}}";
  }
  listed_ = PushForAgent("team/app", 1);
}

std::string AsShipped::PushForAgent(const std::string& repository, std::uint64_t seed) {
  if (HasLogins()) return node_->Push(repository);
  return node_->open_registry().Push(repository, "v1", {{seed, 100'000}});
}

void AsShipped::TearDown() {
  if (!node_) return;
  SharedControlPlane()->Kubectl(
      {"delete", "--ignore-not-found", "--force", "--grace-period=0", "--timeout=90s", "-f", manifests_});
  node_.reset();
  on_crio_.reset();
  ::umount2(GetParam().runtime.c_str(), MNT_DETACH);
  rig::RemoveTree("/var/lib/kubelet");
}

void AsShipped::MakePaths() {
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

void AsShipped::MountRuntime() {
  auto* crio = dynamic_cast<Crio*>(&node_->node().runtime());
  const std::string socket = crio != nullptr ? crio->socket() : node_->node().containerd().socket();
  const std::string folder = fs::path(socket).parent_path();
  fs::create_directories(GetParam().runtime);
  ASSERT_EQ(::mount(folder.c_str(), GetParam().runtime.c_str(), nullptr, MS_BIND, nullptr), 0);
  if (GetParam().runtime_config.empty()) return;
  fs::create_directories(fs::path(GetParam().runtime_config).parent_path());
  fs::copy_file(crio != nullptr ? crio->registries_conf() : node_->node().containerd().config_file(),
                GetParam().runtime_config, fs::copy_options::overwrite_existing);
}

void AsShipped::Install(const std::string& list) {
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
  auto apply = [](const std::string& file) {
    return SharedControlPlane()->Kubectl({"apply", "--server-side", "-f", file});
  };
  rig::Ran applied = apply(scratch.Write("shipped/kinds.yaml", ForeignKinds()));
  ASSERT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  // New kinds are served a moment later.
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    applied = apply(manifests_);
    return applied.exit == rig::Exit{};
  })) << applied.err;
}

void AsShipped::Schedule() {
  const ApiAnswer pods = node_->api().Get(kAgentPods);
  for (const doc::Node& pod : doc::ItemsAt(pods.body, {"items"})) {
    const std::string name = doc::TextAt(pod, {"metadata", "name"});
    if (!doc::TextAt(pod, {"spec", "nodeName"}).empty()) continue;
    (void)node_->api().Post(std::string(kAgentPods) + "/" + name + "/binding",
                            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + name +
                                R"("},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
  }
}

std::optional<doc::Node> AsShipped::ReadyPod(const std::string& not_uid) {
  const ApiAnswer pods = node_->api().Get(kAgentPods);
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

std::optional<doc::Node> AsShipped::AwaitReady(const std::string& not_uid) {
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

void AsShipped::ExpectLearntVersion() {
  status::StatusKubelet kubelet;
  rig::Eventually(seconds(30), [&] {
    auto ran = rig::RunProgram({{FromEnvironment("PREFETCHCTL"), "status", "-o", "json"}, {}}, seconds(20));
    auto status = status::ParseStatusDocument(ran ? ran->out : "");
    if (status) kubelet = status->kubelet;
    return kubelet.version == KubeletVersion();
  });
  EXPECT_EQ(kubelet.version, KubeletVersion());
  EXPECT_EQ(kubelet.SourceOf("version"), "Node status");
}

void AsShipped::ExpectMeasuredDisk() {
  auto ran = rig::RunProgram({{FromEnvironment("PREFETCHCTL"), "status", "-o", "json"}, {}}, seconds(20));
  ASSERT_OK(ran);
  auto status = status::ParseStatusDocument(ran->out);
  ASSERT_OK(status);
  ASSERT_TRUE(status->disk) << "none of the runtime's folders is mounted: the agent's root tells";
  const auto space = std::filesystem::space(node_->node().scratch() / "");
  EXPECT_EQ(status->disk->capacity_bytes, space.capacity);
}

std::string AsShipped::Preflight(const std::string& image, const std::string& policy) {
  const rig::Scratch& scratch = node_->node().scratch();
  const std::string name = "job-" + std::to_string(jobs_++);
  // OpenShift's admission gives pods a user of their namespace.
  const bool is_openshift = std::string(GetParam().name) == "openshift";
  const std::string user = is_openshift ? "  securityContext: {runAsUser: 1000650000}\n" : "";
  const std::string job = scratch.Write(
      "shipped/job.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
                              "\n  namespace: ci\nspec:\n  nodeName: n1\n  restartPolicy: Never\n" + user +
                              "  containers:\n  - name: app\n    image: " + image +
                              "\n    imagePullPolicy: " + policy + "\n    command: [/none]\n" + kRestricted);
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

std::string AsShipped::ExitCodeOfDeleted(const std::string& pod) {
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

std::string AsShipped::LogsOfAgent() {
  std::string all;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(node_->node().scratch() / "pod-logs", ignored)) {
    if (entry.is_regular_file(ignored) && entry.path().string().find("/prefetchd/") != std::string::npos)
      all += tests::TextSoFar(entry.path());
  }
  return all;
}

std::string AsShipped::ErrorsOfAgent() {
  std::string errors;
  std::istringstream lines(LogsOfAgent());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"level\":\"error\"") != std::string::npos) errors += line + "\n";
  }
  return errors;
}

fs::path AsShipped::AgentProcess() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (tests::TextSoFar(entry.path() / "comm") == "prefetchd\n") return entry.path();
  }
  return {};
}

std::string AsShipped::StatusLine(const std::string& key) {
  std::istringstream lines(tests::TextSoFar(AgentProcess() / "status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ":")) return line.substr(line.find_last_of("\t ") + 1);
  }
  return "no process";
}

bool AsShipped::RuntimeHasSeccomp() {
  if (!GetParam().on_crio) return true;
  auto version = rig::RunProgram({{"crio", "--version"}, {}}, seconds(20));
  EXPECT_OK(version);
  const std::string text = version ? version->out : "";
  const std::size_t at = text.find("SeccompEnabled:");
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos || text.substr(at, text.find('\n', at) - at).ends_with("true");
}

fs::path AsShipped::MemoryCgroup() {
  std::istringstream lines(tests::TextSoFar(AgentProcess() / "cgroup"));
  fs::path unified;
  for (std::string line; std::getline(lines, line);) {
    if (std::size_t at = line.find(":memory:"); at != std::string::npos)
      return "/sys/fs/cgroup/memory" + line.substr(at + 8);
    if (line.starts_with("0::")) unified = "/sys/fs/cgroup" + line.substr(3);
  }
  return unified;
}

}  // namespace prefetch::cluster
