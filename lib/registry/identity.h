// Distinguishes credentials in the client's memory without containing one.
#pragma once

#include <string>

#include "image/auth_config.h"

namespace prefetch::registry {

// Salted with what differs in every process, so that it is worth nothing outside; "anonymous" for nullptr.
std::string IdentityOf(const image::AuthConfig* credential);

}  // namespace prefetch::registry
