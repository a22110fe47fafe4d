#include "report/sections.h"

#include "status/words.h"

namespace prefetch::report {
namespace {

constexpr const char* kWhyNotListed =
    "Nothing: the node's list does not have the image, or has it for other nodes (platforms, nodeSelector).";

void WriteLegend(Html& out, const PageParts& parts) {
  out.Tag(
         "<details class=\"legend\"><summary>What the letters mean</summary>\n<div class=\"wide\"><table "
         "id=\"legend\">\n")
      .Tag("<caption class=\"vh\">Letters</caption>\n<thead><tr><th scope=\"col\">Letter</th>")
      .Tag(
          "<th scope=\"col\">State</th><th scope=\"col\">Reason</th><th scope=\"col\">What to "
          "do</th></tr></thead>\n<tbody>\n");
  for (std::uint32_t i = 0; i < parts.report.states.size(); i++) {
    const ImageState& state = parts.report.states[i];
    out.Tag("<tr data-tone=\"").Text(ToneName(state.tone)).Tag("\"><th scope=\"row\">");
    WriteLetter(out, parts, i);
    out.Tag("</th><td>").Text(StateWord(state));
    if (state.tone == Tone::kOptional) out.Tag(", optional");
    if (state.tone == Tone::kStale) out.Tag(", ready but not current");
    out.Tag("</td><td>").Text(state.reason).Tag("</td><td>");
    out.Text(state.tone == Tone::kNotListed ? kWhyNotListed : status::WordsFor(state.reason).advice);
    out.Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div></details>\n");
}

void WriteAlike(Html& out, const PageParts& parts) {
  if (parts.map.alike.empty()) return;
  out.Tag("<h3>The same on every node that lists them</h3>\n");
  for (const HeatMap::Alike& alike : parts.map.alike) {
    const bool ready = parts.report.states[alike.state].tone == Tone::kReady;
    // Ready images need no attention, and a long list would push everything below it out of view.
    const bool fold = ready || alike.images.size() > 20;
    if (fold) {
      out.Tag("<details class=\"alike\"><summary>");
    } else {
      out.Tag("<div class=\"alike\"><p>");
    }
    WriteState(out, parts, alike.state);
    out.Tag(": ").Text(CountedGroups(alike.images.size(), "image", "images"));
    out.Markup(fold ? "</summary>\n<ul class=\"names\">\n" : "</p>\n<ul class=\"names\">\n");
    for (std::uint32_t image : alike.images) out.Tag("<li>").Text(parts.report.images[image]).Tag("</li>\n");
    out.Markup(fold ? "</ul></details>\n" : "</ul></div>\n");
  }
}

// The script reads this table and draws the map from it. Without script, the table itself is the map.
void WriteLetters(Html& out, const PageParts& parts) {
  out.Tag("<div id=\"letters\">\n<p>Each letter is one column; the list below names its nodes.</p>\n")
      .Tag(
          "<div class=\"wide\"><table>\n<caption class=\"vh\">States of images that differ between nodes, a "
          "letter a ")
      .Tag("column</caption>\n<thead><tr><th scope=\"col\">Image</th><th scope=\"col\">Nodes not ready</th>")
      .Tag("<th scope=\"col\">States by column</th></tr></thead>\n<tbody>\n");
  for (const HeatMap::Row& row : parts.map.rows) {
    out.Tag("<tr data-image=\"").Number(row.image).Tag("\"><th scope=\"row\">");
    out.Text(parts.report.images[row.image]).Tag("</th><td>").Text(Grouped(row.not_ready)).Tag(" of ");
    out.Text(Grouped(row.listed)).Tag("</td><td class=\"cells\">");
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
void WriteControls(Html& out, const PageParts& parts) {
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
    out.Text(StateWord(state)).Tag("</option>\n");
  }
  out.Tag("</select></label>\n<button type=\"reset\">Clear</button>\n</form>\n")
      .Tag("<p id=\"shown\" role=\"status\" hidden></p>\n")
      .Tag(
          "<div id=\"grid\" class=\"wide\" role=\"region\" aria-label=\"Heat map\" tabindex=\"0\" "
          "hidden></div>\n")
      .Tag("<div id=\"pager\" hidden></div>\n<p id=\"cell\" role=\"status\" hidden></p>\n");
}

}  // namespace

void WriteMap(Html& out, const PageParts& parts) {
  out.Tag("<section id=\"map\">\n<h2>Images by node</h2>\n");
  if (parts.map.heard == 0) {
    out.Tag("<p>No agent was heard, so nothing is known about images.</p>\n</section>\n");
    return;
  }
  if (!parts.map.rows.empty()) {
    out.Tag("<p>").Text(CountedGroups(parts.map.rows.size(), "image differs", "images differ"));
    out.Tag(" between nodes. Nodes that are alike share a column.</p>\n");
    WriteControls(out, parts);
    WriteLetters(out, parts);
  }
  WriteAlike(out, parts);
  WriteLegend(out, parts);
  out.Tag("</section>\n");
}

}  // namespace prefetch::report
