// Docker's configuration files, as several programs read them:
//   DecodeDockerConfig     as kubelet does, for nodes and pull secrets (A21 to A23)
//   DecodeContainersAuth   auth.json as CRI-O does (R50; credentials/crio_logins)
//   DecodeGoMap            a map of objects as Go decodes it; internal to credentials/
//   LoadPullSecret         a registry secret that is mounted into the agent
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "credentials/match.h"
#include "doc/reader.h"
#include "image/kubelet_version.h"
#include "image/pull_secret.h"
#include "image/registry_question.h"

namespace prefetch::credentials {

enum class DockerConfigFormat {
  kAuths,   // config.json, .dockerconfigjson: {"auths": {…}}
  kLegacy,  // .dockercfg: the map itself
};

// Decodes all entries of a document. A mistake in one makes the whole document an error (InvalidArgument),
// which never quotes a value. Pure.
base::Result<std::vector<KeyedAuth>> DecodeDockerConfig(std::string_view text, DockerConfigFormat format);

// Returns user name and password of an "auth" field; nullopt if kubelet does not accept its base64, or if it
// has no colon. Pure.
std::optional<image::AuthConfig> DecodeAuthField(std::string_view text);

// By the file's name: ".dockercfg" is bare, everything else is not.
DockerConfigFormat FormatOf(std::string_view path);

// kubelet's default search paths, as this process sees them.
struct DockerConfigSearch {
  std::string kubelet_root = image::kDefaultKubeletRoot;
  std::string working_directory = "/";  // kubelet's
  std::string home;                     // kubelet's; empty: unset, which means its working directory

  friend bool operator==(const DockerConfigSearch&, const DockerConfigSearch&) = default;
};
// Returns the paths in kubelet's order. The first file that exists and parses wins; nothing is merged.
std::vector<std::string> DockerConfigCandidates(const DockerConfigSearch& search);

// The file that won, if any.
struct NodeDockerConfig {
  std::string path;
  KeyIndex index;
  std::vector<std::string> problems;  // files that exist and could not be used
};
// Reads files. Never fails: without a usable file there is no credential.
NodeDockerConfig ReadFirstDockerConfig(const std::vector<std::string>& candidates);

// auth.json as containers/image reads it, which is CRI-O's reader (registry rule R50). kubelet reads the same
// format with other rules, above.

// An entry of `auths`. Only its "auth" and "identitytoken" count.
struct ContainersLogin {
  std::string key;  // "quay.io/acme", as it was written
  image::AuthConfig auth;
  bool identity_token = false;
  bool broken = false;  // "auth" is no base64: every pull that would use this entry fails

  // An entry without user and password: the next file counts.
  bool empty() const { return !broken && !identity_token && auth.username.empty() && auth.password.empty(); }
  // Compares everything but the keys.
  bool HasSameCredentials(const ContainersLogin& other) const {
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

// Decodes a file as containers/image does. Returns InvalidArgument, which never quotes a value, if that
// library does not read it. A bare file has no helpers. Pure.
base::Result<ContainersAuth> DecodeContainersAuth(std::string_view text,
                                                  DockerConfigFormat format = DockerConfigFormat::kAuths);

// Parts of docker's configuration files that all readers of them share. Internal to credentials/.

inline constexpr std::size_t kMaxDepth = 1000;  // levels of JSON

// Decodes a map of objects as Go does, by `decode` (key, object), which returns an optional entry with a key:
// a second map is read into the first one, so that its entries replace those of the same key. null takes all
// away.
template <typename Entry, typename Decode>
void DecodeGoMap(const doc::Reader& map, std::vector<Entry>& entries, const Decode& decode) {
  if (map.IsNull()) return entries.clear();
  for (const auto& member : map.Members()) {
    std::erase_if(entries, [&](const Entry& other) { return other.key == member.first; });
    const doc::Reader& object = member.second;
    if (!object.IsNull() && object.node().kind != doc::Node::Kind::kMapping) {
      object.Members();  // tells what it is
    } else if (auto entry = decode(member.first, object)) {
      entries.push_back(*std::move(entry));
    }
  }
}

using image::PullSecret;

// A declared secret with the credentials that were read from it.
struct LoadedPullSecret {
  PullSecret declared;
  std::vector<Pattern> allowed;
  KeyIndex index;
  std::vector<std::string> problems;  // with one, the index is empty

  // Returns true if the image matches an allowed pattern, and one of its sources is one of the secret.
  bool Serves(const Target& target, const std::vector<std::string>& list_sources) const;
};

// The files that may have its data, in order. The first that exists counts.
std::vector<std::string> PullSecretFiles(const PullSecret& secret);
LoadedPullSecret LoadPullSecret(const PullSecret& secret);

}  // namespace prefetch::credentials
