#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "ctl/cluster.h"
#include "http/curl_request.h"
#include "judges/ours.h"
#include "kube/identity.h"
#include "kube/kubeconfig.h"

namespace prefetch::judges {
namespace {

using Environment = std::map<std::string, std::string>;

std::string List(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quoted(text));
  return "[" + base::Join(quoted, ",") + "]";
}

// Lines "#env NAME=VALUE" at the text's begin.
Environment EnvironmentOf(std::string_view text) {
  Environment found;
  while (text.starts_with("#env ")) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(5, end == std::string_view::npos ? end : end - 5);
    const std::size_t equals = std::min(line.find('='), line.size());
    found[std::string(line.substr(0, equals))] =
        base::TrimSpace(line.substr(std::min(equals + 1, line.size())));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return found;
}

// As kube::Exchange makes it.
http::Request RequestOf(const kube::Cluster& cluster, const kube::RequestAuth& auth) {
  http::Request request{.url = cluster.server + "/api/v1/nodes"};
  request.headers = cluster.impersonation;
  request.authorization = auth.authorization;
  request.tls = auth.tls;
  return request;
}

std::string Headers(const http::Request& request) {
  std::map<std::string, std::vector<std::string>> named;
  for (const auto& [name, value] : request.headers.fields()) {
    named[base::ToLower(name)].emplace_back(base::TrimSpace(value));
  }
  if (!request.authorization.empty()) {
    named["authorization"].emplace_back(base::TrimSpace(request.authorization.Reveal()));
  }
  std::vector<std::string> members;
  for (auto& [name, values] : named) {
    std::sort(values.begin(), values.end());
    members.push_back(Quoted(name) + ":" + List(values));
  }
  return "{" + base::Join(members, ",") + "}";
}

std::string Exec(const kube::ExecPlugin& plugin) {
  std::vector<std::string> variables;
  for (const std::string& one : plugin.environment) {
    const std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals);
    if (name != "KUBERNETES_EXEC_INFO")
      variables.push_back(Quoted(name) + ":" + Quoted(one.substr(equals + 1)));
  }
  return "{\"command\":" + Quoted(plugin.command) + ",\"arguments\":" + List(plugin.args) +
         ",\"environment\":{" + base::Join(variables, ",") + "},\"info\":" + plugin.info + "}";
}

// "http://u%40x:p@host:1" → "http://u@x:p@host:1"
std::string ProxyWithoutEscapes(const std::string& proxy) {
  const std::size_t at = proxy.rfind('@'), begin = proxy.find("://") + 3;
  if (at == std::string::npos) return proxy;
  std::string user = proxy.substr(begin, at - begin);
  if (user.find(':') == std::string::npos) user += ':';
  return proxy.substr(0, begin) + base::PercentDecode(user).value_or("?") + proxy.substr(at);
}

std::string Tls(const http::Tls& tls) {
  return "{\"name\":" + Quoted(tls.server_name) + ",\"insecure\":" + (tls.verify ? "false" : "true") +
         ",\"ca\":" + Quoted(tls.ca_pem) + ",\"certificate\":" + Quoted(tls.certificate_pem) +
         ",\"key\":" + Quoted(tls.key_pem.Reveal()) + "}";
}

// kubeconfig FOLDER: the request that lists the nodes.
std::string ReadKubeconfig(std::string_view text, const std::vector<std::string>& arguments) {
  const std::filesystem::path file = std::filesystem::path(arguments[0]) / "config";
  std::ofstream(file, std::ios::binary) << text;
  const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
  auto cluster = kube::FromKubeconfig(nothing, {.file = file});
  if (!cluster) return Error(cluster.error().message());
  const std::optional<kube::ExecPlugin> exec = std::exchange(cluster->exec, std::nullopt);
  const Environment environment = EnvironmentOf(text);
  const http::CurlOptions proxies = ctl::ProxiesFor(*cluster, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  base::SystemClock clock;
  kube::Identity identity(*cluster, clock);
  const auto auth = identity.Current(base::Call{});
  if (!auth) return Error(auth.error().message());
  const http::Request request = RequestOf(*cluster, *auth);
  const auto url = http::Check(request);
  if (!url) return Error(url.error().message());
  std::string out = "{\"namespace\":" + Quoted(cluster->name_space);
  out +=
      ",\"url\":" + Quoted(url->scheme + "://" + url->host + ":" + std::to_string(url->port) + url->target);
  out += ",\"proxy\":" +
         Quoted(ProxyWithoutEscapes(http::NormalizeProxyUrl(http::ProxyFor(proxies, request.url))));
  if (url->scheme == "https") out += ",\"tls\":" + Tls(*auth->tls);
  if (exec) out += ",\"exec\":" + Exec(*exec);
  return Value(out + ",\"headers\":" + Headers(request) + "}");
}

}  // namespace

std::map<std::string, Family> KubeFamilies() {
  return {{"kubeconfig", ReadKubeconfig}};
}

}  // namespace prefetch::judges
