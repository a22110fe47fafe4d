// ImagePulledRecord and ImagePullIntent, as every kubelet reads them, and what is decided by them.

#include "fuzz/target.h"
#include "kubelet/verdict.h"

FUZZ_TARGET(text) {
  namespace kubelet = prefetch::kubelet;
  kubelet::FileContent file{kubelet::Reading::kFound, std::string(text)};
  static const auto kPossible = kubelet::PossibleSettings({});
  (void)kubelet::VerdictsFor({.image = "nginx:1.27", .image_id = "R", .record = file}, *kPossible);
  (void)kubelet::VerdictsFor({.image = "nginx:1.27", .image_id = "R", .intent = file}, *kPossible);
}
