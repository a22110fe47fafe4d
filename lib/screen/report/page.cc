#include "screen/report/report.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "screen/document_words.h"
#include "screen/report/sections.h"
#include "screen/text_layout.h"

namespace prefetch::screen::report {

namespace {

// Maximum number of list hashes in the headline. More than one is normal only during a rollout.
constexpr std::size_t kMostLists = 4;

// Returns the hash of an inline script or style as a Content-Security-Policy names it: base64 of the digest
// itself, not of its hexadecimal form.
std::string PolicyHash(std::string_view text) {
  std::string bytes;
  const std::string hex = base::Sha256Hex(text);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "'sha256-" + base::Base64Encode(bytes) + "'";
}

std::string Headline(const Fleet& fleet) {
  if (fleet.nodes.size() == 1) {
    const FleetNode& node = fleet.nodes.front();
    return "Node " + node.name + " is " + (node.state == NodeState::kReady ? "ready" : "not ready");
  }
  return FormatNumber(fleet.ready) + " of " + FormatCount(fleet.CountedNodes(), "node is", "nodes are") +
         " ready";
}

void WriteHead(Html& out, const Fleet& fleet) {
  // The policy allows only our own script and style. Even if markup got past the escaping, it could neither
  // run nor fetch anything.
  out.Write(
         "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
         "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ")
      .Markup(PolicyHash(PageFiles().at("page.js")))
      .Write("; style-src ")
      .Markup(PolicyHash(PageFiles().at("page.css")))
      .Write(
          "; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>prefetchd: "
          "{}</title>\n<style>",
          Headline(fleet))
      .Markup(PageFiles().at("page.css"))
      .Write("</style>\n</head>\n<body>\n");
}

// Returns the lists of the agents, that of most nodes first.
std::string ListText(const Fleet& fleet) {
  std::vector<std::pair<std::size_t, std::string>> lists;
  for (const auto& [hash, nodes] : fleet.lists) lists.emplace_back(nodes, hash);
  std::ranges::stable_sort(lists, [](const auto& a, const auto& b) { return a.first > b.first; });
  // Two agents with the same list have the same hash.
  if (lists.empty()) return "no agent was heard";
  if (lists.size() == 1) return "list " + ShortHash(lists.front().second);
  std::string words = FormatNumber(lists.size()) + " lists";
  for (std::size_t i = 0; i < std::min(lists.size(), kMostLists); i++) {
    words += (i == 0 ? ": " : ", ") + ShortHash(lists[i].second) + " on " +
             FormatCount(lists[i].first, "node", "nodes");
  }
  return words + (lists.size() > kMostLists ? ", …" : "");
}

// Shares of a whole, each with the look of its tile and of its part of the bar.
using Shares = std::vector<std::pair<NodeLook, std::size_t>>;

// Draws shares of a whole as a bar. It is hidden from screen readers, since the numbers beside it say the
// same.
void WriteBar(Html& out, const Shares& shares, std::size_t whole) {
  out.Write("<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
  std::size_t from = 0, counted = 0;
  for (const auto& [look, share] : shares) {
    counted += share;
    const std::size_t to = whole == 0 ? 0 : counted * 1000 / whole;
    // A part takes at least 4 of 1000 units, so that a single node of a large fleet is visible.
    const std::size_t width = share > 0 ? std::max<std::size_t>(to - from, 4) : 0;
    if (width > 0) {
      out.Write("<rect class=\"{}\" x=\"{}\" width=\"{}\" height=\"10\"/>", look.tone,
                std::to_string(std::min<std::size_t>(from, 996)), std::to_string(width));
    }
    from = to;
  }
  out.Write("</svg>\n");
}

// Writes a tile for each share, and their bar. `beside`: tiles of what is no share of the whole.
void WriteTiles(Html& out, std::string_view heading, const Shares& shares, std::size_t whole,
                const Shares& beside = {}) {
  out.Write("<h2>{}</h2>\n<ul class=\"tiles\">\n", heading);
  for (const Shares* tiles : {&shares, &beside}) {
    for (const auto& [look, number] : *tiles) {
      out.Write(
          "<li class=\"{}\"><b>{}</b> <span><i class=\"key {}\" aria-hidden=\"true\">{}</i> {}</span></li>\n",
          look.tone, FormatNumber(number), look.tone, look.sign, look.word);
    }
  }
  out.Write("</ul>\n");
  WriteBar(out, shares, whole);
}

void WriteNodeTiles(Html& out, const Fleet& fleet) {
  Shares leaving;
  if (fleet.leaving > 0) leaving = {{kLeavingLook, fleet.leaving}};
  WriteTiles(out, "Nodes",
             {{kReadyLook, fleet.ready},
              {kMovingLook, fleet.progressing},
              {kFailingLook, fleet.failing},
              {kSilentLook, fleet.unreachable}},
             fleet.CountedNodes(), leaving);
  if (fleet.bytes_left > 0) {
    out.Write("<p class=\"left\">{}</p>\n", RemainingText(fleet));
  }
}

// Each image counts once, by its worst state on any node: Tone is ordered with the worst first.
void WriteImageTiles(Html& out, const Report& report) {
  std::vector<Tone> worst(report.images.size(), Tone::kNotListed);
  for (const ReportNode& node : report.nodes) {
    for (const Cell& cell : node.cells) {
      worst[cell.image] = std::min(worst[cell.image], report.states[cell.state].tone);
    }
  }
  auto count = [&](Tone tone) { return static_cast<std::size_t>(std::ranges::count(worst, tone)); };
  Shares shares = {{kReadyLook, count(Tone::kReady) + count(Tone::kStale)},
                   {kMovingLook, count(Tone::kProgressing)},
                   {kFailingLook, count(Tone::kFailing)}};
  if (const std::size_t optional = count(Tone::kOptional); optional > 0)
    shares.push_back({{"optional", "○", "optional"}, optional});
  WriteTiles(out, "Images on all nodes", shares, report.images.size() - count(Tone::kNotListed));
}

void WriteHeader(Html& out, const Report& report, base::WallTime time) {
  const Fleet& fleet = report.fleet;
  const std::string stamp = base::Rfc3339(time);
  out.Write(
      "<header>\n<p class=\"brand\">prefetchd · status report</p>\n<h1>{}</h1>\n<p class=\"sub\"><time "
      "datetime=\"{}\">{}</time> · {} · {}</p>\n",
      Headline(fleet), stamp, stamp, FormatCount(report.images.size(), "image", "images"), ListText(fleet));
  if (!report.names_suffix.empty()) {
    out.Write("<p class=\"note\">Names of nodes are without their common end <code>{}</code>.</p>\n",
              report.names_suffix);
  }
  if (fleet.public_only > 0) {
    const bool all = fleet.public_only == fleet.CountedNodes() - fleet.no_detail;
    out.Write("<p class=\"note\">Not all is shown: {}", kHiddenText);
    if (!all) out.Write(" (on {})", FormatCount(fleet.public_only, "node", "nodes"));
    out.Write(".</p>\n");
  }
  out.Write(
      "</header>\n<nav aria-label=\"Sections\"><a href=\"#causes\">Causes</a> <a href=\"#map\">Images by "
      "node</a> <a href=\"#nodes\">Nodes</a> <a href=\"#freshness\">Freshness</a> <a href=\"#disk\">Disk</a> "
      "<a href=\"#pulls\">Slowest pulls</a></nav>\n");
}

}  // namespace

std::string_view ToneName(Tone tone) {
  return base::EnumWord(tone, {"failing", "moving", "optional", "stale", "ready", "none"});
}

const NodeLook& LookOf(const FleetNode& node) {
  if (!node.leaving.empty()) return kLeavingLook;
  if (node.state == NodeState::kReady) return kReadyLook;
  if (!node.detail) return kSilentLook;
  return node.state == NodeState::kFailing ? kFailingLook : kMovingLook;
}

void WriteLetter(Html& out, const PageData& parts, std::uint32_t state) {
  out.Write("<i class=\"key {}\">{}</i>", ToneName(parts.report.states[state].tone), parts.letters[state]);
}

void WriteState(Html& out, const PageData& parts, std::uint32_t state) {
  WriteLetter(out, parts, state);
  out.Write(" {}", StateText(parts.report.states[state]));
}

std::string SomeNames(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); i++) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += " and " + FormatNumber(names.size() - most) + " more";
  return text;
}

