#include "kube/exec_plugin.h"

#include <algorithm>
#include <chrono>

#include "base/fs.h"
#include "base/redactor.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/kubernetes_yaml.h"
#include "doc/write.h"
#include "kube/decode.h"
#include "kube/kubeconfig.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestOutput = 1 << 20;
constexpr std::size_t kLongestErrors = 500;
constexpr std::size_t kLongestAuthority = 1 << 20;
constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kV1Alpha1 = "client.authentication.k8s.io/v1alpha1";
constexpr std::string_view kV1Beta1 = "client.authentication.k8s.io/v1beta1";

// A name with a "/" is a path from the file's folder; any other is looked up in PATH. A program that is
// nowhere stays as it is, and running it then fails with that reason.
std::string PluginProgram(const std::string& command, const std::string& folder, const GetEnv& get_env) {
  if (command.find('/') != std::string::npos) return ResolvePath(folder, command);
  std::string found = base::FindProgram(command, get_env("PATH").value_or(""));
  return found.empty() ? command : found;
}

// client-go leaves query and fragment out of a URL with a path.
std::string ClientGoServerName(const std::string& server) {
  const std::size_t end = server.find_first_of("?#"), begin = server.find("://");
  const std::size_t path = begin == std::string::npos ? begin : server.find('/', begin + 3);
  return path != std::string::npos && path + 1 < std::min(end, server.size()) ? server.substr(0, end)
                                                                              : server;
}

// Returns the cluster as the plugin protocol describes it (provideClusterInfo).
doc::Node ClusterInfo(const Cluster& cluster, const PluginCluster& described) {
  doc::Node info = doc::Node::Mapping();
  info.Set("server", doc::Node::String(ClientGoServerName(described.server)));
  if (!cluster.tls_server_name.empty()) {
    info.Set("tls-server-name", doc::Node::String(cluster.tls_server_name));
  }
  if (!cluster.verify) info.Set("insecure-skip-tls-verify", doc::Node::Bool(true));
  std::string authorities = cluster.ca_pem;
  // The protocol has no field for a file, so its content is sent.
  if (!cluster.ca_file.empty()) {
    auto read = base::ReadFile(cluster.ca_file, kLongestAuthority);
    if (read) authorities = *std::move(read);
  }
  if (!authorities.empty()) {
    info.Set("certificate-authority-data", doc::Node::String(base::Base64Encode(authorities)));
  }
  if (!described.proxy.empty()) info.Set("proxy-url", doc::Node::String(described.proxy));
  if (described.disable_compression) info.Set("disable-compression", doc::Node::Bool(true));
  info.Set("config", described.config != nullptr ? *described.config : doc::Node());
  return info;
}

std::string ExecInfo(const std::string& api_version, const std::optional<doc::Node>& cluster) {
  doc::Node spec = doc::Node::Mapping();
  if (cluster) spec.Set("cluster", *cluster);
  // The plugin has no terminal here, and has to fail rather than ask.
  spec.Set("interactive", doc::Node::Bool(false));
  doc::Node info = doc::Node::Mapping();
  info.Set("apiVersion", doc::Node::String(api_version));
  info.Set("kind", doc::Node::String("ExecCredential"));
  info.Set("spec", std::move(spec));
  return doc::WriteJson(info);
}

void SetVariable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

bool HasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

// Adds the plugin's own variables. A later one of a name replaces an earlier one.
void ReadEnvironment(doc::ObjectReader& exec, ExecPlugin& plugin, PluginUse use) {
  for (const doc::Reader& item : exec.Items("env")) {
    std::string name, value;
    if (!item.IsNull()) {
      doc::ObjectReader entry(item);
      name = entry.String("name").value_or("");
      value = entry.String("value").value_or("");
    }
    const bool unfit = name.find('=') != std::string::npos || HasNul(name + value);
    if (name.empty() || (unfit && use == PluginUse::kActive)) {
      item.Fail("must have the name of an environment variable, and a value that one can have");
      continue;
    }
    SetVariable(plugin.environment, name, value);
    // The plugin may repeat it in its error text.
    base::RememberVariable(name, value);
    if (base::MayBeSecret(name, value)) plugin.secrets.emplace_back(value);
  }
}

