// Options whose values are words of a list.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace prefetch::ctl {

// Accepts these words only, and not the numbers that stand for them. The error for any other word lists them,
// as CLI::IsMember does.
template <typename E>
CLI::Option* OneOf(CLI::Option* option, const std::map<std::string, E>& names) {
  std::vector<std::string> words;
  for (const auto& [word, value] : names) words.push_back(word);
  // CLI11 runs the transformation that was added last first.
  return option->transform(CLI::CheckedTransformer(names))->transform(CLI::IsMember(words));
}

// The completion offers these words. The command itself judges the value.
inline void Offers(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name("TEXT:{" + CLI::detail::join(words, ",") + "}");
}

}  // namespace prefetch::ctl
