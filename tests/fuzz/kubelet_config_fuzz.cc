// KubeletConfiguration, and which kubelets it may be of.

#include "fuzz/target.h"
#include "kubelet/kubelet_config.h"

FUZZ_TARGET(text) {
  namespace kubelet = prefetch::kubelet;
  auto facts = kubelet::DecodeKubeletConfig(text, "fuzz.yaml");
  if (!facts) return;
  auto possible = kubelet::PossibleSettings(*facts);
  auto image = prefetch::image::Reference::Parse("a.foo.io/b:v1");
  if (!possible || !image) return;
  for (const auto& settings : *possible) (void)settings.allowlist.Matches(*image);
}
