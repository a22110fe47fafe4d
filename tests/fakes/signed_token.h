// SignedToken: what a registry's token service gives out (a JSON Web Token, ES256), for the real registry,
// which looks at the signature.
#pragma once

#include <string>

namespace prefetch::tests {

// `claims` is a JSON object. The files are PEM; the key is of the curve P-256, and the certificate goes
// along.
std::string SignedToken(const std::string& key_file, const std::string& certificate_file,
                        const std::string& claims);

}  // namespace prefetch::tests
