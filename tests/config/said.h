// Values from a command line, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace prefetch::tests {

using config::RawConfig;
using config::SourcedValue;

inline SourcedValue<std::string> Flag(std::string value, std::string name) {
  return {std::move(value), std::move(name)};
}

inline RawConfig Minimal() {
  RawConfig raw;
  raw.list = SourcedValue<std::vector<std::string>>{{"/etc/lists"}, "--list"};
  raw.kubelet = Flag("none", "--kubelet");
  return raw;
}

inline SourcedValue<std::vector<std::string>> Flags(std::vector<std::string> values, std::string name) {
  return {std::move(values), std::move(name)};
}

// The error for an invalid --listen, without the source of the value.
inline const std::string kListenError = ": must be host:port, such as 127.0.0.1:9477 or [::1]:9477";

}  // namespace prefetch::tests
