// Selection: which rules are looked at.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "base/result.h"
#include "manifest/lint/rule.h"

namespace prefetch::manifest::lint {

// A value; all rules unless told otherwise.
class Selection {
 public:
  Selection() { rules_.set(); }
  // Ids, or beginnings of them ("PF2"), with commas between them or one by one: those of `select` (all, if it
  // is empty) without those of `ignore`. InvalidArgument for one that is the beginning of no rule's id.
  static base::Result<Selection> Make(const std::vector<std::string>& select,
                                      const std::vector<std::string>& ignore);

  bool Has(RuleId rule) const { return rules_.test(static_cast<std::size_t>(rule)); }

 private:
  static constexpr std::size_t kRules = static_cast<std::size_t>(RuleId::kInvalidReference) + 1;
  static base::Result<std::bitset<kRules>> Parse(const std::vector<std::string>& words, const char* flag);

  std::bitset<kRules> rules_;
};

}  // namespace prefetch::manifest::lint
