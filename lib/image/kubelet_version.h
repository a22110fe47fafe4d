// KubeletVersion: whose rules apply. Each rule has its versions: credentials' provider_config.h, kubelet's
// records and verdicts (their RULES.md).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/constant_text.h"
#include "base/result.h"

namespace prefetch::image {

// The newest Kubernetes release whose rules are known here, 1.37. A new one changes this line alone, unless
// it has new rules; tests and pages derive from it.
inline constexpr unsigned kNewestKnownMinor = 37;

// A value. Patch releases do not differ in what matters here: they are shown, and compare as equal. The
// default is the newest that is known.
struct KubeletVersion {
  unsigned major = 1;
  unsigned minor = kNewestKnownMinor;
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

// kubelet's own default of --root-dir.
inline constexpr const char* kDefaultKubeletRoot = "/var/lib/kubelet";
inline constexpr KubeletVersion kNewestKnownKubelet{};
// "1.37", "1.31 to 1.37".
inline constexpr char kNewestKnownChars[] = {'1', '.', '0' + kNewestKnownMinor / 10,
                                             '0' + kNewestKnownMinor % 10};
inline constexpr std::string_view kNewestKnownName(kNewestKnownChars, sizeof kNewestKnownChars);
inline constexpr std::string_view kSinceOldestKnown = "1.31 to ";
inline constexpr std::string_view kKnownKubelets =
    base::ConstantText<kSinceOldestKnown, kNewestKnownName>::kText;
inline constexpr bool IsNewerThanKnown(const KubeletVersion& version) {
  return version > kNewestKnownKubelet;
}

}  // namespace prefetch::image
