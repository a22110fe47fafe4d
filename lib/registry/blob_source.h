// MakeBlobSource: manifests and bytes of blobs, from the servers that the runtime would ask, in its order,
// with the same credentials, tokens and redirects as questions without a pull (R5 to R9, R14 to R21, R39 to
// R43).
#pragma once

#include <functional>
#include <memory>

#include "image/registry_question.h"
#include "registry/host.h"
#include "registry/session.h"

namespace prefetch::registry {

// Returns the servers of an image, in the runtime's order.
using ChainFinder = std::function<std::shared_ptr<const HostChain>(const image::Reference&)>;

// Returns a thread-safe source. `state` outlives it. Only nodes with containerd use it. It does
// not use the Throttle: the streams of plan/fetch_order.h limit it.
std::unique_ptr<image::ContentSource> MakeBlobSource(ClientState& state, ChainFinder hosts);

}  // namespace prefetch::registry
