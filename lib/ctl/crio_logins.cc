#include "ctl/crio_logins.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fs.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/text.h"
#include "credentials/match.h"
#include "registry/endpoint_files.h"

namespace prefetch::ctl {
namespace {

constexpr std::size_t kMaxAuthFileBytes = 1024 * 1024;
constexpr std::size_t kMaxNamespacedFiles = 10000;

using Shape = credentials::DockerConfigFormat;

// The files of a service that runs as root, in its order: containers/image pkg/docker/config/config.go
// (getAuthFilePaths).
constexpr const char* kLegacyAuthFile = "/root/.dockercfg";
constexpr const char* kDefaultAuthFiles[] = {"/run/containers/0/auth.json",
                                             "/root/.config/containers/auth.json",
                                             "/root/.docker/config.json", kLegacyAuthFile};

// Docker Hub has several names in these files; config.go (normalizeRegistry).
std::string NormalizedHub(const std::string& registry) {
  return registry == "docker.io" || registry == "registry-1.docker.io" ? "index.docker.io" : registry;
}

// "https://quay.io/v1/" is "quay.io", and in a bare file "quay.io/v1/", too; config.go
// (normalizeAuthFileKey).
std::string RegistryOfKey(std::string_view key, Shape shape) {
  std::string_view rest = key;
  for (std::string_view scheme : {"http://", "https://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  const bool whole = shape == Shape::kAuths && rest.size() == key.size();
  return NormalizedHub(std::string(whole ? rest : rest.substr(0, rest.find('/'))));
}

constexpr const char* kCrioSocket = "/run/crio/crio.sock";
constexpr const char* kHelpersFile = "registries.conf";

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

struct AuthFile {
  std::string path;
  Shape shape = Shape::kAuths;
  credentials::ContainersAuth auth;
};

// The entry that stands for the auth files in the list of helpers; sysregistriesv2
// (AuthenticationFileHelper).
constexpr const char* kAuthFilesHelper = "containers-auth.json";

// `legacy` is the path that has the bare shape, whatever others are called.
std::vector<AuthFile> ReadAuthFiles(const std::vector<std::string>& paths, const std::string& legacy,
                                    const std::string& host_root, std::vector<std::string>& problems) {
  std::vector<AuthFile> files;
  for (const std::string& path : paths) {
    const Shape shape = path == legacy ? Shape::kLegacy : Shape::kAuths;
    auto text = base::ReadFile(host_root + path, kMaxAuthFileBytes);
    if (!text) {
      // Missing files are no problem: CRI-O goes on to the next one.
      if (text.error().code() != base::Code::kNotFound) problems.push_back(text.error().message());
      continue;
    }
    auto auth = credentials::DecodeContainersAuth(*text, shape);
    base::WipeString(*text);
    if (auth) {
      files.push_back({path, shape, *std::move(auth)});
    } else {
      problems.push_back(path + ": " + auth.error().message());
    }
  }
  return files;
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

constexpr const char* kFails = "CRI-O fails when it needs this entry";

// Adds a problem once: a registry and its mirrors may share the entry.
void AddOnce(std::vector<std::string>& problems, std::string problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
    problems.push_back(std::move(problem));
  }
}

// Takes the first file that names a helper for the registry, or has a login: config.go
// (findCredentialsInFile). "quay.io": {} is no login, and hides those of the same file for shorter keys.
bool TakeFromFiles(const std::vector<AuthFile>& files, const image::Reference& as, CrioEndpoint& place,
                   std::vector<std::string>& problems) {
  for (const AuthFile& file : files) {
    const auto helper = file.auth.helpers.find(as.domain());
    if (helper != file.auth.helpers.end()) {
      place.file = file.path;
      place.match = helper->first;
      place.helper = helper->second;
      if (helper->second.empty()) {
        AddOnce(problems, file.path + ": credHelpers names no program for " + helper->first + "; " + kFails);
      }
      return true;
    }
    const auto found = CrioLoginsFor(file.auth.logins, as, file.shape);
    const auto login =
        std::find_if(found.begin(), found.end(), [](const auto* one) { return !one->empty(); });
    if (login == found.end()) continue;
    place.file = file.path;
    place.match = (*login)->key;
    const std::string entry = file.path + ": the entry " + credentials::DisplayKey(place.match);
    if (found.size() > 1) {
      AddOnce(problems, entry + " is one of several for this registry; CRI-O takes any of them");
    } else if ((*login)->broken) {
      AddOnce(problems, entry + " has an \"auth\" that is no base64; " + kFails);
    }
    return true;
  }
  return false;
}

// Takes the first program or file that is known to answer. A program may have no login, and CRI-O then asks
// the next one; only CRI-O knows that.
void TakeOwnLogin(const registry::RegistriesConf& conf, const std::vector<AuthFile>& files,
                  const image::Reference& as, CrioEndpoint& place, std::vector<std::string>& problems) {
  const std::vector<std::string> usual = {kAuthFilesHelper};
  for (const std::string& helper : conf.helpers && !conf.helpers->empty() ? *conf.helpers : usual) {
    if (helper != kAuthFilesHelper) {
      place.file = kHelpersFile;
      place.match = as.domain();
      place.helper = helper;
      return;
    }
    if (TakeFromFiles(files, as, place, problems)) return;
  }
}

std::string OwnLoginText(const CrioEndpoint& place) {
  if (place.file.empty()) return "";
  const std::string of = " of " + place.file;
  if (place.helper) {
    return (place.helper->empty() ? "from a credential helper without a name"
                                  : "from credential helper " + *place.helper) +
           of;
  }
  return credentials::DisplayKey(place.match) + of;
}

std::string LoginText(const CrioEndpoint& place, bool all_visible) {
  const std::string login = OwnLoginText(place);
  if (place.uses_pull_credentials)
    return "the credentials above" + (login.empty() ? "" : ", not its own login " + login);
  if (!login.empty() && place.helper) return "its own login " + login + ", if that has one";
  if (!login.empty()) return "its own login " + login;
  return all_visible ? "anonymous" : "anonymous, or a login that cannot be seen from here";
}

}  // namespace

std::vector<const credentials::ContainersLogin*> CrioLoginsFor(
    const std::vector<credentials::ContainersLogin>& logins, const image::Reference& repository,
    credentials::DockerConfigFormat shape) {
  // The longest key wins: the repository, then each folder above it, then the registry (R50). A bare file has
  // registries alone.
  for (std::string key = shape == Shape::kLegacy ? repository.domain() : repository.Repository();
       !key.empty();) {
    for (const credentials::ContainersLogin& one : logins) {
      if (one.key == key) return {&one};
    }
    const std::size_t slash = key.rfind('/');
    key.resize(slash == std::string::npos ? 0 : slash);
  }
  const std::string registry = NormalizedHub(repository.domain());
  std::vector<const credentials::ContainersLogin*> found;
  for (const credentials::ContainersLogin& one : logins) {
    if (RegistryOfKey(one.key, shape) != registry) continue;
    const bool is_new = std::none_of(found.begin(), found.end(),
                                     [&](const auto* other) { return one.HasSameCredentials(*other); });
    if (is_new) found.push_back(&one);
  }
  return found;
}

CrioLogins FindCrioLogins(const registry::CrioSettings& settings, const registry::RegistriesConf& conf,
                          const std::string& host_root, HostView view, const image::Reference& image,
                          bool has_credentials) {
  CrioLogins logins;
  if (settings.global_auth_file.empty()) {
    logins.searched.assign(std::begin(kDefaultAuthFiles), std::end(kDefaultAuthFiles));
  } else {
    logins.searched = {settings.global_auth_file};
  }
  logins.unseen = Unseen(logins.searched, host_root, view);
  // The visible drop-ins name no file, but crio.conf, which is not visible, may name one.
  if (settings.auth_file_source.empty() && view == HostView::kPod &&
      !Exists(host_root + registry::kCrioFile)) {
    logins.unseen.insert(logins.unseen.begin(), registry::kCrioFile);
  }
  const std::vector<AuthFile> files = ReadAuthFiles(
      logins.searched, settings.global_auth_file.empty() ? kLegacyAuthFile : "", host_root, logins.problems);
  registry::PullEndpoints places = registry::PullEndpointsFor(conf, image);
  if (!places.only_by_pull_reason.empty()) logins.problems.push_back(places.only_by_pull_reason);
  for (const registry::PullEndpoint& place : places.endpoints) {
    // CRI-O never asks a blocked place.
    if (!place.blocked_by.empty()) continue;
    // The credentials of a pull go to the registry of the image's name alone (R48).
    CrioEndpoint out{.name = place.as.Repository(),
                     .uses_pull_credentials = place.same_domain && has_credentials};
    TakeOwnLogin(conf, files, place.as, out, logins.problems);
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
  std::vector<doc::Node> places, namespaced, unseen;
  for (const CrioEndpoint& place : logins.places) {
    const char* without = logins.unseen.empty() ? "none" : "unknown";
    const char* own = place.helper ? "helper" : "own";
    const char* sends = place.uses_pull_credentials ? "given" : place.file.empty() ? without : own;
    places.push_back(doc::Node::Mapping());
    places.back()
        .Set("place", doc::Node::String(place.name))
        .Set("sends", doc::Node::String(sends))
        .Set("file", doc::Node::String(place.file))
        .Set("match", doc::Node::String(place.file.empty() ? "" : credentials::DisplayKey(place.match)));
    if (place.helper) places.back().Set("helper", doc::Node::String(*place.helper));
  }
  for (const std::string& file : logins.namespaced) namespaced.push_back(doc::Node::String(file));
  for (const std::string& file : logins.unseen) unseen.push_back(doc::Node::String(file));
  doc::Node node = doc::Node::Mapping();
  node.Set("places", doc::Node::Sequence(std::move(places)))
      .Set("namespacedFiles", doc::Node::Sequence(std::move(namespaced)))
      .Set("unseenFiles", doc::Node::Sequence(std::move(unseen)));
  return node;
}

bool HasCrioSocket(const std::string& host_root) {
  return Exists(host_root + kCrioSocket);
}

std::string UnseenCrioText() {
  return std::string("  CRI-O may send logins of its own: there is no ") + registry::kCrioFile +
         " here that shows them; run the command on the node, or set registryHostRoot\n";
}

doc::Node UnseenCrioJson() {
  doc::Node node = doc::Node::Mapping();
  node.Set("unseenFiles", doc::Node::Sequence({doc::Node::String(registry::kCrioFile)}));
  return node;
}

}  // namespace prefetch::ctl
