#include "image/digest.h"

#include <algorithm>
#include <array>

namespace prefetch::image {
namespace {

struct Algorithm {
  std::string_view name;
  std::size_t hex_digits;
};
constexpr std::array<Algorithm, 3> kAlgorithms = {{{"sha256", 64}, {"sha384", 96}, {"sha512", 128}}};

// The grammar requires this many digits before an algorithm is looked at.
constexpr std::size_t kFewestHexDigits = 32;
constexpr std::string_view kInvalidDigest = "has an invalid format";

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsCapital(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

std::string_view DigestError(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return kInvalidDigest;
  std::string_view name = text.substr(0, colon);
  std::string_view hex = text.substr(colon + 1);
  if (hex.size() < kFewestHexDigits || !std::all_of(hex.begin(), hex.end(), IsHex)) return kInvalidDigest;
  auto known = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                            [&](const Algorithm& algorithm) { return algorithm.name == name; });
  if (known == kAlgorithms.end()) return "has an unsupported algorithm";
  // The algorithm comes before the length, which depends on it.
  if (hex.size() != known->hex_digits) return "has the wrong length";
  // R3: capitals are hexadecimal, and no registry or runtime accepts them. A digest in other letters would
  // also be another key.
  if (std::any_of(hex.begin(), hex.end(), IsCapital)) return "must be lowercase hex";
  return {};
}

bool IsDigest(std::string_view text) {
  return DigestError(text).empty();
}

}  // namespace prefetch::image
