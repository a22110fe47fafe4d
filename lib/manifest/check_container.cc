#include "manifest/image_use.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace prefetch::manifest {
namespace {

constexpr std::string_view kWords[] = {"check",    "checker", "precheck", "preflight", "prepull",
                                       "prefetch", "warmup",  "verify",   "verifier"};

bool IsCheckName(std::string_view name) {
  std::string words = base::ToLower(name);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '_' || c == '.'; }, '-');
  for (std::string_view part : base::Split(words, '-')) {
    for (std::string_view word : kWords) {
      if (part == word || part.ends_with("check")) return true;
    }
  }
  return false;
}

}  // namespace

bool IsCheckContainer(const ImageUse& use) {
  if (use.kind == UseKind::kImageVolume || use.kind == UseKind::kField) return false;
  if (IsCheckName(use.name)) return true;
  return use.pod && IsCheckName(use.pod->name);
}

}  // namespace prefetch::manifest
