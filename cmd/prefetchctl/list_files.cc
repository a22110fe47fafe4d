#include "list_files.h"

#include "base/clock.h"
#include "config/list_source.h"

namespace prefetch::ctl {
namespace {

constexpr config::Capabilities kAny{.refresh = true, .touch = true, .registry_checks = true};

}  // namespace

ListFiles ReadListFiles(const std::vector<std::string>& paths, std::vector<std::string>& mistakes) {
  ListFiles files;
  if (paths.empty()) return files;
  config::ListSources sources(paths, kAny);
  files.list = sources.Read(base::SystemClock().Wall()).list;
  if (files.list.sources.empty()) mistakes.emplace_back("no list file (.txt, .yaml, .yml, .json) was found");
  for (const plan::ListSource& source : files.list.sources) {
    if (!source.error.empty()) mistakes.push_back(source.error);
  }
  for (const config::LoadedSource& source : sources.Loaded()) {
    if (source.content) files.sources.push_back(source);
  }
  return files;
}

}  // namespace prefetch::ctl
