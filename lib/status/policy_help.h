// Advice against a signature policy of the runtime: the file and the rule that rejected an image. Internal to
// status/. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/snapshot.h"

namespace prefetch::status {

// The keys below transports.docker of policy.json that may hold the image's rule, the first that is there
// counts: "quay.io/acme/app:v1", "quay.io/acme/app", "quay.io/acme", "quay.io", "*.io", "". Without one of
// them it is `default`.
std::vector<std::string> PolicyScopes(const image::Reference& reference);

// Returns whether a pull failed because the policy itself cannot be read, so that no image is judged by it.
bool IsBrokenPolicy(const std::string& error);

// A sentence each, for an image whose pull the runtime rejected for its signature.
std::vector<std::string> SignatureHelp(const plan::ImageState& image, const plan::RuntimeStatus& runtime);

}  // namespace prefetch::status
