// ConfigMaps from files, and the hash that ends their names. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "doc/node.h"

namespace prefetch::deploy {

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
