// Runtimes with which kubelet's records do not work as they are meant to (K18). Pure.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::kubelet {

// Returns why no record of kubelet's ever matches an image of this runtime; empty if they match. `name` and
// `version` are those of CRI's Version. Verdicts need no rule of their own for it: the record of an image id
// is never there.
std::string WhyRecordsNeverMatch(std::string_view name, std::string_view version);

}  // namespace prefetch::kubelet
