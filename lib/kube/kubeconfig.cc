#include "kube/kubeconfig.h"

#include "base/fs.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "http/url.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig_files.h"
#include "kube/server_url.h"

namespace prefetch::kube {
namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

bool IsHttps(const Cluster& cluster) {
  return cluster.server.starts_with("https://");
}

// The order is kubectl's: the named file, KUBECONFIG, then the file in the home directory.
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

std::optional<std::string> DecodeData(doc::ObjectReader& object, std::string_view key) {
  auto text = object.String(key);
  if (!text || text->empty()) return std::nullopt;
  auto data = doc::DecodeGoBase64(*std::move(text));
  if (!data) object.Fail(key, "must be base64");
  return data;
}

// Decodes what stands in the file itself or in another: "client-key-data" and "client-key". Both are an error
// for kubectl. The other file must be there.
void DecodePem(KubeconfigEntry& entry, const std::string& key, std::string& pem, std::string& file) {
  doc::ObjectReader& object = entry.body;
  pem = DecodeData(object, key + "-data").value_or("");
  file = ResolvePath(entry.folder, object.String(key).value_or(""));
  if (file.empty()) return;
  if (!pem.empty()) object.Fail(key, "contradicts the " + key + "-data beside it");
  if (auto kind = base::KindOf(file); !kind) object.Fail(key, "cannot be read: " + kind.error().message());
}

void DecodeCluster(KubeconfigEntry& entry, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  const std::string server = object.String("server").value_or("");
  if (server.empty()) object.Fail("server", "is required");
  auto url = ReadServerUrl(server);
  if (!url && !server.empty()) object.Fail("server", url.error().message());
  if (url) cluster.server = *std::move(url);
  DecodePem(entry, "certificate-authority", cluster.ca_pem, cluster.ca_file);
  cluster.tls_server_name = object.String("tls-server-name").value_or("");
  cluster.verify = !object.Bool("insecure-skip-tls-verify").value_or(false);
  if (auto proxy = object.String("proxy-url"); proxy && !proxy->empty()) {
    if (base::Status fits = CheckProxyUrl(*proxy); !fits) object.Fail("proxy-url", fits.error().message());
    cluster.proxy = base::Secret(*std::move(proxy));
  }
  if (!IsHttps(cluster)) {
    cluster.ca_pem.clear();
    cluster.ca_file.clear();
    cluster.tls_server_name.clear();
    cluster.verify = true;
  }
  // kubectl rejects this, too: a file that says both is most likely a mistake, and the unsafe reading must
  // not win.
  if (!cluster.verify && (!cluster.ca_pem.empty() || !cluster.ca_file.empty())) {
    object.Fail("insecure-skip-tls-verify", "contradicts the certificate authority beside it");
  }
}

// Returns what credential plugins are told of the cluster, as client-go's rest.ConfigToExecCluster has it.
PluginCluster DescribeForPlugins(KubeconfigEntry& entry) {
  PluginCluster described{.server = entry.body.String("server").value_or(""),
                          .proxy = ProxyForPlugins(entry.body.String("proxy-url").value_or("")),
                          .disable_compression = entry.body.Bool("disable-compression").value_or(false)};
  for (const doc::Reader& item : entry.body.Items("extensions")) {
    if (item.IsNull()) continue;
    doc::ObjectReader extension(item);
    if (extension.String("name") != kExecExtension) continue;
    if (auto config = extension.Find("extension")) described.config = &config->node();
  }
  return described;
}

void DecodeCertificate(KubeconfigEntry& entry, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  std::string key;
  DecodePem(entry, "client-certificate", cluster.certificate_pem, cluster.certificate_file);
  if (cluster.certificate_pem.empty() && cluster.certificate_file.empty()) return;
  // kubectl passes over a key without a certificate.
  DecodePem(entry, "client-key", key, cluster.key_file);
  cluster.key_pem = base::Secret(std::move(key));
  if (cluster.key_pem.empty() && cluster.key_file.empty()) {
    object.Fail("has a client certificate without its client-key");
  }
}

// Returns a name of a header for any text, as client-go encodes it.
std::string HeaderName(std::string_view text) {
  return "Impersonate-Extra-" + http::PercentEncode(text, "!#$&'*+^`|");
}

void DecodeImpersonation(doc::ObjectReader& object, Cluster& cluster) {
  const std::string user = object.String("as").value_or(""), uid = object.String("as-uid").value_or("");
  http::Headers& headers = cluster.impersonation;
  if (!user.empty()) headers.Add("Impersonate-User", user);
  if (!uid.empty()) headers.Add("Impersonate-Uid", uid);
  if (auto groups = object.Find("as-groups")) {
    for (const std::string& group : doc::GoTexts(*groups)) headers.Add("Impersonate-Group", group);
  }
  bool extra = false;
  if (auto members = object.Find("as-user-extra")) {
    for (const auto& [name, values] : members->Members()) {
      extra = true;
      for (const std::string& value : doc::GoTexts(values)) headers.Add(HeaderName(name), value);
    }
  }
  const bool more = extra || !headers.fields().empty();
  if (user.empty() && more) object.Fail("impersonates without the user's name: set \"as\"");
}

// kubectl sends a certificate, a token or a password, and asks a plugin if there is none of them. It refuses
// users with a token and a password.
void DecodeUser(KubeconfigEntry& entry, const PluginCluster& described, const KubeconfigOptions& options,
                const GetEnv& get_env, Cluster& cluster) {
  doc::ObjectReader& object = entry.body;
  const bool https = IsHttps(cluster);
  DecodeImpersonation(object, cluster);
  cluster.token = base::Secret(object.String("token").value_or(""));
  cluster.token_file = ResolvePath(entry.folder, object.String("tokenFile").value_or(""));
  cluster.username = object.String("username").value_or("");
  cluster.password = base::Secret(object.String("password").value_or(""));
  const bool has_token = !cluster.token.empty() || (https && !cluster.token_file.empty());
  const bool has_password =
      !cluster.username.empty() || (!cluster.password.empty() && !cluster.token.empty());
  if (has_token && has_password)
    object.Fail("has a token and a password, and kubectl accepts only one of them");
  DecodeCertificate(entry, cluster);
  if (https && object.Has("auth-provider")) {
    object.Fail("auth-provider", "is refused: its tokens are renewed in the file; use an exec plugin");
  }
  auto exec = object.Object("exec");
  if (!exec) return;
  if (object.Has("auth-provider")) object.Fail("exec", "contradicts the auth-provider beside it");
  const bool certificate = !cluster.certificate_pem.empty() || !cluster.certificate_file.empty();
  const bool otherwise = has_token || !cluster.username.empty() || certificate;
  const PluginUse use = !https      ? PluginUse::kInClear
                        : otherwise ? PluginUse::kBesideOthers
                                    : PluginUse::kInUse;
  auto plugin = DecodeExecPlugin(*exec, entry.folder, cluster, described, options.environment, get_env, use);
  if (use == PluginUse::kInUse) cluster.exec = std::move(plugin);
}

// Neither kubectl nor we send a credential in clear. All members that are not named here are credentials.
Cluster WithoutCredentials(Cluster cluster) {
  return {.server = std::move(cluster.server),
          .name_space = std::move(cluster.name_space),
          .source = std::move(cluster.source),
          .ca_file = std::move(cluster.ca_file),
          .ca_pem = std::move(cluster.ca_pem),
          .tls_server_name = std::move(cluster.tls_server_name),
          .verify = cluster.verify,
          .proxy = std::move(cluster.proxy),
          .impersonation = std::move(cluster.impersonation)};
}

}  // namespace

