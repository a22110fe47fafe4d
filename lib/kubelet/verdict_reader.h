// VerdictReader: the verdicts for a list of images, from kubelet's files. Only changed files are read again.
// ReadKubeletFiles: the files below kubelet's root directory.
// RecordWatch: reports when kubelet's records change.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fs.h"
#include "base/shared.h"
#include "image/pod_coordinates.h"
#include "kubelet/records.h"
#include "kubelet/settings.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet {

// One image of a list, the runtime's image of that name, and the pod to judge.
struct ImageOnNode {
  std::string image;     // as the pods write it
  std::string image_id;  // empty: the runtime does not have it
  base::Shared<image::PodCredentialRefs> pod{};

  friend bool operator==(const ImageOnNode&, const ImageOnNode&) = default;
};

// Which files below image_manager may have changed since the last Read.
struct FileChanges {
  bool all = false;             // unknown: look at each
  std::set<std::string> names;  // of files in pulled/ and pulling/

  // `more` came after this.
  void Add(FileChanges more);
};

struct VerdictReading {
  bool unchanged = false;  // no change since the reading before; the members by index are then empty
  // By index in the images asked for. Never null. One that did not change is the same object as before.
  std::vector<std::shared_ptr<const Verdicts>> verdicts;
  // By the same index: kubelet has an intent to pull it, or its files have changed in this reading.
  std::vector<bool> pull_under_way;
  std::vector<bool> files_changed;
  RecordsAccess access = RecordsAccess::kReadable;
  std::size_t files_read = 0;
};

// Keeps a stamp of each file and a verdict for each image and pod, but not the contents of the files. Not
// thread-safe, but not bound to one thread either.
class VerdictReader {
 public:
  // `root`: kubelet's --root-dir.
  explicit VerdictReader(std::string root) { SetRoot(std::move(root)); }

  // `possible` as PossibleSettings gives it. Files that are not among `changes` are taken to be as they were,
  // unless the folders' own times say that something came or went. `same`: the question is that of the last
  // Read, and need not be answered if nothing has changed. Blocks as a disk does.
  VerdictReading Read(const std::vector<ImageOnNode>& images, const std::vector<KubeletSettings>& possible,
                      FileChanges changes, bool same = false);
  // Returns whether the folders have changed since the last Read(). Only calls stat.
  bool HasChanged() const;
  // Lets the next call read everything again, since kubelet's root or settings have changed.
  void Forget() { entries_.clear(); }
  void SetRoot(std::string root);

 private:
  struct ImageEntry {
    std::string image_id;
    std::string record_name, intent_name;  // of the files
    base::FileStamp record, intent;
    bool intent_found = false;
    bool intent_absent = false;  // for certain
    bool in_unknown_folder = false;
    // A stamp was taken so soon after a change that another one could have the same.
    bool recently_changed = false;
    std::shared_ptr<const Verdicts> verdicts;
  };

  // Returns false if neither file changed.
  bool UpdateStamps(ImageEntry& entry) const;
  void Decide(const ImageOnNode& image, const std::vector<KubeletSettings>& possible,
              ImageEntry& entry) const;
  RecordsAccess CheckAccess() const;
  std::vector<base::FileStamp> FolderStamps() const;

  std::string root_;
  std::string pulled_, pulling_;                         // its folders, with a slash
  std::vector<std::string> unknown_;                     // UnknownFolders of the last Read
  RecordsAccess access_ = RecordsAccess::kReadable;      // of the last Read
  std::vector<base::FileStamp> folders_;                 // the root's image_manager, pulled, pulling
  std::unordered_map<std::string, ImageEntry> entries_;  // by image and pod
};

// The functions below read files below kubelet's root directory (K14). They lock and write nothing, list only
// image_manager itself, and open nothing else below the root.

// Reads <root>/image_manager/pulled/… for an image id, and <root>/image_manager/pulling/… for a pod's literal
// image; neither for an empty id, an image that is not here. A file is kAbsent where it or image_manager is
// not there; kUnreadable where the root is not there or image_manager was replaced, which tells nothing,
// where we may not read it, or it is no plain file, or longer than any record. The question's pod has no
// credentials. Blocks only as a disk does. Any thread may call.
VerdictQuestion ReadKubeletFiles(const std::string& kubelet_root, const std::string& image,
                                 const std::string& image_id);

// Returns true if <root>/image_manager was deleted while it alone was mounted here. kubelet then keeps its
// records in a new folder, which this process cannot reach until the folder is mounted again.
bool RecordsFolderIsReplaced(const std::string& kubelet_root);

// Reports when kubelet's records change, by inotify. Watches <root>/image_manager/pulled and /pulling, and
// those of their parents that exist. inotify does not report everything (the node has no watch left, the root
// is mounted later), so the caller must also poll; the watch never fails. Calls back at most about 20 times a
// second, however fast files are rewritten.
//
// Owned by main. The destructor stops the thread and waits for it (milliseconds).
class RecordWatch {
 public:
  // Called on the watch's thread. The callback must not block, and must not destroy the watch.
  using Callback = std::function<void(FileChanges)>;

  RecordWatch(std::string root, Callback callback);
  ~RecordWatch();
  RecordWatch(const RecordWatch&) = delete;
  RecordWatch& operator=(const RecordWatch&) = delete;

 private:
  void Run(const std::string& root, const Callback& callback);
  bool Wait(int inotify_fd, int milliseconds) const;

  base::Fd stop_;  // an eventfd: readable once the thread has to end
  std::thread thread_;
};

}  // namespace prefetch::kubelet
