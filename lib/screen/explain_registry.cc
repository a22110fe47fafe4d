#include "screen/explain_sections.h"

#include <chrono>
#include <string>

#include "base/text.h"

namespace prefetch::screen {
namespace {

std::string SourceWords(const status::CredentialView& credential) {
  if (credential.source == "provider") return "credential provider " + credential.name;
  if (credential.source == "docker-config") return "login from " + credential.name;
  if (credential.source == "pull-secret") return "mounted pull secret " + credential.name;
  return credential.source + " " + credential.name;
}

// Where the runtime looks for mirrors, and the source of that fact.
std::string ConfigPathWords(const status::RegistryHostsView& view) {
  if (view.config_path_source == "registries.conf")
    return "CRI-O's configuration of them is " + view.config_path;
  std::string path = view.config_path.empty() ? "containerd has no config_path, and so no mirrors"
                                              : "containerd's config_path is " + view.config_path;
  if (view.config_path_source == "declared") return path + " (declared)";
  if (view.config_path_source == "runtime") return path + " (reported by containerd)";
  if (view.config_path_source == "file") return path + " (from its configuration file)";
  if (view.config_path_source == "default") return path + " (the default of its release, unless declared)";
  return path;
}

}  // namespace

void AddRegistry(const ImageDocument& document, LabelledPage& page) {
  if (const auto& said = document.image.registry) {
    std::string words = said->answer.empty() ? "not asked since this agent started" : said->message;
    if (said->checked_at && document.time) {
      auto ago = std::chrono::duration_cast<std::chrono::seconds>(*document.time - *said->checked_at);
      words += " (" + said->answer + ", " + base::HumanTime(ago) + " ago)";
    }
    page.Section("registry", words);
  }
  if (!document.registry_hosts) return;
  const status::RegistryHostsView& view = *document.registry_hosts;
  if (view.by_pull) {
    page.Section("asked", "by pulling it again: one request to the registry if nothing changed");
    for (const std::string& note : view.notes) page.Add(note);
    return;
  }
  page.Section("asked at");
  int number = 0;
  for (const status::RegistryHostView& host : view.hosts) {
    std::string words = host.server + (host.mirror ? " (a mirror)" : "");
    if (!host.problem.empty()) words += ": cannot be asked: " + host.problem;
    page.AddMarked(std::to_string(++number) + ".", words);
  }
  if (number == 0) page.Add("no server may answer for its tag");
  if (!view.source.empty()) page.Add("as " + view.source + " says");
  if (!view.config_path_source.empty()) page.Add(ConfigPathWords(view));
  for (const std::string& note : view.notes) page.Add(note);
}

void AddCredentials(const ImageDocument& document, LabelledPage& page) {
  if (!document.credentials_known) return;
  page.Section("credentials");
  int number = 0;
  for (const status::CredentialView& credential : document.credentials) {
    std::string user = credential.username.empty() ? "" : " as " + credential.username;
    page.AddMarked(std::to_string(++number) + ".",
                   SourceWords(credential) + user + ", for " + credential.match);
  }
  if (number == 0) page.Add("none of this node matches: it would be pulled anonymously");
  for (const status::ProviderView& provider : document.providers) {
    if (!provider.error.empty()) {
      const std::string what = provider.outcome == "skipped" ? " was skipped: " : " failed: ";
      page.Add("Provider " + provider.name + what + provider.error);
    } else if (provider.matched && provider.outcome == "empty") {
      page.Add("Provider " + provider.name + " matches, and has no credential for it.");
    }
  }
}

}  // namespace prefetch::screen
