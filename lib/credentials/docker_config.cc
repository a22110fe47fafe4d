#include "credentials/docker_config.h"

#include <algorithm>

#include "base/fs.h"
#include "base/redactor.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"

namespace prefetch::credentials {

namespace {

constexpr std::size_t kLongestDockerConfig = 1 << 20;

std::optional<image::AuthConfig> DecodeEntry(const doc::Reader& entry) {
  // Go reads null as an entry with empty fields. It matches images all the same.
  if (entry.IsNull()) return image::AuthConfig{};
  image::AuthConfig auth{doc::GoText(entry, "username"), base::Secret(doc::GoText(entry, "password"))};
  // The value is not used, but one of the wrong type makes the document an error for kubelet.
  doc::GoText(entry, "email");
  std::string encoded = doc::GoText(entry, "auth");
  if (encoded.empty()) return auth;
  std::optional<image::AuthConfig> decoded = DecodeAuthField(encoded);
  base::WipeString(encoded);
  if (!decoded)
    doc::ForEachGoMember(entry, "auth",
                         [](const doc::Reader& value) { value.Fail("must be base64 of user:password"); });
  return decoded;
}

// Each password is also given to the store of base/redactor, since a registry or plugin may repeat it in a
// message.
void DecodeAuths(const doc::Reader& reader, std::vector<KeyedAuth>& auths) {
  DecodeGoMap(reader, auths, [](const std::string& key, const doc::Reader& entry) {
    std::optional<image::AuthConfig> auth = DecodeEntry(entry);
    if (auth) base::RememberSecret(auth->password);
    return auth ? std::optional(KeyedAuth{key, *std::move(auth)}) : std::nullopt;
  });
}

}  // namespace

std::optional<image::AuthConfig> DecodeAuthField(std::string_view text) {
  // A23 allows both forms, with and without padding: kubelet chooses by the last character.
  std::optional<std::string> decoded =
      doc::DecodeGoBase64(std::string(text), base::TrimSpace(text).ends_with('='));
  if (!decoded) return std::nullopt;
  std::optional<image::AuthConfig> auth;
  std::size_t colon = decoded->find(':');
  if (colon != std::string::npos) {
    auth = image::AuthConfig{decoded->substr(0, colon), base::Secret(decoded->substr(colon + 1))};
  }
  base::WipeString(*decoded);
  return auth;
}

base::Result<std::vector<KeyedAuth>> DecodeDockerConfig(std::string_view text, DockerConfigFormat format) {
  doc::Problems problems("docker config");
  std::optional<doc::Node> tree = doc::ParseJson(text, problems, doc::JsonRules::kGo, {.depth = kMaxDepth});
  std::vector<KeyedAuth> auths;
  if (tree) {
    doc::SecretNode root(std::move(*tree));
    doc::Reader reader(root.node, problems);
    if (format == DockerConfigFormat::kLegacy) {
      DecodeAuths(reader, auths);
    } else if (!reader.IsNull()) {
      doc::ForEachGoMember(reader, "auths", [&](const doc::Reader& found) { DecodeAuths(found, auths); });
      // The headers are not sent. Their types are checked, since a wrong one makes the document an error for
      // kubelet (A22).
      doc::ForEachGoMember(reader, "HttpHeaders", [&](const doc::Reader& headers) {
        if (headers.IsNull()) return;
        for (const auto& [name, value] : headers.Members()) {
          if (!value.IsNull()) value.String();
        }
      });
    }
  }
  if (!problems.empty()) return base::InvalidArgument(base::Join(problems.Lines(), "\n"));
  return auths;
}

DockerConfigFormat FormatOf(std::string_view path) {
  return base::BaseName(path) == ".dockercfg" ? DockerConfigFormat::kLegacy : DockerConfigFormat::kAuths;
}

std::vector<std::string> DockerConfigCandidates(const DockerConfigSearch& search) {
  // A21 has this order. With an empty HOME, kubelet's relative path leads below its working directory.
  const std::string& home = search.home.empty() ? search.working_directory : search.home;
  return {
      base::JoinPath(search.kubelet_root, "config.json"),
      base::JoinPath(search.working_directory, "config.json"),
      base::JoinPath(home, ".docker/config.json"),
      "/.docker/config.json",
      base::JoinPath(search.kubelet_root, ".dockercfg"),
      base::JoinPath(search.working_directory, ".dockercfg"),
      base::JoinPath(home, ".dockercfg"),
      "/.dockercfg",
  };
}

NodeDockerConfig ReadFirstDockerConfig(const std::vector<std::string>& candidates) {
  NodeDockerConfig config;
  for (const std::string& path : candidates) {
    base::Result<std::string> text = base::ReadFile(path, kLongestDockerConfig);
    // Most of these places are empty on every node. Only a file that exists and cannot be used is a problem.
    if (!text && text.error().code() == base::Code::kNotFound) continue;
    if (!text) {
      config.problems.push_back(text.error().message());
      continue;
    }
    base::Result<std::vector<KeyedAuth>> auths = DecodeDockerConfig(*text, FormatOf(path));
    // The text has passwords. It is overwritten before its memory is used for anything else.
    base::WipeString(*text);
    if (!auths) {
      config.problems.push_back(path + ": " + auths.error().message());
      continue;
    }
    config.path = path;
    config.index = KeyIndex(*auths);
    return config;
  }
  return config;
}

namespace {

// "auth" has to be padded base64 of user:password. Without a colon there is no login.
void DecodeLogin(std::string encoded, ContainersLogin& login) {
  std::optional<std::string> decoded = doc::DecodeGoBase64(std::move(encoded));
  login.broken = !decoded;
  if (!decoded) return;
  const std::size_t colon = decoded->find(':');
  if (colon == std::string::npos) {
    login.identity_token = false;
  } else {
    std::string_view password = std::string_view(*decoded).substr(colon + 1);
    while (password.starts_with('\0')) password.remove_prefix(1);
    while (password.ends_with('\0')) password.remove_suffix(1);
    login.auth = {decoded->substr(0, colon), base::Secret(std::string(password))};
    base::RememberSecret(login.auth.password);
  }
  base::WipeString(*decoded);
}

std::optional<ContainersLogin> LoginOf(const std::string& key, const doc::Reader& entry) {
  ContainersLogin login{.key = key};
  std::string token = doc::GoText(entry, "identitytoken");
  login.identity_token = !token.empty();
  base::WipeString(token);
  DecodeLogin(doc::GoText(entry, "auth"), login);
  return login;
}

void DecodeHelpers(const doc::Reader& reader, CredHelpers& helpers) {
  if (reader.IsNull()) return helpers.clear();
  for (const auto& [registry, value] : reader.Members()) {
    helpers[registry] = value.IsNull() ? "" : value.String().value_or("");
  }
}

}  // namespace

base::Result<ContainersAuth> DecodeContainersAuth(std::string_view text, DockerConfigFormat format) {
  doc::Problems problems("auth.json");
  std::optional<doc::Node> tree = doc::ParseJson(text, problems, doc::JsonRules::kGo, {.depth = kMaxDepth});
  ContainersAuth auth;
  if (tree) {
    doc::SecretNode root(std::move(*tree));
    doc::Reader reader(root.node, problems);
    if (format == DockerConfigFormat::kLegacy) {
      DecodeGoMap(reader, auth.logins, LoginOf);
    } else if (!reader.IsNull()) {
      doc::ForEachGoMember(reader, "auths",
                           [&](const doc::Reader& found) { DecodeGoMap(found, auth.logins, LoginOf); });
      doc::ForEachGoMember(reader, "credHelpers",
                           [&](const doc::Reader& found) { DecodeHelpers(found, auth.helpers); });
    }
  }
  if (!problems.empty()) return base::InvalidArgument(base::Join(problems.Lines(), "\n"));
  return auth;
}

std::vector<std::string> PullSecretFiles(const PullSecret& secret) {
  return {secret.path + "/.dockerconfigjson", secret.path + "/.dockercfg", secret.path};
}

LoadedPullSecret LoadPullSecret(const PullSecret& secret) {
  LoadedPullSecret loaded;
  loaded.declared = secret;
  std::string where = "pull secret \"" + secret.name + "\": ";
  for (const std::string& text : secret.allow_repositories) {
    std::optional<Pattern> pattern = Pattern::Parse(text);
    if (pattern) {
      loaded.allowed.push_back(std::move(*pattern));
    } else {
      loaded.problems.push_back(where + "allowRepositories: \"" + text + "\" is no registry or repository");
    }
  }
  std::vector<std::string> files = PullSecretFiles(secret);
  // The last candidate is the path itself, for a secret that is mounted as a single file.
  if (base::IsDirectory(secret.path)) files.pop_back();
  NodeDockerConfig config = ReadFirstDockerConfig(files);
  // A secret with an unreadable document is not used, even if another document of it could be read.
  for (const std::string& problem : config.problems) loaded.problems.push_back(where + problem);
  if (config.path.empty() && config.problems.empty()) {
    loaded.problems.push_back(where + "there is no .dockerconfigjson or .dockercfg at " + secret.path);
  }
  // A wrong pattern in allowRepositories also empties the secret: guessing could give it to too many images.
  if (loaded.problems.empty()) loaded.index = std::move(config.index);
  return loaded;
}

bool LoadedPullSecret::Serves(const Target& target, const std::vector<std::string>& list_sources) const {
  // Both limits have to hold: images that are pulled with the secret are open to every pod of the node (K28).
  bool listed = std::any_of(list_sources.begin(), list_sources.end(), [&](const std::string& source) {
    const std::vector<std::string>& mine = declared.sources;
    return std::find(mine.begin(), mine.end(), source) != mine.end();
  });
  return listed && FirstMatch(allowed, target) != nullptr;
}

}  // namespace prefetch::credentials
