// Objects of the API from their JSON, times. Pure. Internal to kube/.
// SavedPods: the pods of a file.
//
// A server of another version may send more members, or omit empty ones: unknown members are ignored, and
// absent ones stay empty. Only an object without a name is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/problems.h"
#include "kube/api.h"

namespace prefetch::kube {

std::optional<Node> DecodeNode(const doc::Node& object);
std::optional<Pod> DecodePod(const doc::Node& object);
std::optional<PodEvent> DecodePodEvent(const doc::Node& object);
std::optional<ServiceAccount> DecodeServiceAccount(const doc::Node& object);
std::optional<base::TokenReview> DecodeTokenReview(const doc::Node& object);

template <typename T>
std::optional<Page<T>> DecodePage(const doc::Node& list, std::optional<T> (*decode)(const doc::Node&)) {
  const doc::Node* items = list.Find("items");
  if (items == nullptr) return std::nullopt;
  Page<T> page{.continue_token = TextAt(list, {"metadata", "continue"})};
  for (const doc::Node& item : items->items) {
    std::optional<T> object = decode(item);
    if (!object) return std::nullopt;
    page.items.push_back(*std::move(object));
  }
  return page;
}

// Parses a time as the API server writes it, by doc::ParseTimestamp; nullopt for anything else. A date before
// 1800 or after 2200 counts as the nearest of these.
std::optional<base::WallTime> ParseRfc3339(std::string_view text);

// The value of a Retry-After header (RFC 9110 section 10.2.3): seconds, or a date as seen from `now`; at most
// a day, at least 0. nullopt for anything else.
std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view text, base::WallTime now);

// Saved pods: `kubectl get pods -o json > pods.json`. Reads a List or PodList, or one Pod, piece by piece.
// Skips objects of other kinds in a List. Not thread-safe. Its memory grows with the pods and their longest
// text, not with the length of the list.
class SavedPods {
 public:
  SavedPods();
  SavedPods(const SavedPods&) = delete;
  SavedPods& operator=(const SavedPods&) = delete;

  // Returns false when further bytes are useless: there are more than doc::kMostSavedBytes.
  bool Feed(std::string_view bytes);
  // Returns the pods. Returns InvalidArgument if the text is no JSON, is longer than doc::kMostSavedBytes, or
  // holds no list of pods. Other objects beside pods are left out.
  base::Result<std::vector<Pod>> Take();

 private:
  void Add(const doc::Node& object);

  doc::Problems problems_{"pods"};
  std::vector<Pod> pods_;
  bool has_pods_ = false;
  bool has_others_ = false;
  std::size_t bytes_ = 0;
  doc::JsonItems items_;
};

}  // namespace prefetch::kube
