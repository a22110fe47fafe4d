// FromKubeconfig: the cluster that kubeconfig files name, read as kubectl reads them.
// KubeconfigFiles and the functions below it: internal to kube/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "kube/cluster.h"

namespace prefetch::kube {

struct KubeconfigOptions {
  std::string file;     // --kubeconfig: this one alone; empty: KUBECONFIG, else ~/.kube/config
  std::string context;  // --context; empty: the current-context
  // "NAME=value": a credential plugin's environment, as kubectl's. Nothing is added but what the
  // file's `env` says and KUBERNETES_EXEC_INFO.
  std::vector<std::string> environment;
};

// KUBECONFIG may name several files, separated by ":"; missing ones are skipped. The first of several entries
// with one name counts, and the first current-context. Relative paths start at the folder of their file.
//
// The error lists every mistake of the files, and of the chosen context, cluster and user, with file, line
// and path, but never a value. Files are read and checked as kubectl does; tests/judges compares both. Like
// kubectl, this sends no credential to a server without https, and does not trust it. It rejects files
// without current-context, and contexts whose cluster or server is missing, with which kubectl would use
// http://localhost:8080. It also rejects auth-provider, and plugins that need a terminal. Returns NotFound if
// there is no file or no such context, else InvalidArgument.
base::Result<Cluster> FromKubeconfig(const GetEnv& get_env, const KubeconfigOptions& options);

// One entry of the lists clusters, users, contexts.
struct KubeconfigEntry {
  doc::ObjectReader body;
  std::string path;    // of the file that it stands in
  std::string folder;  // where that file's relative paths begin
};

// One or several kubeconfig files as one. Not thread-safe. Entries live as long as this object.
class KubeconfigFiles {
 public:
  // `skip_missing`: skips missing files, as long as one exists.
  static base::Result<KubeconfigFiles> Read(const std::vector<std::string>& paths, bool skip_missing);

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

// Adds a problem for another apiVersion or kind than a kubeconfig's, which may be absent; for each value of
// another type than kubectl's decoder demands, and for each name that stands twice in a list. kubectl refuses
// the whole file for one of them, even in entries that no context uses.
void CheckKubeconfig(const doc::Reader& root);

// Checks the values of an ExecCredential likewise.
void CheckExecCredentialTypes(const doc::Reader& root);

}  // namespace prefetch::kube
