#include "kubelet/verdict_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/log.h"

namespace prefetch::kubelet {

namespace {

std::string KeyOf(const ImageOnNode& image) {
  return image.pod->empty() ? image.image : image.image + "\n" + image::TextOf(*image.pod);
}

// A longer file counts as unreadable.
constexpr std::size_t kLongestRecord = 8 << 20;
constexpr std::size_t kMostFolders = 64;

FileContent ReadFileOf(const std::string& root, const char* folder, const std::string& name) {
  auto content = base::ReadFile(root + "/image_manager/" + folder + "/" + name, kLongestRecord);
  if (content) return {Reading::kFound, *std::move(content)};
  // No file means that kubelet has none only if the folders above it are really kubelet's. A missing mount or
  // a replaced folder looks the same, and would make every image preloaded.
  bool absent = content.error().code() == base::Code::kNotFound && base::IsDirectory(root) &&
                !RecordsFolderIsReplaced(root);
  return {absent ? Reading::kAbsent : Reading::kUnreadable, ""};
}

// Folders of image_manager that are neither `pulled` nor `pulling`, as paths that end with a slash.
std::vector<std::string> UnknownFolders(const std::string& kubelet_root) {
  const std::string above = kubelet_root + "/image_manager/";
  auto names = base::ListDirectory(above, kMostFolders);
  std::vector<std::string> folders;
  if (!names) return folders;
  for (const std::string& name : *names) {
    if (name != "pulled" && name != "pulling" && base::IsDirectory(above + name)) {
      folders.push_back(above + name + "/");
    }
  }
  return folders;
}

bool AreInAny(const std::vector<std::string>& folders, const std::string& record, const std::string& intent) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return base::KindOf(folder + record) || base::KindOf(folder + intent);
  });
}

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

bool VerdictReader::UpdateStamps(ImageEntry& entry) const {
  if (entry.image_id.empty()) return false;
  base::FileStamp record = base::StampOf(pulled_ + entry.record_name);
  base::FileStamp intent = base::StampOf(pulling_ + entry.intent_name);
  entry.intent_absent = intent.error == ENOENT;
  // Files in unknown folders have no stamp here: only their presence counts for the verdict.
  const bool unknown = AreInAny(unknown_, entry.record_name, entry.intent_name);
  if (unknown != std::exchange(entry.in_unknown_folder, unknown)) entry.recently_changed = true;
  if (!entry.recently_changed && record == entry.record && intent == entry.intent) return false;
  entry.recently_changed = !base::IsSettled(record) || !base::IsSettled(intent);
  entry.record = record;
  entry.intent = intent;
  return true;
}

void VerdictReader::Decide(const ImageOnNode& image, const std::vector<KubeletSettings>& possible,
                           ImageEntry& entry) const {
  VerdictQuestion question{.image = image.image, .image_id = image.image_id, .pod = IdentityOf(*image.pod)};
  if (!image.image_id.empty()) {
    question.record = ReadFileOf(root_, "pulled", entry.record_name);
    // Most images have no intent, so the open is saved. One that comes now is seen by its stamp next time.
    if (!entry.intent_absent) question.intent = ReadFileOf(root_, "pulling", entry.intent_name);
  }
  question.in_unknown_folder = entry.in_unknown_folder;
  entry.intent_found = entry.intent.error == 0;
  Verdicts verdicts = VerdictsFor(question, possible);
  // The old object stays, so that callers see by its address that nothing changed.
  if (entry.verdicts && *entry.verdicts == verdicts) return;
  entry.verdicts = std::make_shared<const Verdicts>(std::move(verdicts));
}

