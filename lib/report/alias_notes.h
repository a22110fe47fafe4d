// What a list leaves out that is the same image on a node.
#pragma once

#include <string>
#include <vector>

#include "plan/list.h"
#include "report/status_document.h"

namespace prefetch::report {

// For each entry of `list` that the node has, its other names there that `list` does not name:
// "images.yaml:12 quay.io/acme/app:v1 is also here as mirror.acme.io/app:v1: …". Entries that the node's
// agent does not list are passed over, as the document does not tell of them. Pure.
std::vector<std::string> AliasNotes(const plan::ImageList& list, const StatusDocument& document);

}  // namespace prefetch::report
