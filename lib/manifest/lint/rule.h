// The rules of `prefetchctl lint`, one row each: stable ids, severities and words.
// deploy/docs/reference/lint.md shows them.
#pragma once

#include <span>
#include <string_view>

namespace prefetch::manifest::lint {

enum class Severity { kNote, kWarning, kError };
std::string_view SeverityName(Severity severity);  // "note", "warning", "error"

// In the order of their ids.
enum class RuleId {
  kBadIgnore,
  kIdleIgnore,
  kNotListed,
  kListedOnly,
  kNeverUnlisted,
  kOtherPlatform,
  kNotReadyAs,
  kStepAction,
  kNotRead,
  kOpenImage,
  kImplicitAlways,
  kExplicitAlways,
  kNeverMovingTag,
  kWeakerCheck,
  kTwoNames,
  kPullSecrets,
  kShortName,
  kInvalidReference,
};

struct Rule {
  RuleId rule;
  std::string_view id;    // "PF101"; never given to another rule
  std::string_view name;  // "image-not-listed"
  Severity severity;
  std::string_view summary;  // one sentence
  std::string_view help;     // consequence and remedy
};

// All of them; the index is the RuleId.
std::span<const Rule> Rules();
const Rule& RuleOf(RuleId rule);
// nullptr: there is none of that id. The case does not matter.
const Rule* FindRule(std::string_view id);

}  // namespace prefetch::manifest::lint
