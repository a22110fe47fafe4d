#include "registry/endpoint_files.h"

#include <algorithm>
#include <cstddef>

#include "registry/host.h"
#include "registry/pull_endpoints.h"
#include "registry/tls_files.h"

namespace prefetch::registry {
namespace {

// Maximum number of servers whose certificates are kept. Beyond it, all are read again.
constexpr std::size_t kMaxServers = 256;
constexpr std::size_t kMaxCertificates = 1000;

// The first existing folder counts (containers/image, docker/docker_client.go). CRI-O runs as root.
constexpr const char* kCertificateRoots[] = {"/root/.config/containers/certs.d", "/etc/containers/certs.d",
                                             "/etc/docker/certs.d"};

// *.crt are certificate authorities. *.cert and *.key are client certificates; the library does not ask the
// server if one is there without the other.
void ReadFolder(const std::string& folder, const std::vector<std::string>& names, ChainedHost& chained) {
  auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : names) {
    std::string path = folder + "/" + name;
    if (name.ends_with(".crt")) chained.host.ca_files.push_back(path);
    if (name.ends_with(".cert")) {
      std::string key = name.substr(0, name.size() - 5) + ".key";
      if (!has(key)) chained.problem = path + " has no key beside it";
      chained.host.client_pairs.push_back({path, folder + "/" + key});
    }
    if (name.ends_with(".key") && !has(name.substr(0, name.size() - 4) + ".cert")) {
      chained.problem = path + " has no certificate beside it";
    }
  }
}

}  // namespace

EndpointFiles::EndpointFiles(std::shared_ptr<const RegistriesConf> conf, std::string host_root,
                             std::vector<std::string> system_ca_files)
    : conf_(std::move(conf)),
      host_root_(std::move(host_root)),
      system_ca_files_(std::move(system_ca_files)) {}

EndpointFiles::Server EndpointFiles::Load(const std::string& domain, bool insecure,
                                          base::StampedFiles& disk) const {
  Server server;
  server.host.host = CrioHost(domain, insecure);
  for (const char* root : kCertificateRoots) {
    std::string folder = std::string(root) + "/" + domain;
    auto names = disk.List(host_root_ + folder, kMaxCertificates);
    if (!names && names.error().code() == base::Code::kNotFound) continue;
    if (names) {
      ReadFolder(folder, *names, server.host);
    } else {
      server.host.problem = names.error().message();
    }
    break;
  }
  std::string problem = server.host.problem;
  TlsFiles(host_root_, system_ca_files_, disk).Load(server.host, server.notes);
  if (!problem.empty()) server.host.problem = problem;
  return server;
}

std::shared_ptr<const EndpointFiles::Server> EndpointFiles::ServerOf(const std::string& domain,
                                                                     bool insecure) {
  std::pair<std::string, bool> key{domain, insecure};
  if (servers_.size() >= kMaxServers && !servers_.contains(key)) servers_.clear();
  return servers_[key].Get([&](base::StampedFiles& disk) { return Load(domain, insecure, disk); });
}

std::shared_ptr<const HostChain> EndpointFiles::ChainFor(const image::Reference& reference) {
  PullEndpoints places = PlacesOf(*conf_, reference);
  auto chain = std::make_shared<HostChain>();
  chain->only_by_pull = std::move(places.only_runtime);
  if (!places.prefix.empty()) chain->source = "the entry " + places.prefix + " of registries.conf";
  base::Lock lock(mutex_);
  for (PullEndpoint& place : places.places) {
    std::shared_ptr<const Server> server = ServerOf(place.as.domain(), place.insecure);
    ChainedHost host = server->host;
    host.own = place.same_domain;
    host.mirror = place.mirror;
    host.blocked_by = std::move(place.blocked_by);
    host.as = std::move(place.as);
    chain->notes.insert(chain->notes.end(), server->notes.begin(), server->notes.end());
    if (!host.problem.empty()) {
      // Without the certificates, the agent would reject a server that CRI-O accepts, or be rejected by it.
      chain->only_by_pull = "The certificates for " + host.as->domain() + " cannot be used here (" +
                            host.problem + "); only a pull can tell.";
    }
    chain->hosts.push_back(std::move(host));
  }
  return chain;
}

}  // namespace prefetch::registry
