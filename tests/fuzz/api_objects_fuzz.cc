// Nodes, pods and service accounts, as an API server of any version may send them.

#include "doc/json.h"
#include "fuzz/target.h"
#include "kube/decode.h"

FUZZ_TARGET(text) {
  namespace doc = prefetch::doc;
  namespace kube = prefetch::kube;
  doc::Problems problems("answer");
  auto object = doc::ParseJson(text, problems, doc::JsonRules::kLenient);
  if (!object) return;
  if (auto node = kube::DecodeNode(*object); node && node->name.empty()) __builtin_trap();
  if (auto pod = kube::DecodePod(*object); pod && pod->name.empty()) __builtin_trap();
  if (auto account = kube::DecodeServiceAccount(*object); account && account->name.empty()) __builtin_trap();
  (void)kube::DecodePodEvent(*object);
  if (auto review = kube::DecodeTokenReview(*object)) (void)review->authenticated;
  (void)kube::DecodePage<kube::Pod>(*object, &kube::DecodePod);
}
