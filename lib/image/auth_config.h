// AuthConfig: one credential for a registry, as CRI's message of that name carries it.
#pragma once

#include <string>

#include "base/secret.h"

namespace prefetch::image {

// A value. Only user name and password: the portable part (runtime rule C6).
struct AuthConfig {
  std::string username;
  base::Secret password;
};

}  // namespace prefetch::image
