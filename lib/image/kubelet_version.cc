#include "image/kubelet_version.h"

#include "base/text.h"

namespace prefetch::image {
namespace {

// Larger numbers are no version. The bound makes the casts below safe.
constexpr std::uint64_t kHighest = 9999;

// The digits that `text` begins with.
std::string_view LeadingDigits(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

}  // namespace

base::Result<KubeletVersion> KubeletVersion::Parse(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  std::optional<std::uint64_t> major, minor, patch;
  std::string_view digits = LeadingDigits(rest);
  major = base::ParseUint(digits);
  rest.remove_prefix(digits.size());
  if (rest.starts_with('.')) {
    digits = LeadingDigits(rest.substr(1));
    minor = base::ParseUint(digits);
    rest.remove_prefix(1 + digits.size());
  }
  if (rest.starts_with('.')) {
    digits = LeadingDigits(rest.substr(1));
    patch = base::ParseUint(digits);
    if (patch) rest.remove_prefix(1 + digits.size());
  }
  // Distributions append their own build ("-eks-a1b2", "+k3s1"), which has no effect on the rules.
  bool ends_well = rest.empty() || rest.front() == '.' || rest.front() == '-' || rest.front() == '+';
  if (!major || !minor || !ends_well || *major > kHighest || *minor > kHighest) {
    return base::InvalidArgument("kubelet version \"" + base::Truncate(base::ToUtf8(text), 50) +
                                 "\": must be a version such as " + std::string(kNewestKnownName));
  }
  KubeletVersion version{static_cast<unsigned>(*major), static_cast<unsigned>(*minor)};
  // A patch is only shown, so an odd one is left out rather than refused.
  if (patch && *patch <= kHighest) version.patch = static_cast<unsigned>(*patch);
  return version;
}

std::string KubeletVersion::ToString() const {
  std::string text = std::to_string(major) + "." + std::to_string(minor);
  return patch ? text + "." + std::to_string(*patch) : text;
}

}  // namespace prefetch::image
