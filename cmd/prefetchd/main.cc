// prefetchd: the node agent. Flags -> configuration -> the parts -> run -> exit code.
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "agent/answers/endpoints.h"
#include "agent/cluster/learnt.h"
#include "agent/image_watch.h"
#include "base/log.h"
#include "base/standard_output.h"
#include "base/text.h"
#include "cluster_parts.h"
#include "config/agent_config.h"
#include "credentials/keyring.h"
#include "cri/endpoint.h"
#include "cri/grpc_content_service.h"
#include "cri/grpc_image_service.h"
#include "flags.h"
#include "http/curl_client.h"
#include "http/server.h"
#include "image/kubelet_version.h"
#include "list/watcher.h"
#include "registry_desk.h"
#include "screen/status_document.h"
#include "screen/status_table.h"
#include "signals.h"

namespace prefetch {
namespace {

// Scripts go by these.
enum ExitCode { kOk = 0, kNotReady = 1, kBadInput = 2, kTimedOut = 3, kUnreachable = 4 };

int Fail(ExitCode code, const base::Error& error) {
  // One sentence, or all mistakes of an input, a line each.
  std::cerr << "prefetchd: " << base::ReplaceAll(error.message(), "\n", "\n           ") << "\n";
  return code;
}

// A result that nobody could read is not a good one.
int Delivered(int code) {
  base::Status printed = base::StdoutDelivered();
  if (printed) return code;
  int failed = Fail(kNotReady, printed.error());
  return code == kOk ? failed : code;
}

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

std::optional<agent::KubeletOptions> KubeletFor(const config::AgentConfig& config,
                                                std::shared_ptr<const agent::LearntVersion> version,
                                                std::shared_ptr<agent::SeenStart> start,
                                                std::shared_ptr<const agent::LearntSettings> word) {
  if (config.kubelet == config::Kubelet::kNone) return std::nullopt;
  kubelet::Declared declared;
  if (auto version = image::KubeletVersion::Parse(config.kubelet_version)) declared.version = *version;
  declared.rules = config.kubelet_rules;
  declared.policy = config.kubelet_verification;
  declared.allowlist = config.kubelet_allowlist;
  declared.root = config.kubelet_root;
  declared.config_file = config.kubelet_config;
  declared.config_dir = config.kubelet_config_dir;
  return agent::KubeletOptions{
      .facts = kubelet::NodeFactsReader(std::move(declared), config.kubelet_proc, kubelet::UsualConfigs()),
      .version = std::move(version),
      .start = std::move(start),
      .word = std::move(word)};
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

base::Result<std::unique_ptr<http::Server>> Serve(base::Result<http::Listener> listener,
                                                  const http::ServerLimits& limits, http::Handler handler) {
  if (!listener) return std::move(listener).error();
  return http::Server::Start(*std::move(listener), limits, std::move(handler));
}

ExitCode PrintResult(const plan::Snapshot& snapshot, bool stopped, bool timed_out) {
  std::cout << screen::StatusTable(screen::DocumentOf(snapshot), {});
  if (snapshot.readiness.ready) return kOk;
  if (snapshot.readiness.reason == plan::Reason::kListInvalid ||
      snapshot.readiness.reason == plan::Reason::kListEmptyOfSources ||
      snapshot.readiness.reason == plan::Reason::kCredentialsInvalid) {
    return kBadInput;
  }
  if (snapshot.readiness.reason == plan::Reason::kRuntimeDown) return kUnreachable;
  return timed_out && !stopped ? kTimedOut : kNotReady;
}

int Run(const config::AgentConfig& config) {
  auto endpoint =
      config.runtime_endpoint.empty() ? cri::DiscoverEndpoint() : cri::ParseEndpoint(config.runtime_endpoint);
  if (!endpoint) return Fail(config.runtime_endpoint.empty() ? kUnreachable : kBadInput, endpoint.error());

  StopOnSignals stop;  // before any thread exists
  base::SystemClock clock;
  cri::GrpcImageService images(*endpoint);
  cri::GrpcContentService content(*endpoint);
  const std::unique_ptr<ClusterAccess> cluster = ClusterAccess::Make(config, NodeName(), clock);
  credentials::Keyring keyring(KeyringFor(config, cluster.get()), clock);
  RegistryDesk registries(config.registry, clock);
  // Null: nobody learns it, so nobody waits for it.
  const auto version = cluster ? std::make_shared<agent::LearntVersion>() : nullptr;
  const auto start = std::make_shared<agent::SeenStart>();
  const auto word = cluster && config.kubelet_api ? std::make_shared<agent::LearntSettings>() : nullptr;
  agent::Agent agent({.limits = config.limits,
                      .node = NodeName(),
                      .endpoint = endpoint->ToString(),
                      .instance = config.LeaseOwner(),
                      .once = config.once,
                      .kubelet = KubeletFor(config, version, start, word),
                      .touch = TouchFor(config),
                      .audit_ignore = config.audit_ignore},
                     {.images = images,
                      .content = content,
                      .keyring = keyring,
                      .clock = clock,
                      .api = cluster ? &cluster->api() : nullptr,
                      .registry = registries.Asker(),
                      .access = registries.Access()});
  agent::PullWish wish;
  if (config.check_pull) {
    wish = [&agent](const image::Reference& reference, base::TimePoint looked_at) {
      agent.AskPull(reference, looked_at);
    };
  }
  agent::Inquiry inquiry(agent.board(), images, content, keyring, clock, registries.Asker(),
                         registries.Hosts(), wish);
  const http::ServerLimits limits;  // both servers share its budget
  auto local =
      Serve(http::Listener::Unix(config.local, 0600), limits,
            agent::Endpoints(agent.board(), agent.metrics(), inquiry, clock, agent::Audience::kLocal));
  if (!local) return Fail(kBadInput, std::move(local).error().Wrap("--local " + config.local));
  auto neighbours =
      Serve(http::Listener::Tcp(Address(config.listen)), limits,
            agent::Endpoints(agent.board(), agent.metrics(), inquiry, clock, agent::Audience::kNeighbours));
  if (!neighbours)
    return Fail(kBadInput, std::move(neighbours).error().Wrap("--listen " + Address(config.listen)));
  base::Info("prefetchd started", {{"version", PREFETCH_VERSION},
                                   {"listen", (*neighbours)->address()},
                                   {"local", (*local)->address()},
                                   {"runtimeEndpoint", endpoint->ToString()}});
  bool asks = config.registry.mode != config::RegistryMode::kNone;
  list::ListWatcher lists(config.lists, {.refresh = asks, .touch = config.touch, .registry_checks = asks},
                          clock);
  lists.Start([&agent](plan::ImageList list) {
    agent.SetList(std::make_shared<const plan::ImageList>(std::move(list)));
  });
  const auto look_at_kubelet = [&agent] { agent.RecordsChanged({.all = true}); };
  if (version) version->OnChange(look_at_kubelet);
  if (word) word->OnChange(look_at_kubelet);
  std::optional<ClusterTalk> talk;
  if (cluster) talk.emplace(*cluster, config, agent.board(), keyring, version, start, word, clock);
  std::optional<agent::ImageWatch> images_watch;
  if (!config.once) images_watch.emplace(content, [&agent] { agent.ImagesChanged(); });
  base::TimePoint deadline = config.timeout ? clock.Now() + *config.timeout : base::TimePoint::max();
  agent.Run(stop.token(), deadline);
  if (agent.MustRestart() && !config.once) {
    base::Err("kubelet's records were replaced, prefetchd ends");
    return kNotReady;
  }
  if (!config.once) {
    base::Info("prefetchd stopped");
    return kOk;
  }
  return PrintResult(*agent.board().Latest(), stop.token().stop_requested(), clock.Now() >= deadline);
}

int Main(int argc, char** argv) {
  // Two dozen threads that mostly wait need no heap each: every further one holds a megabyte of its own that
  // is free and not given back.
  ::mallopt(M_ARENA_MAX, 1);
  // From here on memory may hold passwords: no core dump has them, and no process of the same user reads
  // them.
  ::prctl(PR_SET_DUMPABLE, 0);
  Flags flags = ParseFlags(argc, argv);
  if (flags.exit) return *flags.exit;
  auto config = config::LoadAgentConfig(flags.config, [](const char* name) { return std::getenv(name); });
  if (!config) return Fail(kBadInput, config.error());
  if (config->core_dumps) ::prctl(PR_SET_DUMPABLE, 1);
  base::SetLogLevel(config->log_level);
  if (config->log_format) base::SetLogFormat(*config->log_format);
  return Run(*config);
}

}  // namespace
}  // namespace prefetch

int main(int argc, char** argv) {
  try {
    return prefetch::Delivered(prefetch::Main(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "prefetchd: " << error.what() << "\n";
    return 1;
  }
}
