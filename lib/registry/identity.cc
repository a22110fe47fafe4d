#include "registry/token_cache.h"

#include <random>

#include "base/sha256.h"

namespace prefetch::registry {
namespace {

// The identity is a key in memory and must not reveal the password, not even to a guess. Therefore it is
// salted for each process.
const std::string& Salt() {
  static const std::string salt = [] {
    std::random_device random;
    return std::to_string(random()) + "." + std::to_string(random()) + "." + std::to_string(random());
  }();
  return salt;
}

}  // namespace

std::string IdentityOf(const image::AuthConfig* credential) {
  if (credential == nullptr) return "anonymous";
  std::string text;
  text.reserve(Salt().size() + credential->username.size() + credential->password.Reveal().size() + 2);
  text = Salt() + '\0';
  text += credential->username;
  text += '\0';
  text += credential->password.Reveal();
  std::string identity = base::Sha256Hex(text);
  base::WipeString(text);
  return identity;
}

}  // namespace prefetch::registry
