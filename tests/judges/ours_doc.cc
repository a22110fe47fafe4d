#include "doc/json.h"
#include "doc/kubernetes_yaml.h"
#include "judges/ours.h"

namespace prefetch::judges {
namespace {

std::string ReadJson(std::string_view text, const std::vector<std::string>& /*arguments*/) {
  doc::Problems problems("text");
  auto root = doc::ParseJson(text, problems, doc::JsonRules::kLenient);
  return root && problems.empty() ? Value(*root) : Error(problems);
}

// yaml last|once: how duplicate keys are taken.
std::string ReadYaml(std::string_view text, const std::vector<std::string>& arguments) {
  const bool once = arguments.front() == "once";
  doc::Problems problems("text");
  auto root = doc::ReadKubernetesYaml(text, problems,
                                      once ? doc::RepeatedKeys::kProblem : doc::RepeatedKeys::kLastCounts);
  return root && problems.empty() ? Value(*root) : Error(problems);
}

}  // namespace

std::map<std::string, Family> DocFamilies() {
  return {{"json", ReadJson}, {"yaml", ReadYaml}};
}

}  // namespace prefetch::judges
