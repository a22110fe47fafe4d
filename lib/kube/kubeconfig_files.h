// KubeconfigFiles: one or several kubeconfig files as one. Internal to kube/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doc/reader.h"
#include "doc/secret_node.h"

namespace prefetch::kube {

// One entry of the lists clusters, users, contexts.
struct KubeconfigEntry {
  doc::ObjectReader body;
  std::string path;    // of the file that it stands in
  std::string folder;  // where that file's relative paths begin
};

// Not thread-safe. Entries live as long as this object.
class KubeconfigFiles {
 public:
  // `may_miss`: skips missing files, as long as one exists.
  static base::Result<KubeconfigFiles> Read(const std::vector<std::string>& paths, bool may_miss);

  // The first entry of that name in `list` ("clusters"), whose body is under `key` ("cluster"), and may be
  // missing.
  std::optional<KubeconfigEntry> Find(std::string_view list, std::string_view key, const std::string& name);
  // The first current-context; empty: none.
  std::string CurrentContext();

  // The mistakes of all files.
  base::Status ToStatus() const;

 private:
  struct File {
    File(std::string file_path, doc::Problems found, doc::Node root)
        : path(std::move(file_path)), problems(std::move(found)), tree(std::move(root)) {}
    std::string path;
    doc::Problems problems;
    doc::SecretNode tree;
  };
  std::vector<std::unique_ptr<File>> files_;
};

// `path` as seen from `folder`, without "." and ".."; an absolute one, and an empty one, stay as they are.
std::string ResolvePath(const std::string& folder, const std::string& path);

}  // namespace prefetch::kube
