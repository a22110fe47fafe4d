#include "doc/reprint.h"

#include "doc/json.h"
#include "doc/write.h"

namespace prefetch::doc {
namespace {

constexpr Limits kReprintLimits{.bytes = 32 << 20, .depth = 32, .nodes = 4'000'000};

base::Result<std::string> Reprint(std::string_view json, std::string (*write)(const Node&)) {
  Problems problems("document");
  auto root = ParseJson(json, problems, JsonRules::kLenient, kReprintLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  return write(*root);
}

}  // namespace

base::Result<std::string> IndentedJson(std::string_view json) {
  return Reprint(json, &WritePrettyJson);
}

base::Result<std::string> AsYaml(std::string_view json) {
  return Reprint(json, &WriteYaml);
}

}  // namespace prefetch::doc
