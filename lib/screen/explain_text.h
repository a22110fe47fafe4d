// The screen of `prefetchctl explain`. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "status/documents.h"

namespace prefetch::screen {

// Returns everything known about one image on one node, in kubelet's own decision order: presence, kubelet's
// settings and record, the verdict for each pull policy with its rule. Credentials, the last pull, and advice
// follow. Lines have at most `width` columns (less than 60 counts as 60) but for words that are longer. Pure.
std::string ExplainText(const status::ImageDocument& document, std::size_t width);

}  // namespace prefetch::screen
