#include "credentials/crio_logins.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/secret.h"
#include "credentials/match.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kMaxAuthFileBytes = 1024 * 1024;

// The files of a service that runs as root, in its order: containers/image pkg/docker/config/config.go
// (getAuthFilePaths).
constexpr const char* kLegacyAuthFile = "/root/.dockercfg";
constexpr const char* kDefaultAuthFiles[] = {"/run/containers/0/auth.json",
                                             "/root/.config/containers/auth.json",
                                             "/root/.docker/config.json", kLegacyAuthFile};

// Docker Hub has several names in these files; config.go (normalizeRegistry).
std::string NormalizedHub(const std::string& registry) {
  return registry == image::kDockerHub || registry == image::kDockerHubServer
             ? std::string(image::kDockerHubIndex)
             : registry;
}

// "https://quay.io/v1/" is "quay.io", and in a bare file "quay.io/v1/", too; config.go
// (normalizeAuthFileKey).
std::string RegistryOfKey(std::string_view key, DockerConfigFormat format) {
  std::string_view rest = key;
  for (std::string_view scheme : {"http://", "https://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  const bool whole = format == DockerConfigFormat::kAuths && rest.size() == key.size();
  return NormalizedHub(std::string(whole ? rest : rest.substr(0, rest.find('/'))));
}

constexpr const char* kFailsAtFile = "CRI-O fails when it looks for a login there";
constexpr const char* kHelpersFile = "registries.conf";
// The entry that stands for the auth files in the list of helpers; sysregistriesv2
// (AuthenticationFileHelper).
constexpr const char* kAuthFilesHelper = "containers-auth.json";

}  // namespace

std::vector<std::string> CrioAuthFiles(const std::string& global_auth_file) {
  if (!global_auth_file.empty()) return {global_auth_file};
  return {std::begin(kDefaultAuthFiles), std::end(kDefaultAuthFiles)};
}

std::vector<CrioAuthFile> ReadCrioAuthFiles(const std::string& global_auth_file, const std::string& host_root,
                                            std::vector<std::string>& problems) {
  std::vector<CrioAuthFile> files;
  for (const std::string& path : CrioAuthFiles(global_auth_file)) {
    // The file of the settings has the usual shape, whatever it is called.
    const bool legacy = global_auth_file.empty() && path == kLegacyAuthFile;
    const DockerConfigFormat format = legacy ? DockerConfigFormat::kLegacy : DockerConfigFormat::kAuths;
    auto text = base::ReadFile(host_root + path, kMaxAuthFileBytes);
    if (!text) {
      // Missing files are no problem: CRI-O goes on to the next one.
      if (text.error().code() == base::Code::kNotFound) continue;
      problems.push_back(text.error().message());
      files.push_back({.path = path, .unusable = true});
      continue;
    }
    auto auth = DecodeContainersAuth(*text, format);
    base::WipeString(*text);
    if (auth) {
      files.push_back({path, format, *std::move(auth)});
    } else {
      problems.push_back(path + ": " + auth.error().message() + "; " + kFailsAtFile);
      files.push_back({.path = path, .unusable = true});
    }
  }
  return files;
}

std::vector<const ContainersLogin*> CrioLoginsFor(const std::vector<ContainersLogin>& logins,
                                                  const image::Reference& repository,
                                                  DockerConfigFormat format) {
  // The longest key wins: the repository, then each folder above it, then the registry (R50). A bare file has
  // registries alone.
  for (std::string key = format == DockerConfigFormat::kLegacy ? repository.domain()
                                                               : repository.Repository();
       !key.empty();) {
    for (const ContainersLogin& one : logins) {
      if (one.key == key) return {&one};
    }
    const std::size_t slash = key.rfind('/');
    key.resize(slash == std::string::npos ? 0 : slash);
  }
  const std::string registry = NormalizedHub(repository.domain());
  std::vector<const ContainersLogin*> found;
  for (const ContainersLogin& one : logins) {
    if (RegistryOfKey(one.key, format) != registry) continue;
    const bool is_new = std::none_of(found.begin(), found.end(),
                                     [&](const auto* other) { return one.HasSameCredentials(*other); });
    if (is_new) found.push_back(&one);
  }
  return found;
}

namespace {

constexpr const char* kFails = "CRI-O fails when it needs this entry";

// Adds a problem once: a registry and its mirrors may share the entry.
void AddOnce(std::vector<std::string>& problems, std::string problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
    problems.push_back(std::move(problem));
  }
}

// Takes the first file that names a helper for the registry, or has a login: config.go
// (findCredentialsInFile). "quay.io": {} is no login, and hides those of the same file for shorter keys.
bool TakeFromFiles(const std::vector<CrioAuthFile>& files, const image::Reference& as, CrioLogin& taken,
                   std::vector<std::string>& problems) {
  for (const CrioAuthFile& file : files) {
    if (file.unusable) {
      taken = {.file = file.path, .unusable = true};
      return false;
    }
    const auto helper = file.auth.helpers.find(as.domain());
    if (helper != file.auth.helpers.end()) {
      taken.file = file.path;
      taken.match = helper->first;
      taken.helper = helper->second;
      if (helper->second.empty()) {
        AddOnce(problems, file.path + ": credHelpers names no program for " + helper->first + "; " + kFails);
      }
      return true;
    }
    const auto found = CrioLoginsFor(file.auth.logins, as, file.format);
    const auto login =
        std::find_if(found.begin(), found.end(), [](const auto* one) { return !one->empty(); });
    if (login == found.end()) continue;
    taken.file = file.path;
    taken.match = (*login)->key;
    const std::string entry = file.path + ": the entry " + DisplayKey(taken.match);
    if (found.size() > 1) {
      AddOnce(problems, entry + " is one of several for this registry; CRI-O takes any of them");
    } else if ((*login)->broken) {
      AddOnce(problems, entry + " has an \"auth\" that is no base64; " + kFails);
    }
    return true;
  }
  return false;
}

}  // namespace

// A program may have no login, and CRI-O then asks the next one; only CRI-O knows that.
CrioLogin ChooseCrioLogin(const std::vector<CrioAuthFile>& files, const std::vector<std::string>& helpers,
                          const image::Reference& as, std::vector<std::string>& problems) {
  const std::vector<std::string> usual = {kAuthFilesHelper};
  CrioLogin taken;
  for (const std::string& helper : helpers.empty() ? usual : helpers) {
    if (helper != kAuthFilesHelper) return {.file = kHelpersFile, .match = as.domain(), .helper = helper};
    if (TakeFromFiles(files, as, taken, problems)) break;
  }
  return taken;
}

}  // namespace prefetch::credentials
