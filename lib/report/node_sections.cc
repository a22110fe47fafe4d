#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/sections.h"
#include "screen/text_layout.h"

namespace prefetch::report {
namespace {

constexpr std::size_t kNodesShown = 100;  // the others unfold
constexpr std::size_t kDisksShown = 10;
// A message may contain the output of a failed command.
constexpr std::size_t kLongestWhy = 300;  // bytes

const char* SignOf(const screen::FleetNode& node) {
  const std::string_view tone = NodeTone(node);
  return tone == "ready"     ? "✓"
         : tone == "failing" ? "✕"
         : tone == "moving"  ? "▸"
         : tone == "leaving" ? "–"
                             : "?";
}

const char* WordOf(const screen::FleetNode& node) {
  const std::string_view tone = NodeTone(node);
  return tone == "ready"     ? "ready"
         : tone == "failing" ? "failing"
         : tone == "moving"  ? "progressing"
         : tone == "leaving" ? "dead or leaving"
                             : "not heard";
}

// Returns "2 denied, 1 pulling". States are ordered, so the worst one comes first. Optional images do not
// count, since the node's readiness does not depend on them.
std::string ImagesNotReady(const Report& report, const ReportNode& node) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Cell& cell : node.cells) {
    if (report.states[cell.state].tone < Tone::kOptional) counts[cell.state]++;
  }
  std::string words;
  for (const auto& [state, count] : counts) {
    words += (words.empty() ? "" : ", ") + Grouped(count) + " " + StateWord(report.states[state]);
  }
  return words;
}

std::string WhyOfNode(const Report& report, const ReportNode& node) {
  if (!node.node.leaving.empty()) return "not counted: " + node.node.leaving;
  std::string images = ImagesNotReady(report, node);
  // Counts by state say more than the general message of this reason.
  const bool about_images = node.node.reason == "ImagesNotReady" && !images.empty();
  if (about_images) return images;
  if (node.node.state == screen::NodeState::kReady && node.node.detail) return "";
  std::string why = node.node.message.empty() ? node.node.reason : node.node.message;
  return base::Truncate(why, kLongestWhy) + (images.empty() ? "" : "; " + images);
}

void WriteNodeRow(Html& out, const Report& report, const ReportNode& shown) {
  const screen::FleetNode& node = shown.node;
  out.Tag("<tr><th scope=\"row\">").Text(node.name).Tag("</th><td class=\"state\"><i class=\"key ");
  out.Text(NodeTone(node)).Tag("\" aria-hidden=\"true\">").Text(SignOf(node)).Tag("</i> ").Text(WordOf(node));
  out.Tag("</td><td class=\"n\">");
  if (node.detail) out.Text(Grouped(node.required_ready)).Tag("/").Text(Grouped(node.required));
  out.Tag("</td><td>").Text(WhyOfNode(report, shown)).Tag("</td><td>");
  if (node.detail) out.Tag("<code>").Text(screen::ShortHash(node.list_hash)).Tag("</code>");
  out.Tag("</td><td>").Text(shown.runtime).Tag("</td><td>").Text(shown.kubelet).Tag("</td></tr>\n");
}

void WriteNodeRows(Html& out, const Report& report, const std::vector<const ReportNode*>& nodes,
                   std::size_t from, std::size_t to) {
  out.Tag("<div class=\"wide\"><table class=\"nodes\">\n<caption class=\"vh\">Nodes</caption>\n<thead><tr>")
      .Tag(
          "<th scope=\"col\">Node</th><th scope=\"col\">State</th><th scope=\"col\">Required images "
          "ready</th>")
      .Tag("<th scope=\"col\">Why</th><th scope=\"col\">List</th><th scope=\"col\">Runtime</th>")
      .Tag("<th scope=\"col\">kubelet</th></tr></thead>\n<tbody>\n");
  for (std::size_t i = from; i < to; i++) WriteNodeRow(out, report, *nodes[i]);
  out.Tag("</tbody></table></div>\n");
}

// A node's disk, with the room that is left after kubelet's reserve and the missing images; negative if they
// do not fit.
struct Disk {
  const ReportNode* node = nullptr;
  std::int64_t spare = 0;
};

std::vector<Disk> Disks(const Report& report) {
  std::vector<Disk> disks;
  for (const ReportNode& node : report.nodes) {
    if (!node.disk) continue;
    disks.push_back({.node = &node,
                     .spare = static_cast<std::int64_t>(node.disk->available_bytes) -
                              static_cast<std::int64_t>(node.disk->kept_free_bytes) -
                              static_cast<std::int64_t>(node.disk->needed_bytes)});
  }
  std::stable_sort(disks.begin(), disks.end(),
                   [](const Disk& a, const Disk& b) { return a.spare < b.spare; });
  return disks;
}

