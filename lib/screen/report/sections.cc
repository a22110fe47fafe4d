#include "screen/report/sections.h"

#include <algorithm>
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

// Begins a table. Its caption is for screen readers, unless it is shown. `attributes` are our own markup.
void BeginTable(Html& out, std::string_view attributes, std::string_view caption,
                std::initializer_list<std::string_view> columns, bool shows_caption = false) {
  out.Write("<div class=\"wide\"><table").Markup(attributes).Write(">\n<caption");
  out.Markup(shows_caption ? "" : " class=\"vh\"").Write(">{}</caption>\n<thead><tr>", caption);
  for (std::string_view column : columns) out.Write("<th scope=\"col\">{}</th>", column);
  out.Write("</tr></thead>\n<tbody>\n");
}

void WriteLegend(Html& out, const PageData& parts) {
  out.Write("<details class=\"legend\"><summary>What the letters mean</summary>\n");
  BeginTable(out, " id=\"legend\"", "Letters", {"Letter", "State", "Reason", "What to do"});
  for (std::uint32_t i = 0; i < parts.report.states.size(); i++) {
    const ImageState& state = parts.report.states[i];
    out.Write("<tr data-tone=\"{}\"><th scope=\"row\">", ToneName(state.tone));
    WriteLetter(out, parts, i);
    const char* more = state.tone == Tone::kOptional ? ", optional"
                       : state.tone == Tone::kStale  ? ", ready but not current"
                                                     : "";
    out.Write("</th><td>{}{}</td><td>{}</td><td>{}</td></tr>\n", StateText(state), more, state.reason,
              state.tone == Tone::kNotListed ? kWhyNotListed : status::WordsFor(state.reason).advice);
  }
  out.Write("</tbody></table></div></details>\n");
}

void WriteUniform(Html& out, const PageData& parts) {
  if (parts.map.uniform.empty()) return;
  out.Write("<h3>The same on every node that lists them</h3>\n");
  for (const HeatMap::UniformGroup& uniform : parts.map.uniform) {
    const bool ready = parts.report.states[uniform.state].tone == Tone::kReady;
    // Ready images need no attention, and a long list would push everything below it out of view.
    const bool fold = ready || uniform.images.size() > 20;
    out.Markup(fold ? "<details class=\"alike\"><summary>" : "<div class=\"alike\"><p>");
    WriteState(out, parts, uniform.state);
    out.Write(": {}", FormatCount(uniform.images.size(), "image", "images"))
        .Markup(fold ? "</summary>\n<ul class=\"names\">\n" : "</p>\n<ul class=\"names\">\n");
    for (std::uint32_t image : uniform.images) out.Write("<li>{}</li>\n", parts.report.images[image]);
    out.Markup(fold ? "</ul></details>\n" : "</ul></div>\n");
  }
}

// The script reads this table and draws the map from it. Without script, the table itself is the map.
void WriteLetters(Html& out, const PageData& parts) {
  out.Write("<div id=\"letters\">\n<p>Each letter is one column; the list below names its nodes.</p>\n");
  BeginTable(out, "", "States of images that differ between nodes, a letter a column",
             {"Image", "Nodes not ready", "States by column"});
  for (const HeatMap::Row& row : parts.map.rows) {
    out.Write("<tr data-image=\"{}\"><th scope=\"row\">{}</th><td>{} of {}</td><td class=\"cells\">",
              std::to_string(row.image), parts.report.images[row.image], FormatNumber(row.not_ready),
              FormatNumber(row.listed));
    for (std::uint32_t state : row.states) out.Write("{}", parts.letters[state]);
    out.Write("</td></tr>\n");
  }
  out.Write(
      "</tbody></table></div>\n<details><summary>Nodes of each column</summary>\n<ol id=\"columns\">\n");
  for (const HeatMap::Column& column : parts.map.columns) {
    out.Write("<li>{}</li>\n", SomeNames(NamesOf(parts.report, column.nodes), SIZE_MAX));
  }
  out.Write("</ol></details>\n</div>\n");
}

