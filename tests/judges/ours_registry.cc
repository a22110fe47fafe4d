#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "credentials/docker_config.h"
#include "image/reference.h"
#include "judges/ours.h"
#include "registry/host_files.h"
#include "registry/token_cache.h"

namespace prefetch::judges {
namespace {

std::string Flag(std::string_view name, bool value) {
  return "\"" + std::string(name) + "\":" + (value ? "true" : "false");
}

// Named as in Go's http.Header.
std::string HeadersOf(const registry::Host& host) {
  std::map<std::string, std::vector<std::string>> named;
  for (const auto& [name, value] : host.headers) named[name].push_back(Quoted(value.Reveal()));
  std::vector<std::string> members;
  for (const auto& [name, values] : named) {
    members.push_back(Quoted(name) + ":[" + base::Join(values, ",") + "]");
  }
  return base::Join(members, ",");
}

std::string Describe(const registry::ChainedHost& chained) {
  const registry::Host& host = chained.host;
  const bool lost = !chained.problem.empty();
  std::string out = "{" + Flag("lost", lost);
  out += ",\"server\":" + Quoted(lost ? "" : host.server.Origin() + host.server.target);
  out += "," + Flag("pull", !lost && host.pull) + "," + Flag("resolve", !lost && host.resolve);
  out += "," + Flag("skipVerify", !lost && host.skip_verify);
  out += "," + Flag("httpsFirst", !lost && host.https_first);
  const std::string headers = lost ? "" : HeadersOf(host);
  if (!headers.empty()) out += ",\"headers\":{" + headers + "}";
  return out + "}";
}

// hosts RELEASE REGISTRY FOLDER: the servers that are asked by the hosts.toml of the registry's folder.
std::string ReadHosts(std::string_view text, const std::vector<std::string>& arguments) {
  const std::filesystem::path folder = arguments[2];
  std::ofstream(folder / "hosts.toml", std::ios::binary) << text;
  registry::HostFiles files(
      {.runtime = {
           .containerd_version = arguments[0], .config_path = folder.parent_path(), .local_pull = true}});
  const auto chain = files.ChainFor(arguments[1]);
  if (!chain->only_by_pull_reason.empty()) {
    return Error(chain->only_by_pull_reason.find("certificates") != std::string::npos
                     ? "no pull"
                     : chain->only_by_pull_reason);
  }
  std::vector<std::string> hosts;
  for (const registry::ChainedHost& host : chain->hosts) hosts.push_back(Describe(host));
  return Value("[" + base::Join(hosts, ",") + "]");
}

std::string ReadReference(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  const auto reference = image::Reference::Parse(text);
  if (!reference) return Error(reference.error().message());
  return Value("[" + Quoted(reference->domain()) + "," + Quoted(reference->path()) + "," +
               Quoted(reference->Normalized()) + "]");
}

std::string ReadToken(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  const auto token = registry::ParseTokenResponse(text);
  return token ? Value(Quoted(token->text.Reveal())) : Error(token.error().message());
}

std::string ReadDocker(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  const auto auths = credentials::DecodeDockerConfig(text, credentials::DockerConfigFormat::kAuths);
  if (!auths) return Error(auths.error().message());
  std::vector<std::string> members;
  for (const credentials::KeyedAuth& one : *auths) {
    members.push_back(Quoted(one.key) + ":[" + Quoted(one.auth.username) + "," +
                      Quoted(one.auth.password.Reveal()) + "]");
  }
  return Value("{" + base::Join(members, ",") + "}");
}

}  // namespace

std::map<std::string, Family> RegistryFamilies() {
  return {{"docker", ReadDocker}, {"hosts", ReadHosts}, {"reference", ReadReference}, {"token", ReadToken}};
}

}  // namespace prefetch::judges
