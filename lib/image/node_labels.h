// NodeLabels: the labels of a Node, and which of them an entry of the list selects.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace prefetch::image {

using NodeLabels = std::map<std::string, std::string>;

// Does a node with these labels have each pair of `selector`? An empty selector selects every node.
bool Selects(const NodeLabels& selector, const NodeLabels& labels);

}  // namespace prefetch::image
