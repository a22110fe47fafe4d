#include "ctl/manifest_files.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/scrub.h"
#include "base/workers.h"
#include "doc/duration.h"
#include "doc/problems.h"
#include "list/canonical.h"
#include "list/source.h"

namespace prefetch::ctl {

namespace {

namespace fs = std::filesystem;

// Number of files in one batch; their texts are in memory together.
constexpr std::size_t kBatch = 64;
constexpr unsigned kMostThreads = 8;

using NameFilter = std::function<bool(const std::string&)>;

// Returns the accepted files below the folder in the order of their names.
std::vector<std::string> Walk(const std::string& folder, const NameFilter& accept, Mistakes& mistakes) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    std::error_code unreadable;
    // Links to folders are not followed, since they may form circles.
    bool is_folder = at->is_directory(unreadable) && !at->is_symlink(unreadable);
    // Names that begin with a dot are for tools (.git, .github).
    const bool hidden = name.starts_with('.');
    if (is_folder) {
      // The iterator would end at a folder that cannot be read, without naming it.
      if (!hidden) fs::directory_iterator(at->path(), unreadable);
      if (unreadable) mistakes.push_back(at->path().string() + ": " + unreadable.message());
      if (hidden || unreadable) at.disable_recursion_pending();
    } else if (!hidden && accept(name)) {
      if (at->is_regular_file(unreadable)) files.push_back(at->path().string());
      // kubectl fails for a link that leads nowhere. In a folder of sources, such links are normal.
      if (unreadable && IsManifestName(name))
        mistakes.push_back(at->path().string() + ": " + unreadable.message());
    }
    // FindFiles reports it. Walking on through a whole disk would help nobody.
    if (files.size() > kMostManifestFiles) break;
  }
  if (error) mistakes.push_back(folder + ": " + error.message());
  if (!error && files.empty()) mistakes.push_back(folder + ": no file to read is below this folder");
  // The order of a directory differs from machine to machine; output must not.
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> Match(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return files;
}

// Collects paths, each once.
class Paths {
 public:
  void Add(const std::string& path, bool named) {
    // "./app.yaml" and "app.yaml" are one file. Links are not resolved, so that findings show the path as the
    // user knows it.
    std::string normal = path == "-" ? path : fs::path(path).lexically_normal().string();
    if (known_.insert(normal).second) paths_.push_back({normal, named});
  }
  std::size_t size() const { return paths_.size(); }
  std::vector<ManifestPath> Take() { return std::move(paths_); }

