#include "screen/audit.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/text.h"
#include "doc/duration.h"
#include "doc/write.h"
#include "image/reference.h"
#include "screen/text_layout.h"

namespace prefetch::screen {

namespace {

// Returns the normalised name, or an empty string if the text is no reference.
std::string Normalized(const std::string& written) {
  auto reference = image::Reference::Parse(written);
  return reference ? reference->Normalized() : "";
}

// The pods that ask for each image: normalised name -> node -> pods.
using PodsByImage = std::map<std::string, std::map<std::string, std::set<std::string>>>;

PodsByImage GroupPods(const std::vector<PodImage>& pods) {
  PodsByImage pods_by_image;
  for (const PodImage& pod : pods) {
    std::string name = Normalized(pod.image);
    if (!name.empty()) pods_by_image[name][pod.node].insert(pod.name_space + "/" + pod.pod);
  }
  return pods_by_image;
}

void SetPods(const std::set<std::string>& pods, AuditFinding& finding) {
  for (const std::string& pod : pods) {
    // A popular image may have thousands of pods.
    if (finding.pods.size() < kMostAuditPods) {
      finding.pods.push_back(pod);
    } else {
      finding.more_pods++;
    }
  }
}

void MostNodesFirst(std::vector<AuditFinding>& findings) {
  // Stable, so that findings on equally many nodes stay in the order of their names.
  std::ranges::stable_sort(findings, std::greater(),
                           [](const AuditFinding& finding) { return finding.nodes.size(); });
}

// Adds what one node reports about the image. The earliest first sight and the latest arrival count over all
// nodes.
void MergeUnlisted(const plan::UnlistedImage& seen, const std::string& node, AuditFinding& finding) {
  finding.image = seen.image;
  finding.nodes.push_back(node);
  finding.present = finding.present || seen.present;
  // Nodes may have different contents under one name; the largest is reported.
  finding.size_bytes = std::max(finding.size_bytes, seen.size_bytes);
  if (seen.first_seen && (!finding.first_seen || *seen.first_seen < *finding.first_seen))
    finding.first_seen = seen.first_seen;
  if (seen.arrived_at && (!finding.arrived_at || *finding.arrived_at < *seen.arrived_at))
    finding.arrived_at = seen.arrived_at;
}

// "3 nodes (first n7): why".
std::string OfNodes(const std::vector<std::string>& nodes, const std::string& what) {
  if (nodes.size() == 1) return "node " + nodes.front() + " " + what;
  return std::to_string(nodes.size()) + " nodes (first " + nodes.front() + ") " + what;
}

// Notes limit what the audit proves: nodes that did not answer, or that know only a part of the time, may
// have more images.
std::vector<std::string> NotesOn(const AuditFacts& facts) {
  std::vector<std::string> late, silent, old, hidden, full;
  std::string why;
  for (const AuditNode& node : facts.nodes) {
    if (!node.answered) {
      // Nodes mostly fail for the same reason, so the first one stands for all.
      if (silent.empty()) why = node.error;
      silent.push_back(node.node);
    } else if (!node.since) {
      (node.hidden ? hidden : old).push_back(node.node);
    } else if (facts.since && *facts.since < *node.since) {
      late.push_back(node.node);
    }
    if (node.left_out > 0) full.push_back(node.node);
  }
  std::vector<std::string> notes;
  auto note = [&](const std::vector<std::string>& nodes, const std::string& what) {
    if (!nodes.empty()) notes.push_back(OfNodes(nodes, what));
  };
  note(silent, "could not be asked: " + why);
  note(old, "did not list unlisted images (yet)");
  note(hidden, "showed unlisted images to callers with a token only");
  note(late, "started to look later: earlier images are not known");
  note(full, "saw more unlisted images than are named");
  return notes;
}

std::vector<AuditPull> PullsOfListed(const AuditFacts& facts) {
  std::map<std::string, AuditPull> by_image;
  for (const PodPull& pull : facts.pulls) {
    std::string name = Normalized(pull.image);
    // Only pulls of listed images are of interest here: they should not have been necessary.
    bool counts = facts.listed.contains(name) && !(facts.since && pull.at && *pull.at < *facts.since);
    if (!counts) continue;
    AuditPull& sum = by_image[name];
    sum.image = name;
    sum.times++;
    // Keeps the pod and node of the longest pull.
    if (sum.times > 1 && pull.took.value_or(std::chrono::milliseconds(0)) <= sum.longest) continue;
    sum.longest = pull.took.value_or(std::chrono::milliseconds(0));
    sum.pod = pull.name_space + "/" + pull.pod;
    sum.node = pull.node;
  }
  std::vector<AuditPull> pulls;
  for (auto& [name, pull] : by_image) pulls.push_back(std::move(pull));
  std::ranges::stable_sort(pulls, std::greater(), &AuditPull::longest);
  return pulls;
}

}  // namespace

AuditNode AuditNodeOf(const status::StatusDocument& document, const std::string& node) {
  return {.node = node,
          .answered = true,
          .error = "",
          .since = document.unlisted_since,
          .unlisted = document.Unlisted(),
          .left_out = document.unlisted_left_out.value_or(0),
          .hidden = !document.hidden.empty()};
}

std::set<std::string> ListedNames(const status::StatusDocument& document) {
  std::set<std::string> names;
  for (const status::StatusImage& image : document.images) names.insert(Normalized(image.image));
  names.erase("");
  return names;
}

std::optional<PodPull> ParsePulledMessage(std::string_view message) {
  constexpr std::string_view kBegin = "Successfully pulled image \"";
  if (!message.starts_with(kBegin)) return std::nullopt;
  message.remove_prefix(kBegin.size());
  std::size_t end = message.find('"');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  PodPull pull{.image = std::string(message.substr(0, end))};
  message.remove_prefix(end + 1);
  // Older releases of Kubernetes name no duration; the image alone is worth something.
  if (message.starts_with(" in ")) {
    message.remove_prefix(4);
    auto took = doc::ParseDuration(message.substr(0, message.find(' ')));
    if (took && took->count() >= 0) {
      pull.took = std::chrono::round<std::chrono::milliseconds>(*took);
    }
  }
  return pull;
}

// Starts from what the agents report, and adds the pods that ask for the same image on the same node.
Audit MakeAudit(const AuditFacts& facts) {
  PodsByImage pods_by_image = GroupPods(facts.pods);
  std::map<std::string, AuditFinding> by_image;
  std::map<std::string, std::set<std::string>> pods;
  Audit audit{.nodes = facts.nodes.size()};
  for (const AuditNode& node : facts.nodes) {
    audit.answered += node.HasReported() ? 1 : 0;
    for (const plan::UnlistedImage& seen : node.unlisted) {
      // An image without a time counts, since it may have come later.
      bool early = facts.since && seen.arrived_at && *seen.arrived_at < *facts.since;
      if (early || seen.image.empty() || image::MatchesAny(facts.ignore, seen.image)) continue;
      MergeUnlisted(seen, node.node, by_image[seen.image]);
      auto who = pods_by_image.find(seen.image);
      if (who == pods_by_image.end()) continue;
      // Pods without a node are looked for, too: a saved list of pods may not state where they ran.
      for (const std::string& where : {node.node, std::string()}) {
        auto there = who->second.find(where);
        if (there != who->second.end()) pods[seen.image].insert(there->second.begin(), there->second.end());
      }
    }
  }
  for (auto& [image, finding] : by_image) {
    SetPods(pods[image], finding);
    audit.findings.push_back(std::move(finding));
  }
  MostNodesFirst(audit.findings);
  audit.pulls = PullsOfListed(facts);
  audit.notes = NotesOn(facts);
  return audit;
}

// An audit of saved pods: every image of a pod that is on no list is a finding.
Audit MakePodAudit(const AuditFacts& facts) {
  Audit audit;
  for (const auto& [image, nodes] : GroupPods(facts.pods)) {
    if (facts.listed.contains(image) || image::MatchesAny(facts.ignore, image)) continue;
    AuditFinding finding{.image = image, .present = true};
    std::set<std::string> pods;
    for (const auto& [node, who] : nodes) {
      if (!node.empty()) finding.nodes.push_back(node);
      pods.insert(who.begin(), who.end());
    }
    SetPods(pods, finding);
    audit.findings.push_back(std::move(finding));
  }
  MostNodesFirst(audit.findings);
  return audit;
}

// The audit as text and as JSON.

namespace {

// Maximum number of pulls in the text; JSON has all of them.
constexpr std::size_t kMostPulls = 10;
constexpr std::size_t kMostNames = 3;

std::string IndentedParagraph(std::string_view text, std::size_t width) {
  return WrapIndented(text, "    ", "    ", width);
}

// "12.4 s", "850 ms", "3 min".
std::string DurationText(std::chrono::milliseconds time) {
  char text[32];
  if (time.count() < 1000) {
    std::snprintf(text, sizeof text, "%d ms", static_cast<int>(time.count()));
  } else if (time.count() < 100'000) {
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(time.count()) / 1000);
  } else {
    return base::HumanTime(std::chrono::duration_cast<std::chrono::seconds>(time));
  }
  return text;
}

std::string FindingText(const AuditFinding& finding, std::size_t width) {
  std::string text = "  " + finding.image + "\n", about;
  if (!finding.nodes.empty()) {
    about = "on " + base::Plural(finding.nodes.size(), "node", "nodes") + ": " +
            base::JoinFirst(finding.nodes, kMostNames);
  }
  if (finding.size_bytes > 0) about += ", " + base::HumanBytes(finding.size_bytes);
  if (finding.first_seen) about += ", came " + base::Rfc3339(*finding.first_seen);
  if (finding.arrived_at && finding.arrived_at != finding.first_seen)
    about += ", again " + base::Rfc3339(*finding.arrived_at);
  if (!finding.present) about += ", gone again";
  if (!about.empty()) text += IndentedParagraph(about, width);
  if (!finding.pods.empty()) {
    text += IndentedParagraph("asked for by " + base::JoinFirst(finding.pods, kMostNames, finding.more_pods),
                              width);
  }
  return text;
}

std::string PullText(const AuditPull& pull, std::size_t width) {
  std::string about = "pulled " + (pull.times == 1 ? "once" : std::to_string(pull.times) + " times") +
                      ", at most " + DurationText(pull.longest) + ", for " + pull.pod;
  if (!pull.node.empty()) about += " on " + pull.node;
  return "  " + pull.image + "\n" + IndentedParagraph(about, width);
}

void WriteFinding(doc::JsonWriter& out, const AuditFinding& finding) {
  out.Member("image", finding.image);
  out.MemberBool("present", finding.present);
  out.MemberNumber("sizeBytes", finding.size_bytes);
  out.MemberOrNull("firstSeen", finding.first_seen);
  out.MemberOrNull("arrivedAt", finding.arrived_at);
  out.MemberStrings("nodes", finding.nodes);
  out.MemberStrings("pods", finding.pods);
  out.MemberNumber("morePods", finding.more_pods);
}

void WritePull(doc::JsonWriter& out, const AuditPull& pull) {
  out.Member("image", pull.image);
  out.MemberNumber("times", pull.times);
  out.MemberNumber("longestMilliseconds", static_cast<std::uint64_t>(pull.longest.count()));
  out.Member("pod", pull.pod);
  out.MemberOrNull("node", pull.node);
}

// Returns " on 2 of 300 nodes": how many of the nodes that were heard have findings.
std::string NodesSuffix(const Audit& audit) {
  // An audit of pods alone asks no nodes.
  if (audit.nodes == 0) return "";
  std::set<std::string> with;
  for (const AuditFinding& finding : audit.findings) with.insert(finding.nodes.begin(), finding.nodes.end());
  std::string some =
      with.empty() || with.size() == audit.answered ? "" : std::to_string(with.size()) + " of ";
  return " on " + some + base::Plural(audit.answered, "node", "nodes");
}

}  // namespace

