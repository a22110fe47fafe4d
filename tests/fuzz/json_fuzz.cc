// JSON comes from plugins, registries and docker's files. An accepted text must be written and read back the
// same.

#include "doc/json.h"
#include "doc/write.h"
#include "fuzz/target.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch::doc;
  for (JsonRules rules : {JsonRules::kStrict, JsonRules::kLenient}) {
    Problems problems("fuzz.json");
    auto root = ParseJson(bytes, problems, rules);
    if (root.has_value() != problems.empty() && !root) std::abort();
    if (!root || !problems.empty()) continue;
    Problems none("again.json");
    auto again = ParseJson(WriteJson(*root), none, rules, {.bytes = std::size_t{1} << 24});
    if (!again || !none.empty() || !SameContent(*root, *again)) std::abort();
  }
}
