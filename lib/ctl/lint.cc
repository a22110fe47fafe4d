#include "ctl/commands.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/fs.h"
#include "manifest/lint/linter.h"
#include "screen/lint_report.h"

namespace prefetch::ctl {
namespace {

namespace lint = manifest::lint;
using std::chrono::steady_clock;

// Returns the path relative to the current directory, unless that leads out of it.
std::string ShownPath(const std::string& path) {
  std::error_code error;
  std::filesystem::path shown = std::filesystem::proximate(path, error);
  // CI systems attach findings to paths relative to the repository.
  return error || shown.string().starts_with("..") ? path : shown.string();
}

struct Lists {
  std::vector<lint::ListedImage> images;
  std::vector<lint::Ignores> ignores;
};

Lists ReadLists(const std::vector<std::string>& paths, Mistakes& mistakes) {
  list::Capabilities with_texts = kAllCapabilities;
  with_texts.keeps_text = true;
  ListFiles files = ReadListFiles(paths, mistakes, with_texts);
  Lists lists;
  for (const list::LoadedSource& source : files.sources) {
    bool from_stdin = source.info.path == kStdin;
    std::string file = from_stdin ? source.info.name : ShownPath(source.info.path);
    for (const list::ListEntry& entry : source.content->entries) {
      lists.images.push_back({.reference = entry.image.reference,
                              .place = {file, entry.at},
                              // Any refresh makes a moving tag acceptable with Never (PF203).
                              .refreshed = entry.image.refresh != plan::Refresh::kIfNotPresent,
                              .platforms = entry.image.nodes.platforms,
                              .node_selector = entry.image.nodes.node_selector,
                              .ready_as = *entry.image.ready_as});
    }
    // Ignores are comments. A pipe cannot be read again.
    lists.ignores.push_back(lint::Ignores::Read(file, source.content->text));
  }
  return lists;
}

void Print(const lint::LintResult& result, const LintOptions& options, steady_clock::time_point started,
           std::ostream& out) {
  switch (options.output) {
    case LintOutput::kText: {
      auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - started);
      out << screen::LintText(result, {options.color, options.width, took});
      return;
    }
    case LintOutput::kJson:
      out << screen::LintJson(result);
      return;
    case LintOutput::kGithub:
      out << screen::LintGithub(result);
      return;
    case LintOutput::kSarif:
      out << screen::LintSarif(result, PREFETCH_VERSION);
      return;
  }
}

}  // namespace

int Lint(const base::Call& call, const LintOptions& options, std::ostream& out, std::ostream& err) {
  // The time that the summary shows includes the reading of lists.
  steady_clock::time_point started = steady_clock::now();
  Mistakes mistakes;
  const manifest::ReadOptions read = ReadOptionsOf(options.manifests, mistakes);
  auto selection = lint::Selection::Make(options.select, options.ignore);
  if (!selection) mistakes.push_back(selection.error().message());
  Lists lists = ReadLists(options.lists, mistakes);
  // With a broken list, every image would be reported as not listed.
  bool listed = mistakes.empty();
  std::vector<ManifestPath> paths = FindFiles(options.files, mistakes);
  lint::LintResult result;
  // Mistakes in some manifests do not keep the others from being linted.
  if (listed && !paths.empty()) {
    lint::Linter linter(lint::ListedImages(std::move(lists.images)), std::move(lists.ignores), *selection);
    std::vector<lint::Unread> unread;
    // Formats for programs need mistakes in the result itself, not on standard error.
    for (const std::string& mistake : mistakes) unread.push_back({"", mistake});
    // Kept apart, since these are known only after all files were read.
    Mistakes unplaced;
    ReadManifestFiles(
        call, paths, read,
        [&](ManifestFile file) {
          for (const std::string& mistake : file.mistakes) unread.push_back({file.name, mistake});
          std::ranges::move(file.mistakes, std::back_inserter(mistakes));
          linter.Add(file.manifests, std::move(file.ignores));
        },
        unplaced);
    for (const std::string& mistake : unplaced) unread.push_back({"", mistake});
    std::ranges::move(unplaced, std::back_inserter(mistakes));
    if (call.Stopped()) return kInterrupted;
    result = linter.Finish();
    result.unread = std::move(unread);
    Print(result, options, started, out);
  }
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  return result.Fails() ? kNegative : kOk;
}

}  // namespace prefetch::ctl
