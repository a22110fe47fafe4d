#include "registry_desk.h"

#include <utility>

#include "registry/access.h"

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

image::RegistryAccess AccessFor(const config::RegistryConfig& config, const agent::AskingFor& runtime) {
  return registry::DecideAccess(
      {.by_pull = config.mode == config::RegistryMode::kPull, .config_path = config.config_path},
      {.name = runtime.name, .version = runtime.version, .registries = runtime.registries});
}

registry::RuntimeConfig HostsOf(const agent::AskingFor& runtime, const image::RegistryAccess& access) {
  return {.containerd_version = runtime.version,
          .config_path = access.config_path,
          .path_is_default = access.config_path_source == "default"};
}

registry::ClientOptions ClientFor(const config::RegistryConfig& config, const agent::AskingFor& runtime,
                                  const image::RegistryAccess& access) {
  registry::ClientOptions options;
  options.hosts.runtime = HostsOf(runtime, access);
  options.hosts.host_root = config.host_root;
  if (!config.ca.empty()) options.hosts.system_ca_files = {config.ca};
  options.trusted_mirrors = config.trusted_mirrors;
  options.trusted_realms = config.trusted_realms;
  options.skip_mirrors = config.skip_mirrors;
  options.circuit = false;
  return options;
}

// Why a registry is only asked by pulling.
std::string ByPullWords(const image::RegistryAccess& access, const agent::AskingFor& runtime) {
  if (access.by_pull_source == "declared")
    return "It is declared that only the runtime can follow its mirrors.";
  if (!runtime.registries.in_tables.empty()) {
    return "containerd has mirrors, certificates or credentials for it in its own configuration, not in "
           "hosts.toml: only it can follow them.";
  }
  return "This runtime's mirrors are not known: its registries are only asked by pulling.";
}

}  // namespace

RegistryDesk::Clerk::Clerk(const config::RegistryConfig& config, const agent::AskingFor& asking_for,
                           const base::Clock& clock)
    : runtime(asking_for),
      access(AccessFor(config, runtime)),
      http(HttpFor(config)),
      client(http, clock, ClientFor(config, runtime, access)) {}

std::shared_ptr<RegistryDesk::Clerk> RegistryDesk::For(const agent::AskingFor& runtime) {
  base::Lock lock(mutex_);
  if (!clerk_ || clerk_->runtime != runtime) clerk_ = std::make_shared<Clerk>(config_, runtime, clock_);
  return clerk_;
}

agent::RegistryAsker RegistryDesk::Asker() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const base::Call& call, const image::RegistryQuestion& question,
                const agent::AskingFor& runtime) -> image::RegistryAnswer {
    if (image::IsOnlyByPull(AccessFor(config_, runtime), question.reference.domain())) {
      return {.kind = image::RegistryAnswerKind::kIndeterminate,
              .only_by_pull = true,
              .message = "this node's registries can only be asked by pulling"};
    }
    return For(runtime)->client.Ask(call, question);
  };
}

agent::RegistryAccessFor RegistryDesk::Access() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const agent::AskingFor& runtime) {
    image::RegistryAccess access = AccessFor(config_, runtime);
    if (image::IsOnlyByPull(access, "*")) return access;
    for (std::string& note : registry::NotesOnFolders(HostsOf(runtime, access), config_.host_root)) {
      access.notes.push_back(std::move(note));
    }
    return access;
  };
}

agent::RegistryHosts RegistryDesk::Hosts() {
  if (config_.mode == config::RegistryMode::kNone) return nullptr;
  return [this](const image::Reference& reference, const agent::AskingFor& runtime) {
    report::RegistryHostsView view;
    image::RegistryAccess access = AccessFor(config_, runtime);
    view.config_path = access.config_path;
    view.config_path_source = access.config_path_source;
    if (image::IsOnlyByPull(access, reference.domain())) {
      view.by_pull = true;
      view.notes.push_back(ByPullWords(access, runtime));
      return view;
    }
    std::shared_ptr<const registry::HostChain> chain = For(runtime)->client.HostsFor(reference);
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
