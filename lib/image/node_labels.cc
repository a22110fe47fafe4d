#include "image/node_labels.h"

#include <algorithm>

namespace prefetch::image {

bool Selects(const NodeLabels& selector, const NodeLabels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& pair) {
    auto label = labels.find(pair.first);
    return label != labels.end() && label->second == pair.second;
  });
}

}  // namespace prefetch::image
