// ImagePulledRecord and ImagePullIntent, as every kubelet reads them, and what is decided by them.
#include <cstdint>

#include "kubelet/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace kubelet = prefetch::kubelet;
  kubelet::FileContent file{kubelet::FileContent::State::kPresent,
                            std::string(reinterpret_cast<const char*>(data), size)};
  static const auto kPossible = kubelet::PossibleSettings({});
  (void)kubelet::VerdictsFor({.image = "nginx:1.27", .image_id = "R", .record = file}, *kPossible);
  (void)kubelet::VerdictsFor({.image = "nginx:1.27", .image_id = "R", .intent = file}, *kPossible);
  return 0;
}
