// Signatures of JSON Web Tokens, by nettle. Internal to kube/.
#pragma once

#include <string_view>

#include "kube/token_keys.h"

namespace prefetch::kube {

// RSASSA-PKCS1-v1_5 with SHA-256, or ECDSA with the curve's own hash (RFC 7518, 3.3 and 3.4). False for a key
// that is none, too.
bool Verifies(const PublicKey& key, std::string_view message, std::string_view signature);

}  // namespace prefetch::kube
