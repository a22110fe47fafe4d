// Saved pods: `kubectl get pods -o json > pods.json`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/json_items.h"
#include "doc/problems.h"
#include "doc/text_check.h"
#include "kube/objects.h"

namespace prefetch::kube {

// Reads a List or PodList, or one Pod, piece by piece. Skips objects of other kinds in a List. Not
// thread-safe. Its memory grows with the pods and their longest text, not with the length of the list.
class SavedPods {
 public:
  SavedPods();
  SavedPods(const SavedPods&) = delete;
  SavedPods& operator=(const SavedPods&) = delete;

  // Returns false when further bytes are useless: there are more than doc::kMostSavedBytes.
  bool Feed(std::string_view bytes);
  // InvalidArgument: it is no JSON, longer than doc::kMostSavedBytes, or holds no list of objects.
  base::Result<std::vector<Pod>> Take();

 private:
  void Add(const doc::Node& object);

  doc::Problems problems_{"pods"};
  std::vector<Pod> pods_;
  std::size_t bytes_ = 0;
  doc::JsonItems items_;
};

// Reads a whole text in this way. Pure.
base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json);

}  // namespace prefetch::kube
