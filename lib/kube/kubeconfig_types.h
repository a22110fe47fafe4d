// The types of a kubeconfig's values, as kubectl's decoder demands them. Internal to kube/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/reader.h"

namespace prefetch::kube {

// Adds a problem for each value of another type than kubectl's decoder demands, and for each name that stands
// twice in a list. kubectl refuses the whole file for one of them, even in entries that no context uses.
void CheckKubeconfigTypes(const doc::Reader& root);

// Decodes base64 as Go does: padded, and line breaks do not count.
std::optional<std::string> DecodeBase64(std::string text);

// A sequence of strings; null counts as an empty one.
std::vector<std::string> Texts(const doc::Reader& sequence);

}  // namespace prefetch::kube
