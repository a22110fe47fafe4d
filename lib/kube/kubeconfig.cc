#include "kube/kubeconfig.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig_files.h"

namespace prefetch::kube {
namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

base::Result<KubeconfigFiles> ReadFiles(const GetEnv& get_env, const KubeconfigOptions& options) {
  // A file that was named must exist. KUBECONFIG may name files that are absent, as for kubectl.
  if (!options.file.empty()) return KubeconfigFiles::Read({options.file}, false);
  std::vector<std::string> paths;
  std::string named = get_env("KUBECONFIG").value_or("");
  for (std::string_view path : base::Split(named, ':')) {
    if (!path.empty()) paths.emplace_back(path);
  }
  if (!paths.empty()) return KubeconfigFiles::Read(paths, true);
  std::string home = get_env("HOME").value_or("");
  if (home.empty()) return base::NotFound("no kubeconfig: neither KUBECONFIG nor HOME is set");
  return KubeconfigFiles::Read({home + "/.kube/config"}, false);
}

// Reads the "-data" of a certificate or key: base64, in which users leave line breaks.
std::optional<std::string> DecodeData(doc::ObjectReader& object, std::string_view key) {
  auto text = object.String(key);
  if (!text || text->empty()) return std::nullopt;
  std::erase_if(*text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  auto data = base::Base64Decode(*text);
  base::WipeString(*text);
  if (!data) object.Fail(key, "must be base64");
  return data;
}

bool IsThisMachine(std::string_view server) {
  std::string_view host = server.substr(std::min(server.find("://") + 3, server.size()));
  host = host.substr(0, host.find('/'));
  // The name has to end there: "localhost.example.com" is another machine.
  for (std::string_view mine : {"127.0.0.1", "[::1]", "localhost"}) {
    if (host == mine || (host.starts_with(mine) && host.substr(mine.size()).starts_with(":"))) return true;
  }
  return false;
}

void CheckServer(doc::ObjectReader& object, const std::string& server) {
  bool http = server.starts_with("http://") || server.starts_with("https://");
  std::string_view rest = http ? std::string_view(server).substr(server.find("://") + 3) : "";
  auto unfit = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (!http || rest.empty() || rest.starts_with("/") || std::any_of(rest.begin(), rest.end(), unfit)) {
    object.Fail("server", "must be an http or https URL");
  } else if (rest.find_first_of("?#@") != std::string_view::npos) {
    // Paths are added to this URL, and credentials belong into the user's entry.
    object.Fail("server", "must be a URL without user, query and fragment");
  }
}

void CheckProxy(doc::ObjectReader& object, const std::string& proxy) {
  constexpr std::array<std::string_view, 3> kSchemes = {"http://", "https://", "socks5://"};
  const std::string lower = base::ToLower(proxy);
  if (!std::any_of(kSchemes.begin(), kSchemes.end(),
                   [&](auto scheme) { return lower.starts_with(scheme); })) {
    object.Fail("proxy-url", "must be an http, https or socks5 URL");
  }
}

void DecodeCluster(KubeconfigEntry& entry, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  if (auto server = object.String("server", doc::Need::kRequired)) {
    CheckServer(object, *server);
    cluster.server = *std::move(server);
    // Paths of requests begin with "/", and some servers do not accept "//".
    while (cluster.server.ends_with('/')) cluster.server.pop_back();
  }
  if (auto data = DecodeData(object, "certificate-authority-data")) {
    cluster.ca_pem = *std::move(data);
  } else {
    cluster.ca_file = ResolvePath(entry.folder, object.String("certificate-authority").value_or(""));
  }
  cluster.tls_server_name = object.String("tls-server-name").value_or("");
  cluster.verify = !object.Bool("insecure-skip-tls-verify").value_or(false);
  // kubectl rejects this, too: a file that says both is most likely a mistake, and the unsafe reading must
  // not win.
  if (!cluster.verify && (!cluster.ca_pem.empty() || !cluster.ca_file.empty())) {
    object.Fail("insecure-skip-tls-verify", "contradicts the certificate authority beside it");
  }
  if (auto proxy = object.String("proxy-url"); proxy && !proxy->empty()) {
    CheckProxy(object, *proxy);
    cluster.proxy = base::Secret(*std::move(proxy));
  }
}

// Returns a cluster entry's configuration for credential plugins; nullptr if there is none.
const doc::Node* PluginConfig(KubeconfigEntry& entry) {
  for (const doc::Reader& item : entry.body.Items("extensions")) {
    doc::ObjectReader extension(item);
    if (extension.String("name") != kExecExtension) continue;
    if (auto config = extension.Find("extension")) return &config->node();
  }
  return nullptr;
}

// Ignoring these fields would mean another identity than the file's, so they are errors.
void RefuseUnknownWays(doc::ObjectReader& object) {
  for (std::string_view key : {"username", "password"}) {
    if (object.String(key) != "" && object.Has(key)) {
      object.Fail(key,
                  "is refused: no Kubernetes since 1.19 takes passwords; use a token, a client "
                  "certificate or an exec plugin");
    }
  }
  if (object.Has("auth-provider")) {
    object.Fail("auth-provider", "is refused: Kubernetes 1.26 has taken it out; use an exec plugin");
  }
  for (std::string_view key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    const bool text = key == "as" || key == "as-uid";
    // An empty text names nobody.
    if (object.Has(key) && !(text && object.String(key) == ""))
      object.Fail(key, "is refused: impersonation is not done here; name the user itself");
  }
}

void DecodeCertificate(KubeconfigEntry& entry, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  if (auto data = DecodeData(object, "client-certificate-data")) {
    cluster.certificate_pem = *std::move(data);
  } else {
    cluster.certificate_file = ResolvePath(entry.folder, object.String("client-certificate").value_or(""));
  }
  if (auto data = DecodeData(object, "client-key-data")) {
    cluster.key_pem = base::Secret(*std::move(data));
  } else {
    cluster.key_file = ResolvePath(entry.folder, object.String("client-key").value_or(""));
  }
  const bool certificate = !cluster.certificate_pem.empty() || !cluster.certificate_file.empty();
  const bool key = !cluster.key_pem.empty() || !cluster.key_file.empty();
  if (certificate && !key) object.Fail("has a client certificate without its client-key");
  if (certificate) return;
  cluster.key_pem = base::Secret();  // kubectl, too, passes over a key without a certificate
  cluster.key_file.clear();
}

void DecodeUser(KubeconfigEntry& entry, const doc::Node* plugin_config, const KubeconfigOptions& options,
                const GetEnv& get_env, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  RefuseUnknownWays(object);
  cluster.token = base::Secret(object.String("token").value_or(""));
  cluster.token_file = ResolvePath(entry.folder, object.String("tokenFile").value_or(""));
  DecodeCertificate(entry, cluster);
  if (auto exec = object.Object("exec")) {
    cluster.exec =
        DecodeExecPlugin(*exec, entry.folder, cluster, plugin_config, options.environment, get_env);
  }
  bool credential = !cluster.token.empty() || !cluster.token_file.empty() || cluster.exec ||
                    !cluster.certificate_file.empty() || !cluster.certificate_pem.empty();
  // With a proxy, "localhost" is the proxy's machine.
  const bool stays_here = IsThisMachine(cluster.server) && cluster.proxy.empty();
  if (credential && cluster.server.starts_with("http://") && !stays_here) {
    object.Fail("has a credential, which would go to the server in clear: its URL is not https");
  }
}

}  // namespace

base::Result<Cluster> FromKubeconfig(const GetEnv& get_env, const KubeconfigOptions& options) {
  auto files = ReadFiles(get_env, options);
  if (!files) return std::move(files).error();
  std::string name = options.context.empty() ? files->CurrentContext() : options.context;
  if (name.empty()) {
    files->Fail("current-context", "is not set, and no other context was asked for");
    return files->ToStatus().error();
  }
  auto context = files->Find("contexts", "context", name);
  if (!context) {
    // A mistake in a file may be why the context was not found, so it is reported first.
    if (base::Status wrong = files->ToStatus(); !wrong) return std::move(wrong).error();
    return base::NotFound("kubeconfig: there is no context \"" + name + "\"");
  }
  Cluster cluster{.source = "context \"" + name + "\" of " + context->path};
  std::string name_space = context->body.String("namespace").value_or("");
  if (!name_space.empty()) cluster.name_space = name_space;
  const doc::Node* plugin_config = nullptr;
  if (auto wanted = context->body.String("cluster", doc::Need::kRequired)) {
    auto entry = files->Find("clusters", "cluster", *wanted);
    if (!entry) context->body.Fail("cluster", "names no entry of clusters");
    if (entry) DecodeCluster(*entry, cluster);
    if (entry) plugin_config = PluginConfig(*entry);
  }
  std::string user = context->body.String("user").value_or("");
  if (!user.empty()) {
    auto entry = files->Find("users", "user", user);
    if (!entry) context->body.Fail("user", "names no entry of users");
    if (entry) DecodeUser(*entry, plugin_config, options, get_env, cluster);
  }
  if (base::Status good = files->ToStatus(); !good) return std::move(good).error();
  return cluster;
}

}  // namespace prefetch::kube
