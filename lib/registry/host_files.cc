#include "registry/host_files.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "registry/hosts_toml.h"

namespace prefetch::registry {

namespace {

constexpr std::size_t kMaxFolderEntries = 1000;

constexpr const char* kIgnored =
    "the runtime takes its config_path, which has a \":\" in it, for one folder and ignores every hosts.toml "
    "(RegistryConfigPathIgnored). Write one folder there, or use_local_image_pull = true; where its build "
    "splits it, set registrySplitConfigPath";

// Returns whether a missing folder is worth a note. The default of a release may rightly be absent.
bool IsExpected(const RuntimeConfig& runtime) {
  return !runtime.config_path.empty() && !runtime.path_is_default;
}

std::string NotMountedNote(const std::string& root) {
  return root +
         ", where containerd finds its mirrors, is not visible to the agent: if the node has it, mount it at "
         "the same path, or set registryHostRoot. Until then the agent asks the registries themselves.";
}

// Returns true if one of the folders has any file. Its author may believe that the file has an effect, so a
// note tells that it has none.
bool HoldsAnything(const std::string& path, const std::string& host_root) {
  for (std::string_view folder : base::Split(path, ':')) {
    auto names = base::ListDirectory(host_root + std::string(folder), kMaxFolderEntries);
    if (names ? !names->empty() : names.error().code() == base::Code::kResourceExhausted) return true;
  }
  return false;
}

// Loads the chain of one registry.
class HostsLoader {
 public:
  HostsLoader(const HostFilesOptions& options, const ConfigRoots& roots, const std::string& registry,
              base::StampedFiles& disk)
      : options_(options),
        roots_(roots),
        registry_(registry),
        rules_(RuntimeRulesFor(options.runtime.containerd_version)),
        disk_(disk) {}

  HostChain Load() {
    if (roots_.ignored) chain_.notes.emplace_back(kIgnored);
    std::vector<Host> hosts = Hosts();
    for (Host& host : hosts) {
      ChainedHost chained{.host = std::move(host)};
      chained.own = chained.host.problem.empty() && IsOwnServer(chained.host.server, registry_);
      chained.mirror = !chained.own;
      LoadTls(chained);
      chain_.hosts.push_back(std::move(chained));
    }
    return std::move(chain_);
  }

 private:
  std::string OnHost(const std::string& path) const { return options_.host_root + path; }
  bool IsFolderHere(const std::string& path) {
    auto kind = disk_.KindOf(OnHost(path));
    return kind && *kind == base::FileKind::kDirectory;
  }

  // Loads certificates. A file that cannot be used makes every pull from the registry fail, whichever host
  // names it.
  void LoadTls(ChainedHost& chained) {
    registry::LoadTls(options_.host_root, options_.system_ca_files, disk_, chained, chain_.notes);
    if (!chained.problem.empty() && chain_.only_by_pull_reason.empty()) {
      chain_.only_by_pull_reason = "The certificates for " + registry_ + " cannot be used here (" +
                                   chained.problem +
                                   "). containerd pulls nothing from it without them; only a pull can tell.";
    }
    if (chained.problem.empty()) chained.problem = chained.host.problem;
  }

  // The first folder that exists counts, as for containerd, even if it has no valid hosts.toml. Without any
  // folder, the registry's own server is asked.
  std::vector<Host> Hosts() {
    if (roots_.by_tables) return {CriTablesHost(registry_)};
    for (const std::string& root : roots_.folders) {
      if (!IsFolderHere(root)) {
        if (IsExpected(options_.runtime)) {
          chain_.notes.push_back(NotMountedNote(root));
          chain_.is_guess = true;
        }
        continue;
      }
      for (const std::string& folder : HostFolders(root, registry_)) {
        if (IsFolderHere(folder)) return HostsInFolder(folder);
      }
    }
    return {DefaultHost(registry_, rules_)};
  }

