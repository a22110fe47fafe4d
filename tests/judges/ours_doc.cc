#include "doc/json.h"
#include "judges/ours.h"

namespace prefetch::judges {
namespace {

std::string ReadJson(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  doc::Problems problems("text");
  auto root = doc::ParseJson(text, problems, doc::JsonRules::kLenient);
  return root && problems.empty() ? Value(*root) : Error(problems);
}

}  // namespace

std::map<std::string, Family> DocFamilies() {
  return {{"json", ReadJson}};
}

}  // namespace prefetch::judges
