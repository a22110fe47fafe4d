// Values from a command line, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace prefetch::tests {

using config::RawConfig;
using config::SourcedText;
using config::SourcedTexts;

inline SourcedText Flag(std::string value, std::string name) {
  return {std::move(value), std::move(name)};
}

inline RawConfig Minimal() {
  RawConfig raw;
  raw.given["list"] = SourcedTexts{{"/etc/lists"}, "--list"};
  raw.given["kubelet"] = Flag("none", "--kubelet");
  return raw;
}

inline SourcedTexts Flags(std::vector<std::string> values, std::string name) {
  return {std::move(values), std::move(name)};
}

// The error for an invalid --listen, without the source of the value.
inline const std::string kListenError = ": must be host:port, such as 127.0.0.1:9477 or [::1]:9477";

}  // namespace prefetch::tests
