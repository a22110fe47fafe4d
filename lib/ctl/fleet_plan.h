// `prefetchctl plan`: what a list costs a fleet and its registries, before it is rolled out.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "config/settings.h"

namespace prefetch::ctl {

struct PlanOptions {
  std::vector<std::string> lists;
  std::uint64_t nodes = 0;
  std::uint64_t node_rate = 100;    // MB a second
  std::uint64_t registry_rate = 0;  // MB a second; 0: no limit is known
  std::uint64_t image_size = 0;     // MB; 0: registries are asked
  std::uint64_t hub_pulls = 100;
  std::string start_jitter = "0s";
  std::string platform;  // empty: this machine's
  bool json = false;
  config::RawConfig credentials;  // as for `prefetchctl credentials`
  std::string timeout = "5m";
};

// Asks the registries for the sizes of the images, unless one size is assumed, and prints the load. Exit
// code: 0; 1 a registry did not tell an image's size, and the rest is printed; 2 bad input.
int PlanFleet(const base::Call& call, const PlanOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
