// For which pods the agent's list has an image, and how they write it, beside another list: kubelet judges
// pods by their spelling and by their credentials. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "plan/desired.h"
#include "status/documents.h"

namespace prefetch::screen {

// How such pods write the image, and image::TextOf their credentials.
using PodKey = std::pair<std::string, std::string>;
using PodKeys = std::set<PodKey>;
PodKeys PodKeysOf(const status::StatusImage& image);
PodKeys PodKeysOf(const plan::DesiredImage& want);
// The one of `judged` that decides for `wanted`: itself, or a pod with the same spelling and no credentials,
// since images for that one are open to all. nullopt: none does.
std::optional<PodKey> MatchingProfile(const PodKey& wanted, const PodKeys& judged);

std::set<std::string> WrittenAs(const PodKeys& pods);
std::set<std::string> ReadyAs(const PodKeys& pods);

// "judged for pods with secret ci/pull (readyAs)"; empty: for pods without credentials of their own, as
// everywhere.
std::string ReadyAsWords(const status::StatusImage& image);

// Does it matter how pods write the image? Not where it is absent or there is no kubelet, nor to an agent so
// old that it tells no verdicts.
bool SpellingCounts(const status::StatusImage& image);

// Returns the image's status for these pods alone. An image that is closed to other pods may be ready for
// these. The document must have verdicts for each of them.
status::StatusImage NarrowedTo(status::StatusImage image, const PodKeys& pods);

}  // namespace prefetch::screen
