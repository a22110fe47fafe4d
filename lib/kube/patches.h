// The bodies that are sent to the API server. Pure. Internal to kube/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/objects.h"

namespace prefetch::kube {

// JSON merge patches (RFC 7386) for a Node: null removes a label, a list is replaced as a whole.
std::string LabelPatch(const std::string& key, const std::optional<std::string>& value);
std::string TaintsPatch(const std::string& resource_version, const std::vector<Taint>& taints);

// A merge patch for one key of a ConfigMap.
std::string ConfigMapPatch(const std::string& key, const std::string& text);

// Strategic merge patches for a Node's status, whose conditions are merged by their type.
std::string ConditionPatch(const NodeCondition& condition);
std::string ConditionRemoval(const std::string& type);

// The namespace for Events about objects that have no namespace.
inline constexpr const char* kNodeEventNamespace = "default";

// A core/v1 Event, and a merge patch for a repeated one.
std::string EventBody(const NodeEvent& event);
std::string EventPatch(const NodeEvent& event);

// An authentication.k8s.io/v1 TokenRequest.
std::string TokenRequestBody(const std::string& audience, std::int64_t expiration_seconds);

// An authentication.k8s.io/v1 TokenReview. Holds the token: to be wiped.
std::string TokenReviewBody(const base::Secret& token, const std::string& audience);

// DeleteOptions that spare any pod but that of `uid`.
std::string DeleteBody(const std::string& uid);

}  // namespace prefetch::kube
