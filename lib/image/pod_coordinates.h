// PodCredentialRefs: the pull secrets and the service account of a pod, by their coordinates alone. Their
// content is never known here.
// NodeLabels: the labels of a Node, and whether a selector of the list matches them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::image {

// Which Secret or ServiceAccount: two are the same if all three are equal. The UID is empty where it is not
// known.
struct Coordinates {
  std::string uid;
  std::string namespace_name;
  std::string name;

  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

// A value. The default is a pod that has neither.
struct PodCredentialRefs {
  std::vector<Coordinates> secrets;  // by name
  std::optional<Coordinates> service_account;

  bool empty() const { return secrets.empty() && !service_account; }

  friend bool operator==(const PodCredentialRefs&, const PodCredentialRefs&) = default;
};

// "secrets team/pull, team/more and service account team/runner"; with its UID where one is known: "secret
// team/pull (UID 9a41)". Two texts are equal where the pods are; empty: it has neither.
std::string TextOf(const PodCredentialRefs& pod);
// Describes such a pod, behind "a pod" or "pods": "with secret team/pull", "without pull secrets".
std::string DescribeCredentials(const PodCredentialRefs& pod);
// Returns the same from a TextOf.
std::string DescribeCredentials(const std::string& text);

using NodeLabels = std::map<std::string, std::string>;

// Returns whether a node with these labels has each pair of `selector`. An empty selector selects every node.
bool Selects(const NodeLabels& selector, const NodeLabels& labels);

}  // namespace prefetch::image
