// The audit as a person reads it, and as a document.
#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "doc/json_writer.h"
#include "screen/audit.h"
#include "screen/text_layout.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kMostPulls = 10;

std::string Paragraph(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string& line : Wrap(text, width - 4)) out += "    " + line + "\n";
  return out;
}

std::string FirstOf(const std::vector<std::string>& names, std::size_t most, std::size_t more) {
  std::vector<std::string> first(names.begin(), names.begin() + std::min(most, names.size()));
  more += names.size() - first.size();
  return base::Join(first, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// "12.4 s", "850 ms", "3 min".
std::string Took(std::chrono::milliseconds time) {
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
    about =
        "on " + base::Counted(finding.nodes.size(), "node", "nodes") + ": " + FirstOf(finding.nodes, 3, 0);
  }
  if (finding.size_bytes > 0) about += ", " + base::HumanBytes(finding.size_bytes);
  if (finding.first_seen) about += ", came " + base::Rfc3339(*finding.first_seen);
  if (finding.arrived_at && finding.arrived_at != finding.first_seen)
    about += ", again " + base::Rfc3339(*finding.arrived_at);
  if (!finding.present) about += ", gone again";
  if (!about.empty()) text += Paragraph(about, width);
  if (!finding.pods.empty()) {
    text += Paragraph("asked for by " + FirstOf(finding.pods, 3, finding.more_pods), width);
  }
  return text;
}

std::string PullText(const AuditPull& pull, std::size_t width) {
  std::string about = "pulled " + (pull.times == 1 ? "once" : std::to_string(pull.times) + " times") +
                      ", at most " + Took(pull.longest) + ", for " + pull.pod;
  if (!pull.node.empty()) about += " on " + pull.node;
  return "  " + pull.image + "\n" + Paragraph(about, width);
}

void WriteFinding(doc::JsonWriter& out, const AuditFinding& finding) {
  out.BeginObject();
  out.Member("image", finding.image);
  out.MemberBool("present", finding.present);
  out.MemberNumber("sizeBytes", finding.size_bytes);
  out.MemberOrNull("firstSeen", finding.first_seen);
  out.MemberOrNull("arrivedAt", finding.arrived_at);
  out.Key("nodes");
  out.Strings(finding.nodes);
  out.Key("pods");
  out.Strings(finding.pods);
  out.MemberNumber("morePods", finding.more_pods);
  out.EndObject();
}

void WritePull(doc::JsonWriter& out, const AuditPull& pull) {
  out.BeginObject();
  out.Member("image", pull.image);
  out.MemberNumber("times", pull.times);
  out.MemberNumber("longestMilliseconds", static_cast<std::uint64_t>(pull.longest.count()));
  out.Member("pod", pull.pod);
  out.MemberOrNull("node", pull.node);
  out.EndObject();
}

// " on 2 of 300 nodes": of those that were heard, the ones that have any.
std::string Where(const Audit& audit) {
  if (audit.nodes == 0) return "";
  std::set<std::string> with;
  for (const AuditFinding& finding : audit.findings) with.insert(finding.nodes.begin(), finding.nodes.end());
  std::string some = with.empty() || with.size() == audit.heard ? "" : std::to_string(with.size()) + " of ";
  return " on " + some + base::Counted(audit.heard, "node", "nodes");
}

}  // namespace

std::string AuditText(const Audit& audit, std::size_t width) {
  width = std::max(width, kLeastWidth);
  std::string text;
  text += audit.Clean() ? "clean: no image that is on no list" + Where(audit) + "\n"
                        : base::Counted(audit.findings.size(), "image", "images") + " on no list" +
                              Where(audit) + ":\n";
  for (const AuditFinding& finding : audit.findings) text += FindingText(finding, width);
  if (!audit.pulls.empty()) {
    text += base::Counted(audit.pulls.size(), "listed image was", "listed images were") +
            " pulled for pods all the same:\n";
    for (std::size_t i = 0; i < audit.pulls.size() && i < kMostPulls; i++)
      text += PullText(audit.pulls[i], width);
    if (audit.pulls.size() > kMostPulls)
      text += "  … " + std::to_string(audit.pulls.size() - kMostPulls) + " more (-o json has all)\n";
  }
  for (const std::string& note : audit.notes) {
    std::string lines;
    for (const std::string& line : Wrap(note, width - 6))
      lines += (lines.empty() ? "note: " : "      ") + line + "\n";
    text += lines;
  }
  return text;
}

std::string AuditJson(const Audit& audit, base::WallTime time) {
  doc::JsonWriter out;
  out.BeginObject();
  out.Member("apiVersion", "prefetchd.dev/v1");
  out.Member("kind", "AuditReport");
  out.Member("time", base::Rfc3339(time));
  out.MemberBool("clean", audit.Clean());
  out.MemberNumber("nodes", audit.nodes);
  out.MemberNumber("heard", audit.heard);
  out.Key("findings");
  out.BeginArray();
  for (const AuditFinding& finding : audit.findings) WriteFinding(out, finding);
  out.EndArray();
  out.Key("pulls");
  out.BeginArray();
  for (const AuditPull& pull : audit.pulls) WritePull(out, pull);
  out.EndArray();
  out.Key("notes");
  out.Strings(audit.notes);
  out.EndObject();
  return out.Take() + "\n";
}

}  // namespace prefetch::screen
