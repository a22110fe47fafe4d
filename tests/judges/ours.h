// How this product reads texts, printed as tests/judges/main.go prints the authority's reading.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "doc/problems.h"

namespace prefetch::judges {

// Returns {"value": …} or {"error": "…"} for one text. The arguments are those of the command line.
using Family = std::string (*)(std::string_view text, const std::vector<std::string>& arguments);

std::string Quoted(std::string_view text);  // as JSON
std::string Value(const doc::Node& node);
// `json` is one JSON value, on one line.
std::string Value(const std::string& json);
std::string Error(const std::string& message);
std::string Error(const doc::Problems& problems);

// The families of each source beside this header; ours_main.cc has the table of all.
std::map<std::string, Family> ChallengeFamilies();
std::map<std::string, Family> ContainerdFamilies();
std::map<std::string, Family> CrioFamilies();
std::map<std::string, Family> DocFamilies();
std::map<std::string, Family> KubeFamilies();
std::map<std::string, Family> KubeletFamilies();
std::map<std::string, Family> PluginFamilies();
std::map<std::string, Family> ManifestFamilies();
std::map<std::string, Family> PullFamilies();
std::map<std::string, Family> RegistryFamilies();

}  // namespace prefetch::judges
