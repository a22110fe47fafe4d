// Parts of the tables of fields. Internal to reference/.
#pragma once

#include <string>
#include <vector>

#include "image/pull_policy.h"
#include "reference/field.h"

namespace prefetch::reference {

// Fields of the configuration file without a flag and a variable.
Fields CredentialFields();
Fields LimitsFields();
Fields PreflightFields();

// The words of imagePullPolicy.
inline std::vector<std::string> PolicyWords() {
  return WordsOf(image::PullPolicy::kAlways, image::PullPolicyName);
}

}  // namespace prefetch::reference
