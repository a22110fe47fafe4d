// The screen of `prefetchctl explain`: everything known about one image on one node.
#pragma once

#include <cstddef>
#include <string>

#include "report/image_document.h"

namespace prefetch::report {

// In the order in which kubelet would decide, to be read aloud: is it here, what kubelet is told and has
// recorded, so what happens to a pod under each pull policy, by which rule; then what it would be pulled
// with, how the last pull went, and what helps. Lines of at most `width` columns (less than 60 counts as 60)
// but for words that are longer. Pure.
std::string ExplainText(const ImageDocument& document, std::size_t width);

}  // namespace prefetch::report
