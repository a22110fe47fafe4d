#include "ctl/list.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "ctl/manifest_files.h"
#include "list/draft.h"

namespace prefetch::ctl {
namespace {

constexpr std::size_t kMostMarkedBytes = 4 << 20;
constexpr std::size_t kMostCrictlBytes = 32 << 20;

// Collects images, and notes those that it leaves out.
class Gathered {
 public:
  explicit Gathered(const std::vector<std::string>& exclude) : exclude_(exclude) {}

  void Add(const image::Reference& reference, std::string from) {
    bool excluded = std::any_of(exclude_.begin(), exclude_.end(), [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), reference.Normalized().c_str(), 0) == 0;
    });
    if (!excluded) draft_.Add(reference, std::move(from));
  }
  const list::ListDraft& draft() const { return draft_; }

 private:
  const std::vector<std::string>& exclude_;
  list::ListDraft draft_;
};

std::string Place(const std::string& file, doc::Position at) {
  return file + ":" + std::to_string(at.line);
}

void AddManifests(const base::Call& call, const ListImportOptions& options, Gathered& gathered,
                  Mistakes& mistakes) {
  manifest::ReadOptions read;
  read.pod_template_paths = options.pod_template_paths;
  std::vector<ManifestPath> paths = FindManifests(options.manifests, mistakes);
  ReadManifestFiles(call, paths, read, [&](ManifestFile file) {
    std::move(file.mistakes.begin(), file.mistakes.end(), std::back_inserter(mistakes));
    for (const manifest::ImageUse& use : file.manifests.uses) {
      std::string place = Place(file.name, use.key_at);
      if (use.reference) gathered.Add(*use.reference, place);
      if (!use.reference) {
        mistakes.push_back(place + ":" + std::to_string(use.key_at.column) + ": " + use.path +
                           " is no valid image reference");
      }
    }
  });
}

void AddLists(const std::vector<std::string>& paths, Gathered& gathered, Mistakes& mistakes) {
  for (const list::LoadedSource& source : ReadListFiles(paths, mistakes).sources) {
    for (const list::ListEntry& entry : source.content->entries) {
      gathered.Add(entry.image.reference, Place(source.info.name, entry.at));
    }
  }
}

void AddCrictl(const std::vector<std::string>& paths, Gathered& gathered, Mistakes& mistakes) {
  for (const std::string& path : paths) {
    auto text = ReadFileOrStdin(path, kMostCrictlBytes);
    if (!text) {
      mistakes.push_back(text.error().message());
      continue;
    }
    doc::Problems problems(path == "-" ? "stdin" : path);
    for (const image::Reference& reference : list::ReadCrictlImages(*text, problems)) {
      gathered.Add(reference, problems.source());
    }
    for (std::string& line : problems.Lines()) mistakes.push_back(std::move(line));
  }
}

void AddMarked(const ListImportOptions& options, Gathered& gathered, Mistakes& mistakes) {
  if (!options.marker) return;
  std::size_t before = gathered.draft().size();
  for (const ManifestPath& path : FindFiles(
           options.marked, [](const std::string&) { return true; }, mistakes)) {
    auto text = base::ReadFile(path.path, kMostMarkedBytes);
    if (!text && path.named) mistakes.push_back(text.error().message());
    if (!text || !base::IsUtf8(*text)) continue;  // among the files of a folder are programs and pictures
    doc::Problems problems(path.path);
    for (const list::MarkedImage& image : list::ReadMarkedImages(*text, *options.marker, problems)) {
      gathered.Add(image.reference, Place(path.path, image.at));
    }
    for (std::string& line : problems.Lines()) mistakes.push_back(std::move(line));
  }
  if (gathered.draft().size() == before && mistakes.empty()) {
    mistakes.push_back("no line with the marker \"" + *options.marker + "\" was found");
  }
}

}  // namespace

int ImportList(const base::Call& call, const AgentClient* agent, const ListImportOptions& options,
               std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  Gathered gathered(options.exclude);
  AddManifests(call, options, gathered, mistakes);
  AddLists(options.lists, gathered, mistakes);
  AddCrictl(options.crictl, gathered, mistakes);
  AddMarked(options, gathered, mistakes);
  if (call.Stopped()) return kInterrupted;
  if (!mistakes.empty()) return Refuse(mistakes, err);
  if (agent != nullptr) {
    auto status = agent->Status(call);
    if (!status) return Fail(kUnreachable, status.error(), err);
    for (const screen::StatusImage& image : status->images) {
      if (auto reference = image::Reference::Parse(image.image))
        gathered.Add(*reference, "node " + status->node);
    }
  }
  out << gathered.draft().Write(options.output);
  return kOk;
}

}  // namespace prefetch::ctl
