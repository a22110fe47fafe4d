// Objects: the objects that kustomizations add and change, before their names are final.
// MakeConfigMap and ConfigMapHash: ConfigMaps from files, and the hash that ends their names.
// Internal to deploy/.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "deploy/kustomization.h"
#include "doc/node.h"

namespace prefetch::deploy {

struct Object {
  doc::Node body;
  std::string original_name;  // as others refer to it; its final name may have a suffix and a hash
  std::string name_space;     // as others refer to it; empty: none
  bool hashed = false;        // its name ends with a hash of its content

  std::string Kind() const;
  std::string Name() const;
};

// A field of one kind of objects that holds names of another kind.
struct Reference {
  std::string kind;               // of the referenced object; empty: a namespace
  std::string referrer_kind;      // the kind that refers; empty: any
  std::vector<std::string> path;  // sequences on the way are gone through
};

struct Objects {
  std::vector<Object> all;
  // The kustomization's `configurations` add these to those that every cluster has.
  std::vector<Reference> references, namespaces;
};

// The way from a pod's spec to the expressions of the node affinity that it requires.
inline constexpr std::array kNodeAffinity = {"affinity", "nodeAffinity",
                                             "requiredDuringSchedulingIgnoredDuringExecution",
                                             "nodeSelectorTerms", "matchExpressions"};

// Finds an object by kind and first name; nullptr if there is none.
Object* FindObject(Objects& objects, std::string_view kind, std::string_view original_name);
// Returns true if the object has the target's kind, first name and label. An empty part matches all.
bool Matches(const Target& target, const Object& object);

// Sets the namespace of all objects that have one, and in all fields that refer to it.
void SetNamespace(Objects& objects, const std::string& name_space);
// Appends the suffix to all names but those of namespaces. FinishNames updates references.
void AddNameSuffix(Objects& objects, const std::string& suffix);
// Adds labels to all objects, and to the selectors of those that select pods.
void AddLabels(Objects& objects, const std::vector<std::pair<std::string, std::string>>& labels);
// Appends hashes to the names of `hashed` ConfigMaps, and then updates every reference to a changed name.
void FinishNames(Objects& objects);
// Sorts them in the order in which they can be created: namespaces first, users of other objects last.
void SortForCreation(Objects& objects);

// The API server's limit for all keys and values of one ConfigMap together (apimachinery, MaxSecretSize).
constexpr std::size_t kMostConfigMapBytes = 1 << 20;
// kubectl apply keeps a copy in an annotation, and annotations have this limit; --server-side keeps none.
constexpr std::size_t kMostClientSideBytes = 256 << 10;

doc::Node MakeConfigMap(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& data);

// Returns the size of all keys and values of `data`.
std::size_t ConfigMapBytes(const doc::Node& config_map);

// Returns ten characters that change with the data, the same as kustomize's: switching between the two keeps
// all names, and triggers no rollout.
std::string ConfigMapHash(const doc::Node& config_map);
// Returns "prefetchd-list" for "prefetchd-list-7k2m9h4t5c": the name of a ConfigMap without such a hash.
std::string WithoutHash(const std::string& name);

}  // namespace prefetch::deploy
