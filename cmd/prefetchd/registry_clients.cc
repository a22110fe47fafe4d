#include "registry_clients.h"

#include <string>
#include <utility>

namespace prefetch {
namespace {

http::CurlOptions HttpFor(const config::RegistryConfig& config) {
  http::CurlOptions options;
  options.http_proxy = config.http_proxy;
  options.https_proxy = config.https_proxy;
  options.no_proxy = config.no_proxy;
  options.ca_file = config.ca;
  return options;
}

registry::DeclaredAccess DeclaredBy(const config::RegistryConfig& config) {
  return {.by_pull = config.mode == config::RegistryMode::kPull,
          .config_path = config.config_path,
          .split_config_path = config.split_config_path};
}

registry::ClientOptions ClientFor(const config::RegistryConfig& config,
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
status::RegistryHostView Shown(const registry::ChainedHost& chained) {
  const registry::Host& host = chained.host;
  bool plain = host.server.scheme == "http" && !host.http_after_all;
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
      access_(DeclaredBy(config), {config.containerd_config, config.registries_conf}, config.host_root),
      own_(kube::ProcessEnv, clock, "/proc/net/route", "/proc/net/ipv6_route") {}

RegistryClients::RuntimeRegistryClients::RuntimeRegistryClients(
    const config::RegistryConfig& config, std::shared_ptr<const registry::DecidedAccess> decided,
    const base::Clock& clock)
    : by(std::move(decided)), http(HttpFor(config)), client(http, clock, ClientFor(config, *by)) {}

std::shared_ptr<const registry::DecidedAccess> RegistryClients::Decided(
    const agent::RegistryQueryContext& runtime) {
  return access_.For({runtime.name, runtime.version, runtime.registries});
}

std::shared_ptr<RegistryClients::RuntimeRegistryClients> RegistryClients::ClientsFor(
    std::shared_ptr<const registry::DecidedAccess> decided) {
  base::Lock lock(mutex_);
  // Requests in progress keep the former client through their shared pointer.
  if (!clients_ || clients_->by != decided)
    clients_ = std::make_shared<RuntimeRegistryClients>(config_, std::move(decided), clock_);
  return clients_;
}

agent::RegistryResolver RegistryClients::Resolver() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const base::Call& call, const image::RegistryQuestion& question,
                const agent::RegistryQueryContext& runtime) -> image::RegistryAnswer {
    auto decided = Decided(runtime);
    if (image::IsOnlyByPull(decided->access, question.reference.domain())) {
      return {.kind = image::RegistryAnswerKind::kIndeterminate,
              .only_by_pull = true,
              // A client that guessed would ask another server than the runtime does, and its answer would be
              // wrong.
              .message = "only the runtime knows where it is asked"};
    }
    if (!question.untrusted_name) return ClientsFor(std::move(decided))->client.Ask(call, question);
    image::RegistryQuestion bounded = question;
    bounded.not_these = own_.Get(call);
    return ClientsFor(std::move(decided))->client.Ask(call, bounded);
  };
}

agent::RegistryAccessFor RegistryClients::Access() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const agent::RegistryQueryContext& runtime) {
    auto decided = Decided(runtime);
    image::RegistryAccess access = decided->access;
    if (image::IsOnlyByPull(access, "*")) return access;
    for (std::string& note : registry::NotesOnFolders(decided->hosts, config_.host_root)) {
      access.notes.push_back(std::move(note));
    }
    return access;
  };
}

agent::ContentSourceFor RegistryClients::Contents() {
  if (config_.mode != config::RegistryMode::kAuto) return nullptr;
  return [this](const image::Reference& reference,
                const agent::RegistryQueryContext& runtime) -> std::shared_ptr<image::ContentSource> {
    auto decided = Decided(runtime);
    if (!registry::MayDownload(*decided, reference.domain())) return nullptr;
    std::shared_ptr<RuntimeRegistryClients> clients = ClientsFor(std::move(decided));
    std::shared_ptr<const registry::HostChain> chain = clients->client.HostsFor(reference);
    // The agent downloads content only if it knows with certainty which servers the runtime would ask.
    // Otherwise the runtime pulls.
    if (!chain->only_by_pull.empty() || chain->is_guess || chain->hosts.empty()) return nullptr;
    for (const registry::ChainedHost& host : chain->hosts) {
      if (!host.problem.empty() || !host.blocked_by.empty()) return nullptr;
    }
    // An aliasing pointer: the source keeps its client alive.
    return {clients, &clients->client.contents()};
  };
}

agent::RegistryHosts RegistryClients::Hosts() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const image::Reference& reference, const agent::RegistryQueryContext& runtime) {
    status::RegistryHostsView view;
    auto decided = Decided(runtime);
    const image::RegistryAccess& access = decided->access;
    view.config_path = access.config_path;
    view.config_path_source = access.config_path_source;
    if (image::IsOnlyByPull(access, reference.domain())) {
      view.by_pull = true;
      view.notes.push_back(registry::ByPullWords(access, decided->runtime));
      view.notes.insert(view.notes.end(), access.notes.begin(), access.notes.end());
      return view;
    }
    std::shared_ptr<const registry::HostChain> chain = ClientsFor(decided)->client.HostsFor(reference);
    view.source = chain->source;
    if (!chain->only_by_pull.empty()) {
      view.by_pull = true;
      view.notes.push_back(chain->only_by_pull);
      return view;
    }
    view.notes = chain->notes;
    view.notes.insert(view.notes.end(), access.notes.begin(), access.notes.end());
    for (const registry::ChainedHost& host : chain->hosts) {
      if (!registry::Answers(host.host, reference.has_digest())) continue;
      if (config_.skip_mirrors && host.mirror) continue;
      view.hosts.push_back(Shown(host));
    }
    return view;
  };
}

}  // namespace prefetch
