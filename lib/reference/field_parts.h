// Parts of the tables of fields. Internal to reference/.
#pragma once

#include <string>
#include <vector>

#include "reference/field.h"

namespace prefetch::reference {

// Fields of the configuration file without a flag and a variable.
Fields CredentialFields();
Fields LimitsFields();
Fields PreflightFields();

// Fields of the status document.
Field ReasonField(const std::string& path, const std::string& help);
Field PhaseField(const std::string& path, const std::string& help);
// Fields of one image, without "images[].".
Fields ImageFields();

// The words of an enum, from the first enumerator to `last`.
template <typename E, typename Name>
std::vector<std::string> DescriptionOf(E last, Name name) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); i++) words.emplace_back(name(static_cast<E>(i)));
  return words;
}

std::vector<std::string> PolicyWords();       // of pods
std::vector<std::string> ReasonWordsOfAll();  // of images and nodes
std::vector<std::string> CheckReasonWords();  // and those of one pod alone

}  // namespace prefetch::reference
