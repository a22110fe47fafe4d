// The canonical form of a list and its hash: equal for lists that ask for the same, however they are written.
//
// Entries stand by priority, then as listed; each has its name as kubelet would send it (spec image; as it is
// written where two spellings of the source would be the same so) and those fields that differ from the
// built-in defaults, in one fixed order. Comments, key order, quotes, `defaults` and the file format leave no
// trace. A field that a later version adds changes no hash of a list without it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "list/image_list.h"

namespace prefetch::list {

// Returns the names of these images in the canonical form, in their order: a name as it is written where two
// of them would be the same. Pure.
std::vector<std::string> CanonicalNames(const std::vector<image::Reference>& references);

// Returns the canonical form of one entry. Pure.
doc::Node CanonicalEntry(const plan::DesiredImage& image);

// Returns a document of this kind, with these entries. Pure.
doc::Node ListDocument(std::string_view kind, std::vector<doc::Node> images);

// Returns an ImageList document that decodes to the same entries. Pure.
doc::Node CanonicalForm(const SourceContent& source);

// Returns "sha256:…" over the canonical form as compact JSON.
std::string SourceHash(const SourceContent& source);

// Returns "sha256:…" over the hashes of all sources, independent of their order, names and paths. A source
// without a valid version has an empty hash, which counts too: a list with a missing part is not the list
// without that part.
std::string ListHash(std::vector<std::string> source_hashes);

}  // namespace prefetch::list