// Controls that only work with script. They are hidden until the script shows them.
void WriteControls(Html& out, const PageData& parts) {
  out.Write(
      "<form id=\"filter\" hidden>\n<label>Image <input id=\"by-image\" type=\"search\" autocomplete=\"off\" "
      "placeholder=\"part of its name\"></label>\n<label>Node <input id=\"by-node\" type=\"search\" "
      "autocomplete=\"off\" placeholder=\"part of its name\"></label>\n<label>State <select "
      "id=\"by-state\"><option value=\"\">any</option><option value=\"!\">not ready</option>\n");
  for (std::uint32_t i = 0; i < parts.report.states.size(); i++) {
    const ImageState& state = parts.report.states[i];
    if (state.tone == Tone::kNotListed) continue;
    out.Write("<option value=\"{}\">{} {}</option>\n", parts.letters[i], parts.letters[i], StateText(state));
  }
  out.Write(
      "</select></label>\n<button type=\"reset\">Clear</button>\n</form>\n<p id=\"shown\" role=\"status\" "
      "hidden></p>\n<div id=\"grid\" class=\"wide\" role=\"region\" aria-label=\"Heat map\" tabindex=\"0\" "
      "hidden></div>\n<div id=\"pager\" hidden></div>\n<p id=\"cell\" role=\"status\" hidden></p>\n");
}

}  // namespace

void WriteMap(Html& out, const PageData& parts) {
  out.Write("<section id=\"map\">\n<h2>Images by node</h2>\n");
  if (parts.map.answered == 0) {
    out.Write("<p>No agent was heard, so nothing is known about images.</p>\n</section>\n");
    return;
  }
  if (!parts.map.rows.empty()) {
    out.Write("<p>{} between nodes. Nodes that are alike share a column.</p>\n",
              FormatCount(parts.map.rows.size(), "image differs", "images differ"));
    WriteControls(out, parts);
    WriteLetters(out, parts);
  }
  WriteUniform(out, parts);
  WriteLegend(out, parts);
  out.Write("</section>\n");
}

namespace {

// Maximum number of rows; the map has the rest.
constexpr std::size_t kStaleShown = 200;
constexpr std::size_t kNamedNodes = 3;
constexpr std::size_t kPullsShown = 10;

void WritePullRow(Html& out, const PullTimes& times) {
  const auto nodes = static_cast<std::int64_t>(times.nodes);
  out.Write(
      "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
      times.image, base::HumanTime(times.slowest), times.slowest_node, base::HumanTime(times.all / nodes),
      FormatNumber(times.nodes), times.bytes > 0 ? base::HumanBytes(times.bytes) : "");
}

void WriteStale(Html& out, const PageData& parts, const std::vector<const FleetGroup*>& stale) {
  BeginTable(out, "", "Images that are not current", {"Image", "State", "Nodes", "Where", "Message"});
  for (std::size_t i = 0; i < std::min(stale.size(), kStaleShown); i++) {
    const FleetGroup& one = *stale[i];
    const std::uint32_t state = parts.report.StateIndex({one.tone, one.reason});
    out.Write("<tr data-at=\"{}:{}\"><th scope=\"row\">{}</th><td class=\"state\">",
              std::to_string(parts.report.ImageIndex(one.image)), parts.letters[state], one.image);
    WriteState(out, parts, state);
    out.Write("</td><td class=\"n\">{}</td><td>{}</td><td class=\"m\">{}", FormatNumber(one.nodes.size()),
              SomeNames(one.nodes, kNamedNodes), MessageText(one.message, one.other_messages));
    const std::string advice = status::WordsFor(one.reason).advice;
    if (!advice.empty()) out.Write("<br><b>What to do:</b> {}", advice);
    out.Write("</td></tr>\n");
  }
  out.Write("</tbody></table></div>\n");
  if (stale.size() > kStaleShown) {
    out.Write("<p>{} more are in the map.</p>\n", FormatNumber(stale.size() - kStaleShown));
  }
}

void WriteAway(Html& out, const Report& report) {
  BeginTable(out, "", "Registries that do not answer; images on the nodes stay in use",
             {"Registry", "Reason", "Nodes", "For", "Message"}, true);
  for (const auto& [name, away] : report.unreachable_registries) {
    out.Write("<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
              name, status::WordsFor(away.trouble).state, FormatNumber(away.nodes),
              base::HumanTime(away.longest), away.message);
  }
  out.Write("</tbody></table></div>\n");
}

}  // namespace

