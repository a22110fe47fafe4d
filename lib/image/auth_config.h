// AuthConfig: one credential for a registry, as CRI's message of that name carries it.
#pragma once

#include <string>

#include "base/secret.h"

namespace prefetch::image {

// A value. Only user name and password: the portable part (spec/cri.md sections 3.4 and 4.2).
struct AuthConfig {
  std::string username;
  base::Secret password;
};

}  // namespace prefetch::image
