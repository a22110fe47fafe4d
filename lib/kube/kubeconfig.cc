#include "kube/kubeconfig.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fs.h"
#include "base/go_url.h"
#include "base/secret.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/kubernetes_yaml.h"
#include "doc/reader.h"
#include "http/url.h"
#include "kube/exec_plugin.h"

namespace prefetch::kube {

namespace {

constexpr std::string_view kNoUrl = "must be an http or https URL";

// Returns the scheme in small letters; empty if the text has none with a host behind it.
std::string SchemeOf(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return "";
  const std::string scheme = base::ToLower(text.substr(0, end));
  const bool begins = !scheme.empty() && scheme.front() >= 'a' && scheme.front() <= 'z';
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
  return begins && scheme.find_first_not_of(kCharacters) == std::string::npos ? scheme : "";
}

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:@!$&'()*+,;=";

// Whether a path goes out as it is written: client-go decodes percent encoding, and encodes again.
bool IsPlainPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return c == '/' || kPlain.find(c) != std::string_view::npos; });
}

bool IsPlainUser(std::string_view user) {
  const bool plain = std::all_of(user.begin(), user.end(),
                                 [](char c) { return c == '%' || kPlain.find(c) != std::string_view::npos; });
  return plain && base::PercentDecode(user);
}

bool HasControls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// "HTTPS://api.test:6443/k8s/" → "https://api.test:6443/k8s": the URL that paths of requests are added to.
// Without a scheme it is http, as for client-go, and then has no path. The query is dropped.
// InvalidArgument, with a phrase such as "must be a URL without user", for all that client-go refuses, and
// for hosts and paths that no API server has.
base::Result<std::string> ReadServerUrl(std::string_view text) {
  if (HasControls(text)) return base::InvalidArgument(std::string(kNoUrl));
  // client-go drops it, or makes it a part of the path, where it goes on.
  if (text.find('#') != std::string_view::npos)
    return base::InvalidArgument("must be a URL without a fragment");
  text = text.substr(0, text.find('?'));
  const std::string scheme = SchemeOf(text);
  auto url = http::ParseAbsoluteUrl(scheme.empty() ? "http://" + std::string(text) : std::string(text));
  if (!url) {
    const std::string_view host = text.substr(scheme.empty() ? 0 : scheme.size() + 3);
    const bool user = host.substr(0, host.find('/')).find('@') != std::string_view::npos;
    return base::InvalidArgument(user ? "must be a URL without user"
                                      : std::string(kNoUrl) + ": " + url.error().message());
  }
  if (scheme.empty() && url->target != "/") return base::InvalidArgument(std::string(kNoUrl));
  if (!IsPlainPath(url->target)) {
    return base::InvalidArgument("must be a URL whose path needs no percent encoding");
  }
  std::string path = std::filesystem::path(url->target).lexically_normal().string();
  // Paths of requests begin with "/", and some servers do not accept "//".
  while (path.ends_with('/')) path.pop_back();
  return url->Origin() + path;
}

// Rejects proxies that client-go rejects, and those without a host.
base::Status CheckProxyUrl(std::string_view text) {
  const std::string scheme = SchemeOf(text);
  if (scheme != "http" && scheme != "https" && scheme != "socks5") {
    return base::InvalidArgument("must be an http, https or socks5 URL");
  }
  text = text.substr(0, text.find('?'));
  std::string_view host = text.substr(scheme.size() + 3);
  const std::size_t end = std::min(host.find('/'), host.size());
  if (!IsPlainPath(host.substr(end))) return base::InvalidArgument("must be a URL of a host alone");
  host = host.substr(0, end);
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
    if (!IsPlainUser(host.substr(0, at))) {
      return base::InvalidArgument("must be a URL whose user and password are percent-encoded");
    }
    host.remove_prefix(at + 1);
  }
  auto url = http::ParseAbsoluteUrl("http://" + std::string(host));
  if (!url) return base::InvalidArgument("must be a URL of a host: " + url.error().message());
  return {};
}

// Returns a proxy's URL in the form that plugins get from client-go: with its scheme in small letters, user
// and password encoded anew, and the rest as it is written.
std::string ProxyForPlugins(std::string_view text) {
  const std::string scheme = SchemeOf(text);
  std::string_view rest = text.substr(std::min(scheme.size() + 3, text.size()));
  const std::size_t at = rest.substr(0, rest.find_first_of("/?")).rfind('@');
  if (scheme.empty() || at == std::string_view::npos) return scheme + std::string(text.substr(scheme.size()));
  auto encode = [](std::string_view part) {
    return base::PercentEncode(base::PercentDecode(part).value_or(""), "$&+,;=");
  };
  const std::string_view user = rest.substr(0, at);
  const std::size_t colon = user.find(':');
  std::string encoded = encode(user.substr(0, colon));
  if (colon != std::string_view::npos) encoded += ":" + encode(user.substr(colon + 1));
  return scheme + "://" + encoded + std::string(rest.substr(at));
}

