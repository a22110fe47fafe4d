#include "kube/saved_pods.h"

#include "doc/json.h"
#include "kube/decode.h"

namespace prefetch::kube {
namespace {

constexpr doc::Limits kSavedLimits{.bytes = kMostSavedBytes, .depth = 64, .nodes = 20'000'000};

// kubectl leaves the kind out in the items of a PodList.
bool IsPod(const doc::Node& object) {
  std::string kind = TextAt(object, {"kind"});
  return kind.empty() || kind == "Pod";
}

}  // namespace

base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json) {
  doc::Problems problems("pods");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kSavedLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  std::vector<Pod> pods;
  const doc::Node* items = root->Find("items");
  if (items == nullptr && TextAt(*root, {"kind"}) == "Pod") {
    if (auto pod = DecodePod(*root)) pods.push_back(*std::move(pod));
    return pods;
  }
  if (items == nullptr || items->kind != doc::Node::Kind::kSequence) {
    return base::InvalidArgument("this is no list of pods, as kubectl get pods -o json prints it");
  }
  for (const doc::Node& item : items->items) {
    if (!IsPod(item)) continue;
    if (auto pod = DecodePod(item)) pods.push_back(*std::move(pod));
  }
  return pods;
}

}  // namespace prefetch::kube
