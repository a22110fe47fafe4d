// FetchSpike: an agent that fetches the blobs of images itself and lets the runtime do the rest.
//
// From containerd 2.1 on, all pulls of a node share three downloads. This tries the way round that: manifests
// and blobs come by ranges over many connections, from the first server that the runtime's hosts.toml names.
// They go into containerd's content store under a lease. Then CRI's PullImage finds every blob there, and
// only resolves and unpacks.
//
// It measures what that is worth, and is no product: anonymous, one platform, no redirects, no second try.
// An image that it cannot fetch is left to PullImage, whole.
#pragma once

#include <string>
#include <vector>

namespace prefetch::bench {

struct SpikeOptions {
  std::string socket;     // containerd's
  std::string hosts_dir;  // of hosts.toml files
  int streams = 16;       // connections, each with at most one range in memory
  int pulls = 8;          // PullImage calls at a time
};

struct SpikeResult {
  int fetched = 0;  // images of which all blobs were in the store when PullImage was called
  int pulled = 0;   // images whose PullImage ended well
};

// Blocks until PullImage has ended for every image.
SpikeResult FetchThenPull(const SpikeOptions& options, const std::vector<std::string>& images);

}  // namespace prefetch::bench
