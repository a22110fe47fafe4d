// SHA-256, by nettle (libcrypto for this alone is 3.4 MB resident): list hashes, kubelet's record file names,
// manifest digests.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::base {

// 64 lower-case hex characters. Any thread may call.
std::string Sha256Hex(std::string_view bytes);

}  // namespace prefetch::base
