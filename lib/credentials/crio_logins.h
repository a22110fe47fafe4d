// The logins that CRI-O has itself (registry rule R50): its files, and the entry that it takes for a name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "credentials/docker_config.h"
#include "image/reference.h"

namespace prefetch::credentials {

// A file with logins of CRI-O's own.
struct CrioAuthFile {
  std::string path;
  DockerConfigFormat format = DockerConfigFormat::kAuths;
  ContainersAuth auth;
  bool unusable = false;  // it exists and cannot be read, and CRI-O looks into no later file
};

// Returns the paths that CRI-O reads, in its order. `global_auth_file`: as in its settings; may be empty.
std::vector<std::string> CrioAuthFiles(const std::string& global_auth_file);
// Reads these files below `host_root`. A file that exists and cannot be used is a problem.
std::vector<CrioAuthFile> ReadCrioAuthFiles(const std::string& global_auth_file, const std::string& host_root,
                                            std::vector<std::string>& problems);

// Returns the entries that containers/image may take for a repository. There are several if URLs name its
// registry, each with another login: the library takes one by Go's order of maps, which is none. Pure.
std::vector<const ContainersLogin*> CrioLoginsFor(const std::vector<ContainersLogin>& logins,
                                                  const image::Reference& repository,
                                                  DockerConfigFormat format = DockerConfigFormat::kAuths);

struct CrioLogin {
  std::string file;       // file with the login; empty: there is none
  bool unusable = false;  // that file
  std::string match;      // its key in that file; of a helper, the registry
  // A program that CRI-O runs for the login (docker-credential-HELPER); `file` names it.
  std::optional<std::string> helper = {};
};
// Takes the first program or file that is known to answer. `helpers`: credential-helpers of registries.conf.
// Adds each problem once: a registry and its mirrors may share the entry. Pure.
CrioLogin ChooseCrioLogin(const std::vector<CrioAuthFile>& files, const std::vector<std::string>& helpers,
                          const image::Reference& as, std::vector<std::string>& problems);

}  // namespace prefetch::credentials
