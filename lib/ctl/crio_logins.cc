#include "ctl/crio_logins.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fs.h"
#include "base/sha256.h"
#include "base/text.h"
#include "credentials/match.h"
#include "registry/endpoint_files.h"

namespace prefetch::ctl {
namespace {

constexpr std::size_t kMaxNamespacedFiles = 10000;

constexpr const char* kCrioSocket = "/run/crio/crio.sock";
bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// NAMESPACE-SHA256.json, of the repository: CRI-O server/image_pull.go (prepareTempAuthFile).
std::vector<std::string> NamespacedFiles(const std::string& folder, const std::string& host_root,
                                         const image::Reference& image) {
  std::vector<std::string> found;
  auto names = base::ListDirectory(host_root + folder, kMaxNamespacedFiles);
  const std::string ending = "-" + base::Sha256Hex(image.Repository()) + ".json";
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (name.ends_with(ending)) found.push_back(folder + "/" + name);
  }
  return found;
}

std::vector<std::string> Unseen(const std::vector<std::string>& paths, const std::string& host_root,
                                HostView view) {
  std::vector<std::string> unseen;
  for (const std::string& path : paths) {
    const std::string folder = path.substr(0, path.rfind('/'));
    // In a pod, a missing file proves nothing. With mounted folders, a missing file is absent if its folder
    // is visible.
    const bool hidden = view == HostView::kPod ? !Exists(host_root + path)
                                               : view == HostView::kMounted && !Exists(host_root + folder);
    if (hidden) unseen.push_back(path);
  }
  return unseen;
}

std::string OwnLoginText(const credentials::CrioLogin& login) {
  if (login.file.empty()) return "";
  const std::string of = " of " + login.file;
  if (login.helper) {
    return (login.helper->empty() ? "from a credential helper without a name"
                                  : "from credential helper " + *login.helper) +
           of;
  }
  return credentials::DisplayKey(login.match) + of;
}

std::string LoginText(const CrioEndpoint& place, bool all_visible) {
  const std::string login = place.login.unusable ? "" : OwnLoginText(place.login);
  if (place.uses_pull_credentials)
    return "the credentials above" + (login.empty() ? "" : ", not its own login " + login);
  if (place.login.unusable)
    return "not known, as " + place.login.file +
           " cannot be read, and CRI-O looks into no later file if it cannot read this one";
  if (!login.empty() && place.login.helper) return "its own login " + login + ", if that has one";
  if (!login.empty()) return "its own login " + login;
  return all_visible ? "anonymous" : "anonymous, or a login that cannot be seen from here";
}

}  // namespace

CrioLogins FindCrioLogins(const registry::CrioSettings& settings, const registry::RegistriesConf& conf,
                          const std::string& host_root, HostView view, const image::Reference& image,
                          bool has_credentials) {
  CrioLogins logins;
  logins.unseen = Unseen(credentials::CrioAuthFiles(settings.global_auth_file), host_root, view);
  // The visible drop-ins name no file, but crio.conf, which is not visible, may name one.
  if (settings.auth_file_source.empty() && view == HostView::kPod &&
      !Exists(host_root + registry::kCrioFile)) {
    logins.unseen.insert(logins.unseen.begin(), registry::kCrioFile);
  }
  const std::vector<credentials::CrioAuthFile> files =
      credentials::ReadCrioAuthFiles(settings.global_auth_file, host_root, logins.problems);
  const std::vector<std::string> helpers = conf.helpers.value_or(std::vector<std::string>());
  const registry::HostChain places = registry::PullEndpointsFor(conf, image);
  if (!places.only_by_pull_reason.empty()) logins.problems.push_back(places.only_by_pull_reason);
  for (const registry::ChainedHost& place : places.hosts) {
    // CRI-O never asks a blocked place.
    if (!place.blocked_by.empty()) continue;
    // The credentials of a pull go to the registry of the image's name alone (R48).
    CrioEndpoint out{.name = place.as->Repository(), .uses_pull_credentials = place.own && has_credentials};
    out.login = credentials::ChooseCrioLogin(files, helpers, *place.as, logins.problems);
    logins.places.push_back(std::move(out));
  }
  logins.namespaced = NamespacedFiles(settings.namespaced_auth_dir, host_root, image);
  return logins;
}

std::string CrioText(const CrioLogins& logins) {
  std::string text;
  for (const CrioEndpoint& place : logins.places) {
    text += "  CRI-O to " + place.name + ": " + LoginText(place, logins.unseen.empty()) + "\n";
  }
  if (!logins.unseen.empty()) {
    text += "  not visible from here: " + base::Join(logins.unseen, ", ") + "; run the command on the node\n";
  }
  for (const std::string& file : logins.namespaced) {
    text += "  CRI-O for a pod of the file's namespace, once, if kubelet sends none: " + file +
            "; never for the agent's pulls\n";
  }
  return text;
}

doc::Node CrioJson(const CrioLogins& logins) {
  std::vector<doc::Node> places;
  for (const CrioEndpoint& place : logins.places) {
    const char* without = logins.unseen.empty() ? "none" : "unknown";
    const char* own = place.login.unusable ? "unknown" : place.login.helper ? "helper" : "own";
    const char* sends = place.uses_pull_credentials ? "given" : place.login.file.empty() ? without : own;
    places.push_back(doc::Node::Mapping());
    places.back()
        .Set("place", doc::Node::String(place.name))
        .Set("sends", doc::Node::String(sends))
        .Set("file", doc::Node::String(place.login.file))
        .Set("match",
             doc::Node::String(place.login.file.empty() ? "" : credentials::DisplayKey(place.login.match)));
    if (place.login.helper) places.back().Set("helper", doc::Node::String(*place.login.helper));
  }
  return doc::Node::Mapping({{"places", doc::Node::Sequence(std::move(places))},
                             {"namespacedFiles", doc::Node::Strings(logins.namespaced)},
                             {"unseenFiles", doc::Node::Strings(logins.unseen)}});
}

bool HasCrioSocket(const std::string& host_root) {
  return Exists(host_root + kCrioSocket);
}

std::string UnseenCrioText() {
  return std::string("  CRI-O may send logins of its own: there is no ") + registry::kCrioFile +
         " here that shows them; run the command on the node, or set registryHostRoot\n";
}

doc::Node UnseenCrioJson() {
  return doc::Node::Mapping({{"unseenFiles", doc::Node::Strings({registry::kCrioFile})}});
}

}  // namespace prefetch::ctl
