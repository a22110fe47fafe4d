#include "kube/saved_pods.h"

#include "doc/json.h"
#include "doc/json_items.h"
#include "doc/path.h"
#include "kube/decode.h"

namespace prefetch::kube {
namespace {

constexpr doc::Limits kLimits{.bytes = 10 << 20, .depth = 64, .nodes = 1'000'000};  // of one pod

// Returns true for pods. kubectl leaves the kind out in the items of a PodList.
bool IsPod(const doc::Node& object) {
  std::string kind = TextAt(object, {"kind"});
  return kind.empty() || kind == "Pod";
}

}  // namespace

base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json) {
  doc::Problems problems("pods");
  std::vector<Pod> pods;
  auto add = [&](const doc::Node& object) {
    if (!IsPod(object)) return;
    if (auto pod = DecodePod(object)) pods.push_back(*std::move(pod));
  };
  if (json.size() > doc::kMostSavedBytes)
    return base::InvalidArgument("pods: longer than a list of pods may be");
  // Items are parsed one by one: the tree of a list of 30,000 pods would take many times its text.
  doc::JsonItems items(kLimits.bytes, [&](std::string_view item, doc::Position at) {
    const auto object = doc::ParseJson(item, problems, doc::JsonRules::kLenient, kLimits, at);
    if (object) add(*object);
  });
  items.Feed(json);
  // The rest is the list without its items.
  const auto root = doc::ParseJson(items.rest(), problems, doc::JsonRules::kLenient, kLimits);
  if (!root || !problems.empty()) return base::Error(problems.ToStatus().error());
  const doc::Node* list = root->Find("items");
  if (list == nullptr && doc::TextAt(*root, {"kind"}) == "Pod") {
    add(*root);
  } else if (list == nullptr || list->kind != doc::Node::Kind::kSequence) {
    return base::InvalidArgument("this is no list of pods, as kubectl get pods -o json prints it");
  }
  return pods;
}

}  // namespace prefetch::kube
