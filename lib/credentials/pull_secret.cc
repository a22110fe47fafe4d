#include "credentials/pull_secret.h"

#include <algorithm>

#include "base/fs.h"
#include "credentials/docker_config.h"

namespace prefetch::credentials {

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
  base::Result<base::FileKind> kind = base::KindOf(secret.path);
  std::vector<std::string> files = PullSecretFiles(secret);
  // The last candidate is the path itself, for a secret that is mounted as a single file.
  if (kind && *kind == base::FileKind::kDirectory) files.pop_back();
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
    const std::vector<std::string>& mine = declared.list_sources;
    return std::find(mine.begin(), mine.end(), source) != mine.end();
  });
  return listed && std::any_of(allowed.begin(), allowed.end(),
                               [&](const Pattern& pattern) { return pattern.Matches(target); });
}

}  // namespace prefetch::credentials
