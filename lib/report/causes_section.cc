#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "report/sections.h"
#include "status/words.h"

namespace prefetch::report {
namespace {

// Limits that keep the page of a large fleet small. Each row that is left out is still in the map.
constexpr std::size_t kRowsShown = 8;     // of one cause; the others unfold
constexpr std::size_t kNodesNamed = 3;    // of one image; the map names all
constexpr std::size_t kMostRows = 2'000;  // of one cause
constexpr std::size_t kMostProblems = 50;

// Images with the same state. One piece of advice applies to all of them, so the page shows them together.
struct Cause {
  std::uint32_t state = 0;
  status::Actor actor = status::Actor::kNobody;
  std::vector<const screen::FleetGroup*> images;
  std::set<std::string_view> nodes;
};

// Returns the causes, worst tone first, then by who must act, then by the number of nodes.
std::vector<Cause> Causes(const Report& report) {
  std::map<std::uint32_t, Cause> by_state;
  for (const auto* groups : {&report.fleet.groups, &report.fleet.beside}) {
    for (const screen::FleetGroup& group : *groups) {
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

std::string GroupWords(const screen::FleetGroup& group) {
  // A pull that makes progress needs no message: how much the slowest node still lacks says when it ends.
  if (group.most_bytes_left > 0) {
    return base::HumanBytes(group.most_bytes_left) + " left on " + group.slowest +
           (group.nodes.size() > 1 ? ", the slowest" : "");
  }
  return MessageWords(group.message, group.other_messages);
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

void WriteRows(Html& out, const PageParts& parts, const Cause& cause, std::size_t from, std::size_t to) {
  const Report& report = parts.report;
  out.Tag("<div class=\"wide\"><table class=\"where\">\n<caption class=\"vh\">Images: ")
      .Text(StateWord(report.states[cause.state]))
      .Tag("</caption>\n<thead><tr><th scope=\"col\">Image</th><th scope=\"col\">Nodes</th>")
      .Tag("<th scope=\"col\">Where</th><th scope=\"col\">Message</th></tr></thead>\n<tbody>\n");
  for (std::size_t i = from; i < to; i++) {
    const screen::FleetGroup& group = *cause.images[i];
    // For a cell of the map, the script finds the message in this row by image index and letter.
    out.Tag("<tr data-at=\"").Number(report.ImageIndex(group.image)).Tag(":");
    out.Text(parts.letters[cause.state]);
    out.Tag("\"><th scope=\"row\">").Text(group.image).Tag("</th><td class=\"n\">");
    out.Text(Grouped(group.nodes.size())).Tag("</td><td>");
    out.Text(SomeNames(group.nodes, kNodesNamed)).Tag("</td><td class=\"m\">");
    out.Text(GroupWords(group)).Tag("</td></tr>\n");
  }
  out.Tag("</tbody></table></div>\n");
}

void WriteCause(Html& out, const PageParts& parts, const Cause& cause) {
  const Report& report = parts.report;
  const ImageState& state = report.states[cause.state];
  WriteHeading(out, ToneName(state.tone), parts.letters[cause.state], StateWord(state), state.reason);
  out.Tag("<p class=\"scope\">").Text(CountedGroups(cause.images.size(), "image", "images")).Tag(" on ");
  out.Text(Grouped(cause.nodes.size()))
      .Tag(" of ")
      .Text(CountedGroups(report.fleet.Counted(), "node", "nodes"));
  if (state.tone == Tone::kOptional) out.Tag(". Optional, so readiness does not depend on it");
  out.Tag("</p>\n");
  WriteAdvice(out, state.reason);
  const std::size_t all = cause.images.size(), shown = std::min(all, kMostRows);
  // A single remaining row is shown, since the line that unfolds it would take the same room.
  const std::size_t first = all <= kRowsShown + 1 ? all : kRowsShown;
  WriteRows(out, parts, cause, 0, first);
  if (first < shown) {
    out.Tag("<details><summary>").Text(CountedGroups(shown - first, "more image", "more images"));
    out.Tag("</summary>\n");
    WriteRows(out, parts, cause, first, shown);
    out.Tag("</details>\n");
  }
  if (shown < all) {
    out.Tag("<p>").Text(Grouped(all - shown)).Tag(" more images are left out here; the map has them.</p>\n");
  }
  out.Tag("</article>\n");
}

void WriteNodeCause(Html& out, const Report& report, const screen::FleetGroup& group) {
  const bool failing = group.state == screen::NodeState::kFailing;
  const std::string word = status::WordsFor(group.reason).state;
  WriteHeading(out,
               failing        ? "failing"
               : group.detail ? "moving"
                              : "silent",
               failing        ? "✕"
               : group.detail ? "▸"
                              : "?",
               word, group.reason);
  out.Tag("<p class=\"scope\">The node itself, on ").Text(Grouped(group.nodes.size())).Tag(" of ");
  out.Text(CountedGroups(report.fleet.Counted(), "node", "nodes"));
  if (group.state == screen::NodeState::kReady) out.Tag(", ready by the cluster's own signs");
  out.Tag("</p>\n");
  WriteAdvice(out, group.reason);
  out.Tag("<p>").Text(MessageWords(base::Truncate(group.message, 1000), group.other_messages)).Tag("</p>\n");
  out.Tag("<p class=\"names\">").Text(SomeNames(group.nodes, 20)).Tag("</p>\n</article>\n");
}

void WriteProblem(Html& out, const Report& report, const NodeProblem& problem) {
  // A problem of the node alone does not make it fail, so it has the tone of a node that progresses.
  WriteHeading(out, "moving", "!", "problem", "");
  out.Tag("<p class=\"scope\">The node itself, on ").Text(Grouped(problem.nodes.size())).Tag(" of ");
  out.Text(CountedGroups(report.fleet.Counted(), "node", "nodes"));
  out.Tag("</p>\n<p>").Text(problem.text).Tag("</p>\n<p class=\"names\">");
  out.Text(SomeNames(problem.nodes, 20)).Tag("</p>\n</article>\n");
}

}  // namespace

void WriteCauses(Html& out, const PageParts& parts) {
  const std::vector<Cause> causes = Causes(parts.report);
  out.Tag("<section id=\"causes\">\n<h2>Causes</h2>\n");
  if (parts.report.nodes.empty()) {
    out.Tag("<p>No node matches.</p>\n</section>\n");
    return;
  }
  bool any = !causes.empty() || !parts.report.problems.empty();
  auto nodes = [&](bool failing) {
    for (const screen::FleetGroup& group : parts.report.fleet.groups) {
      if (!group.image.empty() || (group.state == screen::NodeState::kFailing) != failing) continue;
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
        .Text(Grouped(parts.report.problems.size() - kMostProblems))
        .Tag(" more problems of nodes: see ");
    out.Tag("<code>prefetchctl status</code> there.</p>\n");
  }
  images(false);
  if (!any) out.Tag("<p class=\"good\">✓ Nothing is in the way: every image is ready on every node.</p>\n");
  out.Tag("</section>\n");
}

}  // namespace prefetch::report