void WriteFreshness(Html& out, const PageData& parts) {
  std::vector<const FleetGroup*> stale;
  for (const FleetGroup& group : parts.report.fleet.non_blocking) {
    // Stale images are in `non_blocking`, because they keep no node from being ready.
    if (group.tone == Tone::kStale) stale.push_back(&group);
  }
  out.Write("<section id=\"freshness\">\n<h2>Freshness</h2>\n<p>");
  const std::size_t checked = parts.report.checked_images;
  const std::size_t blocked = parts.report.blocked_images;
  if (parts.report.nodes.empty()) {
    out.Write("No node matches.");
  } else if (checked == 0) {
    out.Write(
        "The list asks no registry about images that are on the nodes (<code>refresh: IfNotPresent</code>).");
    // Nothing is stale, but the registry's answer keeps images from being ready. "None is out of date" would
    // be misleading here.
  } else if (stale.empty() && blocked > 0) {
    out.Write(
        "{} compared with the registry. {} not ready because of its answer: see <a "
        "href=\"#causes\">causes</a>.",
        FormatCount(checked, "image is", "images are"), FormatCount(blocked, "image is", "images are"));
  } else if (stale.empty()) {
    out.Write("✓ {} compared with the registry, and none is known to be out of date.",
              FormatCount(checked, "image is", "images are"));
  } else {
    out.Write("{} compared with the registry. Ready, but not current:",
              FormatCount(checked, "image is", "images are"));
  }
  out.Write("</p>\n");
  if (!stale.empty()) WriteStale(out, parts, stale);
  if (!parts.report.unreachable_registries.empty()) WriteAway(out, parts.report);
  out.Write("</section>\n");
}

void WritePulls(Html& out, const PageData& parts) {
  const Report& report = parts.report;
  out.Write("<section id=\"pulls\">\n<h2>Slowest pulls</h2>\n");
  if (report.pulls.empty()) {
    out.Write("<p>No agent reported the duration of a pull.</p>\n</section>\n");
    return;
  }
  out.Write("<p>The newest pull of each image on each node, from its start to its end.</p>\n");
  BeginTable(out, "", "Slowest pulls",
             {"Image", "Slowest", "On node", "On average", "Nodes", "Size on disk"});
  for (std::size_t i = 0; i < std::min(report.pulls.size(), kPullsShown); i++)
    WritePullRow(out, report.pulls[i]);
  out.Write("</tbody></table></div>\n</section>\n");
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
  const NodeLook& look = LookOf(node);
  out.Write(
      "<tr><th scope=\"row\">{}</th><td class=\"state\"><i class=\"key {}\" aria-hidden=\"true\">{}</i> "
      "{}</td><td class=\"n\">",
      node.name, look.tone, look.sign, look.word);
  if (node.detail) out.Write("{}/{}", FormatNumber(node.required_ready), FormatNumber(node.required));
  out.Write("</td><td>{}</td><td>", NodeReasonText(report, shown));
  if (node.detail) out.Write("<code>{}</code>", ShortHash(node.list_hash));
  out.Write("</td><td>{}</td><td>{}</td></tr>\n", shown.runtime, shown.kubelet);
}

void WriteNodeRows(Html& out, const Report& report, const std::vector<const ReportNode*>& nodes,
                   std::size_t from, std::size_t to) {
  BeginTable(out, " class=\"nodes\"", "Nodes",
             {"Node", "State", "Required images ready", "Why", "List", "Runtime", "kubelet"});
  for (std::size_t i = from; i < to; i++) WriteNodeRow(out, report, *nodes[i]);
  out.Write("</tbody></table></div>\n");
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
  std::ranges::stable_sort(disks, {}, &Disk::spare);
  return disks;
}

void WriteDiskRow(Html& out, const Disk& shown) {
  const plan::DiskStatus& disk = *shown.node->disk;
  // A node may report more available than capacity; the difference must not wrap around.
  const std::uint64_t used = disk.capacity_bytes - std::min(disk.available_bytes, disk.capacity_bytes);
  // "used * 100" could overflow, so the capacity is divided instead. The "+ 1" prevents a division by zero
  // below 100 bytes.
  const std::uint64_t percent = disk.capacity_bytes == 0 ? 0 : used / (disk.capacity_bytes / 100 + 1);
  out.Write(
      "<tr><th scope=\"row\">{}</th><td class=\"n\"><meter min=\"0\" max=\"100\" value=\"{}\" "
      "aria-hidden=\"true\">{} %</meter> {} %</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td><td>{}</td></tr>\n",
      shown.node->node.name, std::to_string(percent), std::to_string(percent), std::to_string(percent),
      base::HumanBytes(disk.available_bytes),
      disk.kept_free_bytes == 0 ? "not known" : base::HumanBytes(disk.kept_free_bytes),
      base::HumanBytes(disk.needed_bytes),
      disk.pressure     ? "✕ no room for the list"
      : shown.spare < 0 ? "▸ may not fit"
                        : "✓ fits");
}

}  // namespace

