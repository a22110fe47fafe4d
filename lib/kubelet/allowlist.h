// Allowlist: kubelet's preloadedImagesVerificationAllowlist (K12, K13). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/kubelet_version.h"
#include "image/reference.h"

namespace prefetch::kubelet {

// A value: patterns that a kubelet of one version has accepted.
class Allowlist {
 public:
  // InvalidArgument, with each pattern that this kubelet would not start with.
  static base::Result<Allowlist> Parse(const std::vector<std::string>& patterns,
                                       image::KubeletVersion version);

  // The empty list, which matches nothing.
  Allowlist() = default;

  // Whether pods that write `image` use it unverified. Before 1.36 an exact pattern is compared with all that
  // was written, so that it never matches a name with a tag or digest.
  bool Matches(const image::Reference& image) const;

 private:
  image::KubeletVersion version_;
  std::vector<std::string> exact_;
  std::vector<std::string> prefixes_;
};

}  // namespace prefetch::kubelet
