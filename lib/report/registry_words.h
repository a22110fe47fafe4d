// What registries have said, in the words of the status table. Internal to report/.
#pragma once

#include <string>
#include <vector>

#include "report/status_document.h"

namespace prefetch::report {

// One image's registry stands against calling it current, for a reason that is the image's own: its tag
// moved, is missing, … A registry that is away is the node's (AwayWords), not each image's.
bool IsStale(const StatusImage& image);

// The registry's last word about an image that is ready, a line each. `wide`: also where all is well, or the
// registry is away. Empty: there is nothing to say.
std::vector<std::string> RegistryWords(const StatusImage& image, const StatusDocument& document, bool wide);

// The registries that do not answer, for how long, and what that means; a sentence each.
std::vector<std::string> AwayWords(const StatusDocument& document);

}  // namespace prefetch::report
