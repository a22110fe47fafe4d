// ScrubRuntimeWords: makes what a runtime says fit to be logged and published (C18).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "image/auth_config.h"

namespace prefetch::cri {

// Pure. In this order: every spelling of the credential (the password plain, quoted as Go does, in base64
// alone and as "user:password") is blanked; URLs lose user info and query string; bytes that are not UTF-8
// and control characters are replaced; the rest is cut to kScrubbedBytes at a character's boundary.
std::string ScrubRuntimeWords(std::string_view message, const image::AuthConfig* credential_in_use);

inline constexpr std::size_t kScrubbedBytes = 1024;

}  // namespace prefetch::cri
