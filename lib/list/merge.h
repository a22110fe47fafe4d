// Sources -> the list: one DesiredImage for each name, with the strictest of the sources' demands.
// Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "list/image_list.h"
#include "plan/desired.h"

namespace prefetch::list {

// A source, with the content of the version that is in force (null: none is).
struct LoadedSource {
  plan::ListSource info;
  std::shared_ptr<const SourceContent> content;
};

// Combines entries with the same normalised name:
//  - required if any is; pinned if any asks for it; the strongest readyFor, the strongest refresh, the
//    highest priority, the shortest refreshInterval and maxAge, NotReady before Keep;
//  - open: Never before Always before Auto. A prohibition is the stricter, and a warning says that they
//  differ;
//  - pullTimeout: the longest. It is patience, not a demand: one source may know how large the image is;
//  - pullWindow: pulls start in the windows of any; at any time, if one has none. A warning says that they
//  differ, and another that a window keeps nodes from being ready after a tag has moved;
//  - platforms: all that any names; all nodes, if one names none;
//  - every spelling that any uses, with the readyAs that goes with it, those of the first before the others:
//    each is judged, and the worst verdict counts; the places of all.
// One source that lists a name in two spellings counts like two sources.
// Order: highest priority first, then as the sources, and the entries in them, are listed.
plan::ImageList Merge(const std::vector<LoadedSource>& sources);

}  // namespace prefetch::list
