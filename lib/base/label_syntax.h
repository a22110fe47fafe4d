// The syntax of names in Kubernetes: labels and subdomains of RFC 1123, and the keys and values of labels
// (apimachinery/pkg/util/validation). Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace prefetch::base {

// "ci-7": small letters, digits and hyphens, as in names of namespaces.
bool IsDnsLabel(std::string_view text, std::size_t longest = 63);

// "node.kubernetes.io": DNS labels with dots between them, 253 bytes at most. The labels have no limit of
// their own, as in Kubernetes. Names of most objects.
bool IsDnsSubdomain(std::string_view text);

// "A-b_c.d": the name in a label's key, behind its prefix, or a label's value that is not empty.
bool IsLabelPart(std::string_view text);

// Returns the offset behind each occurrence of `word` that stands between dashes or ends of `name`: that of
// "prefetchd" in "ci-prefetchd", but none in "notprefetchd".
std::vector<std::size_t> EndsOfWord(std::string_view name, std::string_view word);

// "pool", "example.com/pool".
bool IsLabelKey(std::string_view text);

// A key with a prefix that is not one of Kubernetes' own: schedulers and controllers act on those.
bool IsOwnLabelKey(std::string_view text);

// A key for a taint that a node starts with and loses when it is ready: an own key, or one below the prefixes
// by which Cluster Autoscaler knows such taints. Keys of taints have the syntax of keys of labels.
bool IsStartupTaintKey(std::string_view text);
inline constexpr std::string_view kStartupTaintKey = "prefetchd.dev/not-ready";  // the default
inline constexpr const char* kStartupTaintKeyRule =
    "must be a key of a domain of yours, such as example.com/not-ready, or begin with "
    "startup-taint.cluster-autoscaler.kubernetes.io/";

}  // namespace prefetch::base
