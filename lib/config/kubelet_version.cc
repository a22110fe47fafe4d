#include "image/kubelet_version.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/agent_config.h"

namespace prefetch::config {
namespace {

bool IsNumber(std::string_view part) {
  return part.size() <= 4 && base::ParseUint(part).has_value();
}

// "1.34.1" of "v1.34.1-eks-a1b2" and of "1.34.1+k3s1"; empty if it is no version.
std::string WithoutSuffix(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("-+"));
  std::vector<std::string_view> parts = base::Split(text, '.');
  bool good = parts.size() >= 2 && parts.size() <= 3 && std::all_of(parts.begin(), parts.end(), IsNumber);
  return good ? std::string(text) : "";
}

}  // namespace

base::Result<std::string> CheckedKubeletVersion(std::string_view text) {
  std::string version = WithoutSuffix(text);
  if (version.empty()) return base::InvalidArgument("must be a version such as 1.37 or 1.37.2");
  auto parsed = image::KubeletVersion::Parse(version);
  if (!parsed || *parsed < image::kOldestKnownKubelet) {
    return base::InvalidArgument("must be " + image::kOldestKnownKubelet.ToString() +
                                 " or later: the rules of older kubelets are not known");
  }
  return version;
}

base::Result<image::KubeletVersion> CheckedKubeletRules(std::string_view text) {
  std::string version = WithoutSuffix(text);
  auto parsed = image::KubeletVersion::Parse(version);
  if (version.empty() || !parsed) return base::InvalidArgument("must be a version such as 1.37");
  if (*parsed < image::kOldestKnownKubelet || image::IsNewerThanKnown(*parsed)) {
    return base::InvalidArgument("must be from " + std::string(image::kKnownKubelets) +
                                 ": other rules are not known");
  }
  return *parsed;
}

}  // namespace prefetch::config
