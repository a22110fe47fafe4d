// Objects of the API from their JSON. Pure. Internal to kube/.
//
// A server of another version may send more members, or omit empty ones: unknown members are ignored, and
// absent ones stay empty. Only an object without a name is none.
#pragma once

#include <optional>
#include <string>

#include "doc/node.h"
#include "doc/path.h"
#include "kube/api.h"
#include "kube/objects.h"

namespace prefetch::kube {

std::optional<Node> DecodeNode(const doc::Node& object);
std::optional<Pod> DecodePod(const doc::Node& object);
std::optional<PodEvent> DecodePodEvent(const doc::Node& object);
std::optional<ServiceAccount> DecodeServiceAccount(const doc::Node& object);
std::optional<TokenReview> DecodeTokenReview(const doc::Node& object);

template <typename T>
std::optional<Page<T>> DecodePage(const doc::Node& list, std::optional<T> (*decode)(const doc::Node&)) {
  const doc::Node* items = list.Find("items");
  if (items == nullptr) return std::nullopt;
  Page<T> page{.items = {}, .continue_token = TextAt(list, {"metadata", "continue"})};
  for (const doc::Node& item : items->items) {
    std::optional<T> object = decode(item);
    if (!object) return std::nullopt;
    page.items.push_back(*std::move(object));
  }
  return page;
}

}  // namespace prefetch::kube