  // containerd ignores a hosts.toml that it cannot parse, and goes on with the certificates in the folder. A
  // file that only the agent cannot read or parse is different: then only a pull can tell, or the answer is a
  // guess.
  std::vector<Host> HostsInFolder(const std::string& folder) {
    chain_.source = folder;
    std::string file = folder + "/hosts.toml";
    auto text = disk_.Read(OnHost(file), kMaxHostsBytes);
    if (text && !text->empty()) {
      auto hosts = ParseHostsToml(*text, folder, registry_, rules_);
      base::WipeString(*text);  // headers may be secret
      if (hosts) {
        NoteUnusableHosts(file, *hosts);
        return std::move(*hosts);
      }
      if (!IsBeyondLimits(file, hosts.error()))
        chain_.notes.push_back(file + " is ignored, as the runtime does: " + hosts.error().message());
    } else if (!text && text.error().code() != base::Code::kNotFound &&
               (base::StampOf(OnHost(file)).size <= kMaxHostsBytes || !IsBeyondLimits(file, text.error()))) {
      chain_.notes.push_back(
          file + " cannot be read, so the agent asks the registry's own server: " + text.error().message());
      chain_.is_guess = true;
    }
    return {HostWithCertificates(folder)};
  }

  // Returns true if only the runtime can follow the file; the chain then has the reason.
  bool IsBeyondLimits(const std::string& file, const base::Error& error) {
    if (error.code() != base::Code::kResourceExhausted) return false;
    chain_.only_by_pull_reason =
        file + " is not followed here (" + error.message() + "); only a pull can tell.";
    return true;
  }

  void NoteUnusableHosts(const std::string& file, const std::vector<Host>& hosts) {
    for (std::size_t i = 0; i < hosts.size(); i++) {
      if (hosts[i].problem.empty()) continue;
      const std::string which = i + 1 == hosts.size() ? "the server" : "host " + std::to_string(i + 1);
      chain_.notes.push_back(file + ": the runtime gets nothing from " + which + ": " + hosts[i].problem);
    }
  }

  // Reads a folder without a valid hosts.toml in Docker's way: *.crt are authorities, *.cert is a client
  // certificate.
  Host HostWithCertificates(const std::string& folder) {
    Host host = DefaultHost(registry_, rules_);
    auto names = disk_.List(OnHost(folder), kMaxFolderEntries);
    if (!names) return host;
    for (const std::string& name : *names) {
      std::string path = folder + "/" + name;
      if (name.ends_with(".crt")) host.ca_files.push_back(path);
      if (!name.ends_with(".cert")) continue;
      std::string key = name.substr(0, name.size() - 5) + ".key";
      bool has_key = std::find(names->begin(), names->end(), key) != names->end();
      host.client_pairs.push_back({path, has_key ? folder + "/" + key : ""});
    }
    const bool tls = host.skip_verify || !host.ca_files.empty() || !host.client_pairs.empty();
    PreferHttps(host, HasPort(registry_), tls, rules_);
    return host;
  }

