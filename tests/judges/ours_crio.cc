#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/text.h"
#include "credentials/docker_config.h"
#include "ctl/crio_logins.h"
#include "image/reference.h"
#include "judges/ours.h"
#include "registry/endpoint_files.h"
#include "registry/registries_conf.h"

namespace prefetch::judges {
namespace {

constexpr const char* kLoginsFor[] = {"quay.io/team/app", "quay.io/other", "docker.io/library/busybox",
                                      "registry.example.test:5000/a/b/c", "localhost/x"};

std::string LoginOf(const credentials::ContainersAuth& auth, const registry::CrioSettings& settings,
                    const std::string& folder, const char* name) {
  const ctl::CrioLogins found =
      ctl::FindCrioLogins(settings, {}, folder, ctl::HostView::kNode, *image::Reference::Parse(name), false);
  const ctl::CrioEndpoint& place = found.places.front();
  if (place.login.helper) {
    const bool plain =
        place.login.helper->find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
    return Quoted(plain ? "helper " + *place.login.helper : "helper");
  }
  if (place.login.file.empty()) return Quoted("none");
  const std::string problems = base::Join(found.problems, "; ");
  if (problems.find("CRI-O takes any") != std::string::npos) return Quoted("ambiguous");
  if (problems.find("CRI-O fails") != std::string::npos) return Quoted("broken");
  const auto login = std::find_if(auth.logins.begin(), auth.logins.end(),
                                  [&](const auto& one) { return one.key == place.login.match; });
  return "[" + Quoted(login->auth.username) + "," + Quoted(login->auth.password.Reveal()) + "," +
         (login->identity_token ? "true" : "false") + "]";
}

std::string LoginsOf(std::string_view text, credentials::DockerConfigFormat shape,
                     const registry::CrioSettings& settings, const std::string& folder,
                     const std::string& file) {
  const auto auth = credentials::DecodeContainersAuth(text, shape);
  if (!auth) return Error(auth.error().message());
  std::ofstream(folder + file, std::ios::binary) << text;
  std::vector<std::string> logins;
  for (const char* name : kLoginsFor) logins.push_back(LoginOf(*auth, settings, folder, name));
  return Value("[" + base::Join(logins, ",") + "]");
}

// crio-auth FOLDER
std::string ReadAuth(std::string_view text, const std::vector<std::string>& arguments) {
  return LoginsOf(text, credentials::DockerConfigFormat::kAuths, {.global_auth_file = "/auth.json"},
                  arguments[0], "/auth.json");
}

// crio-dockercfg FOLDER: the last of root's usual files.
std::string ReadDockercfg(std::string_view text, const std::vector<std::string>& arguments) {
  std::filesystem::create_directories(arguments[0] + "/root");
  return LoginsOf(text, credentials::DockerConfigFormat::kLegacy, {}, arguments[0], "/root/.dockercfg");
}

constexpr const char* kAliasesOf[] = {"busybox", "app", "team/app", "fedora"};
const std::string kPullsOf[] = {"quay.io/team/app:v1", "docker.io/library/busybox:latest",
                                "sub.example.test/x/y:1",
                                "registry.example.test:5000/a/b@sha256:" + std::string(64, 'a')};

std::string BoolText(bool value) {
  return value ? "true" : "false";
}

std::string ArrayOf(const std::vector<std::string>& items) {
  return "[" + base::Join(items, ",") + "]";
}

std::string QuotedArray(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quoted(text));
  return ArrayOf(quoted);
}

std::string Describe(const registry::ConfRegistry& entry) {
  constexpr const char* kUses[] = {"all", "digest-only", "tag-only"};
  std::vector<std::string> mirrors;
  for (const registry::ConfEndpoint& mirror : entry.mirrors) {
    mirrors.push_back(ArrayOf(
        {Quoted(mirror.location), BoolText(mirror.insecure), Quoted(kUses[static_cast<int>(mirror.use)])}));
  }
  return "{\"prefix\":" + Quoted(entry.prefix) + ",\"location\":" + Quoted(entry.own.location) +
         ",\"insecure\":" + BoolText(entry.own.insecure) + ",\"blocked\":" + BoolText(entry.blocked) +
         ",\"byDigest\":" + BoolText(entry.mirrors_by_digest_only) + ",\"mirrors\":" + ArrayOf(mirrors) + "}";
}

std::string PlacesFor(const registry::RegistriesConf& conf, const std::string& name) {
  const registry::HostChain found = registry::PullEndpointsFor(conf, *image::Reference::Parse(name));
  if (!found.only_by_pull_reason.empty()) return "null";
  std::vector<std::string> places;
  for (const registry::ChainedHost& place : found.hosts) {
    places.push_back(ArrayOf(
        {Quoted(place.as->Normalized()), BoolText(place.host.http_fallback), Quoted(place.blocked_by)}));
  }
  return ArrayOf(places);
}

// registries-conf FOLDER
std::string ReadRegistriesConf(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  constexpr std::string_view kDropIn = "\n=== drop-in\n";
  const std::string all = "\n" + std::string(text);
  std::size_t end = all.find(kDropIn);
  auto conf = registry::ParseRegistriesConf(all.substr(0, end), registry::ConfKind::kMain);
  if (!conf) return Error(conf.error().message());
  while (end != std::string::npos) {
    const std::size_t begin = end + kDropIn.size();
    end = all.find(kDropIn, begin);
    const auto later =
        registry::ParseRegistriesConf(all.substr(begin, end - begin), registry::ConfKind::kDropIn);
    if (!later) return Error(later.error().message());
    registry::Update(*conf, *later);
  }
  std::vector<std::string> registries, aliases, pulls;
  for (const auto& [prefix, entry] : conf->registries) registries.push_back(Describe(entry));
  for (const char* name : kAliasesOf) {
    const auto alias = conf->aliases.find(name);
    if (alias != conf->aliases.end()) aliases.push_back(Quoted(name) + ":" + Quoted(alias->second));
  }
  for (const std::string& name : kPullsOf) pulls.push_back(PlacesFor(*conf, name));
  const std::vector<std::string> none, usual = {"containers-auth.json"};
  const bool helped = conf->helpers && !conf->helpers->empty();
  return Value("{\"registries\":" + ArrayOf(registries) +
               ",\"search\":" + QuotedArray(conf->search.value_or(none)) +
               ",\"helpers\":" + QuotedArray(helped ? *conf->helpers : usual) + ",\"aliases\":{" +
               base::Join(aliases, ",") + "},\"pulls\":" + ArrayOf(pulls) + "}");
}

}  // namespace

std::map<std::string, Family> CrioFamilies() {
  return {
      {"crio-auth", ReadAuth}, {"crio-dockercfg", ReadDockercfg}, {"registries-conf", ReadRegistriesConf}};
}

}  // namespace prefetch::judges
