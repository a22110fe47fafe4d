// Runtimes with which kubelet's records do not work as they are meant to (K18). Pure.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::kubelet {

// Why no record of kubelet's ever matches an image of this runtime; empty: they match. `name` and `version`
// as CRI's Version tells them. What follows for verdicts needs no rule of its own: the record of an image id
// is simply never there.
std::string WhyRecordsNeverMatch(std::string_view name, std::string_view version);

}  // namespace prefetch::kubelet