  const HostFilesOptions& options_;
  const ConfigRoots& roots_;
  const std::string& registry_;
  const RuntimeRules rules_;
  base::StampedFiles& disk_;
  HostChain chain_;
};

}  // namespace

std::vector<std::string> NotesOnFolders(const RuntimeConfig& runtime, const std::string& host_root) {
  std::vector<std::string> notes;
  ConfigRoots roots = RootsOf(runtime);
  bool missed = IsExpected(runtime);
  if (roots.ignored && (missed || HoldsAnything(runtime.config_path, host_root))) {
    notes.emplace_back(kIgnored);
  }
  if (!missed) return notes;
  for (const std::string& root : roots.folders) {
    if (!base::IsDirectory(host_root + root)) notes.push_back(NotMountedNote(root));
  }
  return notes;
}

HostFiles::HostFiles(HostFilesOptions options)
    : options_(std::move(options)), roots_(RootsOf(options_.runtime)) {}

std::shared_ptr<const HostChain> HostFiles::ChainFor(const std::string& registry) {
  base::Lock lock(mutex_);
  return chains_.GetOrCreate(registry).Get(
      [&](base::StampedFiles& disk) { return HostsLoader(options_, roots_, registry, disk).Load(); });
}

namespace {

constexpr std::size_t kMaxPemBytes = 4 * 1024 * 1024;
constexpr std::string_view kBeginCertificate = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kPrivateKey = "PRIVATE KEY-----";

const std::string& KeyFileOf(const ClientPair& pair) {
  return pair.key_file.empty() ? pair.certificate_file : pair.key_file;
}

}  // namespace

void LoadTls(const std::string& host_root, const std::vector<std::string>& system_ca_files,
             base::StampedFiles& files, ChainedHost& chained, std::vector<std::string>& notes) {
  const Host& host = chained.host;
  std::string& problem = chained.problem;
  const auto read = [&](const std::string& path) {
    auto text = files.Read(host_root + path, kMaxPemBytes);
    if (!text) problem = text.error().message();
    return text ? std::move(*text) : std::string();
  };
  http::Tls tls;
  for (const std::string& file : host.ca_files) {
    const std::string pem = read(file);
    if (problem.empty() && http::UsableCertificates(pem).empty()) problem = file + " holds no certificate";
    tls.ca_pem += pem + "\n";
  }
  if (!tls.ca_pem.empty()) {
    for (const std::string& file : system_ca_files) {
      auto text = files.Read(file, kMaxPemBytes);
      if (!text) continue;
      tls.ca_pem += *text + "\n";
      break;
    }
    chained.redirect_tls = std::make_shared<const http::Tls>(http::Tls{.ca_pem = tls.ca_pem});
  }
  if (!host.client_pairs.empty()) {
    const ClientPair& pair = host.client_pairs.front();
    if (host.client_pairs.size() > 1) {
      notes.push_back(host.server.Authority() + " is shown the first of " +
                      std::to_string(host.client_pairs.size()) + " client certificates, " +
                      pair.certificate_file + "; the runtime shows the one that the server asks for");
    }
    tls.certificate_pem = read(pair.certificate_file);
    tls.key_pem = base::Secret(read(KeyFileOf(pair)));
    base::RememberSecret(tls.key_pem);
  }
  // The runtime loads all pairs before it asks anybody.
  for (const ClientPair& pair : host.client_pairs) {
    if (read(pair.certificate_file).find(kBeginCertificate) == std::string::npos && problem.empty())
      problem = pair.certificate_file + " holds no certificate";
    std::string key = read(KeyFileOf(pair));
    if (key.find(kPrivateKey) == std::string::npos && problem.empty())
      problem = KeyFileOf(pair) + " holds no private key";
    base::WipeString(key);
  }
  tls.verify = !host.skip_verify;
  if (!host.ca_files.empty() || !host.client_pairs.empty() || host.skip_verify) {
    chained.tls = std::make_shared<const http::Tls>(std::move(tls));
  }
}

namespace {

constexpr std::string_view kDefaultPath = "/etc/containerd/certs.d:/etc/docker/certs.d";

}  // namespace

std::string_view DefaultConfigPath(std::string_view containerd_version) {
  return RuntimeRulesFor(containerd_version).default_config_path ? kDefaultPath : "";
}

ConfigRoots RootsOf(const RuntimeConfig& config) {
  if (!config.containerd) return {};
  std::string_view path = config.config_path;
  bool transfer = RuntimeRulesFor(config.containerd_version).transfer_service && !config.local_pull;
  bool several = path.find(':') != std::string_view::npos;
  if (transfer && several && !config.split_config_path) return {.ignored = true};
  ConfigRoots roots{.by_tables = path.empty() && !transfer};
  for (std::string_view folder : base::Split(path, ':')) {
    if (!folder.empty()) roots.folders.emplace_back(folder);
  }
  return roots;
}

std::vector<std::string> HostFolders(std::string_view root, std::string_view registry) {
  std::string prefix = std::string(root) + "/";
  std::vector<std::string> folders;
  if (HasPort(registry)) {
    const std::size_t colon = registry.rfind(':');
    folders.push_back(prefix + std::string(registry.substr(0, colon)) + "_" +
                      std::string(registry.substr(colon + 1)) + "_");
  }
  folders.push_back(prefix + std::string(registry));
  folders.push_back(prefix + "_default");
  return folders;
}

}  // namespace prefetch::registry
