#include "kube/saved_pods.h"

#include <string>
#include <utility>

#include "doc/json.h"
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

// Items are parsed one by one: the tree of a list of 30,000 pods would take many times its text.
SavedPods::SavedPods()
    : items_(kLimits.bytes, [this](std::string_view item, doc::Position at) {
        const auto object = doc::ParseJson(item, problems_, doc::JsonRules::kLenient, kLimits, at);
        if (object) Add(*object);
      }) {}

void SavedPods::Add(const doc::Node& object) {
  if (!IsPod(object)) return;
  if (auto pod = DecodePod(object)) pods_.push_back(*std::move(pod));
}

bool SavedPods::Feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ > doc::kMostSavedBytes) return false;
  items_.Feed(bytes);
  return true;
}

base::Result<std::vector<Pod>> SavedPods::Take() {
  if (bytes_ > doc::kMostSavedBytes) {
    return base::InvalidArgument("pods: longer than " + std::to_string(doc::kMostSavedBytes) + " bytes");
  }
  // The rest is the list without its items.
  const auto root = doc::ParseJson(items_.rest(), problems_, doc::JsonRules::kLenient, kLimits);
  if (!root || !problems_.empty()) return base::Error(problems_.ToStatus().error());
  const doc::Node* list = root->Find("items");
  if (list == nullptr && doc::TextAt(*root, {"kind"}) == "Pod") {
    Add(*root);
  } else if (list == nullptr || list->kind != doc::Node::Kind::kSequence) {
    return base::InvalidArgument("this is no list of pods, as kubectl get pods -o json prints it");
  }
  return std::move(pods_);
}

base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json) {
  SavedPods pods;
  pods.Feed(json);
  return pods.Take();
}

}  // namespace prefetch::kube
