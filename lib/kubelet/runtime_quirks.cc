#include "kubelet/runtime_quirks.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace prefetch::kubelet {
namespace {

// Reads {1, 35, 1} from "1.35.1-2.rhaos" and {1, 34, 0} from "v1.34.0". Anything but a number counts as 0.
std::array<int, 3> Numbers(std::string_view version) {
  std::array<int, 3> numbers{};
  if (version.starts_with('v')) version.remove_prefix(1);
  std::vector<std::string_view> parts = base::Split(version, '.');
  for (std::size_t i = 0; i < numbers.size() && i < parts.size(); i++) {
    std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), numbers[i]);
  }
  return numbers;
}

}  // namespace

std::string WhyRecordsNeverMatch(std::string_view name, std::string_view version) {
  constexpr std::array<int, 3> kFirstThatMatches{1, 35, 2};
  // K18: CRI-O before 1.35.2 names the image of a pull by another id than its ImageStatus does.
  if (name != "cri-o" || version.empty() || Numbers(version) >= kFirstThatMatches) return "";
  return "with CRI-O " + std::string(version) +
         " kubelet files its records under a name that it never looks up: images count as preloaded, and "
         "under "
         "AlwaysVerify or NeverVerifyAllowlistedImages every start asks the registry; CRI-O 1.35.2 mends it";
}

}  // namespace prefetch::kubelet
