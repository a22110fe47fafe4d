#include "ctl/list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/fs.h"
#include "base/scrub.h"
#include "base/text.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "ctl/manifest_files.h"
#include "image/name_pattern.h"
#include "list/draft.h"

namespace prefetch::ctl {
namespace {

// Behind the place of an image that is not in a container.
constexpr const char* kSeen = " (seen, policy unknown)";
constexpr std::size_t kMostMarkedBytes = 4 << 20;
constexpr std::size_t kMostCrictlBytes = 32 << 20;

// Collects images, and notes those that it leaves out.
class Gathered {
 public:
  explicit Gathered(const std::vector<std::string>& exclude) : exclude_(exclude) {}

  void Add(const image::Reference& reference, std::string from) {
    bool excluded = std::any_of(exclude_.begin(), exclude_.end(), [&](const std::string& pattern) {
      return image::MatchesPattern(pattern, reference.Normalized());
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

// `left_out` gets what has images that are not known.
void AddFile(ManifestFile file, Gathered& gathered, Mistakes& left_out, Mistakes& mistakes) {
  std::move(file.mistakes.begin(), file.mistakes.end(), std::back_inserter(mistakes));
  for (const manifest::ImageUse& use : file.manifests.uses) {
    std::string place = Place(file.name, use.key_at);
    // Of objects out of a cluster, the name says more than a line of a stream.
    std::string from = file.name == "stdin" && !use.pod->name.empty() ? PodTitle(*use.pod) : place;
    if (use.reference) gathered.Add(*use.reference, from + (use.policy_known ? "" : kSeen));
    if (!use.reference) {
      mistakes.push_back(place + ":" + std::to_string(use.key_at.column) + ": " + use.path +
                         " is no valid image reference");
    }
  }
  for (const manifest::UnreadObject& object : file.manifests.unread) left_out.push_back(UnreadLine(object));
  for (const manifest::OpenImage& image : file.manifests.open) {
    left_out.push_back(Place(file.name, image.at) + ":" + std::to_string(image.at.column) + ": " +
                       base::InOneLine(image.why));
  }
}

manifest::ReadOptions OptionsOf(const ListImportOptions& options) {
  manifest::ReadOptions read;
  read.allow_unread = options.allow_unread;
  read.pod_template_paths = options.pod_template_paths;
  return read;
}

void AddManifests(const base::Call& call, const ListImportOptions& options, Gathered& gathered,
                  Mistakes& left_out, Mistakes& mistakes) {
  std::vector<ManifestPath> paths = FindManifests(options.manifests, mistakes);
  ReadManifestFiles(
      call, paths, OptionsOf(options),
      [&](ManifestFile file) { AddFile(std::move(file), gathered, left_out, mistakes); }, mistakes);
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

// Reads texts that are no lists of other tools as manifests (`helm get manifest`).
void AddForeign(const ListImportOptions& options, Gathered& gathered, Mistakes& left_out,
                Mistakes& mistakes) {
  for (const std::string& path : options.foreign) {
    auto text = ReadFileOrStdin(path, kMostCrictlBytes);
    if (!text) {
      mistakes.push_back(text.error().message());
      continue;
    }
    doc::Problems problems(path == "-" ? "stdin" : path);
    auto images = list::ReadForeignList(*text, problems);
    ManifestFile file{.name = problems.source(), .manifests = {}, .ignores = {}, .mistakes = {}};
    if (!images) file.manifests = manifest::ReadManifests(*text, problems, OptionsOf(options));
    file.mistakes = problems.Lines();
    AddFile(std::move(file), gathered, left_out, mistakes);
    if (!images) continue;
    for (const list::ForeignImage& image : *images)
      gathered.Add(image.reference, Place(problems.source(), image.at));
  }
}

void AddMarked(const ListImportOptions& options, Gathered& gathered, Mistakes& mistakes) {
  if (options.markers.empty()) return;
  std::set<std::string> met;
  for (const ManifestPath& path : FindFiles(
           options.marked, [](const std::string&) { return true; }, mistakes)) {
    auto text = base::ReadFile(path.path, kMostMarkedBytes);
    if (!text && path.named) mistakes.push_back(text.error().message());
    if (!text || !base::IsUtf8(*text)) continue;  // among the files of a folder are programs and pictures
    for (const std::string& marker : options.markers) {
      doc::Problems problems(path.path);
      for (const list::MarkedImage& image : list::ReadMarkedImages(*text, marker, problems)) {
        // In a manifest it stands in `args` or `env`, and a program makes a container of it.
        gathered.Add(image.reference, Place(path.path, image.at) + (IsManifestName(path.path) ? kSeen : ""));
        met.insert(marker);
      }
      for (std::string& line : problems.Lines()) mistakes.push_back(std::move(line));
    }
  }
  if (!mistakes.empty()) return;
  for (const std::string& marker : options.markers) {
    if (!met.contains(marker)) mistakes.push_back("no line with the marker \"" + marker + "\" was found");
  }
}

}  // namespace

int ImportList(const base::Call& call, const AgentClient* agent, const ListImportOptions& options,
               std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  Gathered gathered(options.exclude);
  Mistakes left_out;
  for (const std::string& pattern : options.exclude) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      mistakes.push_back("--exclude: " + good.error().message());
  }
  AddForeign(options, gathered, left_out, mistakes);
  AddManifests(call, options, gathered, left_out, mistakes);
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
  for (const std::string& line : left_out) err << line << "\n";
  out << gathered.draft().Write(options.output, left_out);
  return kOk;
}

}  // namespace prefetch::ctl
