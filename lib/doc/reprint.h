// A JSON document as a person reads it: indented JSON, or YAML. Members keep their order.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::doc {

// InvalidArgument if `json` is no JSON document of at most 32 MiB.
base::Result<std::string> IndentedJson(std::string_view json);
base::Result<std::string> AsYaml(std::string_view json);

}  // namespace prefetch::doc