void WriteNodes(Html& out, const PageData& parts) {
  std::vector<const ReportNode*> ready, others;
  for (const ReportNode& node : parts.report.nodes) {
    const bool is_ready =
        node.node.state == NodeState::kReady && node.node.detail && node.node.leaving.empty();
    (is_ready ? ready : others).push_back(&node);
  }
  std::ranges::stable_sort(others, [](const ReportNode* a, const ReportNode* b) {
    const bool a_leaves = !a->node.leaving.empty(), b_leaves = !b->node.leaving.empty();
    // Nodes that are leaving the cluster come last: nobody needs to act on them.
    return a_leaves != b_leaves ? b_leaves : a->node.state > b->node.state;
  });
  out.Write("<section id=\"nodes\">\n<h2>Nodes</h2>\n");
  if (parts.report.nodes.empty()) out.Write("<p>No node matches.</p>\n");
  if (!others.empty()) {
    const std::size_t first = std::min(others.size(), kNodesShown);
    WriteNodeRows(out, parts.report, others, 0, first);
    if (first < others.size()) {
      out.Write("<details><summary>{} more nodes</summary>\n", FormatNumber(others.size() - first));
      WriteNodeRows(out, parts.report, others, first, others.size());
      out.Write("</details>\n");
    }
  }
  if (!ready.empty()) {
    // Ready nodes are folded, unless they are few and the section shows no others.
    const bool few = ready.size() <= 20 && others.empty();
    out.Write("<details{}><summary>{}</summary>\n", few ? " open" : "",
              FormatCount(ready.size(), "ready node", "ready nodes"));
    WriteNodeRows(out, parts.report, ready, 0, ready.size());
    out.Write("</details>\n");
  }
  out.Write("</section>\n");
}

