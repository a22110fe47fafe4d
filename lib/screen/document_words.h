// Words for the members of a status document: kubelet, pulls, registries, problems of the node.
// PodKeys and NarrowedTo: the pods that an image is judged for. Pure.
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

// "42 s": the duration of a pull whose bytes the runtime does not report. Empty if it reports them, if the
// pull does not run, or if it has just begun.
std::string PullDurationText(const status::StatusPull& pull, const std::optional<base::WallTime>& now);

// Returns why a pull shows no bytes: only containerd reports them. Empty if no pull is concerned.
std::string NoProgressText(const status::StatusDocument& document);

// "61 %", or empty if it is not known.
std::string PercentText(const status::StatusPull& pull);

// "tried 3 times, again in 2 min": empty if nothing was tried, or the pull ended well. `now` is the
// document's own time.
std::string RetryText(const status::StatusPull& pull, const std::optional<base::WallTime>& now);

// "20 s": the time from one moment to another; "0 s" if a clock was set back in between, and empty if either
// is not known.
std::string ElapsedText(const std::optional<base::WallTime>& from, const std::optional<base::WallTime>& to);

// Names the parts that a document for unknown callers lacks (status::StatusDocument::hidden).
inline constexpr const char* kHiddenText =
    "hidden from callers without a token (component fleet): messages, problems, sizes, digests, credentials, "
    "unlisted images";

// Returns true if the image is ready, but its registry's last answer says that it is not current: its tag
// moved, is missing, … An unreachable registry is a problem of the node (UnreachableText), not of each image.
bool IsStale(const status::StatusImage& image);

// Returns the registry's last answer about an image, a line each, if the image is stale. `wide`: also if it
// is current, or the registry is unreachable. The result may be empty.
std::vector<std::string> RegistryText(const status::StatusImage& image,
                                      const status::StatusDocument& document, bool wide);

// Problems of the node that no image shows, a sentence each: sources whose newest version is rejected while
// an older one is in force, and the agent's own `problems`.
std::vector<std::string> RejectedSources(const status::StatusDocument& document);
std::vector<std::string> OtherProblems(const status::StatusDocument& document);

// The registries that do not answer, for how long, and what that means; a sentence each.
std::vector<std::string> UnreachableText(const status::StatusDocument& document);

// A pod that an image is judged for: its spelling of the image, and image::TextOf its credentials. kubelet
// judges pods by both.
using PodKey = std::pair<std::string, std::string>;
using PodKeys = std::set<PodKey>;
// Returns the pods that the agent's list, or another one, has the image for.
PodKeys PodKeysOf(const status::StatusImage& image);
PodKeys PodKeysOf(const plan::DesiredImage& desired);
// Returns the pod of `judged` that decides for `wanted`: itself, or one with the same spelling and no
// credentials, since images for that one are open to all. nullopt: none does.
std::optional<PodKey> MatchingProfile(const PodKey& wanted, const PodKeys& judged);

std::set<std::string> SpellingsOf(const PodKeys& pods);
std::set<std::string> ReadyAsTexts(const PodKeys& pods);

// Returns true if the agent's entry leaves its node out for a reason (platforms, nodeSelector) that `desired`
// does not have. Another value of either is not noticed: the document has neither.
bool IsForOtherNodes(const plan::DesiredImage& desired, const status::StatusImage& image);

// "judged for pods with secret ci/pull (readyAs)"; empty: for pods without credentials of their own, as
// everywhere.
std::string ReadyAsText(const status::StatusImage& image);

// Returns whether the spelling of the image in pods matters. It does not if the image is absent, if there is
// no kubelet, or if the agent is so old that it reports no verdicts.
bool SpellingMatters(const status::StatusImage& image);

// Returns the image's status for these pods alone. An image that is closed to other pods may be ready for
// these. The document must have verdicts for each of them.
status::StatusImage NarrowedTo(status::StatusImage image, const PodKeys& pods);

}  // namespace prefetch::screen