std::string AuditText(const Audit& audit, std::size_t width) {
  width = std::max(width, kLeastWidth);
  std::string text;
  text += audit.Clean() ? "clean: no image that is on no list" + NodesSuffix(audit) + "\n"
                        : base::Plural(audit.findings.size(), "image", "images") + " on no list" +
                              NodesSuffix(audit) + ":\n";
  for (const AuditFinding& finding : audit.findings) text += FindingText(finding, width);
  if (!audit.pulls.empty()) {
    text += base::Plural(audit.pulls.size(), "listed image was", "listed images were") +
            " pulled for pods all the same:\n";
    for (std::size_t i = 0; i < audit.pulls.size() && i < kMostPulls; i++)
      text += PullText(audit.pulls[i], width);
    if (audit.pulls.size() > kMostPulls)
      text += "  … " + std::to_string(audit.pulls.size() - kMostPulls) + " more (-o json has all)\n";
  }
  for (const std::string& note : audit.notes) text += WrapIndented(note, "note: ", "      ", width);
  return text;
}

std::string AuditJson(const Audit& audit, base::WallTime time) {
  return status::JsonDocument("AuditReport", [&](doc::JsonWriter& out) {
    out.Member("time", base::Rfc3339(time));
    out.MemberBool("clean", audit.Clean());
    out.MemberNumber("nodes", audit.nodes);
    out.MemberNumber("heard", audit.answered);
    out.Objects("findings", audit.findings, [&](const AuditFinding& one) { WriteFinding(out, one); });
    out.Objects("pulls", audit.pulls, [&](const AuditPull& one) { WritePull(out, one); });
    out.MemberStrings("notes", audit.notes);
  });
}

}  // namespace prefetch::screen
