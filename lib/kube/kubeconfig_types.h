// The types of values in a kubeconfig and in a plugin's answer, as kubectl's decoder demands them. Internal
// to kube/.
#pragma once

#include "doc/reader.h"

namespace prefetch::kube {

// Adds a problem for another apiVersion or kind than a kubeconfig's, which may be absent; for each value of
// another type than kubectl's decoder demands, and for each name that stands twice in a list. kubectl refuses
// the whole file for one of them, even in entries that no context uses.
void CheckKubeconfig(const doc::Reader& root);

// The same for the values of an ExecCredential.
void CheckExecCredentialTypes(const doc::Reader& root);

}  // namespace prefetch::kube