void WriteDiskRow(Html& out, const Disk& shown) {
  const status::StatusDisk& disk = *shown.node->disk;
  // A node may report more available than capacity; the difference must not wrap around.
  const std::uint64_t used = disk.capacity_bytes - std::min(disk.available_bytes, disk.capacity_bytes);
  // "used * 100" could overflow, so the capacity is divided instead. The "+ 1" prevents a division by zero
  // below 100 bytes.
  const std::uint64_t percent = disk.capacity_bytes == 0 ? 0 : used / (disk.capacity_bytes / 100 + 1);
  out.Tag("<tr><th scope=\"row\">").Text(shown.node->node.name).Tag("</th><td class=\"n\">");
  out.Tag("<meter min=\"0\" max=\"100\" value=\"")
      .Number(percent)
      .Tag("\" aria-hidden=\"true\">")
      .Number(percent);
  out.Tag(" %</meter> ")
      .Number(percent)
      .Tag(" %</td><td class=\"n\">")
      .Text(base::HumanBytes(disk.available_bytes));
  out.Tag("</td><td class=\"n\">");
  out.Text(disk.kept_free_bytes == 0 ? "not known" : base::HumanBytes(disk.kept_free_bytes));
  out.Tag("</td><td class=\"n\">").Text(base::HumanBytes(disk.needed_bytes)).Tag("</td><td>");
  out.Text(disk.pressure ? "✕ no room for the list" : shown.spare < 0 ? "▸ may not fit" : "✓ fits");
  out.Tag("</td></tr>\n");
}

}  // namespace

void WriteNodes(Html& out, const PageParts& parts) {
  std::vector<const ReportNode*> ready, others;
  for (const ReportNode& node : parts.report.nodes) {
    const bool fine =
        node.node.state == screen::NodeState::kReady && node.node.detail && node.node.leaving.empty();
    (fine ? ready : others).push_back(&node);
  }
  std::stable_sort(others.begin(), others.end(), [](const ReportNode* a, const ReportNode* b) {
    const bool a_leaves = !a->node.leaving.empty(), b_leaves = !b->node.leaving.empty();
    // Nodes that are leaving the cluster come last: nobody needs to act on them.
    return a_leaves != b_leaves ? b_leaves : a->node.state > b->node.state;
  });
  out.Tag("<section id=\"nodes\">\n<h2>Nodes</h2>\n");
  if (parts.report.nodes.empty()) out.Tag("<p>No node matches.</p>\n");
  if (!others.empty()) {
    const std::size_t first = std::min(others.size(), kNodesShown);
    WriteNodeRows(out, parts.report, others, 0, first);
    if (first < others.size()) {
      out.Tag("<details><summary>").Text(Grouped(others.size() - first)).Tag(" more nodes</summary>\n");
      WriteNodeRows(out, parts.report, others, first, others.size());
      out.Tag("</details>\n");
    }
  }
  if (!ready.empty()) {
    // Ready nodes are folded, unless they are few and the section shows no others.
    const bool few = ready.size() <= 20 && others.empty();
    out.Markup(few ? "<details open><summary>" : "<details><summary>");
    out.Text(CountedGroups(ready.size(), "ready node", "ready nodes")).Tag("</summary>\n");
    WriteNodeRows(out, parts.report, ready, 0, ready.size());
    out.Tag("</details>\n");
  }
  out.Tag("</section>\n");
}

void WriteDisk(Html& out, const PageParts& parts) {
  const std::vector<Disk> disks = Disks(parts.report);
  out.Tag("<section id=\"disk\">\n<h2>Disk</h2>\n");
  if (disks.empty()) {
    out.Tag("<p>No agent reported the size of its image filesystem.</p>\n</section>\n");
    return;
  }
  const auto pressed = static_cast<std::size_t>(
      std::count_if(disks.begin(), disks.end(), [](const Disk& disk) { return disk.node->disk->pressure; }));
  out.Tag("<p>");
  const std::size_t untold = parts.report.nodes.size() - disks.size();
  if (pressed == 0 && untold == 0) {
    out.Tag("✓ No node is short of room for its list.");
  } else if (pressed == 0) {
    out.Text(CountedGroups(disks.size(), "node has", "nodes have")).Tag(" room for the list; ");
    out.Text(CountedGroups(untold, "node did", "nodes did")).Tag(" not tell.");
  } else {
    out.Tag("✕ ").Text(CountedGroups(pressed, "node lacks", "nodes lack")).Tag(" room for the list.");
  }
  out.Tag(" The image filesystems with the least room:</p>\n<div class=\"wide\"><table>\n")
      .Tag(
          "<caption class=\"vh\">Room on image filesystems</caption>\n<thead><tr><th scope=\"col\">Node</th>")
      .Tag("<th scope=\"col\">Used</th><th scope=\"col\">Free</th><th scope=\"col\">Must stay free</th>")
      .Tag("<th scope=\"col\">Absent images need</th><th scope=\"col\">State</th></tr></thead>\n<tbody>\n");
  for (std::size_t i = 0; i < std::min(disks.size(), kDisksShown); i++) WriteDiskRow(out, disks[i]);
  out.Tag("</tbody></table></div>\n</section>\n");
}

}  // namespace prefetch::report
