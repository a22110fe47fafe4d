#include "cluster/kubelet.h"

#include <sys/stat.h>

#include "cluster/world.h"
#include "text_of.h"

namespace prefetch::cluster {
namespace {

constexpr std::chrono::seconds kKubeletLimit{60};
constexpr int kKubeletPort = 10250;

std::string NowRfc3339() {
  char text[32];
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool IsReady(const doc::Node& node, const std::string& since) {
  for (const doc::Node& condition : doc::ItemsAt(node, {"status", "conditions"})) {
    if (doc::TextAt(condition, {"type"}) == "Ready")
      return doc::TextAt(condition, {"status"}) == "True" &&
             doc::TextAt(condition, {"lastHeartbeatTime"}) >= since;
  }
  return false;
}

}  // namespace

RealKubelet::RealKubelet(const ControlPlane& control_plane, const rig::Scratch& scratch,
                         std::string runtime_endpoint, const NodePaths& paths)
    : control_plane_(control_plane),
      scratch_(scratch),
      runtime_endpoint_(std::move(runtime_endpoint)),
      root_(paths.kubelet_root.empty() ? scratch / "kubelet" : paths.kubelet_root),
      config_file_(paths.kubelet_config.empty() ? scratch / "kubelet.yaml" : paths.kubelet_config),
      certificate_(control_plane.authority().Server("kubelet",
                                                    std::string("IP:127.0.0.1,DNS:n1,IP:") + kNodeAddress)) {}

void RealKubelet::HasProviders(const std::string& config, const std::string& bin_dir) {
  provider_flags_ = {"--image-credential-provider-config=" + config,
                     "--image-credential-provider-bin-dir=" + bin_dir};
}

std::string RealKubelet::Config() const {
  // Kubelet ignores a threshold of 100%.
  const std::string disk = options_.starves ? "99.99%" : "1%";
  std::string text =
      "apiVersion: kubelet.config.k8s.io/v1beta1\n"
      "kind: KubeletConfiguration\n"
      "address: 0.0.0.0\n"
      "port: " +
      std::to_string(kKubeletPort) +
      "\n"
      "tlsCertFile: " +
      certificate_.certificate_file +
      "\n"
      "tlsPrivateKeyFile: " +
      certificate_.key_file +
      "\n"
      "authentication: {anonymous: {enabled: false}, webhook: {enabled: true, cacheTTL: 1s}, "
      "x509: {clientCAFile: " +
      control_plane_.authority().certificate_file() +
      "}}\n"
      "authorization: {mode: Webhook, webhook: {cacheAuthorizedTTL: 1s, cacheUnauthorizedTTL: 1s}}\n"
      "cgroupDriver: cgroupfs\ncgroupsPerQOS: false\nenforceNodeAllocatable: []\ncgroupRoot: /" +
      PodCgroup() +
      "\n"
      "failSwapOn: false\nfailCgroupV1: false\noomScoreAdj: 0\n"
      "evictionHard: {imagefs.available: " +
      disk + ", nodefs.available: " + disk +
      ", memory.available: 1Mi}\n"
      // 0 would be five events a second: kubelet hands it to its client, which takes it for its default.
      "eventRecordQPS: 1000\neventBurst: 1000\n"
      "registryPullQPS: 0\nserializeImagePulls: false\n"
      "kubeAPIQPS: 100\nkubeAPIBurst: 200\n"
      "nodeStatusUpdateFrequency: 1s\nnodeStatusReportFrequency: 10s\n"
      // The next pod sees a change at once, not up to a minute later.
      "configMapAndSecretChangeDetectionStrategy: Get\n"
      "containerRuntimeEndpoint: " +
      runtime_endpoint_ +
      "\n"
      "podLogsDir: " +
      (scratch_ / "pod-logs") +
      "\n"
      "volumePluginDir: " +
      (scratch_ / "volume-plugins") +
      "\n"
      "resolvConf: \"\"\n"
      "shutdownGracePeriod: 0s\n";
  text += options_.collects
              ? "imageGCHighThresholdPercent: 1\nimageGCLowThresholdPercent: 0\nimageMinimumGCAge: 1ms\n"
              : "imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 99\n";
  if (options_.starves) text += "imageMinimumGCAge: 1ms\n";
  if (!options_.policy.empty()) text += "imagePullCredentialsVerificationPolicy: " + options_.policy + "\n";
  if (!options_.allowlist.empty()) {
    text += "preloadedImagesVerificationAllowlist:\n";
    for (const std::string& pattern : options_.allowlist) text += "- \"" + pattern + "\"\n";
  }
  return text;
}

base::Status RealKubelet::Begin(const KubeletOptions& options) {
  options_ = options;
  ::mkdir((scratch_ / "pod-logs").c_str(), 0755);
  if (auto written = base::WriteFileAtomically(config_file_, Config()); !written) return written;
  std::vector<std::string> argv = {program_,
                                   "--config=" + config_file(),
                                   "--kubeconfig=" + control_plane_.Kubeconfig("system:node:n1", api_port_),
                                   "--root-dir=" + root_,
                                   "--cert-dir=" + root_ + "/pki",
                                   "--hostname-override=n1",
                                   "--node-ip=" + std::string(kNodeAddress),
                                   "--v=2"};
  argv.insert(argv.end(), provider_flags_.begin(), provider_flags_.end());
  return process_.Start({argv, {{"HOME", scratch_.path()}}}, log());
}

base::Status RealKubelet::Start(const KubeletOptions& options) {
  const std::string since = NowRfc3339();
  if (auto begun = Begin(options); !begun) return begun;
  Api admin = control_plane_.Admin();
  bool up = rig::Eventually(kKubeletLimit, [&] {
    return !process_.Running() || IsReady(admin.Get("/api/v1/nodes/n1").body, since);
  });
  if (up && process_.Running()) return {};
  return base::Unavailable("kubelet did not start: " + tests::TailOf(log()));
}

void RealKubelet::Stop() {
  (void)process_.Stop(std::chrono::seconds(10));
}

void RealKubelet::Kill() {
  process_.Kill();
}

base::Status RealKubelet::Restart(const KubeletOptions& options) {
  Stop();
  return Start(options);
}

std::vector<std::string> RealKubelet::Records(const std::string& folder) const {
  auto names = base::ListDirectory(root_ + "/image_manager/" + folder, 100'000);
  return names ? *names : std::vector<std::string>{};
}

}  // namespace prefetch::cluster
