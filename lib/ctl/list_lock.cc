#include "ctl/list.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "ctl/node_credentials.h"
#include "ctl/tag_digests.h"
#include "doc/duration.h"
#include "image/registry_answer.h"
#include "list/lock.h"

namespace prefetch::ctl {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;

// A list file, and its lock so far.
struct List {
  std::string name, path;
  std::vector<image::Reference> images;
  list::ListLock before, now;
};

// The questions for one list.
struct Question {
  std::size_t list = 0;
  TagQuestion tag;
};

std::vector<List> ListsToLock(const std::vector<std::string>& paths, Mistakes& mistakes) {
  std::vector<List> lists;
  if (std::any_of(paths.begin(), paths.end(), &IsStdin)) {
    mistakes.emplace_back("a lock stands beside its list: name files, and not standard input");
    return lists;
  }
  ListFiles files = ReadListFiles(paths, mistakes);
  for (const list::LoadedSource& source : files.sources) {
    List list{.name = std::filesystem::path(source.info.path).filename(), .path = source.info.path};
    std::set<std::string> names;  // a digest is that of a name, however it is spelled
    for (const list::ListEntry& entry : source.content->entries) {
      const image::Reference& reference = entry.image.reference;
      if (names.insert(reference.Normalized()).second) list.images.push_back(reference);
    }
    auto text = base::ReadFile(list::LockPath(list.path), list::kMostLockBytes);
    if (text) {
      auto lock = list::ReadLock(*text, list.name + ".lock");
      if (lock) {
        list.before = *std::move(lock);
      } else {
        mistakes.push_back(lock.error().message());
      }
    } else if (text.error().code() != base::Code::kNotFound) {
      mistakes.push_back(text.error().message());
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

// Of one run.
struct Failures {
  bool refused = false;      // a registry says no
  bool unreachable = false;  // or nothing
};

// Puts digests into the lists' locks; reports images without one. Of a registry that does not answer, one
// image is named: it is the same for the others.
Failures Sort(const std::vector<Question>& questions, const std::vector<RegistryAnswer>& answers,
              std::vector<List>& lists, std::ostream& err) {
  Failures failures;
  std::map<std::string, std::size_t> silent;  // images of each registry that does not answer
  for (std::size_t i = 0; i < questions.size(); i++) {
    const TagQuestion& tag = questions[i].tag;
    const RegistryAnswer& answer = answers[i];
    if (!answer.digest.empty()) {
      lists[questions[i].list].now[tag.reference.Normalized()] = answer.digest;
      continue;
    }
    bool refused =
        answer.kind == RegistryAnswerKind::kTagMissing || answer.kind == RegistryAnswerKind::kAccessDenied;
    (refused ? failures.refused : failures.unreachable) = true;
    if (!refused && silent[tag.reference.domain()]++ > 0) continue;
    err << tag.reference.written() << ": " << image::RegistryAnswerName(answer.kind) << ": " << answer.message
        << "\n";
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
bool Settle(const List& list, bool check, std::ostream& out, Mistakes& mistakes) {
  std::vector<list::LockChange> changes = list::DiffLocks(list.before, list.now);
  Print(changes, out);
  std::string images = std::to_string(list.now.size()) + (list.now.size() == 1 ? " image" : " images");
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

std::vector<Question> Questions(std::vector<List>& lists) {
  std::vector<Question> questions;
  for (std::size_t i = 0; i < lists.size(); i++) {
    List& list = lists[i];
    for (const image::Reference& reference : list.images) {
      if (reference.has_digest()) {
        list.now[reference.Normalized()] = reference.digest();
        continue;
      }
      auto known = list.before.find(reference.Normalized());
      questions.push_back({i, {reference, list.name, known == list.before.end() ? "" : known->second}});
    }
  }
  return questions;
}

}  // namespace

int LockLists(const base::Call& call, const ListLockOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  auto timeout = doc::ParseDuration(options.timeout);
  if (!timeout || timeout->count() <= 0)
    mistakes.emplace_back("--timeout must be a duration such as 90s or 5m");
  auto keyring = ToKeyringOptions(GatherCredentials(options.credentials, get_env, mistakes), mistakes);
  std::vector<List> lists = ListsToLock(options.files, mistakes);
  if (!mistakes.empty()) return Refuse(mistakes, err);

  base::Call limited = call.Within(*timeout);
  std::vector<Question> questions = Questions(lists);
  std::vector<TagQuestion> tags;
  for (const Question& question : questions) tags.push_back(question.tag);
  std::vector<RegistryAnswer> answers = AskTagDigests(limited, keyring, get_env, tags, err);
  if (call.Stopped()) return kInterrupted;
  Failures failures = Sort(questions, answers, lists, err);
  bool late = failures.unreachable && std::chrono::steady_clock::now() >= limited.deadline;
  if (failures.unreachable) return late ? kTimedOut : kUnreachable;
  if (failures.refused) return kNo;
  bool same = true;
  for (const List& list : lists) same = Settle(list, options.check, out, mistakes) && same;
  if (!mistakes.empty()) return Refuse(mistakes, err);
  return same ? kOk : kNo;
}

}  // namespace prefetch::ctl
