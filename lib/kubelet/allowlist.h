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

// ExportAllowlist: patterns for kubelet's preloadedImagesVerificationAllowlist that exempt the names of a
// list (K12, K13). Pure.

// A name that no pattern of this kubelet matches.
struct NotExempt {
  std::string image;  // as written
  std::string why;    // one sentence, with what to write instead

  friend bool operator==(const NotExempt&, const NotExempt&) = default;
};

struct AllowlistExport {
  // Each is accepted by Allowlist::Parse, and together they match every name that is not in `not_exempt`.
  std::vector<std::string> patterns;  // sorted by bytes, each once
  std::vector<NotExempt> not_exempt;  // in the order of the list
};

// Since 1.36, each name gets an exact pattern. Before, kubelet compares exact patterns with all that a pod
// writes, including tag and digest. Most names are then exempt only together with everything below their
// folder ("reg.io/team/*" for "reg.io/team/app:v1"), and a name without a folder ("nginx:1.27") cannot be
// exempt. kubelet compares names as they are written, so the list needs every spelling that pods use.
// Returns InvalidArgument for a kubelet without an allowlist (before 1.33).
base::Result<AllowlistExport> ExportAllowlist(const std::vector<image::Reference>& images,
                                              image::KubeletVersion version);

// Returns true if this kubelet needs the feature gate KubeletEnsureSecretPulledImages for an allowlist: the
// gate is off by default, and kubelet then does not start with an allowlist.
bool NeedsFeatureGate(image::KubeletVersion version);

}  // namespace prefetch::kubelet