// All mistakes of the files that matter are collected before the result is decided, so that one run reports
// every mistake.
base::Result<Cluster> FromKubeconfig(const GetEnv& get_env, const KubeconfigOptions& options) {
  auto files = ReadFiles(get_env, options);
  if (!files) return std::move(files).error();
  std::string name = options.context.empty() ? files->CurrentContext() : options.context;
  if (name.empty()) {
    if (base::Status wrong = files->ToStatus(); !wrong) return std::move(wrong).error();
    return base::NotFound("kubeconfig: current-context is not set, and no other context was asked for");
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
  PluginCluster described;
  if (auto wanted = context->body.String("cluster", doc::Need::kRequired)) {
    auto entry = files->Find("clusters", "cluster", *wanted);
    if (!entry) context->body.Fail("cluster", "names no entry of clusters");
    if (entry) DecodeCluster(*entry, cluster);
    if (entry) described = DescribeForPlugins(*entry);
  }
  std::string user = context->body.String("user").value_or("");
  if (!user.empty()) {
    auto entry = files->Find("users", "user", user);
    if (!entry) context->body.Fail("user", "names no entry of users");
    if (entry) DecodeUser(*entry, described, options, get_env, cluster);
  }
  if (base::Status good = files->ToStatus(); !good) return std::move(good).error();
  return IsHttps(cluster) ? std::move(cluster) : WithoutCredentials(std::move(cluster));
}

}  // namespace prefetch::kube
