// FromKubeconfig: the cluster that kubeconfig files name, read as kubectl reads them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
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

// Internal to kube/: `path` as seen from `folder`, without "." and ".."; an absolute one, and an empty one,
// stay as they are.
std::string ResolvePath(const std::string& folder, const std::string& path);

}  // namespace prefetch::kube
