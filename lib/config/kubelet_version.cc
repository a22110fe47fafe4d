#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/agent_config.h"
#include "config/settings.h"

namespace prefetch::config {

base::Result<std::string> CheckedKubeletVersion(std::string_view text) {
  std::string_view version = text;
  if (version.starts_with('v')) version.remove_prefix(1);
  // What a distribution appends: "1.34.1-eks-a1b2", "1.34.1+k3s1".
  version = version.substr(0, version.find_first_of("-+"));
  std::vector<std::string_view> parts = base::Split(version, '.');
  auto number = [](std::string_view part) { return part.size() <= 4 && base::ParseUint(part).has_value(); };
  if (parts.size() < 2 || parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), number)) {
    return base::InvalidArgument("must be a version such as 1.36 or 1.36.2");
  }
  std::uint64_t minor = *base::ParseUint(parts[1]);
  if (*base::ParseUint(parts[0]) != 1 || minor < kOldestKubeletMinor || minor > kNewestKubeletMinor) {
    return base::InvalidArgument("must be from 1." + std::to_string(kOldestKubeletMinor) + " to 1." +
                                 std::to_string(kNewestKubeletMinor) +
                                 ": the rules of other kubelets are not known");
  }
  return std::string(version);
}

}  // namespace prefetch::config
