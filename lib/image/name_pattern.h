// NamePattern: which images a person means by "registry.k8s.io/*".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::image {

// `*` stands for any run of characters, also for "/" and for none. A pattern is held against the whole
// normalised name ("docker.io/library/nginx:1.27") and against its repository ("docker.io/library/nginx"), so
// that "registry.k8s.io/pause" means every tag and digest of it. Case matters.
bool MatchesPattern(std::string_view pattern, std::string_view normalized_name);

// InvalidArgument: empty, longer than 500 bytes, more than 20 `*`, blanks or control characters in it.
base::Status CheckPattern(std::string_view pattern);

}  // namespace prefetch::image
