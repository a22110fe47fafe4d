// A file of environment variables, as systemd's EnvironmentFile= reads the simple ones.
#pragma once

#include <string_view>

#include "config/raw_config.h"

namespace prefetch::config {

// Lines of NAME=value; blank ones and those that begin with # or ; are passed over. A value may stand in
// single or double quotes; nothing is expanded, and there are no lines that go on. Of a name that comes twice
// the last counts. Mistakes go to `problems`, which never quotes a value. Pure.
PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems);

}  // namespace prefetch::config