std::vector<std::string> NamesOf(const Report& report, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (std::uint32_t node : nodes) names.push_back(report.nodes[node].node.name);
  return names;
}

std::string Page(const Report& report, base::WallTime time) {
  const PageData parts{.report = report, .map = MakeHeatMap(report), .letters = Letters(report.states)};
  Html out;
  WriteHead(out, report.fleet);
  WriteHeader(out, report, time);
  out.Write("<main>\n<section id=\"summary\" class=\"summary\" aria-label=\"Summary\">\n<div>");
  WriteNodeTiles(out, report.fleet);
  out.Write("</div>\n<div>");
  WriteImageTiles(out, report);
  out.Write("</div>\n</section>\n");
  WriteCauses(out, parts);
  WriteMap(out, parts);
  WriteNodes(out, parts);
  WriteFreshness(out, parts);
  WriteDisk(out, parts);
  WritePulls(out, parts);
  out.Write("</main>\n<footer><p>Made by <code>prefetchctl status -o html</code> (prefetchd " PREFETCH_VERSION
            "). The page is a picture of one moment; it fetches nothing and sends "
            "nothing.</p></footer>\n<script>")
      .Markup(PageFiles().at("page.js"))
      .Write("</script>\n</body>\n</html>\n");
  return std::move(out).Take();
}

}  // namespace prefetch::screen::report
