// Audit: which images came to the nodes without being on a list, who brought them as far as it is known, and
// which listed images were pulled all the same. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "status/documents.h"

namespace prefetch::screen {

// One agent's answer.
struct AuditNode {
  std::string node;
  bool answered = false;
  std::string error;                    // why it was not heard
  std::optional<base::WallTime> since;  // its agent looks since then; none: it does not tell
  std::vector<plan::UnlistedImage> unlisted;
  std::uint64_t left_out = 0;
  bool hidden = false;  // its agent shows this to callers with a token only

  // Returns true if the agent reported what came. An agent that has just started, or whose runtime is away,
  // knows nothing; that must not look like a clean node.
  bool HasReported() const { return answered && since.has_value(); }
};
AuditNode AuditNodeOf(const status::StatusDocument& document, const std::string& node);
// The normalised names that the agent lists.
std::set<std::string> ListedNames(const status::StatusDocument& document);

// A container that asks for an image.
struct PodImage {
  std::string name_space, pod, node;
  std::string image;  // as the pod names it
};

// A pull that kubelet reports: event Pulled.
struct PodPull {
  std::string name_space, pod, node;
  std::string image;  // as the pod names it
  std::optional<std::chrono::milliseconds> took;
  std::optional<base::WallTime> at;
};

// kubelet's message "Successfully pulled image "X" in 1m2.5s (1m3s including waiting). …" -> image and time.
// nullopt: another message, such as that the image was present. The words of Kubernetes 1.20 to 1.36.
std::optional<PodPull> ParsePulledMessage(std::string_view message);

struct AuditFacts {
  std::vector<AuditNode> nodes;
  std::vector<PodImage> pods;
  std::vector<PodPull> pulls;
  std::set<std::string> listed;     // normalised
  std::vector<std::string> ignore;  // patterns (image/reference.h)
  std::optional<base::WallTime> since;
};

struct AuditFinding {
  std::string image;
  std::vector<std::string> nodes;  // by name
  bool present = false;            // on one of them
  std::uint64_t size_bytes = 0;
  std::optional<base::WallTime> first_seen, arrived_at;  // the earliest, the newest
  std::vector<std::string> pods;                         // "namespace/name", sorted, at most kMostAuditPods
  std::size_t more_pods = 0;
};
constexpr std::size_t kMostAuditPods = 20;

// A listed image that kubelet pulled for a pod.
struct AuditPull {
  std::string image;
  std::size_t times = 0;
  std::chrono::milliseconds longest{0};
  std::string pod, node;  // of the longest
};

struct Audit {
  std::size_t nodes = 0, answered = 0;  // `answered`: nodes that reported their pulls
  std::vector<AuditFinding> findings;   // on most nodes first
  std::vector<AuditPull> pulls;         // the longest first
  std::vector<std::string> notes;       // what limits the answer, a sentence each

  bool Clean() const { return findings.empty(); }
};

// Finds unlisted images that nodes report, with the pods that use them, and listed images that kubelet pulled
// for a pod.
Audit MakeAudit(const AuditFacts& facts);

// Makes the audit from pods alone, without any agent: reports their images that `facts.listed` does not have.
Audit MakePodAudit(const AuditFacts& facts);

// Returns lines with a newline each.
std::string AuditText(const Audit& audit, std::size_t width);
// Returns one line with a newline; its kind is AuditReport.
std::string AuditJson(const Audit& audit, base::WallTime time);

}  // namespace prefetch::screen
