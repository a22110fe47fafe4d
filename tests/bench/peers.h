// Other ways to bring images onto a cold node, to measure ours beside: everything at once through CRI, and
// stackrox/image-prefetcher.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rig/containerd.h"

namespace prefetch::bench {

// An empty string if the variable is not set.
std::string FromEnvironment(const char* name);
// The lists' length in relation to those of real nodes: 1 is a quarter of them, 4 the whole.
int Quarters();

// One contender's node.
struct Lane {
  // Its containerd finds each host at 127.0.0.1:port. A failed start fails the test.
  explicit Lane(const std::vector<std::pair<std::string, int>>& hosts);
  rig::Scratch scratch;
  rig::Containerd containerd{scratch};
};

// Tries each image, and returns when it has nothing left to do, or a stop is requested: all good images are
// there. Some names may be wrong.
using Pulls =
    std::function<void(Lane& lane, const std::vector<std::string>& images, const std::stop_token& enough)>;

struct Contender {
  std::string name;
  Pulls run;
};

// "at once" and "image-prefetcher". $PREFETCH_BENCH_CRICTL and $PREFETCH_BENCH_IMAGE_PREFETCHER name programs
// that do it: a crictl for each image, and one image-prefetcher. A peer without its program is imitated by
// calls of this process, so that it needs no time to start.
std::vector<Contender> Peers();

}  // namespace prefetch::bench
