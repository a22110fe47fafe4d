// Platform: operating system, architecture and variant, in OCI's words ("linux/arm64/v8").
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::image {

struct Platform {
  std::string os;
  std::string architecture;
  std::string variant;  // often empty

  // "os/architecture[/variant]", lower case. InvalidArgument otherwise.
  static base::Result<Platform> Parse(std::string_view text);
  // This machine's, from uname (C20): x86_64 is amd64, aarch64 is arm64 …
  static Platform Host();
  std::string ToString() const;

  friend bool operator==(const Platform&, const Platform&) = default;
};

// Returns true if an image whose configuration claims `image` can run on `node`. Empty fields of `image` are
// unknown and accepted (runtime rule C20); arm64's v8 is the same as no variant; arm v7 runs v6 and v5; amd64
// runs 386, and arm64 runs arm.
bool CanRun(const Platform& node, const Platform& image);

}  // namespace prefetch::image
