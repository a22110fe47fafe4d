#include "manifest/lint/finding.h"

#include <utility>

namespace prefetch::manifest::lint {

Finding AtImage(RuleId rule, const ImageUse& use, std::string message) {
  return {.rule = rule,
          .place = {use.pod->source, use.key_at},
          .block = use.holder_at,
          .message = std::move(message)};
}

Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message) {
  Finding finding = AtImage(rule, use, std::move(message));
  if (use.policy_key_at) finding.place.at = *use.policy_key_at;
  return finding;
}

std::string UseTitle(const ImageUse& use) {
  std::string what = use.kind == UseKind::kImageVolume ? "volume" : "container";
  if (use.kind == UseKind::kField) what = "field";
  const std::string unknown = use.policy_known ? "" : ", policy unknown";
  if (use.name.empty()) return use.image + " (a " + what + unknown + ")";
  return use.image + " (" + what + " \"" + use.name + "\"" + unknown + ")";
}

}  // namespace prefetch::manifest::lint
