#include "ctl/commands.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/find_with_default.h"
#include "base/fs.h"
#include "base/scrub.h"
#include "base/text.h"
#include "ctl/cluster.h"
#include "doc/write.h"
#include "image/registry_answer.h"
#include "list/canonical.h"
#include "list/diff.h"
#include "list/lock.h"
#include "screen/list_difference.h"

namespace prefetch::ctl {

namespace {

// Prints mistakes and warnings. Returns false if there are mistakes.
bool Report(const ListFiles& files, const Mistakes& mistakes, std::ostream& err) {
  PrintMistakes(mistakes, err);
  for (const std::string& warning : files.list.warnings) err << "warning: " << warning << "\n";
  return mistakes.empty();
}

list::SourceContent Sorted(list::SourceContent content) {
  std::ranges::stable_sort(content.entries, [](const list::ListEntry& a, const list::ListEntry& b) {
    return a.image.reference.Normalized() < b.image.reference.Normalized();
  });
  return content;
}

}  // namespace

int ListCheck(const base::Call& call, const AgentClient* agent, const std::vector<std::string>& paths,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  const ListFiles files = ReadListFiles(paths, mistakes, capabilities);
  // Each source is printed with its hash even if another one has mistakes, so that one run shows everything.
  for (const list::LoadedSource& source : files.sources) {
    out << source.info.name << ": " << base::Plural(source.info.entries, "entry", "entries") << ", "
        << source.info.hash << "\n";
  }
  if (!Report(files, mistakes, err)) return kBadInput;
  if (agent == nullptr) return kOk;
  auto status = agent->Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  // Without the other names, missing notes would look like a complete list.
  if (!status->hidden.empty()) {
    err << "note: over the network the agent hides the other names of images; ask over its local socket\n";
  }
  for (const std::string& note : screen::AliasNotes(files.list, *status)) err << "note: " << note << "\n";
  return kOk;
}

int ListPrint(const std::vector<std::string>& paths, ListOutput output, bool sorted,
              const list::Capabilities& capabilities, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(paths, mistakes, capabilities);
  if (!Report(files, mistakes, err)) return kBadInput;
  // The first word of the output is the hash for `wait --hash`.
  if (output == ListOutput::kHash) out << files.list.hash << "  (list)\n";
  std::string separator;
  for (const list::LoadedSource& source : files.sources) {
    if (output == ListOutput::kHash) {
      out << source.info.hash << "  " << source.info.name << "\n";
      continue;
    }
    const doc::Node form = list::CanonicalForm(sorted ? Sorted(*source.content) : *source.content);
    out << (output == ListOutput::kJson ? doc::WriteJson(form) + "\n" : separator + doc::WriteYaml(form));
    separator = "---\n";
  }
  return kOk;
}

namespace {

std::optional<plan::ImageList> ReadList(const std::string& path, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles({path}, mistakes);
  PrintMistakes(mistakes, err);
  return mistakes.empty() ? std::optional<plan::ImageList>(std::move(files.list)) : std::nullopt;
}

// A changed entry shows its fields. An added or removed one shows its place in the file.
screen::ListDifference ToDifference(const list::ListChange& change) {
  using Kind = list::ListChange::Kind;
  if (change.kind != Kind::kChanged) {
    return {change.kind == Kind::kAdded ? '+' : '-', change.image, change.place};
  }
  std::vector<std::string> fields;
  for (const list::FieldChange& field : change.fields) {
    fields.push_back(field.field + ": " + field.from + " → " + field.to);
  }
  return {'~', change.image, base::Join(fields, ", ")};
}

int Print(const std::vector<screen::ListDifference>& differences, bool json, std::ostream& out) {
  out << (json ? screen::ListDifferencesJson(differences) : screen::ListDifferencesText(differences));
  return differences.empty() ? kOk : kNegative;
}

}  // namespace

int DiffTwoLists(const ListDiffOptions& options, std::ostream& out, std::ostream& err) {
  std::optional<plan::ImageList> from = ReadList(options.files.at(0), err);
  std::optional<plan::ImageList> to = ReadList(options.files.at(1), err);
  if (!from || !to) return kBadInput;
  std::vector<screen::ListDifference> differences;
  for (const list::ListChange& change : list::DiffLists(*from, *to)) {
    differences.push_back(ToDifference(change));
  }
  return Print(differences, options.json, out);
}

int DiffListWithNode(const base::Call& call, const AgentClient& agent, const ListDiffOptions& options,
                     std::ostream& out, std::ostream& err) {
  std::optional<plan::ImageList> list = ReadList(options.files.at(0), err);
  if (!list) return kBadInput;
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  return Print(screen::DiffWithNode(*list, *status), options.json, out);
}

namespace {

// Added to the place of an image outside of a container, whose policy no manifest states.
constexpr const char* kPolicyUnknownNote = " (seen, policy unknown)";

std::string Place(const std::string& file, doc::Position at) {
  return file + ":" + std::to_string(at.line);
}

// Says why an image is none. ko, envsubst and kustomize replace such names before pods exist.
std::string NoReference(const manifest::ImageUse& use) {
  const bool filled =
      use.image.find_first_of("${<") != std::string::npos || use.image.find("://") != std::string::npos;
  return use.path + " is no valid image reference: " + base::InOneLine(base::Truncate(use.image, 200)) +
         (filled ? ": read the output of the tool that fills it in" : "");
}

// Adds the images of one file. `left_out` gets the objects whose images are not known.
void AddFile(ManifestFile file, list::ListDraft& draft, Mistakes& left_out, Mistakes& mistakes) {
  if (file.manifests.HasList()) left_out.push_back(file.name + " is an image list: --list imports it");
  std::ranges::move(file.mistakes, std::back_inserter(mistakes));
  for (const manifest::ImageUse& use : file.manifests.uses) {
    std::string place = Place(file.name, use.key_at);
    // For objects from a cluster, the name says more than a line of the stream.
    const bool of_cluster = file.name == kClusterSource;
    std::string from =
        (file.name == "stdin" || of_cluster) && !use.pod->name.empty() ? PodTitle(*use.pod) : place;
    if (use.reference) {
      draft.Add(*use.reference, from + (use.policy_known ? "" : kPolicyUnknownNote));
    } else if (of_cluster) {
      left_out.push_back(from + ": " + NoReference(use));
    } else {
      // An image that is no reference would fail in every pod, so the import fails as well.
      mistakes.push_back(place + ":" + std::to_string(use.key_at.column) + ": " + NoReference(use));
    }
  }
  for (const auto* unseen : {&file.manifests.unread, &file.manifests.unresolved})
    std::ranges::transform(*unseen, std::back_inserter(left_out), UnseenLine);
}

void AddLists(const std::vector<std::string>& paths, list::ListDraft& draft, Mistakes& mistakes) {
  for (const list::LoadedSource& source : ReadListFiles(paths, mistakes).sources) {
    for (const list::ListEntry& entry : source.content->entries) {
      draft.Add(entry.image.reference, Place(source.info.name, entry.at));
    }
  }
}

void AddCrictl(const std::vector<std::string>& paths, list::ListDraft& draft, Mistakes& mistakes) {
  for (const std::string& path : paths) {
    auto text = ReadFileOrStdin(path, doc::kMostSavedBytes);
    if (!text) {
      mistakes.push_back(text.error().message());
      continue;
    }
    doc::Problems problems(path == "-" ? "stdin" : path);
    for (const image::Reference& reference : list::ReadCrictlImages(*text, problems)) {
      draft.Add(reference, problems.source());
    }
    for (std::string& line : problems.Lines()) mistakes.push_back(std::move(line));
  }
}

// Adds lists of other tools. Any other text is read as manifests (`helm get manifest`).
void AddForeign(const ListImportOptions& options, list::ListDraft& draft, Mistakes& left_out,
                Mistakes& mistakes) {
  for (const std::string& path : options.foreign) {
    auto text = ReadFileOrStdin(path, doc::kMostSavedBytes);
    if (!text) {
      mistakes.push_back(text.error().message());
      continue;
    }
    doc::Problems problems(path == "-" ? "stdin" : path);
    const auto foreign = list::ReadForeignList(*text, problems);
    ManifestFile file{.name = problems.source(), .manifests = {}, .ignores = {}, .mistakes = {}};
    if (!foreign || foreign->has_other_objects) {
      const manifest::ReadOptions& read = options.read;
      file.manifests = text->size() > read.limits.bytes
                           ? manifest::ReadLongManifests(
                                 *text, [](std::string&) { return false; }, problems, read)
                           : manifest::ReadManifests(*text, problems, read);
    }
    file.mistakes = problems.Lines();
    AddFile(std::move(file), draft, left_out, mistakes);
    if (!foreign) continue;
    left_out.insert(left_out.end(), foreign->notes.begin(), foreign->notes.end());
    for (const list::NamedImage& image : foreign->images)
      draft.Add(image.reference, Place(problems.source(), image.at));
  }
}

// Returns an exit code. A cluster may have objects that are not well-formed. They are notes here and no
// mistakes, so that the other images are still imported.
int AddWorkloads(const base::Call& call, kube::Api& api, const ListImportOptions& options,
                 list::ListDraft& draft, Mistakes& left_out, std::ostream& err) {
  doc::Problems problems(kClusterSource);
  auto done = ReadWorkloads(
      call, api, options.namespaces, options.read, problems, [&](manifest::Manifests manifests) {
        AddFile({.name = kClusterSource, .manifests = std::move(manifests), .ignores = {}, .mistakes = {}},
                draft, left_out, left_out);
      });
  if (call.Stopped()) return kInterrupted;
  if (!done) return Fail(kUnreachable, ToUserError(done.failure(), "workload-list.yaml"), err);
  for (std::string& line : problems.Lines()) left_out.push_back(std::move(line));
  return kOk;
}

// Returns an exit code. Writes the list into an existing ConfigMap.
int WriteConfigMap(const base::Call& call, kube::Api& api, const std::string& config_map,
                   const list::ListDraft& draft, const std::string& text, std::ostream& out,
                   std::ostream& err) {
  const std::size_t slash = config_map.find('/');
  auto done = api.SetConfigMapText(call, config_map.substr(0, slash), config_map.substr(slash + 1),
                                   "images.yaml", text);
  if (!done) return Fail(kUnreachable, ToUserError(done.failure(), "workload-list.yaml"), err);
  out << "configmap " << config_map << ": " << base::Plural(draft.size(), "image", "images") << "\n";
  return kOk;
}

// Returns an empty text if the list fits in a source of an agent.
std::string WhyTooLong(const list::ListDraft& draft, const std::string& text) {
  if (draft.size() <= list::kMaxEntries && text.size() <= list::kMaxSourceBytes) return "";
  return "the list has " + std::to_string(draft.size()) + " images in " + std::to_string(text.size()) +
         " bytes, and a source holds at most " + std::to_string(list::kMaxEntries) + " in " +
         std::to_string(list::kMaxSourceBytes) + ": split it (deploy/docs/change-the-list.md)";
}

void AddMarked(const ListImportOptions& options, list::ListDraft& draft, Mistakes& mistakes) {
  if (options.markers.empty()) return;
  std::set<std::string> matched;
  for (const ManifestPath& path :
       FindFiles(options.marked, mistakes, [](const std::string&) { return true; })) {
    auto text = base::ReadFile(path.path, doc::kMostSavedBytes);
    // Folders contain programs, pictures and long data as well.
    const bool passed_over =
        text ? text->find('\0') != std::string::npos : text.error().code() == base::Code::kResourceExhausted;
    if (passed_over && !path.explicitly_named) continue;
    if (!text) {
      mistakes.push_back(text.error().message());
      continue;
    }
    // A comment may have letters of an old code page. Other files of a folder that are no text need have no
    // image.
    const bool is_sure = path.explicitly_named || base::IsUtf8(*text);
    const std::string characters = base::ToUtf8(*text);
    for (const std::string& marker : options.markers) {
      doc::Problems problems(path.path);
      for (const list::NamedImage& image : list::ReadMarkedImages(characters, marker, problems)) {
        // In a manifest, a marked image stands in `args` or `env`, and some program makes a container of it:
        // its policy is unknown.
        draft.Add(image.reference,
                  Place(path.path, image.at) + (IsManifestName(path.path) ? kPolicyUnknownNote : ""));
        matched.insert(marker);
      }
      if (!is_sure) continue;
      for (std::string& line : problems.Lines()) mistakes.push_back(std::move(line));
    }
  }
  // A marker may stand in a file that could not be read.
  if (!mistakes.empty()) return;
  for (const std::string& marker : options.markers) {
    // Most probably a typing error, which would silently lose all marked images.
    if (!matched.contains(marker)) mistakes.push_back("no line with the marker \"" + marker + "\" was found");
  }
}

}  // namespace

int ImportList(const base::Call& call, const AgentClient* agent, kube::Api* api,
               const ListImportOptions& options, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  list::ListDraft draft(options.exclude);
  Mistakes left_out;
  for (const std::string& pattern : options.exclude) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      mistakes.push_back("--exclude: " + good.error().message());
  }
  AddForeign(options, draft, left_out, mistakes);
  ReadManifestFiles(
      call, FindFiles(options.manifests, mistakes), options.read,
      [&](ManifestFile file) {
        for (const auto& skipped : file.manifests.skipped) {
          if (list::IsForeignList(skipped.first))
            left_out.push_back(file.name + " has a list of images (" + skipped.first +
                               "): --from imports it");
        }
        AddFile(std::move(file), draft, left_out, mistakes);
      },
      mistakes);
  AddLists(options.lists, draft, mistakes);
  AddCrictl(options.crictl, draft, mistakes);
  AddMarked(options, draft, mistakes);
  if (call.Stopped()) return kInterrupted;
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  // Asked last: mistakes in files are reported without any call.
  if (agent != nullptr) {
    auto status = agent->Status(call);
    if (!status) return Fail(kUnreachable, status.error(), err);
    for (const status::StatusImage& image : status->images) {
      if (auto reference = image::Reference::Parse(image.image))
        draft.Add(*reference, "node " + status->node);
    }
  }
  if (api != nullptr) {
    const int exit_code = AddWorkloads(call, *api, options, draft, left_out, err);
    if (exit_code != kOk) return exit_code;
  }
  for (const std::string& line : left_out) err << line << "\n";
  if (draft.size() == 0) {
    return Fail(kBadInput, base::NotFound("no image was found, and an empty list makes every node ready"),
                err);
  }
  const std::string text = draft.Write(options.output, left_out);
  const std::string too_long = WhyTooLong(draft, text);
  if (api != nullptr && !options.config_map.empty()) {
    if (!too_long.empty()) return Fail(kBadInput, base::ResourceExhausted(too_long), err);
    return WriteConfigMap(call, *api, options.config_map, draft, text, out, err);
  }
  if (!too_long.empty()) err << "warning: " << too_long << "\n";
  out << text;
  return kOk;
}

namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;

// A list file, and its lock so far.
struct List {
  std::string name, path;
  list::ListLock before, now;
};

// A question for one of the lists.
struct Question {
  std::size_t list = 0;
  TagQuery tag;
};

// Returns the lists with their locks, which have the digests that the lists name themselves. `questions` gets
// a question for each other image.
std::vector<List> ListsToLock(const std::vector<std::string>& paths, std::vector<Question>& questions,
                              Mistakes& mistakes) {
  std::vector<List> lists;
  if (std::ranges::any_of(paths, &IsStdin)) {
    mistakes.emplace_back("a lock is written beside its list: name files, not standard input");
    return lists;
  }
  ListFiles files = ReadListFiles(paths, mistakes);
  for (const list::LoadedSource& source : files.sources) {
    List list{.name = std::filesystem::path(source.info.path).filename(), .path = source.info.path};
    auto lock = list::ReadLockOf(list.path, list.name);
    if (!lock) {
      mistakes.push_back(lock.error().message());
      continue;
    }
    list.before = *std::move(lock);
    std::set<std::string> names;  // a digest belongs to a name, however it is spelled
    for (const list::ListEntry& entry : source.content->entries) {
      const image::Reference& reference = entry.image.reference;
      const std::string& name = reference.Normalized();
      if (!names.insert(name).second) continue;
      // An entry with a digest needs no question, but stands in the lock, so that the lock covers the whole
      // list.
      if (reference.has_digest()) {
        list.now[name] = reference.digest();
      } else {
        questions.push_back(
            {lists.size(), {reference, {list.name}, base::FindWithDefault(list.before, name)}});
      }
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

// The kinds of failures in one run.
struct Failures {
  bool refused = false;      // a registry says no
  bool unreachable = false;  // or nothing
};

// Puts digests into the lists' locks, and reports images without one. A registry that does not answer is
// reported with one image, since the reason is the same for the others.
Failures RecordAnswers(const std::vector<Question>& questions, const std::vector<RegistryAnswer>& answers,
                       std::vector<List>& lists, std::ostream& err) {
  Failures failures;
  std::map<std::string, std::size_t> silent;  // images of each registry that does not answer
  for (std::size_t i = 0; i < questions.size(); i++) {
    const TagQuery& tag = questions[i].tag;
    const RegistryAnswer& answer = answers[i];
    if (!answer.digest.empty()) {
      lists[questions[i].list].now[tag.reference.Normalized()] = answer.digest;
      if (answer.message.empty()) continue;
      err << "warning: " << tag.reference.written() << ": containerd would not pull it: " << answer.message
          << "; only a pull can tell whether CRI-O does\n";
      continue;
    }
    const bool refused = answer.kind == RegistryAnswerKind::kTagMissing ||
                         answer.kind == RegistryAnswerKind::kAccessDenied ||
                         answer.kind == RegistryAnswerKind::kIndeterminate;
    // Where this program cannot judge the answer, the registry has not refused.
    (refused && !answer.only_by_pull ? failures.refused : failures.unreachable) = true;
    // A denial, a missing tag or a manifest that nothing takes is about one image, and is always printed.
    if (!refused && silent[tag.reference.domain()]++ > 0) continue;
    err << tag.reference.written() << ": " << base::EnumName(answer.kind) << ": " << answer.message << "\n";
  }
  for (const auto& [registry, images] : silent) {
    if (images > 1) err << registry << ": " << images - 1 << " more of its images could not be asked for\n";
  }
  return failures;
}

std::string Short(const std::string& digest) {
  return digest.empty() ? "nothing" : digest.substr(0, 19);
}

void Print(const std::vector<list::LockChange>& changes, std::ostream& out) {
  for (const list::LockChange& change : changes) {
    if (change.from.empty()) {
      out << "+ " << change.image << "  " << Short(change.to) << "\n";
    } else if (change.to.empty()) {
      out << "- " << change.image << "  not on the list any more\n";
    } else {
      out << "~ " << change.image << "  moved from " << Short(change.from) << " to " << Short(change.to)
          << "\n";
    }
  }
}

// True if the lock agrees, or now agrees, with the registries.
bool CompareOrWriteLock(const List& list, bool check, std::ostream& out, Mistakes& mistakes) {
  std::vector<list::LockChange> changes = list::DiffLocks(list.before, list.now);
  Print(changes, out);
  std::string images = base::Plural(list.now.size(), "image", "images");
  if (check) {
    out << list.name << ": " << images << ", " << changes.size() << " changed since it was locked\n";
    return changes.empty();
  }
  std::string path = list::LockPath(list.path);
  auto written = base::WriteFileAtomically(path, list::WriteLock(list.now, list.name));
  if (!written) {
    mistakes.push_back(written.error().message());
    return false;
  }
  out << list.name << ": " << images << " locked, " << changes.size() << " changed\n";
  return true;
}

}  // namespace

int LockLists(const base::Call& call, const ListLockOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  const std::chrono::nanoseconds timeout = ParseTimeout(options.timeout, mistakes);
  auto keyring = ToKeyringOptions(LoadCredentialConfig(options.credentials, get_env, mistakes), mistakes);
  std::vector<Question> questions;
  std::vector<List> lists = ListsToLock(options.files, questions, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);

  base::Call limited = call.Within(timeout);
  std::vector<TagQuery> tags;
  for (const Question& question : questions) tags.push_back(question.tag);
  std::vector<RegistryAnswer> answers = ResolveTags(limited, keyring, get_env, tags, options.runtime, err);
  if (call.Stopped()) return kInterrupted;
  Failures failures = RecordAnswers(questions, answers, lists, err);
  bool late = failures.unreachable && std::chrono::steady_clock::now() >= limited.deadline;
  // Nothing is written unless all tags were answered: a lock that is only partly new would mix two moments.
  if (failures.unreachable) return late ? kTimedOut : kUnreachable;
  if (failures.refused) return kNegative;
  bool same = true;
  // No early exit: every list is reported.
  for (const List& list : lists) same = CompareOrWriteLock(list, options.check, out, mistakes) && same;
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  return same ? kOk : kNegative;
}

}  // namespace prefetch::ctl
