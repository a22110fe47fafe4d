// The words of the program's enums, for tables of fields. Internal to reference/.
#pragma once

#include <string>
#include <vector>

namespace prefetch::reference {

// From the first enumerator to `last`.
template <typename E, typename Name>
std::vector<std::string> WordsTo(E last, Name name) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); i++) words.emplace_back(name(static_cast<E>(i)));
  return words;
}

std::vector<std::string> PolicyWords();       // of pods
std::vector<std::string> ReasonWordsOfAll();  // of images and nodes
std::vector<std::string> CheckReasonWords();  // and those of one pod alone

}  // namespace prefetch::reference
