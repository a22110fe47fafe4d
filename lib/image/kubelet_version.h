// KubeletVersion: whose rules apply. Each rule has its versions: credentials' provider_config.h, kubelet's
// records and verdicts (their RULES.md).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::image {

// A value. Patch releases do not differ in what matters here: they are shown, and compare as equal. The
// default is the newest that is known.
struct KubeletVersion {
  unsigned major = 1;
  unsigned minor = 37;
  std::optional<unsigned> patch = std::nullopt;

  // "v1.34.9", "1.34", "1.34.1-eks-a1b2". InvalidArgument otherwise.
  static base::Result<KubeletVersion> Parse(std::string_view text);
  std::string ToString() const;  // "1.36.2"; "1.36" without a patch

  friend constexpr bool operator==(const KubeletVersion& a, const KubeletVersion& b) {
    return a.major == b.major && a.minor == b.minor;
  }
  friend constexpr std::strong_ordering operator<=>(const KubeletVersion& a, const KubeletVersion& b) {
    return a.major == b.major ? a.minor <=> b.minor : a.major <=> b.major;
  }
};

// Kubernetes versions whose rules are known here. For a newer kubelet, only what every plausible rule agrees
// on is known.
inline constexpr KubeletVersion kOldestKnownKubelet{1, 31};
inline constexpr KubeletVersion kNewestKnownKubelet{};
inline constexpr std::string_view kKnownKubelets = "1.31 to 1.37";
inline constexpr bool IsNewerThanKnown(const KubeletVersion& version) {
  return version > kNewestKnownKubelet;
}

}  // namespace prefetch::image
