// NodeLabels: the labels of a Node, and which of them an entry of the list selects.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace prefetch::image {

using NodeLabels = std::map<std::string, std::string>;

// Does a node with these labels have each pair of `selector`? An empty selector selects every node.
bool Selects(const NodeLabels& selector, const NodeLabels& labels);

// The rules of Kubernetes for labels, whose names are qualified names (credentials' rule A6):
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
bool IsLabelName(std::string_view name);    // "disk", the part of a key behind its prefix
bool IsLabelPrefix(std::string_view text);  // "node.kubernetes.io", of a key
bool IsLabelKey(std::string_view key);      // with or without a prefix
bool IsLabelValue(std::string_view value);  // may be empty

}  // namespace prefetch::image
