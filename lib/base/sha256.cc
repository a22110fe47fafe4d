#include "base/sha256.h"

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <sys/random.h>

#include <array>
#include <cstdint>

namespace prefetch::base {

namespace {

using Sum = std::array<std::uint8_t, SHA256_DIGEST_SIZE>;

std::string Hex(const Sum& sum) {
  std::string text(BASE16_ENCODE_LENGTH(sum.size()), '\0');
  ::base16_encode_update(text.data(), sum.size(), sum.data());
  return text;
}

const std::uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  Sum sum{};
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, bytes.size(), BytesOf(bytes));
  sha256_digest(&context, sum.size(), sum.data());
  return Hex(sum);
}

std::string HmacSha256Hex(std::string_view key, std::string_view bytes) {
  Sum sum{};
  hmac_sha256_ctx context{};
  hmac_sha256_set_key(&context, key.size(), BytesOf(key));
  hmac_sha256_update(&context, bytes.size(), BytesOf(bytes));
  hmac_sha256_digest(&context, sum.size(), sum.data());
  return Hex(sum);
}

SaltedHash::SaltedHash() {
  // Without random bytes the salt is empty. The hashes then still compare correctly within this process.
  std::array<char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) {
    salt_.assign(bytes.begin(), bytes.end());
  }
}

std::string SaltedHash::Of(std::string_view secret) const {
  std::string text = salt_;
  text += secret;
  std::string hash = Sha256Hex(text);
  WipeString(text);
  return hash;
}

std::string SaltedHash::OfLogin(std::string_view username, const Secret& password) const {
  // The separator keeps two logins apart whose texts would be the same when put together.
  std::string text = std::string(username) + '\0';
  text += password.Reveal();
  std::string hash = Of(text);
  WipeString(text);
  return hash;
}

}  // namespace prefetch::base
