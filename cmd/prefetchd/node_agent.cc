#include "node_agent.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "agent/answers/endpoints.h"
#include "base/log.h"
#include "base/text.h"
#include "image/kubelet_version.h"

namespace prefetch {
namespace {

// In a pod, the host name is that of the pod, so the manifests set NODE_NAME.
std::string NodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

credentials::KeyringOptions KeyringFor(const config::AgentConfig& config, ClusterAccess* cluster) {
  credentials::KeyringOptions options;
  options.provider_config = config.image_credential_provider_config;
  options.provider_bin_dir = config.image_credential_provider_bin_dir;
  for (const auto& [name, value] : config.provider_environment) {
    options.provider_environment[name] = std::string(value.Reveal());
  }
  options.docker_configs = config.docker_configs;
  if (!config.kubelet_root.empty()) options.docker_config_search.kubelet_root = config.kubelet_root;
  for (const config::PullSecret& secret : config.pull_secrets) {
    options.pull_secrets.push_back({secret.name, secret.path, secret.allow_repositories, secret.sources});
  }
  if (config.provider_service_account) {
    options.service_account = {config.provider_service_account->name_space,
                               config.provider_service_account->name};
  }
  if (cluster != nullptr) options.grants = cluster->Grants();
  // Validated with the configuration.
  if (auto version = image::KubeletVersion::Parse(config.kubelet_version)) options.kubelet_version = *version;
  return options;
}

std::optional<agent::KubeletOptions> KubeletFor(
    const config::AgentConfig& config, const cri::Endpoint& runtime,
    std::shared_ptr<const agent::LearntVersion> version, std::shared_ptr<agent::SeenStart> start,
    std::shared_ptr<const agent::LearntSettings> learnt_settings) {
  if (config.kubelet == config::Kubelet::kNone) return std::nullopt;
  kubelet::Declared declared;
  if (auto version = image::KubeletVersion::Parse(config.kubelet_version)) declared.version = *version;
  declared.rules = config.kubelet_rules;
  declared.policy = config.kubelet_verification;
  declared.allowlist = config.kubelet_allowlist;
  declared.root = config.kubelet_root;
  declared.config_file = config.kubelet_config;
  declared.config_dir = config.kubelet_config_dir;
  declared.start_file = kubelet::StartFileOf(runtime.socket_path);
  return agent::KubeletOptions{
      .facts = kubelet::NodeFactsReader(std::move(declared), config.kubelet_proc, kubelet::UsualConfigs()),
      .version = std::move(version),
      .start = std::move(start),
      .learnt_settings = std::move(learnt_settings)};
}

std::optional<agent::TouchOptions> TouchFor(const config::AgentConfig& config) {
  if (!config.touch) return std::nullopt;
  return agent::TouchOptions{
      .node = NodeName(), .instance = config.gate.instance, .image_volumes = config.touch_image_volumes};
}

std::string Address(const config::ListenAddress& listen) {
  std::string host = base::ContainsIgnoreCase(listen.host, ":") ? "[" + listen.host + "]" : listen.host;
  return host + ":" + std::to_string(listen.port);
}

// Takes the result of Listen(), so that both failures have one place.
base::Result<std::unique_ptr<http::Server>> Serve(base::Result<http::Listener> listener,
                                                  const http::ServerLimits& limits, http::Handler handler) {
  if (!listener) return std::move(listener).error();
  return http::Server::Start(*std::move(listener), limits, std::move(handler));
}

}  // namespace

// Parts are built in the order in which they depend on each other. Nothing listens or polls before Listen and
// Watch are called.
NodeAgent::NodeAgent(const config::AgentConfig& config, const cri::Endpoint& endpoint,
                     const base::Clock& clock)
    : config_(config),
      endpoint_(endpoint),
      clock_(clock),
      images_(endpoint),
      content_(endpoint),
      cluster_(ClusterAccess::Make(config, NodeName(), clock)),
      keyring_(KeyringFor(config, cluster_.get()), clock),
      registries_(config.registry, clock),
      version_(cluster_ ? std::make_shared<agent::LearntVersion>() : nullptr),
      start_(std::make_shared<agent::SeenStart>()),
      learnt_settings_(cluster_ && config.kubelet_api ? std::make_shared<agent::LearntSettings>() : nullptr),
      agent_(LoopOptions(), {.images = images_,
                             .content = content_,
                             .keyring = keyring_,
                             .clock = clock,
                             .api = cluster_ ? &cluster_->api() : nullptr,
                             .registry = registries_.Resolver(),
                             .access = registries_.Access(),
                             .contents = registries_.Contents()}),
      inquiry_(agent_.board(), images_, content_, keyring_, clock, registries_.Resolver(),
               registries_.Hosts(), RequestPulls(), config.check_pull),
      retries_(agent_.board(), clock,
               [this](std::vector<std::string> names) { agent_.Retry(std::move(names)); }) {
  // Only the API server can review tokens. If the configuration admits no caller, no token needs a review.
  if (!cluster_ || (!config.preflight.AdmitsAnybody() && !config.fleet_tokens)) return;
  authenticator_.emplace(config.preflight, config.fleet_tokens, cluster_->Place(), cluster_->api(),
                         agent_.metrics(), clock);
  authenticator_->OnProblem(
      [this](std::string problem) { agent_.ReportProblem("reviews of tokens", std::move(problem)); });
}

agent::Options NodeAgent::LoopOptions() const {
  return {.limits = config_.limits,
          .node = NodeName(),
          .endpoint = endpoint_.ToString(),
          .instance = config_.LeaseOwner(),
          .fetch = config_.fetch == config::Fetch::kAuto,
          .once = config_.once,
          .unpin = config_.unpin,
          .kubelet = KubeletFor(config_, endpoint_, version_, start_, learnt_settings_),
          .touch = TouchFor(config_),
          .audit_ignore = config_.audit_ignore,
          .mountinfo = "/proc/self/mountinfo",
          .reads_labels = version_ != nullptr};
}

agent::PullRequester NodeAgent::RequestPulls() {
  // Null switches off pulls on request at their only entry.
  if (!config_.check_pull && config_.preflight.pull == plan::PullFor::kNever) return nullptr;
  return [this](const image::Reference& reference, base::TimePoint observed_at) {
    agent_.RequestPull(reference, observed_at);
  };
}

base::Status NodeAgent::Listen() {
  const http::ServerLimits limits;  // both servers share its budget
  auto local = Serve(http::Listener::Unix(config_.local, 0600), limits,
                     agent::Endpoints(agent_.board(), agent_.metrics(), inquiry_, retries_, clock_,
                                      agent::Audience::kLocal));
  if (!local) return std::move(local).error().Wrap("--local " + config_.local);
  local_ = *std::move(local);
  const std::string address = Address(config_.listen);
  http::ServerLimits pod_network_limits = limits;
  // Any pod can reach the TCP listener. Its limits are smaller, so that one client cannot delay all others.
  pod_network_limits.deferred_queue = agent::kPodNetworkQueueLimit;
  pod_network_limits.deferred_threads = agent::kPodNetworkThreads;
  pod_network_limits.deferred_per_client = agent::kPodNetworkThreadsPerClient;
  auto pod_network =
      Serve(http::Listener::Tcp(address), pod_network_limits,
            agent::Endpoints(agent_.board(), agent_.metrics(), inquiry_, retries_, clock_,
                             agent::Audience::kPodNetwork, authenticator_ ? &*authenticator_ : nullptr));
  if (!pod_network) return std::move(pod_network).error().Wrap("--listen " + address);
  pod_network_ = *std::move(pod_network);
  base::Info("prefetchd started", {{"version", PREFETCH_VERSION},
                                   {"listen", pod_network_->address()},
                                   {"local", local_->address()},
                                   {"runtimeEndpoint", endpoint_.ToString()}});
  return {};
}

// Starts the threads that feed the loop. Listen comes before, so that an address in use ends the process
// before it changes anything on the node.
void NodeAgent::Watch() {
  bool asks = config_.registry.mode != config::RegistryMode::kNone;
  lists_.emplace(config_.lists,
                 list::Capabilities{.refresh = asks, .touch = config_.touch, .registry_checks = asks},
                 clock_);
  lists_->Start([this](plan::ImageList list) {
    agent_.SetList(std::make_shared<const plan::ImageList>(std::move(list)));
  });
  const auto look_at_kubelet = [this] { agent_.RecordsChanged({.all = true}); };
  // These handlers must be set before talk_ starts the threads that call them.
  if (version_) {
    version_->OnChange(look_at_kubelet);
    version_->OnChange([this] { agent_.SetNodeLabels(version_->Get().labels); });
    version_->OnChange([this] { registries_.SetNodeAddresses(version_->Get().addresses); });
  }
  if (learnt_settings_) learnt_settings_->OnChange(look_at_kubelet);
  const auto report_problem = [this](std::string of, std::string problem) {
    agent_.ReportProblem(std::move(of), std::move(problem));
  };
  if (cluster_)
    talk_.emplace(*cluster_, config_, agent_.board(), keyring_, version_, start_, learnt_settings_,
                  report_problem, clock_);
  // A single run ends with its pulls and reads the images itself.
  if (!config_.once) images_watch_.emplace(content_, [this] { agent_.ImagesChanged(); });
}

}  // namespace prefetch