std::string StderrTail(const base::ProcessResult& result, const ExecPlugin& plugin) {
  const std::vector<base::Secret> printed = doc::SecretStrings(result.output.Reveal());
  std::vector<const base::Secret*> secrets;
  for (const auto* some : {&printed, &plugin.secrets}) {
    for (const base::Secret& secret : *some) secrets.push_back(&secret);
  }
  const std::string text = base::PluginText(result.errors, kLongestErrors, secrets);
  return text.empty() ? "" : ": " + text;
}

// k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go
constexpr doc::GoField kPluginCluster[] = {{"server", doc::GoType::kText},
                                           {"tls-server-name", doc::GoType::kText},
                                           {"insecure-skip-tls-verify", doc::GoType::kBool},
                                           {"certificate-authority-data", doc::GoType::kBase64},
                                           {"proxy-url", doc::GoType::kText},
                                           {"disable-compression", doc::GoType::kBool}};
constexpr doc::GoField kSpec[] = {{"cluster", doc::GoType::kObject, kPluginCluster},
                                  {"interactive", doc::GoType::kBool}};
constexpr doc::GoField kStatus[] = {{"expirationTimestamp", doc::GoType::kText},
                                    {"token", doc::GoType::kText},
                                    {"clientCertificateData", doc::GoType::kText},
                                    {"clientKeyData", doc::GoType::kText}};
constexpr doc::GoField kExecCredential[] = {{"apiVersion", doc::GoType::kText},
                                            {"kind", doc::GoType::kText},
                                            {"spec", doc::GoType::kObject, kSpec},
                                            {"status", doc::GoType::kObject, kStatus}};

}  // namespace

// Validates the plugin even if it will not be run, because kubectl would reject the same file. Returns
// nullopt if it is not to be run.
std::optional<ExecPlugin> DecodeExecPlugin(doc::ObjectReader& exec, const std::string& folder,
                                           const Cluster& cluster, const PluginCluster& described,
                                           const std::vector<std::string>& environment, const GetEnv& get_env,
                                           PluginUse use) {
  ExecPlugin plugin{.environment = environment};
  plugin.api_version = exec.String("apiVersion").value_or("");
  const std::string command = exec.String("command").value_or("");
  if (auto args = exec.Find("args")) plugin.args = doc::GoTexts(*args);
  plugin.install_hint = exec.String("installHint").value_or("");
  ReadEnvironment(exec, plugin, use);
  const bool wants_cluster = exec.Bool("provideClusterInfo").value_or(false);
  const bool known = plugin.api_version == kV1 || plugin.api_version == kV1Beta1;
  if (plugin.api_version.empty() || (!known && use != PluginUse::kPlainHttp)) {
    exec.Fail("apiVersion", "must be " + std::string(kV1) + " or " + std::string(kV1Beta1));
  }
  if (command.empty()) exec.Fail("command", "is required");
  const std::string mode = exec.String("interactiveMode").value_or("");
  // Only the old versions have a default.
  const bool may_be_absent = plugin.api_version == kV1Beta1 || plugin.api_version == kV1Alpha1;
  const bool mode_fits = mode == "Never" || mode == "IfAvailable" || mode == "Always";
  if (mode.empty() ? !may_be_absent : !mode_fits) {
    exec.Fail("interactiveMode", "must be Never, IfAvailable or Always");
  }
  // Rejected before the run: such a plugin would wait for input that never comes.
  if (use == PluginUse::kActive && mode == "Always") {
    exec.Fail("interactiveMode", "needs a terminal, and plugins get none here");
  }
  if (use != PluginUse::kActive) return std::nullopt;
  if (HasNul(command) || std::any_of(plugin.args.begin(), plugin.args.end(), HasNul)) {
    exec.Fail("has an argument that no program can get");
  }
  plugin.command = PluginProgram(command, folder, get_env);
  plugin.info = ExecInfo(plugin.api_version,
                         wants_cluster ? std::optional(ClusterInfo(cluster, described)) : std::nullopt);
  SetVariable(plugin.environment, "KUBERNETES_EXEC_INFO", plugin.info);
  return plugin;
}