void WriteDisk(Html& out, const PageData& parts) {
  const std::vector<Disk> disks = Disks(parts.report);
  out.Write("<section id=\"disk\">\n<h2>Disk</h2>\n");
  if (disks.empty()) {
    out.Write("<p>No agent reported the size of its image filesystem.</p>\n</section>\n");
    return;
  }
  const auto under_pressure = static_cast<std::size_t>(
      std::ranges::count_if(disks, [](const Disk& disk) { return disk.node->disk->pressure; }));
  out.Write("<p>");
  const std::size_t not_reported = parts.report.nodes.size() - disks.size();
  if (under_pressure == 0 && not_reported == 0) {
    out.Write("✓ No node is short of room for its list.");
  } else if (under_pressure == 0) {
    out.Write("{} room for the list; {} not tell.", FormatCount(disks.size(), "node has", "nodes have"),
              FormatCount(not_reported, "node did", "nodes did"));
  } else {
    out.Write("✕ {} room for the list.", FormatCount(under_pressure, "node lacks", "nodes lack"));
  }
  out.Write(" The image filesystems with the least room:</p>\n");
  BeginTable(out, "", "Room on image filesystems",
             {"Node", "Used", "Free", "Must stay free", "Absent images need", "State"});
  for (std::size_t i = 0; i < std::min(disks.size(), kDisksShown); i++) WriteDiskRow(out, disks[i]);
  out.Write("</tbody></table></div>\n</section>\n");
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
  std::ranges::stable_sort(causes, [&](const Cause& a, const Cause& b) {
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
  out.Write("<article class=\"cause {}\">\n<h3><i class=\"key {}\">{}</i> {}", tone, tone, letter, word);
  if (!reason.empty()) out.Write(" <code>{}</code>", reason);
  out.Write("</h3>\n");
}

void WriteAdvice(Html& out, const std::string& reason) {
  const std::string advice = status::WordsFor(reason).advice;
  if (!advice.empty()) out.Write("<p class=\"do\"><b>What to do:</b> {}.</p>\n", advice);
}

void WriteRows(Html& out, const PageData& parts, const Cause& cause, std::size_t from, std::size_t to) {
  const Report& report = parts.report;
  BeginTable(out, " class=\"where\"", "Images: " + StateText(report.states[cause.state]),
             {"Image", "Nodes", "Where", "Message"});
  for (std::size_t i = from; i < to; i++) {
    const FleetGroup& group = *cause.images[i];
    // For a cell of the map, the script finds the message in this row by image index and letter.
    out.Write(
        "<tr data-at=\"{}:{}\"><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td><td "
        "class=\"m\">{}</td></tr>\n",
        std::to_string(report.ImageIndex(group.image)), parts.letters[cause.state], group.image,
        FormatNumber(group.nodes.size()), SomeNames(group.nodes, kNodesNamed), GroupText(group));
  }
  out.Write("</tbody></table></div>\n");
}

void WriteCause(Html& out, const PageData& parts, const Cause& cause) {
  const Report& report = parts.report;
  const ImageState& state = report.states[cause.state];
  WriteHeading(out, ToneName(state.tone), parts.letters[cause.state], StateText(state), state.reason);
  out.Write("<p class=\"scope\">{} on {} of {}{}</p>\n", FormatCount(cause.images.size(), "image", "images"),
            FormatNumber(cause.nodes.size()), FormatCount(report.fleet.CountedNodes(), "node", "nodes"),
            state.tone == Tone::kOptional ? ". Optional, so readiness does not depend on it" : "");
  WriteAdvice(out, state.reason);
  const std::size_t all = cause.images.size(), shown = std::min(all, kMostRows);
  // A single remaining row is shown, since the line that unfolds it would take the same room.
  const std::size_t first = all <= kRowsShown + 1 ? all : kRowsShown;
  WriteRows(out, parts, cause, 0, first);
  if (first < shown) {
    out.Write("<details><summary>{}</summary>\n", FormatCount(shown - first, "more image", "more images"));
    WriteRows(out, parts, cause, first, shown);
    out.Write("</details>\n");
  }
  if (shown < all) {
    out.Write("<p>{} more images are left out here; the map has them.</p>\n", FormatNumber(all - shown));
  }
  out.Write("</article>\n");
}

void WriteNodeCause(Html& out, const Report& report, const FleetGroup& group) {
  const bool failing = group.state == NodeState::kFailing;
  const std::string word = status::WordsFor(group.reason).state;
  const NodeLook& look = failing ? kFailingLook : group.detail ? kMovingLook : kSilentLook;
  WriteHeading(out, look.tone, look.sign, word, group.reason);
  out.Write("<p class=\"scope\">The node itself, on {} of {}", FormatNumber(group.nodes.size()),
            FormatCount(report.fleet.CountedNodes(), "node", "nodes"));
  if (group.state == NodeState::kReady) out.Write(", ready by the cluster's own signs");
  out.Write("</p>\n");
  WriteAdvice(out, group.reason);
  out.Write("<p>{}</p>\n<p class=\"names\">{}</p>\n</article>\n",
            MessageText(base::Truncate(group.message, 1000), group.other_messages),
            SomeNames(group.nodes, 20));
}

void WriteProblem(Html& out, const Report& report, const NodeProblem& problem) {
  // A problem of the node alone does not make it fail, so it has the tone of a node that progresses.
  WriteHeading(out, "moving", "!", "problem", "");
  out.Write(
      "<p class=\"scope\">The node itself, on {} of {}</p>\n<p>{}</p>\n<p "
      "class=\"names\">{}</p>\n</article>\n",
      FormatNumber(problem.nodes.size()), FormatCount(report.fleet.CountedNodes(), "node", "nodes"),
      problem.text, SomeNames(problem.nodes, 20));
}

}  // namespace

void WriteCauses(Html& out, const PageData& parts) {
  const std::vector<Cause> causes = Causes(parts.report);
  out.Write("<section id=\"causes\">\n<h2>Causes</h2>\n");
  if (parts.report.nodes.empty()) {
    out.Write("<p>No node matches.</p>\n</section>\n");
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
    out.Write("<p>{} more problems of nodes: see <code>prefetchctl status</code> there.</p>\n",
              FormatNumber(parts.report.problems.size() - kMostProblems));
  }
  images(false);
  if (!any) out.Write("<p class=\"good\">✓ Nothing is in the way: every image is ready on every node.</p>\n");
  out.Write("</section>\n");
}

}  // namespace prefetch::screen::report
