// The facts about a node's kubelet, in words. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/desired.h"
#include "status/documents.h"

namespace prefetch::screen {

// "kubelet 1.36.2", "no kubelet", "kubelet of unknown version".
std::string KubeletText(const status::StatusKubelet& kubelet);

// Returns the same, and if it is known also how kubelet verifies images, with the source of each: "1.36.2
// (declared), NeverVerify (/var/lib/kubelet/config.yaml)".
std::string KubeletDetail(const status::StatusKubelet& kubelet);

// The progress of a pull in words; shared by the table and the wait view.
std::string PullProgressText(const status::StatusPull& pull, const std::optional<base::WallTime>& now);

// "42 s": the duration of a pull whose bytes the runtime does not report. Empty as above, and if it reports
// them.
std::string PullDurationText(const status::StatusPull& pull, const std::optional<base::WallTime>& now);

// Why there are no bytes to see, where pulls go on; empty: there is nothing to say. Only containerd has them.
std::string NoProgressText(const status::StatusDocument& document);

// "61 %", or empty if it is not known.
std::string PercentText(const status::StatusPull& pull);

// "tried 3 times, again in 2 min": empty if nothing was tried, or the pull ended well. `now` is the
// document's own time.
std::string RetryText(const status::StatusPull& pull, const std::optional<base::WallTime>& now);

// Names the parts that a document for strangers lacks (status::StatusDocument::hidden).
inline constexpr const char* kHiddenText =
    "hidden from callers without a token (component fleet): messages, problems, sizes, digests, credentials, "
    "unlisted images";

// The registries' answers, in the words of the status table. One image's registry stands
// against calling it current, for a reason that is the image's own: its tag moved, is missing, … A registry
// that is away is the node's (UnreachableText), not each image's.
bool IsStale(const status::StatusImage& image);

// The registry's last word about an image that is ready, a line each. `wide`: also where all is well, or the
// registry is away. Empty: there is nothing to say.
std::vector<std::string> RegistryText(const status::StatusImage& image,
                                      const status::StatusDocument& document, bool wide);

// Problems of the node that no image shows, a sentence each: sources whose newest version is rejected while
// an older one is in force, and the agent's own `problems`.
std::vector<std::string> RejectedSources(const status::StatusDocument& document);
std::vector<std::string> OtherProblems(const status::StatusDocument& document);

// The registries that do not answer, for how long, and what that means; a sentence each.
std::vector<std::string> UnreachableText(const status::StatusDocument& document);

// For which pods the agent's list has an image, and how they write it, beside another list: kubelet judges
// pods by their spelling and by their credentials. Pure.

// How such pods write the image, and image::TextOf their credentials.
using PodKey = std::pair<std::string, std::string>;
using PodKeys = std::set<PodKey>;
PodKeys PodKeysOf(const status::StatusImage& image);
PodKeys PodKeysOf(const plan::DesiredImage& desired);
// The one of `judged` that decides for `wanted`: itself, or a pod with the same spelling and no credentials,
// since images for that one are open to all. nullopt: none does.
std::optional<PodKey> MatchingProfile(const PodKey& wanted, const PodKeys& judged);

std::set<std::string> SpellingsOf(const PodKeys& pods);
std::set<std::string> ReadyAsTexts(const PodKeys& pods);

// "judged for pods with secret ci/pull (readyAs)"; empty: for pods without credentials of their own, as
// everywhere.
std::string ReadyAsText(const status::StatusImage& image);

// Does it matter how pods write the image? Not where it is absent or there is no kubelet, nor to an agent so
// old that it tells no verdicts.
bool SpellingMatters(const status::StatusImage& image);

// Returns the image's status for these pods alone. An image that is closed to other pods may be ready for
// these. The document must have verdicts for each of them.
status::StatusImage NarrowedTo(status::StatusImage image, const PodKeys& pods);

}  // namespace prefetch::screen
