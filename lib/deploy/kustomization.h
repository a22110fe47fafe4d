// Kustomization: the part of kustomize's language that the tree deploy/ uses. Anything else in a
// kustomization.yaml is rejected, so that no rendering silently differs from kustomize's.
// EmbeddedFiles: the tree deploy/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::deploy {

// Files by their paths from the tree's root: "base/daemonset.yaml". Views of text that outlives them.
using Files = std::map<std::string, std::string_view>;

// Selects objects; an empty member matches all.
struct Target {
  std::string kind, name;
  std::string label_key, label_value;  // of labelSelector, "key=value"
};

struct Patch {
  std::string path;  // of a file, from the kustomization's folder; else `content`
  std::string content;
  Target target;  // of a strategic patch without one: the object that it names itself
};

enum class Behavior { kCreate, kMerge, kReplace };

// configMapGenerator.
struct ConfigMapSource {
  std::string name, name_space;
  Behavior behavior = Behavior::kCreate;
  std::vector<std::pair<std::string, std::string>> files;  // key, path from the kustomization's folder
  std::vector<std::pair<std::string, std::string>> data;   // key, text; not in files, for our own code
  std::vector<std::pair<std::string, std::string>> labels;
  bool immutable = false;
  bool keeps_name = false;  // disableNameSuffixHash
};

struct Kustomization {
  std::vector<std::string> resources, components;  // paths from its folder
  std::string name_space, name_suffix;
  std::vector<std::pair<std::string, std::string>> labels;  // with includeSelectors
  std::vector<ConfigMapSource> config_maps;
  std::vector<Patch> patches;
  std::vector<std::string> configurations;  // files with nameReference
};

// Returns InvalidArgument with everything that is not understood, a line each. Pure.
base::Result<Kustomization> DecodeKustomization(const std::string& path, std::string_view text);

// Returns the tree deploy/ as it was when this was built: base, parts, components, overlays, the schemas, and
// the example of an init container.
// It lives as long as the program. Any thread may call.
const Files& EmbeddedFiles();
// The documents that have a JSON Schema there: schemas/list.json.
inline constexpr const char* kSchemas[] = {"list", "agent", "status", "check"};

}  // namespace prefetch::deploy
