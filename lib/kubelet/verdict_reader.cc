#include "kubelet/verdict_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/fs.h"
#include "kubelet/record_files.h"
#include "kubelet/records.h"

namespace prefetch::kubelet {
namespace {

// The kernel stamps files with a clock that ticks every few milliseconds. A younger file may change again and
// keep its stamp, so it is read once more.
constexpr std::int64_t kFreshFor = 50'000'000;  // nanoseconds

bool IsFresh(const base::FileStamp& stamp) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return stamp.changed_ns > std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - kFreshFor;
}

std::string KeyOf(const ImageOnNode& image) {
  return image.pod->empty() ? image.image : image.image + "\n" + image::TextOf(*image.pod);
}

// The stamp of an absent file, and of one that this process may not look at. Reading tells the two apart.
constexpr base::FileStamp kNoFile{};

}  // namespace

void FileChanges::Add(FileChanges more) {
  all = all || more.all;
  names.merge(more.names);
}

void VerdictReader::SetRoot(std::string root) {
  if (root == root_) return;
  root_ = std::move(root);
  pulled_ = root_ + "/image_manager/pulled/";
  pulling_ = root_ + "/image_manager/pulling/";
  folders_.clear();
  Forget();
}

bool VerdictReader::Restamp(Known& known) const {
  if (known.image_id.empty()) return false;
  base::FileStamp record = base::StampOf(pulled_ + known.record_name);
  base::FileStamp intent = base::StampOf(pulling_ + known.intent_name);
  known.intent_absent = intent == kNoFile && errno == ENOENT;
  // Files in unknown folders have no stamp here: only their presence counts for the verdict.
  bool unknown = std::any_of(unknown_.begin(), unknown_.end(), [&](const std::string& folder) {
    return base::KindOf(folder + known.record_name) || base::KindOf(folder + known.intent_name);
  });
  if (unknown != std::exchange(known.in_unknown_folder, unknown)) known.fresh = true;
  if (!known.fresh && record == known.record && intent == known.intent) return false;
  known.fresh = IsFresh(record) || IsFresh(intent);
  known.record = record;
  known.intent = intent;
  return true;
}

void VerdictReader::Decide(const ImageOnNode& image, const std::vector<KubeletSettings>& possible,
                           Known& known) const {
  VerdictQuestion question{.image = image.image, .image_id = image.image_id, .pod = IdentityOf(*image.pod)};
  if (!image.image_id.empty()) {
    question.record = ReadRecordNamed(root_, known.record_name);
    // Most images have no intent, so the open is saved. One that comes now is seen by its stamp next time.
    if (!known.intent_absent) question.intent = ReadIntentNamed(root_, known.intent_name);
  }
  question.in_unknown_folder = known.in_unknown_folder;
  known.intent_found = known.intent != kNoFile;
  Verdicts verdicts = VerdictsFor(question, possible);
  // The old object stays, so that callers see by its address that nothing changed.
  if (known.verdicts && *known.verdicts == verdicts) return;
  known.verdicts = std::make_shared<const Verdicts>(std::move(verdicts));
}

RecordsAccess VerdictReader::CheckAccess() const {
  if (RecordsFolderIsReplaced(root_)) return RecordsAccess::kReplaced;
  // Opening shows what stat does not: whether the process has the right to read the folder.
  base::Fd pulled(::open(pulled_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (pulled.valid()) return RecordsAccess::kReadable;
  if (errno == EACCES || errno == EPERM) return RecordsAccess::kForbidden;
  auto root = base::KindOf(root_);
  return root && *root == base::FileKind::kDirectory ? RecordsAccess::kNoFolder : RecordsAccess::kNoRoot;
}

std::vector<base::FileStamp> VerdictReader::FolderStamps() const {
  std::vector<std::string> paths = {root_, root_ + "/image_manager", pulled_, pulling_};
  paths.insert(paths.end(), unknown_.begin(), unknown_.end());
  std::vector<base::FileStamp> folders = base::StampsOf(paths);
  // The root's own times change whenever kubelet adds a file there. Only its presence matters.
  folders[0].modified_ns = folders[0].changed_ns = 0;
  folders[0].size = 0;
  return folders;
}

bool VerdictReader::Moved() const {
  // A folder that comes shows in the time of the one that it is in.
  return FolderStamps() != folders_ ||
         RecordsFolderIsReplaced(root_) != (access_ == RecordsAccess::kReplaced);
}

VerdictReading VerdictReader::Read(const std::vector<ImageOnNode>& images,
                                   const std::vector<KubeletSettings>& possible, FileChanges changes,
                                   bool same) {
  unknown_ = UnknownFolders(root_);
  std::vector<base::FileStamp> folders = FolderStamps();
  // The stamps of folders are taken before any file is read. A file that comes in between shows in the next
  // look.
  if (folders != std::exchange(folders_, folders)) changes.all = true;

  VerdictReading reading;
  reading.access = CheckAccess();
  // An absent file means another thing if the root is not there either, so all verdicts are made anew.
  if (reading.access != std::exchange(access_, reading.access)) {
    same = false;
    Forget();
  }
  if (same && !changes.all && changes.names.empty()) {
    reading.unchanged = true;
    return reading;
  }
  reading.verdicts.reserve(images.size());
  std::unordered_map<std::string, Known> now;
  now.reserve(images.size());
  for (const ImageOnNode& image : images) {
    std::string key = KeyOf(image);
    auto before = known_.find(key);
    auto [at, is_new] = now.try_emplace(std::move(key));
    Known& known = at->second;
    bool decide = true;
    bool touched = false;
    if (is_new && before != known_.end() && before->second.image_id == image.image_id) {
      known = std::move(before->second);
      bool look = changes.all || changes.names.contains(known.record_name) ||
                  changes.names.contains(known.intent_name);
      touched = look && Restamp(known);
      decide = touched;
    } else if (is_new) {
      known.image_id = image.image_id;
      known.record_name = FileNameFor(image.image_id);
      known.intent_name = FileNameFor(image.image);
      // Another image under the same name is read anew. Its old verdict is kept to compare with, so that an
      // equal one is not announced as a change.
      if (before != known_.end()) known.verdicts = before->second.verdicts;
      Restamp(known);
    } else {
      decide = false;  // the same image twice
    }
    if (decide) {
      Decide(image, possible, known);
      reading.files_read++;
    }
    reading.verdicts.push_back(known.verdicts);
    reading.pull_under_way.push_back(known.intent_found);
    reading.files_changed.push_back(touched);
  }
  known_ = std::move(now);
  return reading;
}

}  // namespace prefetch::kubelet
