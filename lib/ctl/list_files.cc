#include "ctl/list_files.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "ctl/manifest_files.h"
#include "list/canonical.h"
#include "list/source.h"

namespace prefetch::ctl {
namespace {

list::LoadedSource ReadStdin(std::string& text, const list::Capabilities& capabilities) {
  list::LoadedSource source;
  source.info.name = "stdin";
  source.info.path = kStdin;
  auto read = ReadFileOrStdin(kStdin, list::kMaxSourceBytes);
  if (!read) {
    source.info.error = read.error().message();
    return source;
  }
  text = *std::move(read);
  // Standard input has no name, so the content decides about the form.
  auto content = list::DecodeSource(source.info.name, list::FormOfText(text), text, capabilities);
  if (!content) {
    source.info.error = content.error().message();
    return source;
  }
  source.content = std::make_shared<const list::SourceContent>(*std::move(content));
  source.info.hash = list::SourceHash(*source.content);
  source.info.entries = source.content->entries.size();
  return source;
}

// Returns the existing paths; missing ones are reported as they were written.
std::vector<std::string> Existing(const std::vector<std::string>& paths, Mistakes& mistakes) {
  std::vector<std::string> existing;
  for (const std::string& path : paths) {
    auto kind = base::KindOf(path);
    if (!kind && kind.error().code() == base::Code::kNotFound) {
      mistakes.push_back(path + ": there is no such file or folder");
    } else {
      existing.push_back(path);
    }
  }
  return existing;
}

}  // namespace

bool IsStdin(const std::string& path) {
  return path == kStdin || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

ListFiles ReadListFiles(const std::vector<std::string>& paths, Mistakes& mistakes,
                        const list::Capabilities& capabilities) {
  ListFiles files;
  if (paths.empty()) return files;
  std::vector<std::string> names = paths;
  // The agent's reader takes names of files only.
  bool from_stdin = std::erase_if(names, &IsStdin) > 0;
  std::size_t missing = mistakes.size();
  list::ListSources sources(Existing(names, mistakes), capabilities, kPipeTimeout);
  sources.Read(base::SystemClock().Wall());
  std::vector<list::LoadedSource> loaded = sources.Loaded();
  if (from_stdin) {
    // The order of sources matters when they are merged.
    auto at = IsStdin(paths.front()) ? loaded.begin() : loaded.end();
    loaded.insert(at, ReadStdin(files.stdin_text, capabilities));
  }
  // Missing paths have been reported already.
  if (loaded.empty() && mistakes.size() == missing) {
    mistakes.emplace_back("no list file (.txt, .yaml, .yml, .json) was found at these paths");
  }
  files.list = list::Merge(loaded);
  for (list::LoadedSource& source : loaded) {
    if (!source.info.error.empty()) mistakes.push_back(source.info.error);
    if (source.content) files.sources.push_back(std::move(source));
  }
  return files;
}

}  // namespace prefetch::ctl