// k8s.io/client-go/tools/clientcmd/api/v1/types.go. Members that may be anything are not here.
constexpr doc::GoField kExtension[] = {{"name", doc::GoType::kText}};
constexpr doc::GoField kCluster[] = {{"server", doc::GoType::kText},
                                     {"tls-server-name", doc::GoType::kText},
                                     {"insecure-skip-tls-verify", doc::GoType::kBool},
                                     {"certificate-authority", doc::GoType::kText},
                                     {"certificate-authority-data", doc::GoType::kBase64},
                                     {"proxy-url", doc::GoType::kText},
                                     {"disable-compression", doc::GoType::kBool},
                                     {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kVariable[] = {{"name", doc::GoType::kText}, {"value", doc::GoType::kText}};
constexpr doc::GoField kExec[] = {
    {"command", doc::GoType::kText},           {"args", doc::GoType::kTexts},
    {"env", doc::GoType::kObjects, kVariable}, {"apiVersion", doc::GoType::kText},
    {"installHint", doc::GoType::kText},       {"provideClusterInfo", doc::GoType::kBool},
    {"interactiveMode", doc::GoType::kText}};
constexpr doc::GoField kAuthProvider[] = {{"name", doc::GoType::kText}, {"config", doc::GoType::kTextMap}};
constexpr doc::GoField kUser[] = {{"client-certificate", doc::GoType::kText},
                                  {"client-certificate-data", doc::GoType::kBase64},
                                  {"client-key", doc::GoType::kText},
                                  {"client-key-data", doc::GoType::kBase64},
                                  {"token", doc::GoType::kText},
                                  {"tokenFile", doc::GoType::kText},
                                  {"as", doc::GoType::kText},
                                  {"as-uid", doc::GoType::kText},
                                  {"as-groups", doc::GoType::kTexts},
                                  {"as-user-extra", doc::GoType::kTextsMap},
                                  {"username", doc::GoType::kText},
                                  {"password", doc::GoType::kText},
                                  {"auth-provider", doc::GoType::kObject, kAuthProvider},
                                  {"exec", doc::GoType::kObject, kExec},
                                  {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kContext[] = {{"cluster", doc::GoType::kText},
                                     {"user", doc::GoType::kText},
                                     {"namespace", doc::GoType::kText},
                                     {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kNamedCluster[] = {{"name", doc::GoType::kText},
                                          {"cluster", doc::GoType::kObject, kCluster}};
constexpr doc::GoField kNamedUser[] = {{"name", doc::GoType::kText}, {"user", doc::GoType::kObject, kUser}};
constexpr doc::GoField kNamedContext[] = {{"name", doc::GoType::kText},
                                          {"context", doc::GoType::kObject, kContext}};
constexpr doc::GoField kPreferences[] = {{"colors", doc::GoType::kBool},
                                         {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kConfig[] = {{"apiVersion", doc::GoType::kText},
                                    {"kind", doc::GoType::kText},
                                    {"preferences", doc::GoType::kObject, kPreferences},
                                    {"clusters", doc::GoType::kNamedObjects, kNamedCluster},
                                    {"users", doc::GoType::kNamedObjects, kNamedUser},
                                    {"contexts", doc::GoType::kNamedObjects, kNamedContext},
                                    {"current-context", doc::GoType::kText},
                                    {"extensions", doc::GoType::kExtensions, kExtension}};

// Adds a problem for another apiVersion or kind than a kubeconfig's, which may be absent; for each value of
// another type than kubectl's decoder demands, and for each name that stands twice in a list. kubectl refuses
// the whole file for one of them, even in entries that no context uses.
void CheckKubeconfig(const doc::Reader& root) {
  doc::ObjectReader object(root);
  std::string version = doc::TypeMeta(root, "apiVersion", doc::KeyOrder::kAlphabet);
  // The group before the "/" is empty here.
  if (version.starts_with('/')) version.erase(0, 1);
  if (!version.empty() && version != "v1") object.Fail("apiVersion", "must be v1");
  const std::string kind = doc::TypeMeta(root, "kind", doc::KeyOrder::kAlphabet);
  if (!kind.empty() && kind != "Config") object.Fail("kind", "must be Config");
  doc::CheckGoTypes(root, kConfig);
}

constexpr std::size_t kLongestKubeconfig = 4 << 20;  // with many clusters' certificates in it

constexpr std::chrono::seconds kPipeTimeout{30};

// Also reads pipes and devices, as kubectl does: a shell names a pipe for "<(command)", and /dev/null is an
// empty file. The time limit is for a pipe that nobody writes to.
base::Result<std::string> ReadText(const std::string& path) {
  const auto kind = base::KindOf(path);
  return kind && *kind == base::FileKind::kOther
             ? base::PipedFile().Read(path, kLongestKubeconfig, kPipeTimeout)
             : base::ReadFile(path, kLongestKubeconfig);
}

// The first of several documents counts, as for kubectl, and a file without one names nothing.
std::optional<doc::Node> Parse(const std::string& text, doc::Problems& problems) {
  auto root =
      doc::ReadKubernetesYaml(text, problems, doc::RepeatedKeys::kLastCounts, {.bytes = kLongestKubeconfig});
  if (root && root->kind == doc::Node::Kind::kNull) return doc::Node::Mapping();
  return root;
}

// One entry of the lists clusters, users, contexts.
struct KubeconfigEntry {
  doc::ObjectReader body;
  std::string path;    // of the file that it stands in
  std::string folder;  // where that file's relative paths begin
};

// One or several kubeconfig files as one. Not thread-safe. Entries live as long as this object.
class KubeconfigFiles {
 public:
  // `skip_missing`: skips missing files, as long as one exists.
  static base::Result<KubeconfigFiles> Read(const std::vector<std::string>& paths, bool skip_missing) {
    KubeconfigFiles all;
    base::Status absent;
    for (const std::string& path : paths) {
      auto text = ReadText(path);
      if (!text) {
        bool missing = text.error().code() == base::Code::kNotFound;
        // A file that exists and cannot be read is an error in any case: it may have the entry that is meant.
        if (!missing || !skip_missing) return std::move(text).error().Wrap("kubeconfig");
        absent = text.status();
        continue;
      }
      doc::Problems problems(path);
      auto root = Parse(*text, problems);
      // The text has tokens and keys. The tree that was made of it is wiped as well (SecretNode).
      base::WipeString(*text);
      if (!root) return problems.ToStatus().error();
      all.files_.push_back(std::make_unique<File>(path, std::move(problems), *std::move(root)));
      File& file = *all.files_.back();
      CheckKubeconfig(doc::Reader(file.tree.node, file.problems));
    }
    if (all.files_.empty()) {
      if (absent.ok()) return base::NotFound("no kubeconfig file is named");
      return std::move(absent).error().Wrap("kubeconfig");
    }
    return all;
  }

  // The first entry of that name in `list` ("clusters"), whose body is under `key` ("cluster"), and may be
  // missing.
  std::optional<KubeconfigEntry> Find(std::string_view list, std::string_view key, const std::string& name) {
    for (const auto& file : files_) {
      doc::ObjectReader object{doc::Reader(file->tree.node, file->problems)};
      for (const doc::Reader& item : object.Items(list)) {
        if (item.IsNull()) continue;
        doc::ObjectReader entry(item);
        // The first file counts that has an entry of that name.
        if (entry.String("name").value_or("") != name) continue;
        static const doc::Node kNothing = doc::Node::Mapping();
        auto body = entry.Object(key);
        if (!body) body.emplace(doc::Reader(kNothing, file->problems, item.path() + "." + std::string(key)));
        // Relative paths in a file begin at that file, whatever the working directory is.
        std::string folder = std::filesystem::absolute(file->path).parent_path().string();
        return KubeconfigEntry{*std::move(body), file->path, std::move(folder)};
      }
    }
    return std::nullopt;
  }

  // The first current-context; empty: none.
  std::string CurrentContext() {
    for (const auto& file : files_) {
      doc::ObjectReader object{doc::Reader(file->tree.node, file->problems)};
      std::string context = object.String("current-context").value_or("");
      if (!context.empty()) return context;
    }
    return "";
  }

  // The mistakes of all files.
  base::Status ToStatus() const {
    std::vector<std::string> lines;
    for (const auto& file : files_) {
      for (std::string& line : file->problems.Lines()) lines.push_back(std::move(line));
    }
    if (lines.empty()) return {};
    return base::InvalidArgument(base::Join(lines, "\n"));
  }

 private:
  struct File {
    File(std::string file_path, doc::Problems found, doc::Node root)
        : path(std::move(file_path)), problems(std::move(found)), tree(std::move(root)) {}

    std::string path;
    doc::Problems problems;
    doc::SecretNode tree;
  };

  std::vector<std::unique_ptr<File>> files_;
};

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

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

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
  return "Impersonate-Extra-" + base::PercentEncode(text, "!#$&'*+^`|");
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
  const PluginUse use = !https      ? PluginUse::kPlainHttp
                        : otherwise ? PluginUse::kOverridden
                                    : PluginUse::kActive;
  auto plugin = DecodeExecPlugin(*exec, entry.folder, cluster, described, options.environment, get_env, use);
  if (use == PluginUse::kActive) cluster.exec = std::move(plugin);
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
    // Without such an entry, kubectl goes on without credentials.
    auto entry = files->Find("users", "user", user);
    if (entry) DecodeUser(*entry, described, options, get_env, cluster);
  }
  if (base::Status good = files->ToStatus(); !good) return std::move(good).error();
  return IsHttps(cluster) ? std::move(cluster) : WithoutCredentials(std::move(cluster));
}

std::string ResolvePath(const std::string& folder, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  return base::CleanedPath(folder + "/" + path);
}

}  // namespace prefetch::kube