 private:
  std::vector<ManifestPath> paths_;
  std::unordered_set<std::string> known_;
};

void AddExisting(const ManifestPath& path, base::FileKind kind, const NameFilter& accept, Paths& paths,
                 Mistakes& mistakes) {
  if (kind != base::FileKind::kDirectory) return paths.Add(path.path, path.explicitly_named);
  for (const std::string& file : Walk(path.path, accept, mistakes)) paths.Add(file, false);
}

// A word is standard input, a path, or a pattern, in this order.
void AddWord(const std::string& word, const NameFilter& accept, Paths& paths, Mistakes& mistakes) {
  if (word == "-") return paths.Add(word, true);
  // An existing file wins over a pattern: its own name may have brackets.
  if (auto kind = base::KindOf(word)) return AddExisting({word, true}, *kind, accept, paths, mistakes);
  if (word.find_first_of("*?[") == std::string::npos) {
    return mistakes.push_back(word + ": there is no such file or folder");
  }
  std::vector<std::string> files = Match(word);
  if (files.empty()) mistakes.push_back(word + ": no file matches this pattern");
  for (const std::string& file : files) {
    if (auto kind = base::KindOf(file)) AddExisting({file, false}, *kind, accept, paths, mistakes);
  }
}

constexpr const char* kTwoStdins = "standard input can be one thing only: name a file for the other";

// Returns false the second time: standard input can be read once.
bool TakeStdin() {
  static std::atomic_flag taken;
  return !taken.test_and_set();
}

constexpr std::size_t kPiece = 64U << 10;

// A file or standard input: its whole text or, if that is longer than was asked for, more than that of it and
// a reader that hands over what follows, one piece at a time.
struct Input {
  std::string text;
  std::shared_ptr<std::istream> in;  // null: nothing follows
  manifest::ReadMore more;
};

// A shell names a pipe for "<(command)". It can be read once, like standard input.
bool IsPipe(const std::string& path) {
  std::error_code ignored;
  // The open of a FIFO by another name waits for a writer, perhaps for ever.
  return !IsStdin(path) && base::IsOwnDescriptor(path) && fs::is_fifo(path, ignored) &&
         ::access(path.c_str(), R_OK) == 0;
}

base::Result<Input> Open(const std::string& path, std::size_t most_bytes) {
  Input input{.text = "", .in = {&std::cin, [](std::istream*) {}}, .more = {}};
  if (IsPipe(path)) {
    input.in = std::make_shared<std::ifstream>(path, std::ios::binary);
  } else if (!IsStdin(path)) {
    // ReadFile says why a file cannot be read.
    auto text = base::ReadFile(path, most_bytes);
    if (text) return Input{.text = *std::move(text), .in = nullptr, .more = {}};
    if (text.error().code() != base::Code::kResourceExhausted) return std::move(text).error();
    input.in = std::make_shared<std::ifstream>(path, std::ios::binary);
    if (!*input.in) return base::NotFound(path + " cannot be opened again");
  } else if (!TakeStdin()) {
    return base::InvalidArgument(kTwoStdins);
  }
  input.more = [in = input.in](std::string& text) {
    const std::size_t had = text.size();
    text.resize(had + kPiece);
    in->read(text.data() + had, static_cast<std::streamsize>(text.size() - had));
    text.resize(had + static_cast<std::size_t>(in->gcount()));
    return text.size() > had;
  };
  while (input.text.size() <= most_bytes && input.more(input.text)) {
  }
  // For std::cin, an error is the end.
  if (IsStdin(path) && std::ferror(stdin) != 0)
    return base::InvalidArgument("standard input cannot be read: is it closed, or a folder?");
  if (input.text.size() <= most_bytes) input.in.reset();
  return input;
}

// Returns true if the text looks like an object of Kubernetes. YAML files of other programs may have
// duplicate keys, tags and the like, and mistakes in these are not reported.
bool LooksLikeObject(const std::string& text) {
  for (const char* word : {"apiVersion", "\nkind:", "\"kind\""}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return text.starts_with("kind:");
}

ManifestFile ReadOne(const ManifestPath& path, manifest::ReadOptions options) {
  ManifestFile file{
      .name = path.path == "-" ? "stdin" : path.path, .manifests = {}, .ignores = {}, .mistakes = {}};
  // In a folder of charts or other configuration, unknown objects are normal. In a file that was named, they
  // may be the pods that matter.
  if (!path.explicitly_named) options.non_manifests = manifest::NonManifests::kSkip;
  auto input = Open(path.path, options.limits.bytes);
  if (!input) {
    file.mistakes.push_back(input.error().message());
    return file;
  }
  std::string& text = input->text;
  // A file that was found in a folder need not be a manifest.
  const bool reports_mistakes = path.explicitly_named || LooksLikeObject(text);
  const bool whole = input->in == nullptr;
  doc::Problems problems(file.name);
  // A stream of many documents, such as the objects of a whole cluster, may be longer than one document may
  // be.
  file.manifests = whole ? manifest::ReadManifests(text, problems, options)
                         : manifest::ReadLongManifests(text, input->more, problems, options);
  file.ignores = manifest::lint::Ignores::Read(file.name, text);
  if (reports_mistakes) file.mistakes = problems.Lines();
  // A template is the usual reason, which YAML's own message does not mention.
  if (whole && !file.mistakes.empty() && text.find("{{") != std::string::npos) {
    file.mistakes.push_back(file.name +
                            ": this looks like a template: read what it renders (helm template … | … -f -)");
  }
  return file;
}

// Reads one batch, with as many threads as there are processors.
std::vector<ManifestFile> ReadBatch(const ManifestPath* first, std::size_t count,
                                    const manifest::ReadOptions& options) {
  std::vector<ManifestFile> files(count);
  base::ParallelFor(std::min(std::thread::hardware_concurrency(), kMostThreads), count,
                    [&](std::size_t i) { files[i] = ReadOne(first[i], options); });
  return files;
}

}  // namespace

bool IsManifestName(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

std::vector<ManifestPath> FindFiles(const std::vector<std::string>& words, Mistakes& mistakes,
                                    const NameFilter& accept) {
  Paths paths;
  for (const std::string& word : words) AddWord(word, accept, paths, mistakes);
  if (paths.size() > kMostManifestFiles) {
    mistakes.push_back("more than " + std::to_string(kMostManifestFiles) + " files: name fewer");
    return {};
  }
  return paths.Take();
}

base::Result<std::string> ReadFileOrStdin(const std::string& path, std::size_t most_bytes) {
  if (!IsStdin(path) && !IsPipe(path)) return base::ReadFile(path, most_bytes);
  auto input = Open(path, most_bytes);
  if (!input) return std::move(input).error();
  if (input->in == nullptr) return std::move(input->text);
  return base::ResourceExhausted((IsStdin(path) ? "stdin" : path) + " is longer than " +
                                 std::to_string(most_bytes) + " bytes");
}

base::Status ReadPieces(const std::string& path, const std::function<bool(std::string_view)>& take) {
  auto input = Open(path, kPiece);
  if (!input) return std::move(input).error();
  std::string& piece = input->text;
  if (!take(piece) || input->in == nullptr) return {};
  do {
    piece.clear();
  } while (input->more(piece) && take(piece));
  if (input->in->bad()) return base::Unavailable(path + " cannot be read to its end");
  return {};
}

std::optional<image::PullPolicy> ParsePolicyOption(const std::optional<std::string>& text, const char* flag,
                                                   Mistakes& mistakes) {
  if (!text) return std::nullopt;
  auto policy = base::EnumNamed<image::PullPolicy>(*text);
  if (!policy) mistakes.push_back(std::string(flag) + " must be Never, IfNotPresent or Always");
  return policy;
}

std::chrono::nanoseconds ParseTimeout(const std::string& text, Mistakes& mistakes) {
  auto timeout = doc::ParseDuration(text);
  if (timeout && timeout->count() > 0) return *timeout;
  mistakes.emplace_back("--timeout must be a duration such as 90s or 5m");
  return {};
}

manifest::ReadOptions ReadOptionsOf(const ManifestFlags& flags, Mistakes& mistakes) {
  manifest::ReadOptions read = flags.read;
  read.policy.default_policy = ParsePolicyOption(flags.default_policy, "--default-policy", mistakes);
  read.policy.default_check_policy =
      ParsePolicyOption(flags.default_check_policy, "--default-check-policy", mistakes);
  return read;
}

void ReadManifestFiles(const base::Call& call, const std::vector<ManifestPath>& paths,
                       const manifest::ReadOptions& options, const std::function<void(ManifestFile)>& take,
                       Mistakes& mistakes) {
  std::set<std::string> matched;
  // Batches bound the memory, and keep results in the order of the files.
  for (std::size_t i = 0; i < paths.size() && !call.Stopped(); i += kBatch) {
    for (ManifestFile& file : ReadBatch(&paths[i], std::min(kBatch, paths.size() - i), options)) {
      matched.insert(file.manifests.matched_paths.begin(), file.manifests.matched_paths.end());
      take(std::move(file));
    }
  }
  if (paths.empty()) return;
  for (const std::string& path : options.pod_template_paths) {
    if (!matched.contains(path))
      mistakes.push_back("--pod-template-path " + path + ": no object in these manifests has a pod there");
  }
}

std::string UnseenLine(const manifest::UnseenImage& image) {
  const std::string type = image.type.empty() ? "" : " (" + base::InOneLine(image.type) + ")";
  return base::InOneLine(image.pod->source) + ":" + std::to_string(image.at.line) + ":" +
         std::to_string(image.at.column) + ": " + base::InOneLine(image.why) + type;
}

namespace {

list::LoadedSource ReadStdin(const list::Capabilities& capabilities) {
  list::LoadedSource source;
  source.info.name = "stdin";
  source.info.path = kStdin;
  auto read = ReadFileOrStdin(kStdin, list::kMaxSourceBytes);
  if (!read) {
    source.info.error = read.error().message();
    return source;
  }
  auto content = list::DecodeSource(source.info.name, *read, capabilities);
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
  list::ListSources sources(Existing(names, mistakes), capabilities, kPipeTimeout);
  sources.Refresh(base::SystemClock().Wall());
  std::vector<list::LoadedSource> loaded = sources.Loaded();
  // The agent waits for the files of a folder. Here, nothing in it means that another one was meant.
  for (const std::string& path : sources.paths()) {
    const bool is_read = std::ranges::any_of(loaded, [&path](const list::LoadedSource& source) {
      return source.info.path == path || fs::path(source.info.path).parent_path() == path;
    });
    if (!is_read) mistakes.push_back(path + ": no list file (.txt, .yaml, .yml, .json) is in this folder");
  }
  if (from_stdin) {
    // The order of sources matters when they are merged.
    auto at = IsStdin(paths.front()) ? loaded.begin() : loaded.end();
    loaded.insert(at, ReadStdin(capabilities));
  }
  files.list = list::Merge(loaded);
  for (list::LoadedSource& source : loaded) {
    if (!source.info.error.empty()) mistakes.push_back(source.info.error);
    if (source.content) files.sources.push_back(std::move(source));
  }
  return files;
}

}  // namespace prefetch::ctl
