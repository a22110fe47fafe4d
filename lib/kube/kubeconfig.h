// How a person's tools find a cluster: kubeconfig files, as kubectl reads them.
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

// KUBECONFIG may name several files, apart by ":"; those that are not there are passed over; of entries with
// the same name, and of several current-contexts, the first counts. Relative paths start at their file.
//
// Every mistake of the files, and of the chosen context, cluster and user, is said with file, line and path,
// but never with a value. The files are read and checked as kubectl does it; tests/judges compares both. Like
// kubectl, this gives no credential and no trust to a server without https. Rejected, though kubectl goes on
// with http://localhost:8080: a file without current-context, a context whose cluster or server is missing.
// Rejected, too: auth-provider, and plugins that want a terminal. NotFound: no file, or no such context;
// InvalidArgument: anything else.
base::Result<Cluster> FromKubeconfig(const GetEnv& get_env, const KubeconfigOptions& options);

}  // namespace prefetch::kube
