#include "screen/report/sections.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "base/scrub.h"
#include "base/text.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen::report {

namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  const std::string clean = base::ToUtf8(text);
  for (std::size_t i = 0; i < clean.size(); i++) {
    const char c = clean[i];
    // Control characters and those that change the direction of text could make a name look like another.
    if (std::size_t control = base::ControlAt(std::string_view(clean).substr(i)); control > 0) {
      escaped += kReplacement;
      i += control - 1;
      continue;
    }
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string FormatNumber(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string FormatCount(std::uint64_t number, const char* one, const char* many) {
  return FormatNumber(number) + " " + (number == 1 ? one : many);
}

namespace {

constexpr const char* kWhyNotListed =
    "Nothing: the node's list does not have the image, or has it for other nodes (platforms, nodeSelector).";

// Begins a table, whose caption is for screen readers. `attributes` are our own markup.
void BeginTable(Html& out, std::string_view attributes, std::string_view caption,
                std::initializer_list<std::string_view> columns) {
  out.Tag("<div class=\"wide\"><table").Markup(attributes).Tag(">\n<caption class=\"vh\">").Text(caption);
  out.Tag("</caption>\n<thead><tr>");
  for (std::string_view column : columns) out.Tag("<th scope=\"col\">").Text(column).Tag("</th>");
  out.Tag("</tr></thead>\n<tbody>\n");
}

void WriteLegend(Html& out, const PageData& parts) {
  out.Tag("<details class=\"legend\"><summary>What the letters mean</summary>\n");
  BeginTable(out, " id=\"legend\"", "Letters", {"Letter", "State", "Reason", "What to do"});
  for (std::uint32_t i = 0; i < parts.report.states.size(); i++) {
    const ImageState& state = parts.report.states[i];
    out.Tag("<tr data-tone=\"").Text(ToneName(state.tone)).Tag("\"><th scope=\"row\">");
    WriteLetter(out, parts, i);
    out.Tag("</th><td>").Text(StateText(state));
    if (state.tone == Tone::kOptional) out.Tag(", optional");
    if (state.tone == Tone::kStale) out.Tag(", ready but not current");
    out.Tag("</td><td>").Text(state.reason).Tag("</td><td>");
    out.Text(state.tone == Tone::kNotListed ? kWhyNotListed : status::WordsFor(state.reason).advice);
    out.Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div></details>\n");
}

void WriteUniform(Html& out, const PageData& parts) {
  if (parts.map.uniform.empty()) return;
  out.Tag("<h3>The same on every node that lists them</h3>\n");
  for (const HeatMap::UniformGroup& uniform : parts.map.uniform) {
    const bool ready = parts.report.states[uniform.state].tone == Tone::kReady;
    // Ready images need no attention, and a long list would push everything below it out of view.
    const bool fold = ready || uniform.images.size() > 20;
    if (fold) {
      out.Tag("<details class=\"alike\"><summary>");
    } else {
      out.Tag("<div class=\"alike\"><p>");
    }
    WriteState(out, parts, uniform.state);
    out.Tag(": ").Text(FormatCount(uniform.images.size(), "image", "images"));
    out.Markup(fold ? "</summary>\n<ul class=\"names\">\n" : "</p>\n<ul class=\"names\">\n");
    for (std::uint32_t image : uniform.images)
      out.Tag("<li>").Text(parts.report.images[image]).Tag("</li>\n");
    out.Markup(fold ? "</ul></details>\n" : "</ul></div>\n");
  }
}

// The script reads this table and draws the map from it. Without script, the table itself is the map.
void WriteLetters(Html& out, const PageData& parts) {
  out.Tag("<div id=\"letters\">\n<p>Each letter is one column; the list below names its nodes.</p>\n");
  BeginTable(out, "", "States of images that differ between nodes, a letter a column",
             {"Image", "Nodes not ready", "States by column"});
  for (const HeatMap::Row& row : parts.map.rows) {
    out.Tag("<tr data-image=\"").Number(row.image).Tag("\"><th scope=\"row\">");
    out.Text(parts.report.images[row.image]).Tag("</th><td>").Text(FormatNumber(row.not_ready)).Tag(" of ");
    out.Text(FormatNumber(row.listed)).Tag("</td><td class=\"cells\">");
    for (std::uint32_t state : row.states) out.Text(parts.letters[state]);
    out.Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n<details><summary>Nodes of each column</summary>\n<ol id=\"columns\">\n");
  for (const HeatMap::Column& column : parts.map.columns) {
    out.Tag("<li>").Text(SomeNames(NamesOf(parts.report, column.nodes), SIZE_MAX)).Tag("</li>\n");
  }
  out.Tag("</ol></details>\n</div>\n");
}

// Controls that only work with script. They are hidden until the script shows them.
void WriteControls(Html& out, const PageData& parts) {
  out.Tag(
         "<form id=\"filter\" hidden>\n<label>Image <input id=\"by-image\" type=\"search\" "
         "autocomplete=\"off\" ")
      .Tag("placeholder=\"part of its name\"></label>\n<label>Node <input id=\"by-node\" type=\"search\" ")
      .Tag(
          "autocomplete=\"off\" placeholder=\"part of its name\"></label>\n<label>State <select "
          "id=\"by-state\">")
      .Tag("<option value=\"\">any</option><option value=\"!\">not ready</option>\n");
  for (std::uint32_t i = 0; i < parts.report.states.size(); i++) {
    const ImageState& state = parts.report.states[i];
    if (state.tone == Tone::kNotListed) continue;
    out.Tag("<option value=\"").Text(parts.letters[i]).Tag("\">").Text(parts.letters[i]).Tag(" ");
    out.Text(StateText(state)).Tag("</option>\n");
  }
  out.Tag("</select></label>\n<button type=\"reset\">Clear</button>\n</form>\n")
      .Tag("<p id=\"shown\" role=\"status\" hidden></p>\n")
      .Tag(
          "<div id=\"grid\" class=\"wide\" role=\"region\" aria-label=\"Heat map\" tabindex=\"0\" "
          "hidden></div>\n")
      .Tag("<div id=\"pager\" hidden></div>\n<p id=\"cell\" role=\"status\" hidden></p>\n");
}

}  // namespace

void WriteMap(Html& out, const PageData& parts) {
  out.Tag("<section id=\"map\">\n<h2>Images by node</h2>\n");
  if (parts.map.answered == 0) {
    out.Tag("<p>No agent was heard, so nothing is known about images.</p>\n</section>\n");
    return;
  }
  if (!parts.map.rows.empty()) {
    out.Tag("<p>").Text(FormatCount(parts.map.rows.size(), "image differs", "images differ"));
    out.Tag(" between nodes. Nodes that are alike share a column.</p>\n");
    WriteControls(out, parts);
    WriteLetters(out, parts);
  }
  WriteUniform(out, parts);
  WriteLegend(out, parts);
  out.Tag("</section>\n");
}

namespace {

// Maximum number of rows; the map has the rest.
constexpr std::size_t kStaleShown = 200;
constexpr std::size_t kNamedNodes = 3;
constexpr std::size_t kPullsShown = 10;

void WritePullRow(Html& out, const PullTimes& times) {
  const auto nodes = static_cast<std::int64_t>(times.nodes);
  out.Tag("<tr><th scope=\"row\">").Text(times.image).Tag("</th><td class=\"n\">");
  out.Text(base::HumanTime(times.slowest)).Tag("</td><td>").Text(times.slowest_node);
  out.Tag("</td><td class=\"n\">").Text(base::HumanTime(times.all / nodes)).Tag("</td><td class=\"n\">");
  out.Text(FormatNumber(times.nodes)).Tag("</td><td class=\"n\">");
  if (times.bytes > 0) out.Text(base::HumanBytes(times.bytes));
  out.Tag("</td></tr>\n");
}

void WriteStale(Html& out, const PageData& parts, const std::vector<const FleetGroup*>& stale) {
  BeginTable(out, "", "Images that are not current", {"Image", "State", "Nodes", "Where", "Message"});
  for (std::size_t i = 0; i < std::min(stale.size(), kStaleShown); i++) {
    const FleetGroup& one = *stale[i];
    const std::uint32_t state = parts.report.StateIndex({one.tone, one.reason});
    out.Tag("<tr data-at=\"").Number(parts.report.ImageIndex(one.image)).Tag(":").Text(parts.letters[state]);
    out.Tag("\"><th scope=\"row\">").Text(one.image).Tag("</th><td class=\"state\">");
    WriteState(out, parts, state);
    out.Tag("</td><td class=\"n\">").Text(FormatNumber(one.nodes.size())).Tag("</td><td>");
    out.Text(SomeNames(one.nodes, kNamedNodes)).Tag("</td><td class=\"m\">");
    out.Text(MessageText(one.message, one.other_messages));
    const std::string advice = status::WordsFor(one.reason).advice;
    if (!advice.empty()) out.Tag("<br><b>What to do:</b> ").Text(advice);
    out.Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
  if (stale.size() > kStaleShown) {
    out.Tag("<p>").Text(FormatNumber(stale.size() - kStaleShown)).Tag(" more are in the map.</p>\n");
  }
}

void WriteAway(Html& out, const Report& report) {
  out.Tag(
         "<div class=\"wide\"><table>\n<caption>Registries that do not answer; images on the nodes stay in "
         "use")
      .Tag("</caption>\n<thead><tr><th scope=\"col\">Registry</th><th scope=\"col\">Reason</th>")
      .Tag(
          "<th scope=\"col\">Nodes</th><th scope=\"col\">For</th><th "
          "scope=\"col\">Message</th></tr></thead>\n<tbody>\n");
  for (const auto& [name, away] : report.unreachable_registries) {
    out.Tag("<tr><th scope=\"row\">").Text(name).Tag("</th><td>").Text(status::WordsFor(away.trouble).state);
    out.Tag("</td><td class=\"n\">").Text(FormatNumber(away.nodes)).Tag("</td><td>");
    out.Text(base::HumanTime(away.longest)).Tag("</td><td>").Text(away.message).Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
}

}  // namespace

void WriteFreshness(Html& out, const PageData& parts) {
  std::vector<const FleetGroup*> stale;
  for (const FleetGroup& group : parts.report.fleet.non_blocking) {
    // Stale images are in `non_blocking`, because they keep no node from being ready.
    if (group.tone == Tone::kStale) stale.push_back(&group);
  }
  out.Tag("<section id=\"freshness\">\n<h2>Freshness</h2>\n<p>");
  const std::size_t checked = parts.report.checked_images;
  const std::size_t blocked = parts.report.blocked_images;
  if (parts.report.nodes.empty()) {
    out.Tag("No node matches.");
  } else if (checked == 0) {
    out.Tag(
        "The list asks no registry about images that are on the nodes (<code>refresh: IfNotPresent</code>).");
    // Nothing is stale, but the registry's answer keeps images from being ready. "None is out of date" would
    // be misleading here.
  } else if (stale.empty() && blocked > 0) {
    out.Text(FormatCount(checked, "image is", "images are"));
    out.Tag(" compared with the registry. ").Text(FormatCount(blocked, "image is", "images are"));
    out.Tag(" not ready because of its answer: see <a href=\"#causes\">causes</a>.");
  } else if (stale.empty()) {
    out.Tag("✓ ").Text(FormatCount(checked, "image is", "images are"));
    out.Tag(" compared with the registry, and none is known to be out of date.");
  } else {
    out.Text(FormatCount(checked, "image is", "images are"))
        .Tag(" compared with the registry. Ready, but not current:");
  }
  out.Tag("</p>\n");
  if (!stale.empty()) WriteStale(out, parts, stale);
  if (!parts.report.unreachable_registries.empty()) WriteAway(out, parts.report);
  out.Tag("</section>\n");
}

void WritePulls(Html& out, const PageData& parts) {
  const Report& report = parts.report;
  out.Tag("<section id=\"pulls\">\n<h2>Slowest pulls</h2>\n");
  if (report.pulls.empty()) {
    out.Tag("<p>No agent reported the duration of a pull.</p>\n</section>\n");
    return;
  }
  out.Tag("<p>The newest pull of each image on each node, from its start to its end.</p>\n");
  BeginTable(out, "", "Slowest pulls",
             {"Image", "Slowest", "On node", "On average", "Nodes", "Size on disk"});
  for (std::size_t i = 0; i < std::min(report.pulls.size(), kPullsShown); i++)
    WritePullRow(out, report.pulls[i]);
  out.Tag("</tbody></table></div>\n</section>\n");
}

namespace {

constexpr std::size_t kNodesShown = 100;  // the others unfold
constexpr std::size_t kDisksShown = 10;
// A message may contain the output of a failed command.
constexpr std::size_t kLongestWhy = 300;  // bytes

// Returns "2 denied, 1 pulling". States are ordered, so the worst one comes first. Optional images do not
// count, since the node's readiness does not depend on them.
std::string ImagesNotReady(const Report& report, const ReportNode& node) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Cell& cell : node.cells) {
    if (report.states[cell.state].tone < Tone::kOptional) counts[cell.state]++;
  }
  std::string words;
  for (const auto& [state, count] : counts) {
    words += (words.empty() ? "" : ", ") + FormatNumber(count) + " " + StateText(report.states[state]);
  }
  return words;
}

std::string NodeReasonText(const Report& report, const ReportNode& node) {
  if (!node.node.leaving.empty()) return "not counted: " + node.node.leaving;
  std::string images = ImagesNotReady(report, node);
  // Counts by state say more than the general message of this reason.
  const bool about_images = node.node.reason == plan::Reason::kImagesNotReady && !images.empty();
  if (about_images) return images;
  if (node.node.state == NodeState::kReady && node.node.detail) return "";
  std::string why = node.node.message.empty() ? node.node.reason.text() : node.node.message;
  return base::Truncate(why, kLongestWhy) + (images.empty() ? "" : "; " + images);
}

void WriteNodeRow(Html& out, const Report& report, const ReportNode& shown) {
  const FleetNode& node = shown.node;
  out.Tag("<tr><th scope=\"row\">").Text(node.name).Tag("</th><td class=\"state\"><i class=\"key ");
  const NodeLook& look = LookOf(node);
  out.Text(look.tone).Tag("\" aria-hidden=\"true\">").Text(look.sign).Tag("</i> ").Text(look.word);
  out.Tag("</td><td class=\"n\">");
  if (node.detail) out.Text(FormatNumber(node.required_ready)).Tag("/").Text(FormatNumber(node.required));
  out.Tag("</td><td>").Text(NodeReasonText(report, shown)).Tag("</td><td>");
  if (node.detail) out.Tag("<code>").Text(ShortHash(node.list_hash)).Tag("</code>");
  out.Tag("</td><td>").Text(shown.runtime).Tag("</td><td>").Text(shown.kubelet).Tag("</td></tr>\n");
}

void WriteNodeRows(Html& out, const Report& report, const std::vector<const ReportNode*>& nodes,
                   std::size_t from, std::size_t to) {
  BeginTable(out, " class=\"nodes\"", "Nodes",
             {"Node", "State", "Required images ready", "Why", "List", "Runtime", "kubelet"});
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
  const plan::DiskStatus& disk = *shown.node->disk;
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

void WriteNodes(Html& out, const PageData& parts) {
  std::vector<const ReportNode*> ready, others;
  for (const ReportNode& node : parts.report.nodes) {
    const bool is_ready =
        node.node.state == NodeState::kReady && node.node.detail && node.node.leaving.empty();
    (is_ready ? ready : others).push_back(&node);
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
      out.Tag("<details><summary>").Text(FormatNumber(others.size() - first)).Tag(" more nodes</summary>\n");
      WriteNodeRows(out, parts.report, others, first, others.size());
      out.Tag("</details>\n");
    }
  }
  if (!ready.empty()) {
    // Ready nodes are folded, unless they are few and the section shows no others.
    const bool few = ready.size() <= 20 && others.empty();
    out.Markup(few ? "<details open><summary>" : "<details><summary>");
    out.Text(FormatCount(ready.size(), "ready node", "ready nodes")).Tag("</summary>\n");
    WriteNodeRows(out, parts.report, ready, 0, ready.size());
    out.Tag("</details>\n");
  }
  out.Tag("</section>\n");
}

void WriteDisk(Html& out, const PageData& parts) {
  const std::vector<Disk> disks = Disks(parts.report);
  out.Tag("<section id=\"disk\">\n<h2>Disk</h2>\n");
  if (disks.empty()) {
    out.Tag("<p>No agent reported the size of its image filesystem.</p>\n</section>\n");
    return;
  }
  const auto under_pressure = static_cast<std::size_t>(
      std::count_if(disks.begin(), disks.end(), [](const Disk& disk) { return disk.node->disk->pressure; }));
  out.Tag("<p>");
  const std::size_t not_reported = parts.report.nodes.size() - disks.size();
  if (under_pressure == 0 && not_reported == 0) {
    out.Tag("✓ No node is short of room for its list.");
  } else if (under_pressure == 0) {
    out.Text(FormatCount(disks.size(), "node has", "nodes have")).Tag(" room for the list; ");
    out.Text(FormatCount(not_reported, "node did", "nodes did")).Tag(" not tell.");
  } else {
    out.Tag("✕ ").Text(FormatCount(under_pressure, "node lacks", "nodes lack")).Tag(" room for the list.");
  }
  out.Tag(" The image filesystems with the least room:</p>\n");
  BeginTable(out, "", "Room on image filesystems",
             {"Node", "Used", "Free", "Must stay free", "Absent images need", "State"});
  for (std::size_t i = 0; i < std::min(disks.size(), kDisksShown); i++) WriteDiskRow(out, disks[i]);
  out.Tag("</tbody></table></div>\n</section>\n");
}

namespace {

// Limits that keep the page of a large fleet small. Each row that is left out is still in the map.
constexpr std::size_t kRowsShown = 8;     // of one cause; the others unfold
constexpr std::size_t kNodesNamed = 3;    // of one image; the map names all
constexpr std::size_t kMostRows = 2'000;  // of one cause
constexpr std::size_t kMostProblems = 50;

// Images with the same state. One piece of advice applies to all of them, so the page shows them together.
struct Cause {
  std::uint32_t state = 0;
  status::Actor actor = status::Actor::kNone;
  std::vector<const FleetGroup*> images;
  std::set<std::string_view> nodes;
};

// Returns the causes, worst tone first, then by who must act, then by the number of nodes.
std::vector<Cause> Causes(const Report& report) {
  std::map<std::uint32_t, Cause> by_state;
  for (const auto* groups : {&report.fleet.groups, &report.fleet.non_blocking}) {
    for (const FleetGroup& group : *groups) {
      if (group.image.empty() || group.tone >= Tone::kStale)
        continue;  // Stale images are ready; section "Freshness" shows them.
      const std::uint32_t state = report.StateIndex({group.tone, group.reason});
      Cause& cause = by_state[state];
      cause.state = state;
      cause.actor = group.actor;
      cause.images.push_back(&group);
      cause.nodes.insert(group.nodes.begin(), group.nodes.end());
    }
  }
  std::vector<Cause> causes;
  for (auto& [state, cause] : by_state) causes.push_back(std::move(cause));
  std::stable_sort(causes.begin(), causes.end(), [&](const Cause& a, const Cause& b) {
    Tone first = report.states[a.state].tone, second = report.states[b.state].tone;
    if (first != second) return first < second;
    return a.actor != b.actor ? a.actor < b.actor : a.nodes.size() > b.nodes.size();
  });
  return causes;
}

std::string GroupText(const FleetGroup& group) {
  // A pull that makes progress needs no message: how much the slowest node still lacks says when it ends.
  if (group.most_bytes_left > 0) {
    return base::HumanBytes(group.most_bytes_left) + " left on " + group.slowest +
           (group.nodes.size() > 1 ? ", the slowest" : "");
  }
  return MessageText(group.message, group.other_messages);
}

void WriteHeading(Html& out, std::string_view tone, std::string_view letter, const std::string& word,
                  const std::string& reason) {
  out.Tag("<article class=\"cause ").Text(tone).Tag("\">\n<h3><i class=\"key ").Text(tone).Tag("\">");
  out.Text(letter).Tag("</i> ").Text(word);
  if (!reason.empty()) out.Tag(" <code>").Text(reason).Tag("</code>");
  out.Tag("</h3>\n");
}

void WriteAdvice(Html& out, const std::string& reason) {
  const std::string advice = status::WordsFor(reason).advice;
  if (!advice.empty()) out.Tag("<p class=\"do\"><b>What to do:</b> ").Text(advice).Tag(".</p>\n");
}

void WriteRows(Html& out, const PageData& parts, const Cause& cause, std::size_t from, std::size_t to) {
  const Report& report = parts.report;
  BeginTable(out, " class=\"where\"", "Images: " + StateText(report.states[cause.state]),
             {"Image", "Nodes", "Where", "Message"});
  for (std::size_t i = from; i < to; i++) {
    const FleetGroup& group = *cause.images[i];
    // For a cell of the map, the script finds the message in this row by image index and letter.
    out.Tag("<tr data-at=\"").Number(report.ImageIndex(group.image)).Tag(":");
    out.Text(parts.letters[cause.state]);
    out.Tag("\"><th scope=\"row\">").Text(group.image).Tag("</th><td class=\"n\">");
    out.Text(FormatNumber(group.nodes.size())).Tag("</td><td>");
    out.Text(SomeNames(group.nodes, kNodesNamed)).Tag("</td><td class=\"m\">");
    out.Text(GroupText(group)).Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
}

void WriteCause(Html& out, const PageData& parts, const Cause& cause) {
  const Report& report = parts.report;
  const ImageState& state = report.states[cause.state];
  WriteHeading(out, ToneName(state.tone), parts.letters[cause.state], StateText(state), state.reason);
  out.Tag("<p class=\"scope\">").Text(FormatCount(cause.images.size(), "image", "images")).Tag(" on ");
  out.Text(FormatNumber(cause.nodes.size()))
      .Tag(" of ")
      .Text(FormatCount(report.fleet.CountedNodes(), "node", "nodes"));
  if (state.tone == Tone::kOptional) out.Tag(". Optional, so readiness does not depend on it");
  out.Tag("</p>\n");
  WriteAdvice(out, state.reason);
  const std::size_t all = cause.images.size(), shown = std::min(all, kMostRows);
  // A single remaining row is shown, since the line that unfolds it would take the same room.
  const std::size_t first = all <= kRowsShown + 1 ? all : kRowsShown;
  WriteRows(out, parts, cause, 0, first);
  if (first < shown) {
    out.Tag("<details><summary>").Text(FormatCount(shown - first, "more image", "more images"));
    out.Tag("</summary>\n");
    WriteRows(out, parts, cause, first, shown);
    out.Tag("</details>\n");
  }
  if (shown < all) {
    out.Tag("<p>")
        .Text(FormatNumber(all - shown))
        .Tag(" more images are left out here; the map has them.</p>\n");
  }
  out.Tag("</article>\n");
}

void WriteNodeCause(Html& out, const Report& report, const FleetGroup& group) {
  const bool failing = group.state == NodeState::kFailing;
  const std::string word = status::WordsFor(group.reason).state;
  const NodeLook& look = failing ? kFailingLook : group.detail ? kMovingLook : kSilentLook;
  WriteHeading(out, look.tone, look.sign, word, group.reason);
  out.Tag("<p class=\"scope\">The node itself, on ").Text(FormatNumber(group.nodes.size())).Tag(" of ");
  out.Text(FormatCount(report.fleet.CountedNodes(), "node", "nodes"));
  if (group.state == NodeState::kReady) out.Tag(", ready by the cluster's own signs");
  out.Tag("</p>\n");
  WriteAdvice(out, group.reason);
  out.Tag("<p>").Text(MessageText(base::Truncate(group.message, 1000), group.other_messages)).Tag("</p>\n");
  out.Tag("<p class=\"names\">").Text(SomeNames(group.nodes, 20)).Tag("</p>\n</article>\n");
}

void WriteProblem(Html& out, const Report& report, const NodeProblem& problem) {
  // A problem of the node alone does not make it fail, so it has the tone of a node that progresses.
  WriteHeading(out, "moving", "!", "problem", "");
  out.Tag("<p class=\"scope\">The node itself, on ").Text(FormatNumber(problem.nodes.size())).Tag(" of ");
  out.Text(FormatCount(report.fleet.CountedNodes(), "node", "nodes"));
  out.Tag("</p>\n<p>").Text(problem.text).Tag("</p>\n<p class=\"names\">");
  out.Text(SomeNames(problem.nodes, 20)).Tag("</p>\n</article>\n");
}

}  // namespace

void WriteCauses(Html& out, const PageData& parts) {
  const std::vector<Cause> causes = Causes(parts.report);
  out.Tag("<section id=\"causes\">\n<h2>Causes</h2>\n");
  if (parts.report.nodes.empty()) {
    out.Tag("<p>No node matches.</p>\n</section>\n");
    return;
  }
  bool any = !causes.empty() || !parts.report.problems.empty();
  auto nodes = [&](bool failing) {
    for (const FleetGroup& group : parts.report.fleet.groups) {
      if (!group.image.empty() || (group.state == NodeState::kFailing) != failing) continue;
      any = true;
      WriteNodeCause(out, parts.report, group);
    }
  };
  auto images = [&](bool failing) {
    for (const Cause& cause : causes) {
      if ((parts.report.states[cause.state].tone == Tone::kFailing) == failing) WriteCause(out, parts, cause);
    }
  };
  // Failures come first, since they need an action. Within each half, nodes come before images: a broken
  // node explains its images.
  nodes(true);
  images(true);
  nodes(false);
  for (std::size_t i = 0; i < std::min(parts.report.problems.size(), kMostProblems); i++)
    WriteProblem(out, parts.report, parts.report.problems[i]);
  if (parts.report.problems.size() > kMostProblems) {
    out.Tag("<p>")
        .Text(FormatNumber(parts.report.problems.size() - kMostProblems))
        .Tag(" more problems of nodes: see ");
    out.Tag("<code>prefetchctl status</code> there.</p>\n");
  }
  images(false);
  if (!any) out.Tag("<p class=\"good\">✓ Nothing is in the way: every image is ready on every node.</p>\n");
  out.Tag("</section>\n");
}

}  // namespace prefetch::screen::report
