#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "judges/ours.h"
#include "registry/containerd_config.h"

namespace prefetch::judges {
namespace {

namespace fs = std::filesystem;

// The name in a line "# file conf.d/NAME.toml"; empty: it is another line.
std::string NextFile(std::string_view line) {
  constexpr std::string_view kBegin = "# file conf.d/";
  constexpr std::string_view kEnd = ".toml\n";
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return "";
  line.remove_prefix(kBegin.size());
  line.remove_suffix(kEnd.size());
  const bool fits = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
  return fits && !line.empty() ? "conf.d/" + std::string(line) + ".toml" : "";
}

void WriteFiles(const fs::path& folder, std::string_view text) {
  fs::remove_all(folder / "conf.d");
  fs::create_directories(folder / "conf.d");
  std::string name = "config.toml";
  std::string content;
  auto write = [&] { std::ofstream(folder / name, std::ios::binary) << content; };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
    text.remove_prefix(line.size());
    if (std::string next = NextFile(line); !next.empty()) {
      write();
      name = std::move(next);
      content.clear();
    } else {
      content += line;
    }
  }
  write();
}

// containerd FOLDER: as tests/judges/containerd.go.
std::string ReadContainerd(std::string_view text, const std::vector<std::string>& arguments) {
  const fs::path folder = arguments.front();
  WriteFiles(folder, text);
  base::StampedFiles disk;
  const auto word = registry::LoadContainerdConfig((folder / "config.toml").string(), "", disk);
  const image::RuntimeRegistries& told = word.registries;
  if (!told.known) return Error(base::Join(word.notes, "; "));
  std::vector<std::string> hosts;
  for (const std::string& host : told.hosts_in_tables) hosts.push_back(Quoted(host));
  auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  return Value("{\"configPath\":" + Quoted(told.config_path) + ",\"inTables\":[" + base::Join(hosts, ",") +
               "],\"hasMirrors\":" + flag(told.has_mirrors) + ",\"localPull\":" + flag(told.local_pull) +
               ",\"discardsLayers\":" + flag(told.discards_layers) + "}");
}

}  // namespace

std::map<std::string, Family> ContainerdFamilies() {
  return {{"containerd", ReadContainerd}};
}

}  // namespace prefetch::judges
