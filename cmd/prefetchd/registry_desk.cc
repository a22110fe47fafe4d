#include "registry_desk.h"

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
  options.hosts.host_root = config.host_root;
  if (!config.ca.empty()) options.hosts.system_ca_files = {config.ca};
  options.trusted_mirrors = config.trusted_mirrors;
  options.trusted_realms = config.trusted_realms;
  options.skip_mirrors = config.skip_mirrors;
  options.circuit = false;
  return options;
}

}  // namespace

RegistryDesk::RegistryDesk(const config::RegistryConfig& config, const base::Clock& clock)
    : config_(config),
      clock_(clock),
      access_(DeclaredBy(config), config.containerd_config, config.host_root) {}

RegistryDesk::Clerk::Clerk(const config::RegistryConfig& config,
                           std::shared_ptr<const registry::DecidedAccess> decided, const base::Clock& clock)
    : by(std::move(decided)), http(HttpFor(config)), client(http, clock, ClientFor(config, *by)) {}

std::shared_ptr<const registry::DecidedAccess> RegistryDesk::Decided(const agent::AskingFor& runtime) {
  return access_.For({runtime.name, runtime.version, runtime.registries});
}

std::shared_ptr<RegistryDesk::Clerk> RegistryDesk::ClerkFor(
    std::shared_ptr<const registry::DecidedAccess> decided) {
  base::Lock lock(mutex_);
  if (!clerk_ || clerk_->by != decided) clerk_ = std::make_shared<Clerk>(config_, std::move(decided), clock_);
  return clerk_;
}

agent::RegistryAsker RegistryDesk::Asker() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const base::Call& call, const image::RegistryQuestion& question,
                const agent::AskingFor& runtime) -> image::RegistryAnswer {
    auto decided = Decided(runtime);
    if (image::IsOnlyByPull(decided->access, question.reference.domain())) {
      return {.kind = image::RegistryAnswerKind::kIndeterminate,
              .only_by_pull = true,
              .message = "this node's registries can only be asked by pulling"};
    }
    return ClerkFor(std::move(decided))->client.Ask(call, question);
  };
}

agent::RegistryAccessFor RegistryDesk::Access() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const agent::AskingFor& runtime) {
    auto decided = Decided(runtime);
    image::RegistryAccess access = decided->access;
    if (image::IsOnlyByPull(access, "*")) return access;
    for (std::string& note : registry::NotesOnFolders(decided->hosts, config_.host_root)) {
      access.notes.push_back(std::move(note));
    }
    return access;
  };
}

agent::RegistryHosts RegistryDesk::Hosts() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const image::Reference& reference, const agent::AskingFor& runtime) {
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
    std::shared_ptr<const registry::HostChain> chain = ClerkFor(decided)->client.HostsFor(reference);
    view.source = chain->source;
    view.notes = chain->notes;
    view.notes.insert(view.notes.end(), access.notes.begin(), access.notes.end());
    for (const registry::ChainedHost& host : chain->hosts) {
      if (!registry::Answers(host.host, reference.has_digest())) continue;
      if (config_.skip_mirrors && !host.own) continue;
      const http::AbsoluteUrl& server = host.host.server;
      view.hosts.push_back(
          {(server.scheme == "http" ? "http://" : "") + server.Authority(), !host.own, host.problem});
    }
    return view;
  };
}

}  // namespace prefetch
