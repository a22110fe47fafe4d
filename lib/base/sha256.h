// SHA-256, by nettle (libcrypto for this alone is 3.4 MB resident): list hashes, kubelet's record file names,
// manifest digests.
#pragma once

#include <string>
#include <string_view>

#include "base/secret.h"

namespace prefetch::base {

// 64 lower-case hex characters. Any thread may call.
std::string Sha256Hex(std::string_view bytes);
// RFC 2104, in the same form.
std::string HmacSha256Hex(std::string_view key, std::string_view bytes);

// Hashes with a salt that no other process has: for secrets that are compared and not kept.
class SaltedHash {
 public:
  SaltedHash();
  std::string Of(std::string_view secret) const;
  std::string OfLogin(std::string_view username, const Secret& password) const;

 private:
  std::string salt_;
};

}  // namespace prefetch::base
