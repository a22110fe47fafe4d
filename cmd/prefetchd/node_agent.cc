#include "node_agent.h"

#include <unistd.h>

#include <cstdlib>

#include "base/fs.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/cluster.h"
#include "kube/kubelet_api.h"

namespace prefetch {

namespace {

// In a pod, the host name is that of the pod, so the manifests set NODE_NAME.
std::string NodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return host;
}

credentials::KeyringOptions KeyringOptionsFor(const config::AgentConfig& config, ClusterAccess* cluster) {
  credentials::KeyringOptions options;
  options.provider_config = config.image_credential_provider_config;
  options.provider_bin_dir = config.image_credential_provider_bin_dir;
  for (const auto& [name, value] : config.provider_environment) {
    options.provider_environment[name] = std::string(value.Reveal());
  }
  options.docker_configs = config.docker_configs;
  const kubelet::KubeletDeclarations& declared = config.declared;
  if (!declared.root.empty()) options.docker_config_search.kubelet_root = declared.root;
  options.pull_secrets = config.pull_secrets;
  if (config.provider_service_account) {
    options.service_account = {config.provider_service_account->name_space,
                               config.provider_service_account->name};
  }
  if (cluster != nullptr) options.grants = cluster->Grants();
  if (declared.version) options.kubelet_version = *declared.version;
  return options;
}

std::optional<agent::KubeletOptions> KubeletOptionsFor(
    const config::AgentConfig& config, const cri::Endpoint& runtime,
    std::shared_ptr<const agent::LatestNodeReport> version, std::shared_ptr<agent::LatestKubeletStart> start,
    std::shared_ptr<const agent::LatestKubeletSettings> learnt_settings) {
  if (config.kubelet == config::KubeletMode::kNone) return std::nullopt;
  kubelet::KubeletDeclarations declared = config.declared;
  declared.start_file = kubelet::StartFileOf(runtime.socket_path);
  return agent::KubeletOptions{.facts = kubelet::NodeFactsReader(std::move(declared), config.kubelet_proc,
                                                                 kubelet::WellKnownConfigs()),
                               .version = std::move(version),
                               .start = std::move(start),
                               .learnt_settings = std::move(learnt_settings)};
}

std::optional<agent::TouchOptions> TouchOptionsFor(const config::AgentConfig& config) {
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
      images_(cri::MakeImageService(endpoint)),
      content_(cri::MakeContentService(endpoint)),
      cluster_(ClusterAccess::Make(config, NodeName(), clock)),
      keyring_(KeyringOptionsFor(config, cluster_.get()), clock),
      registries_(config.registry, clock),
      version_(cluster_ ? std::make_shared<agent::LatestNodeReport>() : nullptr),
      start_(std::make_shared<agent::LatestKubeletStart>()),
      learnt_settings_(cluster_ && config.kubelet_api ? std::make_shared<agent::LatestKubeletSettings>()
                                                      : nullptr),
      agent_(LoopOptions(), {.images = *images_,
                             .content = *content_,
                             .keyring = keyring_,
                             .clock = clock,
                             .api = cluster_ ? &cluster_->api() : nullptr,
                             .registry = registries_.Resolver(),
                             .access = registries_.Access(),
                             .contents = registries_.Contents()}),
      image_queries_(agent_.board(), *images_, *content_, keyring_, clock, registries_.Resolver(),
                     registries_.Hosts(), RequestPulls(), config.check_pull),
      retries_(agent_.board(), clock,
               [this](std::vector<std::string> names) { agent_.Retry(std::move(names)); }) {
  // Only the API server can review tokens. If the configuration admits no caller, no token needs a review.
  if (!cluster_ || (!config.preflight.AdmitsAnybody() && !config.fleet_tokens)) return;
  authenticator_.emplace(config.preflight, config.fleet_tokens, cluster_->Location(), cluster_->api(),
                         agent_.metrics(), clock);
  authenticator_->OnProblem(
      [this](std::string problem) { agent_.ReportProblem("reviews of tokens", std::move(problem)); });
}

agent::Options NodeAgent::LoopOptions() const {
  return {.limits = config_.limits,
          .node = NodeName(),
          .endpoint = endpoint_.ToString(),
          .instance = config_.LeaseOwner(),
          .fetch = config_.fetch == config::FetchMode::kAuto,
          .once = config_.once,
          .unpin = config_.unpin,
          .kubelet = KubeletOptionsFor(config_, endpoint_, version_, start_, learnt_settings_),
          .touch = TouchOptionsFor(config_),
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
                     agent::Endpoints(agent_.board(), agent_.metrics(), image_queries_, retries_, clock_,
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
            agent::Endpoints(agent_.board(), agent_.metrics(), image_queries_, retries_, clock_,
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
  const auto poll_kubelet = [this] { agent_.RecordsChanged({.all = true}); };
  // These handlers must be set before WatchCluster starts the threads that call them.
  if (version_) {
    version_->OnChange(poll_kubelet);
    version_->OnChange([this] { agent_.SetNodeLabels(version_->Get().labels); });
    version_->OnChange([this] { registries_.SetNodeAddresses(version_->Get().addresses); });
  }
  if (learnt_settings_) learnt_settings_->OnChange(poll_kubelet);
  if (cluster_) WatchCluster();
  // A single run ends with its pulls and reads the images itself.
  if (!config_.once) images_watch_.emplace(*content_, [this] { agent_.ImagesChanged(); });
}

// Starts the threads that talk to the API server and to kubelet, one for each part.
void NodeAgent::WatchCluster() {
  const auto run = [this](auto& part) -> agent::PeriodicThread& {
    return threads_.emplace_back([&part](const base::Call& call) { return part.Turn(call); });
  };
  // Without a kubelet, it reads the labels of the Node.
  version_reader_.emplace(cluster_->node(), version_, start_, cluster_->api(), clock_);
  start_->OnChange(run(*version_reader_).Waker());
  if (config_.gate.Any()) {
    gate_.emplace(agent::NodeGateOptions{.gate = config_.gate,
                                         .node = cluster_->node(),
                                         .accept_fleet_wide_writes = config_.accept_fleet_wide_node_writes,
                                         .kubelet_version = version_,
                                         .report_problem =
                                             [this](std::string component, std::string problem) {
                                               agent_.ReportProblem(std::move(component), std::move(problem));
                                             }},
                  cluster_->api(), agent_.board(), clock_);
    run(*gate_);
  }
  if (!config_.kubelet_api) return;
  kubelet_client_.emplace(cluster_->Kubelet(keyring_), learnt_settings_, start_, clock_);
  start_->OnChange(run(*kubelet_client_).Waker());
}

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
      api_(kube::MakeHttpApi(client_, identity_, clock)) {
  if (config_.provider_service_account) {
    tokens_.emplace(*api_, clock_, config_.provider_service_account->name_space,
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

namespace {

http::CurlOptions HttpOptionsFor(const config::RegistryConfig& config) {
  http::CurlOptions options;
  options.http_proxy = config.http_proxy;
  options.https_proxy = config.https_proxy;
  options.no_proxy = config.no_proxy;
  options.ca_file = config.ca;
  return options;
}

registry::DeclaredAccess DeclaredAccessFor(const config::RegistryConfig& config) {
  return {.by_pull = config.mode == config::RegistryMode::kPull,
          .config_path = config.config_path,
          .split_config_path = config.split_config_path};
}

registry::ClientOptions ClientOptionsFor(const config::RegistryConfig& config,
                                         const registry::DecidedAccess& decided) {
  registry::ClientOptions options;
  options.hosts.runtime = decided.hosts;
  options.registries = decided.registries;
  options.hosts.host_root = config.host_root;
  if (!config.ca.empty()) options.hosts.system_ca_files = {config.ca};
  options.trusted_mirrors = config.trusted_mirrors;
  options.trusted_realms = config.trusted_realms;
  options.skip_mirrors = config.skip_mirrors;
  // The agent paces its questions itself (plan/registry_pace.h), and preflights sometimes must ask
  // immediately.
  options.circuit = false;
  return options;
}

// A host that is tried by https and then http is shown as https.
status::RegistryHostView ToHostView(const registry::ChainedHost& chained) {
  const registry::Host& host = chained.host;
  bool plain = host.server.scheme == "http" && !host.http_fallback;
  std::string problem = chained.problem;
  if (!chained.blocked_by.empty()) problem = "registries.conf blocks " + chained.blocked_by;
  std::string server = (plain ? "http://" : "") + host.server.Authority();
  // If registries.conf maps the image to another name, that name is shown.
  if (chained.as) server = chained.as->Normalized();
  return {std::move(server), chained.mirror, std::move(problem)};
}

}  // namespace

RegistryClients::RegistryClients(const config::RegistryConfig& config, const base::Clock& clock)
    : config_(config),
      clock_(clock),
      access_(DeclaredAccessFor(config), {config.containerd_config, config.registries_conf},
              config.host_root),
      own_addresses_(kube::ProcessEnv, clock, "/proc/net/route", "/proc/net/ipv6_route") {}

RegistryClients::RuntimeRegistryClients::RuntimeRegistryClients(
    const config::RegistryConfig& config, std::shared_ptr<const registry::DecidedAccess> decided,
    const base::Clock& clock)
    : by(std::move(decided)),
      http(HttpOptionsFor(config)),
      client(http, clock, ClientOptionsFor(config, *by)) {}

std::shared_ptr<RegistryClients::RuntimeRegistryClients> RegistryClients::ClientsFor(
    std::shared_ptr<const registry::DecidedAccess> decided) {
  base::Lock lock(mutex_);
  // Requests in progress keep the former client through their shared pointer.
  if (!clients_ || clients_->by != decided)
    clients_ = std::make_shared<RuntimeRegistryClients>(config_, std::move(decided), clock_);
  return clients_;
}

pulling::RegistryResolver RegistryClients::Resolver() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const base::Call& call, const image::RegistryQuestion& question,
                const image::RuntimeInfo& runtime) -> image::RegistryAnswer {
    auto decided = access_.For(runtime);
    if (image::IsOnlyByPull(decided->access, question.reference.domain())) {
      return {.kind = image::RegistryAnswerKind::kIndeterminate,
              .only_by_pull = true,
              // A client that guessed would ask another server than the runtime does, and its answer would be
              // wrong.
              .message = "only the runtime knows where it is asked"};
    }
    if (!question.untrusted_name) return ClientsFor(std::move(decided))->client.Ask(call, question);
    image::RegistryQuestion bounded = question;
    bounded.excluded_addresses = own_addresses_.Get(call);
    return ClientsFor(std::move(decided))->client.Ask(call, bounded);
  };
}

pulling::RegistryAccessFor RegistryClients::Access() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const image::RuntimeInfo& runtime) {
    auto decided = access_.For(runtime);
    image::RegistryAccess access = decided->access;
    if (image::IsOnlyByPull(access, "*")) return access;
    for (std::string& note : registry::NotesOnFolders(decided->hosts, config_.host_root)) {
      access.notes.push_back(std::move(note));
    }
    return access;
  };
}

pulling::ContentSourceFor RegistryClients::Contents() {
  if (config_.mode != config::RegistryMode::kAuto) return nullptr;
  return [this](const image::Reference& reference,
                const image::RuntimeInfo& runtime) -> std::shared_ptr<image::ContentSource> {
    auto decided = access_.For(runtime);
    if (!registry::MayDownload(*decided, reference.domain())) return nullptr;
    std::shared_ptr<RuntimeRegistryClients> clients = ClientsFor(std::move(decided));
    std::shared_ptr<const registry::HostChain> chain = clients->client.HostsFor(reference);
    // The agent downloads content only if it knows with certainty which servers the runtime would ask.
    // Otherwise the runtime pulls.
    if (!chain->only_by_pull_reason.empty() || chain->is_guess || chain->hosts.empty()) return nullptr;
    for (const registry::ChainedHost& host : chain->hosts) {
      if (!host.problem.empty() || !host.blocked_by.empty()) return nullptr;
    }
    // An aliasing pointer: the source keeps its client alive.
    return {clients, &clients->client.contents()};
  };
}

agent::RegistryHosts RegistryClients::Hosts() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const image::Reference& reference, const image::RuntimeInfo& runtime) {
    status::RegistryHostsView view;
    auto decided = access_.For(runtime);
    const image::RegistryAccess& access = decided->access;
    view.config_path = access.config_path;
    view.config_path_source = access.config_path_source;
    if (image::IsOnlyByPull(access, reference.domain())) {
      view.by_pull = true;
      view.notes.push_back(registry::ByPullReason(access, decided->runtime));
      view.notes.insert(view.notes.end(), access.notes.begin(), access.notes.end());
      return view;
    }
    std::shared_ptr<const registry::HostChain> chain = ClientsFor(decided)->client.HostsFor(reference);
    view.source = chain->source;
    if (!chain->only_by_pull_reason.empty()) {
      view.by_pull = true;
      view.notes.push_back(chain->only_by_pull_reason);
      return view;
    }
    view.notes = chain->notes;
    view.notes.insert(view.notes.end(), access.notes.begin(), access.notes.end());
    for (const registry::ChainedHost& host : chain->hosts) {
      if (!registry::CanServe(host.host, reference.has_digest())) continue;
      if (config_.skip_mirrors && host.mirror) continue;
      view.hosts.push_back(ToHostView(host));
    }
    return view;
  };
}

}  // namespace prefetch
