// KubeletConfiguration, and which kubelets it may be of.
#include <cstdint>

#include "kubelet/kubelet_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace kubelet = prefetch::kubelet;
  auto facts = kubelet::DecodeKubeletConfig({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!facts) return 0;
  auto possible = kubelet::PossibleSettings(*facts);
  auto image = prefetch::image::Reference::Parse("a.foo.io/b:v1");
  if (!possible || !image) return 0;
  for (const auto& settings : *possible) (void)settings.allowlist.Matches(*image);
  return 0;
}
