// Pods that somebody saved, and what kubelets say in Events.
#include <cstdint>
#include <string_view>

#include "kube/decode.h"
#include "screen/audit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  prefetch::kube::SavedPods saved;
  saved.Feed(text);
  if (auto pods = saved.Take()) {
    for (const auto& pod : *pods) {
      if (pod.name.empty()) __builtin_trap();
    }
  }
  auto pull = prefetch::screen::ParsePulledMessage(text);
  if (pull && (pull->image.empty() || (pull->took && pull->took->count() < 0))) __builtin_trap();
  return 0;
}
