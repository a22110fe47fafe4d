#include "manifest/lint/selection.h"

#include <utility>

#include "base/text.h"

namespace prefetch::manifest::lint {

base::Result<std::bitset<Selection::kRules>> Selection::Parse(const std::vector<std::string>& words,
                                                              const char* flag) {
  std::bitset<kRules> rules;
  for (const std::string& list : words) {
    for (std::string_view word : base::Split(list, ',')) {
      std::string_view prefix = base::TrimSpace(word);
      bool known = false;
      for (const Rule& rule : Rules()) {
        if (prefix.empty() || !base::EqualsIgnoreCase(rule.id.substr(0, prefix.size()), prefix)) continue;
        rules.set(static_cast<std::size_t>(rule.rule));
        known = true;
      }
      if (!known) {
        return base::InvalidArgument(std::string(flag) + ": there is no rule " + std::string(prefix) +
                                     "; see prefetchctl lint --rules");
      }
    }
  }
  return rules;
}

base::Result<Selection> Selection::Make(const std::vector<std::string>& select,
                                        const std::vector<std::string>& ignore) {
  Selection selection;
  auto selected = Parse(select, "--select");
  if (!selected) return std::move(selected).error();
  auto ignored = Parse(ignore, "--ignore");
  if (!ignored) return std::move(ignored).error();
  if (!select.empty()) selection.rules_ = *selected;
  selection.rules_ &= ~*ignored;
  return selection;
}

}  // namespace prefetch::manifest::lint
