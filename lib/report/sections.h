// The sections of the page. Internal to report/. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/gather.h"
#include "report/heat_map.h"
#include "report/html.h"

namespace prefetch::report {

// Data that all sections share.
struct PageParts {
  const Report& report;
  HeatMap map;
  std::vector<std::string> letters;  // of the report's states
};

// Writes a state's letter in its colour, and its word.
void WriteState(Html& out, const PageParts& parts, std::uint32_t state);
// The same in colour, without the word.
void WriteLetter(Html& out, const PageParts& parts, std::uint32_t state);

// "failing", as the style has it.
std::string_view ToneName(Tone tone);
std::string_view NodeTone(const screen::FleetNode& node);

// "ci-1, ci-2 and 37 more": at most `most` names.
std::string SomeNames(const std::vector<std::string>& names, std::size_t most);
std::vector<std::string> NamesOf(const Report& report, const std::vector<std::uint32_t>& nodes);

// A message, and how many others there are.
std::string MessageWords(const std::string& message, std::size_t others);

void WriteCauses(Html& out, const PageParts& parts);
void WriteMap(Html& out, const PageParts& parts);
void WriteNodes(Html& out, const PageParts& parts);
void WriteFreshness(Html& out, const PageParts& parts);
void WriteDisk(Html& out, const PageParts& parts);
void WritePulls(Html& out, const PageParts& parts);

}  // namespace prefetch::report
