// containerd's configuration, two files of it: whatever they say, hosts are hosts, a path is one, and what
// stands in them is in no note.

#include "fuzz/target.h"
#include "registry/containerd_config.h"

namespace {

using namespace prefetch;

// Notes are of fixed words, a path and a line: nothing of the file can make one longer.
constexpr std::size_t kLongestNote = 512;

void Check(const registry::ContainerdSettings& word) {
  if (word.registries.hosts_in_tables.size() > 256) std::abort();
  if (!word.registries.config_path.empty() && word.registries.config_path.front() != '/') std::abort();
  for (const std::string& host : word.registries.hosts_in_tables) {
    if (host.empty() || host.find_first_of("/@ \n\"") != std::string::npos) std::abort();
  }
  for (const std::string& note : word.notes) {
    if (note.size() > kLongestNote) std::abort();
  }
}

}  // namespace

FUZZ_TARGET(text) {
  std::size_t cut = text.find('\0');
  std::vector<registry::NamedConfig> files;
  for (std::string_view part : {text.substr(0, cut), cut == text.npos ? "" : text.substr(cut + 1)}) {
    auto config = registry::ParseContainerdConfig(part);
    if (!config && config.error().message().size() > kLongestNote) std::abort();
    if (config) files.push_back({"/f", *std::move(config)});
    if (!files.empty()) Check(registry::MergeContainerdConfigs(files));
  }
}
