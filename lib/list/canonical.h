// The canonical form of a list and its hash: equal for lists that ask for the same, however they are written.
//
// Entries stand by priority, then as listed; each has its name as kubelet would send it (spec image; as it is
// written where two spellings of the source would be the same so) and those fields that differ from the
// built-in defaults, in one fixed order. Comments, key order, quotes, `defaults` and the file format leave no
// trace. A field that a later version adds changes no hash of a list without it.
#pragma once

#include <string>
#include <vector>

#include "doc/node.h"
#include "list/image_list.h"

namespace prefetch::list {

// One entry of it. Pure.
doc::Node CanonicalEntry(const plan::DesiredImage& image);

// An ImageList document that decodes to the same entries. Pure.
doc::Node CanonicalForm(const SourceContent& source);

// "sha256:…" over the canonical form as compact JSON.
std::string SourceHash(const SourceContent& source);

// "sha256:…" over the hashes of all sources: whatever their order, names and paths. A source of which no
// version is in force has an empty hash, which counts too: a list with a part missing is not the list without
// it.
std::string ListHash(std::vector<std::string> source_hashes);

}  // namespace prefetch::list
