#include "registry/endpoint_files.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "registry/host_files.h"

namespace prefetch::registry {

namespace {

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
  LoadTls(host_root_, system_ca_files_, disk, server.host, server.notes);
  if (!problem.empty()) server.host.problem = problem;
  return server;
}

std::shared_ptr<const HostChain> EndpointFiles::ChainFor(const image::Reference& reference) {
  auto chain = std::make_shared<HostChain>(PullEndpointsFor(*conf_, reference));
  base::Lock lock(mutex_);
  for (ChainedHost& place : chain->hosts) {
    const std::string& domain = place.as->domain();
    const bool insecure = place.host.http_fallback;
    const std::shared_ptr<const Server> server =
        servers_.GetOrCreate(domain + (insecure ? "!" : "")).Get([&](base::StampedFiles& disk) {
          return Load(domain, insecure, disk);
        });
    place.host = server->host.host;
    place.tls = server->host.tls;
    place.redirect_tls = server->host.redirect_tls;
    place.problem = server->host.problem;
    chain->notes.insert(chain->notes.end(), server->notes.begin(), server->notes.end());
    if (!place.problem.empty()) {
      // Without the certificates, the agent would reject a server that CRI-O accepts, or be rejected by it.
      chain->only_by_pull_reason = "The certificates for " + domain + " cannot be used here (" +
                                   place.problem + "); only a pull can tell.";
    }
  }
  return chain;
}

namespace {

constexpr std::string_view kOnlyPullTells = "; only a pull can tell";

// Returns how many characters of `name` a prefix covers: whole parts only (R46). "*.acme.io" covers all
// labels before the domain as well.
std::optional<std::size_t> PrefixLength(std::string_view name, std::string_view prefix) {
  std::size_t end = prefix.size();
  if (prefix.starts_with("*.")) {
    std::string_view domain = prefix.substr(1);
    std::size_t at = name.find(domain);
    if (at == std::string_view::npos || name.substr(0, at).find('/') != std::string_view::npos) {
      return std::nullopt;
    }
    end = at + domain.size();
  } else if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  if (end == name.size()) return end;
  // An entry for a host also matches any port of it, as in the library.
  bool whole = name[end] == '/' || name[end] == ':' || name[end] == '@';
  return whole ? std::optional(end) : std::nullopt;
}

// Returns the entry with the longest prefix of the name without tag and digest (R46).
const ConfRegistry* EntryFor(const RegistriesConf& conf, const std::string& repository) {
  const ConfRegistry* found = nullptr;
  for (const auto& [prefix, entry] : conf.registries) {
    bool longer = prefix.size() > (found == nullptr ? 0 : found->prefix.size());
    if (longer && PrefixLength(repository, prefix)) found = &entry;
  }
  return found;
}

// Returns nullopt if the result is no complete image name; CRI-O gives up then.
std::optional<image::Reference> Renamed(const image::Reference& reference, const std::string& prefix,
                                        const std::string& location) {
  if (location.empty()) return reference;
  const std::string& name = reference.Normalized();
  auto taken = PrefixLength(name, prefix);
  if (!taken) return std::nullopt;
  std::string renamed = location + name.substr(*taken);
  auto parsed = image::Reference::Parse(renamed);
  if (!parsed || parsed->Normalized() != renamed) return std::nullopt;
  return std::move(*parsed);
}

bool MayAnswer(const ConfRegistry& entry, const ConfEndpoint& mirror, bool by_digest) {
  if (entry.mirrors_by_digest_only) return by_digest;
  switch (mirror.use) {
    case MirrorUse::kAll:
      return true;
    case MirrorUse::kDigestOnly:
      return by_digest;
    case MirrorUse::kTagOnly:
      return !by_digest;
  }
  return true;
}

// Returns why a short name cannot be asked for; empty if its meaning is unambiguous. CRI-O may resolve it to
// another registry than the agent assumes.
std::string ShortNameProblem(const RegistriesConf& conf, const image::Reference& reference) {
  if (image::NamesRegistry(reference.written())) return "";
  auto alias = conf.aliases.find(std::string(image::WrittenName(reference.written())));
  if (alias != conf.aliases.end() && !alias->second.empty()) {
    if (alias->second == reference.Repository()) return "";
    return "An alias of registries.conf makes this short name " + alias->second;
  }
  const std::vector<std::string> none;
  const std::vector<std::string>& search = conf.search ? *conf.search : none;
  if (search.empty()) return "registries.conf has no alias for this short name";
  if (search.size() > 1) return "registries.conf has several registries to search for this short name";
  auto candidate = image::Reference::Parse(search[0] + "/" + reference.written());
  if (candidate && candidate->Repository() == reference.Repository()) return "";
  return "registries.conf has this short name searched for at " + search[0];
}

}  // namespace

HostChain PullEndpointsFor(const RegistriesConf& conf, const image::Reference& reference) {
  const std::string why_not = ShortNameProblem(conf, reference);
  if (!why_not.empty()) return {.only_by_pull_reason = why_not + std::string(kOnlyPullTells) + "."};
  const ConfRegistry none;
  const ConfRegistry* found = EntryFor(conf, reference.Repository());
  const ConfRegistry& entry = found == nullptr ? none : *found;
  HostChain chain;
  if (found != nullptr) chain.source = "the entry " + entry.prefix + " of registries.conf";
  const auto add = [&](const ConfEndpoint& endpoint, bool mirror) {
    auto renamed = Renamed(reference, entry.prefix, endpoint.location);
    if (!renamed) {
      chain.only_by_pull_reason = "The location " + endpoint.location +
                                  " in registries.conf makes no image's name of " + reference.Repository() +
                                  std::string(kOnlyPullTells) + ".";
      return;
    }
    // The name at that place decides whether it is blocked.
    const ConfRegistry* judge = EntryFor(conf, renamed->Repository());
    ChainedHost host{.host = CrioHost(renamed->domain(), endpoint.insecure),
                     .own = renamed->domain() == reference.domain(),
                     .mirror = mirror};
    if (judge != nullptr && judge->blocked) host.blocked_by = judge->prefix;
    host.as = std::move(*renamed);
    chain.hosts.push_back(std::move(host));
  };
  for (const ConfEndpoint& mirror : entry.mirrors) {
    if (MayAnswer(entry, mirror, reference.has_digest())) add(mirror, true);
  }
  add(entry.own, false);
  // If one place is unknown, the order of the others means nothing.
  if (!chain.only_by_pull_reason.empty()) chain.hosts.clear();
  return chain;
}

}  // namespace prefetch::registry
