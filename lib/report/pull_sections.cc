#include <algorithm>

#include "base/text.h"
#include "report/sections.h"
#include "status/words.h"

namespace prefetch::report {
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
  out.Text(Grouped(times.nodes)).Tag("</td><td class=\"n\">");
  if (times.bytes > 0) out.Text(base::HumanBytes(times.bytes));
  out.Tag("</td></tr>\n");
}

void WriteStale(Html& out, const PageParts& parts, const std::vector<const screen::FleetGroup*>& stale) {
  out.Tag(
         "<div class=\"wide\"><table>\n<caption class=\"vh\">Images that are not "
         "current</caption>\n<thead><tr>")
      .Tag("<th scope=\"col\">Image</th><th scope=\"col\">State</th><th scope=\"col\">Nodes</th>")
      .Tag("<th scope=\"col\">Where</th><th scope=\"col\">Message</th></tr>")
      .Tag("</thead>\n<tbody>\n");
  for (std::size_t i = 0; i < std::min(stale.size(), kStaleShown); i++) {
    const screen::FleetGroup& one = *stale[i];
    const std::uint32_t state = parts.report.StateIndex({one.tone, one.reason});
    out.Tag("<tr data-at=\"").Number(parts.report.ImageIndex(one.image)).Tag(":").Text(parts.letters[state]);
    out.Tag("\"><th scope=\"row\">").Text(one.image).Tag("</th><td class=\"state\">");
    WriteState(out, parts, state);
    out.Tag("</td><td class=\"n\">").Text(Grouped(one.nodes.size())).Tag("</td><td>");
    out.Text(SomeNames(one.nodes, kNamedNodes)).Tag("</td><td class=\"m\">");
    out.Text(MessageWords(one.message, one.other_messages));
    const std::string advice = status::WordsFor(one.reason).advice;
    if (!advice.empty()) out.Tag("<br><b>What to do:</b> ").Text(advice);
    out.Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
  if (stale.size() > kStaleShown) {
    out.Tag("<p>").Text(Grouped(stale.size() - kStaleShown)).Tag(" more are in the map.</p>\n");
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
  for (const auto& [name, away] : report.away) {
    out.Tag("<tr><th scope=\"row\">").Text(name).Tag("</th><td>").Text(status::WordsFor(away.trouble).state);
    out.Tag("</td><td class=\"n\">").Text(Grouped(away.nodes)).Tag("</td><td>");
    out.Text(base::HumanTime(away.longest)).Tag("</td><td>").Text(away.message).Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
}

}  // namespace

void WriteFreshness(Html& out, const PageParts& parts) {
  std::vector<const screen::FleetGroup*> stale;
  for (const screen::FleetGroup& group : parts.report.fleet.beside) {
    // Stale images are in `beside`, because they keep no node from being ready.
    if (group.tone == Tone::kStale) stale.push_back(&group);
  }
  out.Tag("<section id=\"freshness\">\n<h2>Freshness</h2>\n<p>");
  const std::size_t checked = parts.report.checked_images;
  const std::size_t objected = parts.report.objected_images;
  if (parts.report.nodes.empty()) {
    out.Tag("No node matches.");
  } else if (checked == 0) {
    out.Tag(
        "The list asks no registry about images that are on the nodes (<code>refresh: IfNotPresent</code>).");
    // Nothing is stale, but the registry's answer keeps images from being ready. "None is out of date" would
    // be misleading here.
  } else if (stale.empty() && objected > 0) {
    out.Text(CountedGroups(checked, "image is", "images are"));
    out.Tag(" compared with the registry. ").Text(CountedGroups(objected, "image is", "images are"));
    out.Tag(" not ready because of its answer: see <a href=\"#causes\">causes</a>.");
  } else if (stale.empty()) {
    out.Tag("✓ ").Text(CountedGroups(checked, "image is", "images are"));
    out.Tag(" compared with the registry, and none is known to be out of date.");
  } else {
    out.Text(CountedGroups(checked, "image is", "images are"))
        .Tag(" compared with the registry. Ready, but not current:");
  }
  out.Tag("</p>\n");
  if (!stale.empty()) WriteStale(out, parts, stale);
  if (!parts.report.away.empty()) WriteAway(out, parts.report);
  out.Tag("</section>\n");
}

void WritePulls(Html& out, const PageParts& parts) {
  const Report& report = parts.report;
  out.Tag("<section id=\"pulls\">\n<h2>Slowest pulls</h2>\n");
  if (report.pulls.empty()) {
    out.Tag("<p>No agent reported the duration of a pull.</p>\n</section>\n");
    return;
  }
  out.Tag(
         "<p>The newest pull of each image on each node, from its start to its end.</p>\n<div "
         "class=\"wide\"><table>\n")
      .Tag("<caption class=\"vh\">Slowest pulls</caption>\n<thead><tr><th scope=\"col\">Image</th>")
      .Tag("<th scope=\"col\">Slowest</th><th scope=\"col\">On node</th><th scope=\"col\">On average</th>")
      .Tag("<th scope=\"col\">Nodes</th><th scope=\"col\">Size on disk</th></tr></thead>\n<tbody>\n");
  for (std::size_t i = 0; i < std::min(report.pulls.size(), kPullsShown); i++)
    WritePullRow(out, report.pulls[i]);
  out.Tag("</tbody></table></div>\n</section>\n");
}

}  // namespace prefetch::report