base::Result<ExecCredential> DecodeExecCredential(std::string_view output, const std::string& api_version) {
  doc::Problems problems("the plugin's output");
  auto parsed = doc::ReadKubernetesObject(output, problems);
  if (!parsed) return problems.ToStatus().error();
  doc::SecretNode tree(std::move(parsed->root));
  const doc::Reader reader(tree.node, problems);
  doc::ObjectReader root{reader};
  // The version has to be the one that was requested, as client-go demands.
  if (doc::TypeMeta(reader, "apiVersion", parsed->order) != api_version)
    root.Fail("apiVersion", "must be " + api_version);
  const std::string kind = doc::TypeMeta(reader, "kind", parsed->order);
  if (!kind.empty() && kind != "ExecCredential") root.Fail("kind", "must be ExecCredential");
  doc::CheckGoTypes(reader, kExecCredential);
  ExecCredential credential;
  if (auto status = root.Object("status", doc::Need::kRequired)) {
    credential.token = base::Secret(status->String("token").value_or(""));
    base::RememberSecret(credential.token);
    credential.certificate_pem = status->String("clientCertificateData").value_or("");
    credential.key_pem = base::Secret(status->String("clientKeyData").value_or(""));
    base::RememberSecret(credential.key_pem);
    // Go reads each value of a repeated time.
    for (const auto& entry : status->reader().Members()) {
      if (entry.first != "expirationTimestamp" || entry.second.IsNull()) continue;
      credential.expires = ParseRfc3339(entry.second.node().text);
      if (!credential.expires) entry.second.Fail("must be a time as RFC 3339 has it");
    }
    if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
      status->Fail("has one of clientCertificateData and clientKeyData without the other");
    } else if (credential.token.empty() && credential.certificate_pem.empty()) {
      status->Fail("has neither a token nor a certificate");
    }
  }
  if (base::Status good = problems.ToStatus(); !good) return std::move(good).error();
  return credential;
}

base::Result<ExecCredential> RunExecPlugin(const base::Call& call, const ExecPlugin& plugin) {
  std::string subject = "credential plugin " + plugin.command;
  base::Command command{.argv = {plugin.command}, .environment = plugin.environment};
  command.argv.insert(command.argv.end(), plugin.args.begin(), plugin.args.end());
  command.max_output = kLongestOutput;
  // FindProgram has left a name that is not in PATH.
  auto result = plugin.command.find('/') == std::string::npos
                    ? base::Result<base::ProcessResult>(base::NotFound("there is no such program in PATH"))
                    : base::RunProcess(call, command, "");
  if (!result) {
    std::string hint = plugin.install_hint.empty() ? "" : " (" + plugin.install_hint + ")";
    return std::move(result).error().Wrap(subject + hint);
  }
  // Only exit code 0 is a success, whatever the plugin has printed.
  if (result->end != base::ProcessEnd::kExited || result->code != 0) {
    // The plugin's own words are the only explanation ("login required"), so they are quoted, without
    // secrets.
    const bool flooded = result->end == base::ProcessEnd::kOutputLimit;
    return base::ProcessFailure(*result, "did not answer in time", flooded ? "" : StderrTail(*result, plugin))
        .Wrap(subject);
  }
  auto credential = DecodeExecCredential(result->output.Reveal(), plugin.api_version);
  if (!credential) return std::move(credential).error().Wrap(subject);
  return credential;
}

}  // namespace prefetch::kube