RecordsAccess VerdictReader::CheckAccess() const {
  if (RecordsFolderIsReplaced(root_)) return RecordsAccess::kReplaced;
  // Opening shows what stat does not: whether the process has the right to read the folder.
  base::Fd pulled(::open(pulled_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (pulled.valid()) return RecordsAccess::kReadable;
  if (errno == EACCES || errno == EPERM) return RecordsAccess::kForbidden;
  return base::IsDirectory(root_) ? RecordsAccess::kNoFolder : RecordsAccess::kNoRoot;
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

bool VerdictReader::HasChanged() const {
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
  std::unordered_map<std::string, ImageEntry> now;
  now.reserve(images.size());
  for (const ImageOnNode& image : images) {
    std::string key = KeyOf(image);
    auto before = entries_.find(key);
    auto [at, is_new] = now.try_emplace(std::move(key));
    ImageEntry& entry = at->second;
    bool decide = true;
    bool touched = false;
    if (is_new && before != entries_.end() && before->second.image_id == image.image_id) {
      entry = std::move(before->second);
      bool look = changes.all || changes.names.contains(entry.record_name) ||
                  changes.names.contains(entry.intent_name);
      touched = look && UpdateStamps(entry);
      decide = touched;
    } else if (is_new) {
      entry.image_id = image.image_id;
      entry.record_name = FileNameFor(image.image_id);
      entry.intent_name = FileNameFor(image.image);
      // Another image under the same name is read anew. Its old verdict is kept to compare with, so that an
      // equal one is not announced as a change.
      if (before != entries_.end()) entry.verdicts = before->second.verdicts;
      UpdateStamps(entry);
    } else {
      decide = false;  // the same image twice
    }
    if (decide) {
      Decide(image, possible, entry);
      reading.files_read++;
    }
    reading.verdicts.push_back(entry.verdicts);
    reading.pull_under_way.push_back(entry.intent_found);
    reading.files_changed.push_back(touched);
  }
  entries_ = std::move(now);
  return reading;
}

bool RecordsFolderIsReplaced(const std::string& kubelet_root) {
  // A bind mount holds the folder though no name leads to it any more, and its count of links is 0. Through
  // the host's own name a deleted folder cannot be seen.
  struct stat folder {};
  return ::stat((kubelet_root + "/image_manager").c_str(), &folder) == 0 && folder.st_nlink == 0;
}

VerdictQuestion ReadKubeletFiles(const std::string& kubelet_root, const std::string& image,
                                 const std::string& image_id) {
  VerdictQuestion question{.image = image, .image_id = image_id};
  // An absent image is pulled whatever these files say.
  if (image_id.empty()) return question;
  const std::string record = FileNameFor(image_id), intent = FileNameFor(image);
  question.record = ReadFileOf(kubelet_root, "pulled", record);
  question.intent = ReadFileOf(kubelet_root, "pulling", intent);
  question.in_unknown_folder = AreInAny(UnknownFolders(kubelet_root), record, intent);
  return question;
}

namespace {

using std::chrono::steady_clock;

// One change often causes several events. They are reported together after this quiet time, or after
// kDebounce at the latest.
constexpr int kCoalesceMs = 5;
constexpr std::chrono::milliseconds kDebounce{50};
// Interval at which missing folders are looked for. It also finds what inotify cannot see.
constexpr int kRearmMs = 10'000;

constexpr std::uint32_t kFolderMask = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF |
                                      IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR;
constexpr std::uint32_t kFilesMask = kFolderMask | IN_CLOSE_WRITE;

// kubelet writes `<name>.tmp` and renames it (K14). Only the rename matters.
bool IsTemporary(const std::string& name) {
  return name.ends_with(".tmp");
}

// The watches on the folders that are there.
class Watches {
 public:
  explicit Watches(const std::string& root)
      : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        parents_{root, root + "/image_manager"},
        files_{root + "/image_manager/pulled", root + "/image_manager/pulling"} {}

  int fd() const { return inotify_.get(); }

  // Returns true if a folder is watched that was not watched before: events in it until now were not seen, so
  // everything has to be read again.
  bool Arm() {
    std::map<int, bool> now;
    bool added = false;
    auto watch = [&](const std::string& path, std::uint32_t mask, bool files) {
      int id = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
      if (id < 0) {
        // The limit of inotify watches on this node is reached. The agent's regular polls still find every
        // change, and one warning is enough.
        if ((errno == ENOSPC || errno == ENOMEM) && !std::exchange(warned_, true)) {
          base::Warn("kubelet's records cannot be watched; the agent polls them",
                     {{"folder", path}, {"error", std::strerror(errno)}});
        }
        return;
      }
      added = added || !watches_.contains(id);
      now[id] = files;
    };
    for (const std::string& path : parents_) watch(path, kFolderMask, false);
    for (const std::string& path : files_) watch(path, kFilesMask, true);
    watches_ = std::move(now);
    return added;
  }

  // Returns all events that have come. The descriptor does not block.
  FileChanges Drain() {
    FileChanges changes;
    alignas(inotify_event) std::array<char, 16 * 1024> buffer;
    while (true) {
      ssize_t length = ::read(inotify_.get(), buffer.data(), buffer.size());
      if (length <= 0) return changes;
      for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof event);
        // The name is padded with zeros to the event's length.
        std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
        at += sizeof event + event.len;
        AddChange(event, name, changes);
      }
    }
  }

 private:
  void AddChange(const inotify_event& event, const std::string& name, FileChanges& changes) const {
    auto found = watches_.find(event.wd);
    bool overflow = (event.mask & IN_Q_OVERFLOW) != 0;
    // This is an event of a watch that Arm() has dropped.
    if (!overflow && found == watches_.end()) return;
    if (overflow || name.empty()) {
      changes.all = true;  // unknown files; or the folder itself: gone, moved, other permissions
    } else if (!found->second) {
      changes.all = changes.all || name == "image_manager" || name == "pulled" || name == "pulling";
    } else if (!IsTemporary(name)) {
      changes.names.insert(name);
    }
  }

  base::Fd inotify_;
  std::vector<std::string> parents_, files_;
  std::map<int, bool> watches_;  // by its id: are the files in it what we look for
  bool warned_ = false;
};

}  // namespace

RecordWatch::RecordWatch(std::string root, Callback callback)
    : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this, root = std::move(root), callback = std::move(callback)] { Run(root, callback); }) {}

RecordWatch::~RecordWatch() {
  std::uint64_t one = 1;
  // The write cannot fail: the counter of an eventfd has room for it.
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
}

// Returns true if there is something to read on `inotify_fd`; false after `milliseconds`, or if the thread
// has to end.
bool RecordWatch::Wait(int inotify_fd, int milliseconds) const {
  pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                  {.fd = inotify_fd, .events = POLLIN, .revents = 0}};
  // A negative descriptor is passed over by poll.
  return ::poll(fds, 2, milliseconds) > 0 && fds[0].revents == 0 && fds[1].revents != 0;
}

void RecordWatch::Run(const std::string& root, const Callback& callback) {
  Watches watches(root);
  pollfd stop{.fd = stop_.get(), .events = POLLIN, .revents = 0};
  while (::poll(&stop, 1, 0) == 0) {
    FileChanges changes;
    // A folder that was created while the watches were armed may have another one in it already.
    while (watches.Arm()) changes.all = true;
    if (!changes.all && !Wait(watches.fd(), kRearmMs)) continue;
    auto latest = steady_clock::now() + kDebounce;
    do {
      changes.Add(watches.Drain());
      // This pause is not ended by the next event: a file that is rewritten all the time would wake the
      // thread for each write.
      ::poll(&stop, 1, kCoalesceMs);
    } while (steady_clock::now() < latest && Wait(watches.fd(), 0));
    if (changes.all || !changes.names.empty()) callback(std::move(changes));
  }
}

}  // namespace prefetch::kubelet
