// Pods that somebody saved, and what kubelets say in Events.

#include "fuzz/target.h"
#include "kube/decode.h"
#include "screen/audit.h"

FUZZ_TARGET(text) {
  prefetch::kube::SavedPods saved;
  saved.Feed(text);
  if (auto pods = saved.Take()) {
    for (const auto& pod : *pods) {
      if (pod.name.empty()) __builtin_trap();
    }
  }
  auto pull = prefetch::screen::ParsePulledMessage(text);
  if (pull && (pull->image.empty() || (pull->took && pull->took->count() < 0))) __builtin_trap();
}
