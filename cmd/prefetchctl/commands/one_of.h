// Options whose values are words of a list.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace prefetch::ctl {

// Accepts these words only, not even the number that stands for one. The error for another word lists them,
// as CLI::IsMember does.
template <typename E>
CLI::Option* OneOf(CLI::Option* option, const std::map<std::string, E>& names) {
  std::vector<std::string> words;
  for (const auto& [word, value] : names) words.push_back(word);
  // The one that is added last sees the value first.
  return option->transform(CLI::CheckedTransformer(names))->transform(CLI::IsMember(words));
}

// The completion offers these words. The command itself judges the value.
inline void Offers(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name("TEXT:{" + CLI::detail::join(words, ",") + "}");
}

}  // namespace prefetch::ctl
