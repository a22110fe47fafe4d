// auth.json as containers/image reads it, which is CRI-O's reader (registry rule R50). kubelet reads files of
// the same form otherwise: docker_config.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "credentials/docker_config.h"
#include "image/auth_config.h"

namespace prefetch::credentials {

// An entry of `auths`. Only its "auth" and "identitytoken" count.
struct ContainersLogin {
  std::string key;  // "quay.io/acme", as it was written
  image::AuthConfig auth;
  bool identity_token = false;
  bool broken = false;  // "auth" is no base64: every pull that would use this entry fails

  // An entry without user and password: the next file counts.
  bool empty() const { return !broken && !identity_token && auth.username.empty() && auth.password.empty(); }
  // Compares everything but the keys.
  bool SendsTheSameAs(const ContainersLogin& other) const {
    return auth.username == other.auth.username && auth.password.Reveal() == other.auth.password.Reveal() &&
           identity_token == other.identity_token && broken == other.broken;
  }
};

// Registry -> name of a program (docker-credential-NAME), of `credHelpers`.
using CredHelpers = std::map<std::string, std::string>;

struct ContainersAuth {
  std::vector<ContainersLogin> logins;
  CredHelpers helpers;
};

// InvalidArgument, which never quotes a value: a file that the library does not read. A bare one has no
// helpers. Pure.
base::Result<ContainersAuth> DecodeContainersAuth(std::string_view text,
                                                  DockerConfigShape shape = DockerConfigShape::kAuths);

}  // namespace prefetch::credentials
