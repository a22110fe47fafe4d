// JSON comes from plugins, registries and docker's files. An accepted text must be written and read back the
// same.
#include <cstdint>
#include <cstdlib>

#include "doc/json.h"
#include "doc/write.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch::doc;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (JsonRules rules : {JsonRules::kStrict, JsonRules::kLenient}) {
    Problems problems("fuzz.json");
    auto root = ParseJson(bytes, problems, rules);
    if (root.has_value() != problems.empty() && !root) std::abort();
    if (!root || !problems.empty()) continue;
    Problems none("again.json");
    auto again = ParseJson(WriteJson(*root), none, rules, {.bytes = std::size_t{1} << 24});
    if (!again || !none.empty() || !SameContent(*root, *again)) std::abort();
  }
  return 0;
}
