#include "kubelet/record_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fs.h"
#include "kubelet/records.h"

namespace prefetch::kubelet {
namespace {

// A longer file counts as unreadable.
constexpr std::size_t kLongestRecord = 8 << 20;
constexpr std::size_t kMostFolders = 64;

bool IsDirectory(const std::string& path) {
  auto kind = base::KindOf(path);
  return kind && *kind == base::FileKind::kDirectory;
}

FileContent Read(const std::string& root, const char* folder, const std::string& name) {
  auto content = base::ReadFile(root + "/image_manager/" + folder + "/" + name, kLongestRecord);
  if (content) return {FileContent::State::kPresent, *std::move(content)};
  // No file means that kubelet has none only if the folders above it are really kubelet's. A missing mount or
  // a replaced folder looks the same, and would make every image preloaded.
  bool absent =
      content.error().code() == base::Code::kNotFound && IsDirectory(root) && !RecordsFolderIsReplaced(root);
  return {absent ? FileContent::State::kAbsent : FileContent::State::kUnreadable, ""};
}

}  // namespace

bool RecordsFolderIsReplaced(const std::string& kubelet_root) {
  // A bind mount holds the folder though no name leads to it any more, and its count of links is 0. Through
  // the host's own name a deleted folder cannot be seen.
  struct stat folder {};
  return ::stat((kubelet_root + "/image_manager").c_str(), &folder) == 0 && folder.st_nlink == 0;
}

FileContent ReadRecordFile(const std::string& kubelet_root, const std::string& image_id) {
  return ReadRecordNamed(kubelet_root, FileNameFor(image_id));
}

FileContent ReadIntentFile(const std::string& kubelet_root, const std::string& image) {
  return ReadIntentNamed(kubelet_root, FileNameFor(image));
}

FileContent ReadRecordNamed(const std::string& kubelet_root, const std::string& file_name) {
  return Read(kubelet_root, "pulled", file_name);
}

FileContent ReadIntentNamed(const std::string& kubelet_root, const std::string& file_name) {
  return Read(kubelet_root, "pulling", file_name);
}

std::vector<std::string> UnknownFolders(const std::string& kubelet_root) {
  const std::string above = kubelet_root + "/image_manager/";
  auto names = base::ListDirectory(above, kMostFolders);
  std::vector<std::string> folders;
  if (!names) return folders;
  for (const std::string& name : *names) {
    if (name != "pulled" && name != "pulling" && IsDirectory(above + name)) {
      folders.push_back(above + name + "/");
    }
  }
  return folders;
}

bool IsInUnknownDirectory(const std::string& kubelet_root, const std::string& image_id,
                          const std::string& image) {
  std::vector<std::string> folders = UnknownFolders(kubelet_root);
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return base::KindOf(folder + FileNameFor(image_id)) || base::KindOf(folder + FileNameFor(image));
  });
}

}  // namespace prefetch::kubelet
