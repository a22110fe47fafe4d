#include "cluster/real_node.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cluster/programs.h"
#include "rig/expect_ok.h"
#include "text_of.h"

namespace prefetch::cluster {
namespace {

constexpr const char* kPauseHost = "pause.example.test:5000";

std::string PauseProgram() {
  const char* file = std::getenv("PREFETCH_PAUSE");
  std::string bytes = file == nullptr ? "" : tests::TextSoFar(file);
  EXPECT_FALSE(bytes.empty())
      << "PREFETCH_PAUSE must name a program: run the tests by tests/run or meson test";
  return bytes;
}

// Debian's package containernetworking-plugins, or the release's tarball unpacked where everybody does.
std::string CniFolder() {
  for (const char* folder : {"/opt/cni/bin", "/usr/lib/cni"}) {
    if (std::filesystem::exists(std::string(folder) + "/ptp")) return folder;
  }
  ADD_FAILURE() << "no CNI plugins in /opt/cni/bin or /usr/lib/cni";
  return "";
}

std::string WriteCniConfig(const rig::Scratch& scratch) {
  scratch.Write("cni/10-pods.conflist",
                R"({"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"ptp","ipMasq":false,"ipam":)"
                R"({"type":"host-local","dataDir":")" +
                    (scratch / "cni-data") +
                    R"(","ranges":[[{"subnet":"198.51.100.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},)"
                    R"({"type":"portmap","capabilities":{"portMappings":true}}]})");
  return scratch / "cni";
}

rig::ImageSpec PauseSpec(const std::string& repository) {
  rig::Layer layer;
  layer.program = PauseProgram();
  return {.repository = repository, .tag = "v1", .layers = {layer}, .entrypoint = "/program"};
}

std::optional<std::pair<ControlPlane*, rig::Scratch*>> shared;

}  // namespace

ControlPlane* SharedControlPlane() {
  if (!shared) {
    auto* scratch = new rig::Scratch;
    auto* control_plane = new ControlPlane(*scratch);
    base::Status started = control_plane->Start();
    EXPECT_OK(started);
    shared = {started ? control_plane : nullptr, scratch};
    if (!started) delete control_plane;
  }
  return shared->first;
}

void EndSharedControlPlane() {
  if (!shared) return;
  delete shared->first;
  delete shared->second;
  shared.reset();
}

RealNode::RealNode(ControlPlane& control_plane, const KubeletOptions& options, const NodePaths& paths)
    : control_plane_(control_plane),
      host_(node_.AddRegistry(kHost, kNodeUser, {kBob, kCarl})),
      kubelet_(control_plane, node_.scratch(), node_.runtime().endpoint(), paths),
      images_(cri::MakeImageService(*cri::ParseEndpoint(node_.runtime().endpoint()))),
      pods_(control_plane.Admin()) {
  pause_registry_ = node_.AddRegistry(kPauseHost, {});
  EXPECT_OK(node_.runtime().Stop());
  node_.runtime().RunPods(pause_image(), CniFolder(), WriteCniConfig(node_.scratch()));
  EXPECT_OK(node_.runtime().Start());
  rig::Pusher pusher(pause_registry_->registry().address());
  EXPECT_OK(pusher.Push(PauseSpec("pause")));
  HasCredentials(true);
  if (paths.provider_config.empty()) {
    kubelet_.HasProviders(node_.scratch() / "provider-config.yaml", node_.scratch() / "plugins");
  } else {
    kubelet_.HasProviders(paths.provider_config, paths.provider_bin);
  }
  EXPECT_OK(kubelet_.Start(options));
}

RealNode::~RealNode() {
  // So that the next node, of the same name, has nothing to do with the pods of this one.
  kubelet_.Kill();
  const ApiAnswer pods = api().Get("/api/v1/pods");
  for (const doc::Node& pod : doc::ItemsAt(pods.body, {"items"})) {
    (void)api().Kill("/api/v1/namespaces/" + doc::TextAt(pod, {"metadata", "namespace"}) + "/pods/" +
                     doc::TextAt(pod, {"metadata", "name"}));
  }
  (void)api().Delete("/api/v1/nodes/n1");
}

std::string RealNode::Push(const std::string& repository, const std::string& tag, const std::string& name,
                           std::uint64_t size) {
  rig::Pusher pusher(host_->registry().address(), kNodeUser.name, base::Secret(kNodeUser.password));
  const std::string content = name.empty() ? repository + ":" + tag : name;
  EXPECT_OK(pusher.Push({.repository = repository,
                         .tag = tag,
                         .layers = {{std::hash<std::string>()(content), size}},
                         .name = content}));
  return registry() + "/" + repository + ":" + tag;
}

std::string RealNode::PushPause(const std::string& repository) {
  rig::Pusher pusher(host_->registry().address(), kNodeUser.name, base::Secret(kNodeUser.password));
  EXPECT_OK(pusher.Push(PauseSpec(repository)));
  return registry() + "/" + repository + ":v1";
}

std::string RealNode::PushPause(const std::string& repository, system::Host& to) {
  rig::Pusher pusher(to.registry().address());
  EXPECT_OK(pusher.Push(PauseSpec(repository)));
  return to.host() + "/" + repository + ":v1";
}

std::string RealNode::PushArchive(const std::string& archive, const std::string& repository) {
  const std::string there = host_->registry().address() + "/" + repository + ":v1";
  // By a containerd, which the node has or lends.
  auto* containerd = dynamic_cast<rig::Containerd*>(&node_.runtime());
  rig::Containerd lent(node_.scratch(), "lent");
  if (containerd == nullptr) {
    containerd = &lent;
    EXPECT_OK(lent.Start());
  }
  EXPECT_OK(containerd->Ctr({"images", "import", "--index-name", there, archive}));
  EXPECT_OK(containerd->Ctr(
      {"images", "push", "--plain-http", "--user", kNodeUser.name + ":" + kNodeUser.password, there, there}));
  EXPECT_OK(containerd->Ctr({"images", "rm", "--sync", there}));
  return registry() + "/" + repository + ":v1";
}

// kubelet and the agent ask each time: a rotation counts from the next pull on.
void RealNode::HasCredentials(bool right) {
  const std::string& host = registry();
  node_.HasPlugin(host, right ? kNodeUser : rig::User{kNodeUser.name, "wrong"});
  const std::string plugin = node_.scratch() / "plugins/login";
  std::string script = tests::TextSoFar(plugin);
  const std::string cached = "\"cacheDuration\":\"10m\"";
  if (std::size_t at = script.find(cached); at != std::string::npos)
    script.replace(at, cached.size(), "\"cacheDuration\":\"0s\"");
  node_.scratch().Write("plugins/login", script, 0700);
}

void RealNode::StartAgent(const std::vector<std::string>& more) {
  node_.HasKubelet({"--kubelet-root", kubelet_.root(), "--kubelet-config", kubelet_.config_file(),
                    "--kubelet-version", KubeletVersion()});
  node_.StartAgent(more);
}

void RealNode::StartLearningAgent(const std::vector<std::string>& more) {
  node_.HasKubelet({"--kubelet-root", kubelet_.root(), "--kubelet-config", kubelet_.config_file(),
                    "--kubelet-proc", "/proc", "--kube-api"});
  node_.StartAgent(more);
}

std::string RealNode::IdOf(const std::string& image) {
  auto found = images_->ImageStatus(base::Call().Within(std::chrono::seconds(20)), image);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() && *found ? (*found)->image.id : "";
}

void RealNode::RemoveImage(const std::string& image) {
  (void)node_.runtime().Remove(image);
}

RealNode::VerdictsOf RealNode::VerdictOf(const std::string& image,
                                         const std::vector<std::string>& pod_flags) {
  VerdictsOf verdicts;
  verdicts.image_id = IdOf(image);
  std::vector<std::string> words = {"verdict",
                                    "--image",
                                    image,
                                    "--image-id",
                                    verdicts.image_id,
                                    "--kubelet-root",
                                    kubelet_.root(),
                                    "--kubelet-config",
                                    kubelet_.config_file(),
                                    "--kubelet-version",
                                    KubeletVersion(),
                                    "-o",
                                    "json"};
  words.insert(words.end(), pod_flags.begin(), pod_flags.end());
  rig::Ran ran = node_.Ctl(words);
  EXPECT_TRUE(ran.exit == rig::Exit{}) << ran.err;
  doc::Node document = ParseOrNull(ran.out);
  auto of = [&](const char* policy) {
    return Verdict{doc::TextAt(document, {"verdicts", policy, "result"}),
                   doc::TextAt(document, {"verdicts", policy, "reason"})};
  };
  verdicts.never = of("Never");
  verdicts.if_not_present = of("IfNotPresent");
  verdicts.always = of("Always");
  return verdicts;
}

}  // namespace prefetch::cluster
