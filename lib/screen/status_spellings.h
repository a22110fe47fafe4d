// How the agent's list writes an image, beside how another list does: kubelet judges pods by what they write.
// Pure.
#pragma once

#include <set>
#include <string>

#include "plan/desired.h"
#include "screen/status_document.h"

namespace prefetch::screen {

std::set<std::string> WrittenAs(const StatusImage& image);
std::set<std::string> WrittenAs(const plan::DesiredImage& want);

// Does it matter how pods write the image? Not where it is absent or there is no kubelet, nor to an agent so
// old that it tells no verdicts.
bool SpellingCounts(const StatusImage& image);

// Only for pods that write it as `names`, all of which the agent judges: an image that is closed to others
// may be ready for these.
StatusImage NarrowedTo(StatusImage image, const std::set<std::string>& names);

}  // namespace prefetch::screen
