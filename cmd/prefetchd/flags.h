// The command line of prefetchd.
#pragma once

#include <optional>

#include "config/raw_config.h"

namespace prefetch {

// The parsed command line, or the exit code if there is nothing more to do (--help, --version, bad usage).
struct Flags {
  config::RawConfig config;
  std::optional<int> exit;
};
Flags ParseFlags(int argc, char** argv);

}  // namespace prefetch
