// ours FAMILY [ARGUMENT…]: texts on standard input, each behind a line with its length; one line of JSON for
// each.
#include <iostream>
#include <iterator>

#include "base/log.h"
#include "doc/write.h"
#include "judges/ours.h"

namespace prefetch::judges {
namespace {

std::map<std::string, Family> AllFamilies() {
  std::map<std::string, Family> all;
  all.merge(ChallengeFamilies());
  all.merge(ContainerdFamilies());
  all.merge(CrioFamilies());
  all.merge(DocFamilies());
  all.merge(KubeFamilies());
  all.merge(KubeletFamilies());
  all.merge(PluginFamilies());
  all.merge(ManifestFamilies());
  all.merge(PullFamilies());
  all.merge(RegistryFamilies());
  return all;
}

int Run(Family family, const std::vector<std::string>& arguments) {
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  const std::string_view all = input;
  std::size_t at = 0;
  while (at < all.size()) {
    const std::size_t line_end = all.find('\n', at);
    if (line_end == std::string_view::npos) return 2;
    const std::size_t size = std::stoul(input.substr(at, line_end - at));
    std::cout << family(all.substr(line_end + 1, size), arguments) << '\n';
    at = line_end + 1 + size;
  }
  return 0;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  base::AppendJsonEscaped(out, text);
  return out + "\"";
}

std::string Value(const std::string& json) {
  return "{\"value\":" + json + "}";
}

std::string Value(const doc::Node& node) {
  return Value(doc::WriteJson(node));
}

std::string Error(const std::string& message) {
  return "{\"value\":null,\"error\":" + Quoted(message) + "}";
}

std::string Error(const doc::Problems& problems) {
  return Error(problems.empty() ? "is not known" : problems.Lines().front());
}

}  // namespace prefetch::judges

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto families = prefetch::judges::AllFamilies();
  const auto found = arguments.empty() ? families.end() : families.find(arguments.front());
  if (found == families.end()) {
    std::cerr << "usage: ours FAMILY [ARGUMENT…]\n";
    return 2;
  }
  return prefetch::judges::Run(found->second, {arguments.begin() + 1, arguments.end()});
}
