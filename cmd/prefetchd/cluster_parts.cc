#include "cluster_parts.h"

#include <cstdlib>
#include <utility>

#include "base/fs.h"
#include "base/log.h"
#include "kube/cluster.h"
#include "kube/kubelet_api.h"

namespace prefetch {
namespace {

// Maximum bytes of a file with certificates.
constexpr std::size_t kLongestCa = 1 << 20;

}  // namespace

std::unique_ptr<ClusterAccess> ClusterAccess::Make(const config::AgentConfig& config, std::string node,
                                                   const base::Clock& clock) {
  if (!config.kube_api) return nullptr;
  auto cluster = kube::InCluster(kube::ProcessEnv);
  if (cluster) return std::make_unique<ClusterAccess>(*std::move(cluster), config, std::move(node), clock);
  // No failure of the agent: pulling images does not need the API server.
  base::Err("node object not reached", {{"error", cluster.error().message()}});
  return nullptr;
}

ClusterAccess::ClusterAccess(kube::Cluster cluster, const config::AgentConfig& config, std::string node,
                             const base::Clock& clock)
    : config_(config),
      node_(std::move(node)),
      clock_(clock),
      cluster_ca_file_(cluster.ca_file),
      name_space_(cluster.name_space),
      identity_(std::move(cluster), clock),
      api_(client_, identity_, clock) {
  if (config_.provider_service_account) {
    tokens_.emplace(api_, clock_, config_.provider_service_account->name_space,
                    config_.provider_service_account->name);
  }
}

credentials::GrantSource ClusterAccess::Grants() {
  if (!tokens_) return {};
  return [this](const base::Call& call,
                const std::string& audience) -> base::Result<credentials::ServiceAccountGrant> {
    auto account = tokens_->Get(call, audience);
    if (!account) return std::move(account).error();
    return credentials::ServiceAccountGrant{account->uid, account->annotations, account->token};
  };
}

// Made for each question, since the file of the certificate authority may be replaced while the agent runs.
kube::KubeletApi ClusterAccess::KubeletApi() {
  const std::string& file = config_.kubelet_ca.empty() ? cluster_ca_file_ : config_.kubelet_ca;
  auto ca = base::ReadFile(file, kLongestCa);
  // Without certificates, kubelet is not asked: the token must not go to an unverified server.
  return kube::KubeletApi(client_, identity_, clock_, ca ? *std::move(ca) : "");
}

kube::KubeletAddress ClusterAccess::KubeletAddress() const {
  std::string host = config_.kubelet_address.host;
  // NODE_IP comes first: the node's name need not resolve inside a pod.
  if (host.empty()) host = kube::ProcessEnv("NODE_IP").value_or("");
  if (host.empty()) host = node_;
  return {host, static_cast<std::uint16_t>(config_.kubelet_address.port)};
}

agent::KubeletPort ClusterAccess::Kubelet(const credentials::Keyring& keyring) {
  return {
      .config = [this](const base::Call& call) { return KubeletApi().GetConfig(call, KubeletAddress()); },
      .metrics = [this](const base::Call& call) { return KubeletApi().GetMetrics(call, KubeletAddress()); },
      .provider_config_hash = [&keyring] { return keyring.provider_config_hash(); }};
}

ClusterTalk::ClusterTalk(ClusterAccess& access, const config::AgentConfig& config, const agent::Board& board,
                         const credentials::Keyring& keyring, std::shared_ptr<agent::LearntVersion> version,
                         std::shared_ptr<agent::SeenStart> start,
                         std::shared_ptr<agent::LearntSettings> learnt_settings,
                         std::function<void(std::string of, std::string problem)> report_problem,
                         const base::Clock& clock)
    : version_(access.node(), version, start, access.api(), clock) {
  version_.Start();  // without a kubelet, for the labels of the Node
  if (config.gate.Any()) {
    gate_.emplace(agent::NodeGateOptions{.gate = config.gate,
                                         .node = access.node(),
                                         .accept_fleet_wide_writes = config.accept_fleet_wide_node_writes,
                                         .kubelet_version = std::move(version),
                                         .report_problem = std::move(report_problem)},
                  access.api(), board, clock);
    gate_->Start();
  }
  if (!config.kubelet_api) return;
  kubelet_client_.emplace(access.Kubelet(keyring), std::move(learnt_settings), std::move(start), clock);
  kubelet_client_->Start();
}

}  // namespace prefetch
