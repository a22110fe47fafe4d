#include "screen/fleet.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/ascii_output.h"
#include "base/text.h"
#include "doc/node.h"
#include "doc/write.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"

namespace prefetch::screen {

namespace {

using status::kStateColumns;

constexpr std::size_t kMostGroups = 12;
constexpr std::size_t kMostLists = 3;
constexpr std::size_t kLongestMessage = 300;
constexpr std::size_t kBarColumns = 22;
constexpr std::size_t kFirstNodes = 3;
constexpr std::size_t kImageColumns = 40;  // where it shares a line

std::string Nodes(std::size_t number) {
  return base::Plural(number, "node", "nodes");
}

std::string Colored(std::string text, NodeState state, bool color) {
  if (!color) return text;
  // Colours repeat what the words say; nothing is told by colour alone.
  const std::string_view start = state == NodeState::kReady     ? base::kGreen
                                 : state == NodeState::kFailing ? base::kRed
                                                                : base::kYellow;
  // Blanks that fill a column stay uncoloured.
  std::size_t end = text.find_last_not_of(' ') + 1;
  return std::string(start).append(text, 0, end).append(base::kPlainColour).append(text, end);
}

std::string Lists(const Fleet& fleet) {
  std::vector<std::pair<std::size_t, std::string>> lists;
  for (const auto& [hash, nodes] : fleet.lists) lists.emplace_back(nodes, hash);
  // The usual case needs no counts.
  if (lists.size() == 1) return "list " + ShortHash(lists.front().second);
  std::ranges::stable_sort(lists, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < lists.size() && i < kMostLists; i++) {
    text += (text.empty() ? "list " : ", ") + ShortHash(lists[i].second) + " on " + Nodes(lists[i].first);
  }
  return text + (lists.size() > kMostLists ? ", others on the rest" : "");
}

std::string Counts(const Fleet& fleet, const std::string& gap, bool color) {
  auto part = [&](std::size_t number, const char* word, NodeState state) {
    return number == 0 ? "" : gap + Colored(std::to_string(number) + " " + word, state, color);
  };
  std::string text = Nodes(fleet.nodes.size());
  text += gap + Colored(std::to_string(fleet.ready) + " ready", NodeState::kReady, color && fleet.ready > 0);
  text += part(fleet.progressing, "progressing", NodeState::kProgressing);
  text += part(fleet.failing, "failing", NodeState::kFailing);
  if (fleet.unreachable > 0) text += gap + std::to_string(fleet.unreachable) + " not heard";
  if (fleet.leaving > 0) text += gap + std::to_string(fleet.leaving) + " dead or leaving";
  return text;
}

// The first line begins with `first`; the others are indented by its width, so that an arrow stands out.
std::string Indented(std::string_view text, std::string_view first, std::size_t width) {
  const std::string margin(kStateColumns + 2, ' '), blanks(DisplayWidth(first), ' ');
  // A registry's message may be a whole page.
  return WrapIndented(base::Truncate(text, kLongestMessage), margin + std::string(first), margin + blanks,
                      width);
}

// Returns "ci-12, ci-40, ci-77 and 2 more", with as many names as fit, `most` at most.
std::string Names(const std::vector<std::string>& nodes, std::size_t width, std::size_t most) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& node : nodes) {
    std::string more = " and " + std::to_string(nodes.size() - shown) + " more";
    bool fits = DisplayWidth(text) + DisplayWidth(node) + 2 + DisplayWidth(more) <= width;
    // At least one name is shown, however long it is.
    if (shown > 0 && (!fits || shown == most)) return text + more;
    text += (shown++ == 0 ? "" : ", ") + node;
  }
  return text;
}

// One cause on its own lines: the state and image, its message, the nodes, then the advice.
std::string GroupText(const FleetGroup& group, std::size_t all, const TableOptions& options,
                      std::size_t width) {
  status::ReasonDescription words = status::WordsFor(group.reason);
  std::string image = group.image.empty() ? "(the node itself)" : group.image;
  std::string where = "on " + std::to_string(group.nodes.size()) + " of " + Nodes(all);
  std::size_t room = width - kStateColumns - 4 - DisplayWidth(where);
  std::string name = options.wide ? image : ShortImage(image, room);
  std::string text = Colored(PadRight(words.state, kStateColumns), group.state, options.color) + "  " +
                     PadRight(name, room) + "  " + where + "\n";
  // For pulls under way, the slowest node says more than any message.
  if (group.most_bytes_left > 0) {
    text += Indented(base::HumanBytes(group.most_bytes_left) + " left on " + group.slowest + ", the slowest",
                     "", width);
  } else {
    text += Indented(MessageText(group.message, group.other_messages), "", width);
  }
  // With -o wide, every node is listed, so that the output can be searched.
  std::size_t most = options.wide ? group.nodes.size() : SIZE_MAX;
  std::size_t names_width = options.wide ? SIZE_MAX : width - kStateColumns - 2;
  text += std::string(kStateColumns + 2, ' ') + Names(group.nodes, names_width, most) + "\n";
  // A stale image is in use; there is nothing that must be done.
  if (group.state != NodeState::kReady && !words.advice.empty()) text += Indented(words.advice, "→ ", width);
  return text;
}

std::string GroupsText(const Fleet& fleet, const TableOptions& options, std::size_t width) {
  std::string text;
  std::size_t shown = 0;
  for (const FleetGroup& group : fleet.groups) {
    // One group more is shown rather than a line that says "1 more".
    if (!options.wide && shown == kMostGroups && fleet.groups.size() > kMostGroups + 1) break;
    text += GroupText(group, fleet.CountedNodes(), options, width);
    shown++;
  }
  if (shown < fleet.groups.size()) {
    text +=
        "… " + base::Plural(fleet.groups.size() - shown, "cause", "causes") + " more (-o wide shows all)\n";
  }
  return text;
}

std::string HiddenText(const Fleet& fleet, std::size_t width) {
  if (fleet.public_only == 0) return "";
  const std::string where = fleet.public_only == fleet.nodes.size() ? "" : " on " + Nodes(fleet.public_only);
  return WrapIndented(kHiddenText + where, "", "", width);
}

// "2 nodes dead or leaving are not counted: ci-1 (cordoned), ci-2 (kubelet does not report)".
std::string LeavingText(const Fleet& fleet, std::size_t width, std::size_t most) {
  if (fleet.leaving == 0) return "";
  std::vector<std::string> names;
  for (const FleetNode& node : fleet.nodes) {
    if (!node.leaving.empty()) names.push_back(node.name + " (" + node.leaving + ")");
  }
  const std::string sentence = Nodes(fleet.leaving) + " dead or leaving " +
                               (fleet.leaving == 1 ? "is" : "are") +
                               " not counted: " + base::JoinFirst(names, most);
  return WrapIndented(sentence, "", "", width);
}

std::string NodeReasonText(const FleetNode& node) {
  if (!node.leaving.empty()) return "not counted: " + node.leaving;
  if (node.state == NodeState::kReady) return node.detail ? "" : node.message;
  if (node.missing.empty() || node.reason != plan::Reason::kImagesNotReady) return node.message;
  // A failure explains a node better than a pull that goes on.
  auto worst = std::ranges::find_if(
      node.missing, [](const FleetMissing& image) { return image.phase == plan::Phase::kFailing; });
  if (worst == node.missing.end()) worst = node.missing.begin();
  std::string why = status::WordsFor(worst->reason.text()).state + " " + worst->image;
  if (node.missing.size() > 1) why += ", and " + std::to_string(node.missing.size() - 1) + " more";
  if (std::uint64_t left = node.BytesLeft(); left > 0) why += ", " + base::HumanBytes(left) + " left";
  return why;
}

std::string NodesText(const Fleet& fleet, const TableOptions& options, std::size_t width) {
  std::vector<const FleetNode*> nodes;
  std::size_t name = 4;
  for (const FleetNode& node : fleet.nodes) {
    if (options.not_ready && (node.state == NodeState::kReady || !node.leaving.empty())) continue;
    nodes.push_back(&node);
    name = std::max(name, DisplayWidth(node.name));
  }
  if (nodes.empty()) return "";
  // Failing nodes first, each group by name.
  std::ranges::stable_sort(nodes, std::greater(), &FleetNode::state);
  if (!options.wide) name = std::min(name, width / 2);
  std::string text =
      "\n" + PadRight("NODE", name) + "  " + PadRight("STATE", kStateColumns) + "  READY    LIST    WHY\n";
  for (const FleetNode* node : nodes) {
    std::string state = base::ToLower(base::EnumName(node->state));
    std::string ratio =
        node->detail ? std::to_string(node->required_ready) + "/" + std::to_string(node->required) : "–";
    std::string line = PadRight(options.wide ? node->name : CutEnd(node->name, name), name) + "  " +
                       PadRight(state, kStateColumns) + "  " + PadRight(ratio, 7) + "  " +
                       PadRight(node->detail ? ShortHash(node->list_hash) : "–", 6) + "  " +
                       base::ReplaceAll(NodeReasonText(*node), "\n", " ");
    line.resize(line.find_last_not_of(' ') + 1);
    if (!options.wide) line = CutEnd(line, width);
    // After the line was cut: the codes of colours have no width, but many bytes.
    if (options.color) line = base::ReplaceAll(line, " " + state, " " + Colored(state, node->state, true));
    text += line + "\n";
  }
  return text;
}

std::string Bar(const Fleet& fleet) {
  const std::size_t full = fleet.CountedNodes() == 0 ? 0 : kBarColumns * fleet.ready / fleet.CountedNodes();
  std::string bar;
  for (std::size_t i = 0; i < kBarColumns; i++) bar += i < full ? "█" : "░";
  return bar;
}

}  // namespace

std::string FleetTable(const Fleet& fleet, const TableOptions& options) {
  std::size_t width = std::max(options.width, kLeastWidth);
  if (fleet.nodes.empty()) return "no node matches\n";
  // Wrapped lines get no colours, since Wrap may break within a coloured part.
  bool fits = DisplayWidth(Counts(fleet, "   ", false)) <= width;
  std::string text = fits ? Counts(fleet, "   ", options.color) + "\n"
                          : base::Join(Wrap(Counts(fleet, ", ", false), width), "\n") + "\n";
  if (!fleet.lists.empty()) text += Lists(fleet) + "\n";
  if (const std::string left = RemainingText(fleet); !left.empty()) text += left + "\n";
  text += LeavingText(fleet, width, options.wide ? SIZE_MAX : kFirstNodes);
  text += HiddenText(fleet, width);
  std::string groups = GroupsText(fleet, options, width);
  if (!groups.empty()) text += "\n" + groups;
  if (options.wide || options.not_ready) text += NodesText(fleet, options, width);
  return text;
}

// The line is drawn again and again in place, so it must fit the terminal's width.
std::string FleetLine(const Fleet& fleet, std::size_t width) {
  if (fleet.nodes.empty()) return CutEnd("no node matches (yet)", width);
  std::string line = Counts(fleet, "   ", false);
  std::string slowest = fleet.slowest.empty() ? ""
                                              : "   slowest: node " + fleet.slowest + ", " +
                                                    base::HumanBytes(fleet.most_bytes_left) + " left";
  // The bar is decoration, and the first to go.
  if (DisplayWidth(line) + 3 + kBarColumns + DisplayWidth(slowest) <= width) line += "   " + Bar(fleet);
  return CutEnd(line + slowest, width);
}

// The last line becomes "…" if there are more groups, so that the view never grows beyond `most` lines.
std::vector<std::string> FleetDetails(const Fleet& fleet, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  for (const FleetGroup& group : fleet.groups) {
    if (group.state == NodeState::kReady) continue;
    if (lines.size() + 1 == most && fleet.groups.size() > most) {
      lines.push_back(CutEnd("  …", width));
      break;
    }
    std::string line = "  " + PadRight(status::WordsFor(group.reason).state, kStateColumns) + "  ";
    if (!group.image.empty()) line += ShortImage(group.image, kImageColumns) + "  ";
    line += Nodes(group.nodes.size()) + "  ";
    line += group.most_bytes_left > 0 ? base::HumanBytes(group.most_bytes_left) + " left on " + group.slowest
                                      : base::ReplaceAll(group.message, "\n", " ");
    lines.push_back(CutEnd(line, width));
  }
  return lines;
}

// The result comes first, then the causes, and then the nodes that are not ready.
std::string FleetResult(const Fleet& fleet, const FleetTarget& target, WaitOutcome end,
                        std::chrono::seconds waited, std::size_t width) {
  const std::size_t nodes = fleet.CountedNodes();
  const std::string leaving = LeavingText(fleet, SIZE_MAX, kFirstNodes);
  std::string ratio = std::to_string(fleet.ready) + " of " + Nodes(nodes) + " ready";
  if (std::size_t needed = target.Needed(nodes); needed != nodes) {
    ratio += ", " + std::to_string(needed) + " needed";
  }
  if (fleet.no_detail > 0) ratio += ", " + std::to_string(fleet.no_detail) + " with no detail";
  std::string text = OutcomeText(end, fleet.nodes.empty() ? "no node matches" : ratio, waited) + leaving;
  if (end == WaitOutcome::kReady) return text;
  text += HiddenText(fleet, std::max(width, kLeastWidth));
  text += GroupsText(fleet, {}, std::max(width, kLeastWidth));
  std::vector<std::string> names;
  for (const FleetNode& node : fleet.nodes) {
    if (node.state != NodeState::kReady && node.leaving.empty()) names.push_back(node.name);
  }
  if (!names.empty()) {
    text += "not ready: " + base::JoinFirst(names, kFirstNodes) +
            " (see: prefetchctl status --fleet --not-ready)\n";
  }
  return text;
}

namespace {

void WriteGroup(doc::JsonWriter& out, const FleetGroup& group) {
  out.Member("state", base::EnumName(group.state));
  out.MemberBool("detail", group.detail);
  out.Member("reason", group.reason);
  out.MemberOrNull("image", group.image);
  out.Member("message", group.message);
  out.MemberNumber("otherMessages", group.other_messages);
  out.MemberNumber("count", group.nodes.size());
  out.MemberStrings("nodes", group.nodes);
  out.MemberOrNull("slowest", group.slowest);
  out.MemberNumber("mostBytesLeft", group.most_bytes_left);
}

// `hidden`: the agent showed its public fields only.
void WriteMissing(doc::JsonWriter& out, const FleetMissing& image, bool hidden) {
  out.Member("image", image.image);
  out.Member("phase", image.phase.text());
  out.Member("reason", image.reason.text());
  out.Member("message", image.message);
  out.MemberBool("settled", image.settled);
  // null says "not shown", while 0 would say "never tried".
  out.MemberOrNull("attempts", hidden ? std::nullopt : std::optional(image.attempts));
  out.MemberNumber("bytesLeft", image.bytes_left);
}

void WriteNode(doc::JsonWriter& out, const FleetNode& node) {
  out.Object([&] {
    out.Member("node", node.name);
    out.Member("state", base::EnumName(node.state));
    out.MemberBool("ready", node.state == NodeState::kReady);
    out.MemberBool("detail", node.detail);
    out.MemberBool("publicOnly", node.public_only);
    out.Member("reason", node.reason.text());
    out.Member("message", node.message);
    out.MemberOrNull("leaving", node.leaving);
    out.MemberBool("failedForGood", node.all_missing_settled);
    out.MemberNumber("required", node.required);
    out.MemberNumber("requiredReady", node.required_ready);
    out.MemberOrNull("listHash", node.list_hash);
    out.Objects("missing", node.missing,
                [&](const FleetMissing& image) { WriteMissing(out, image, node.public_only); });
  });
}

}  // namespace

std::string FleetJson(const Fleet& fleet, base::WallTime time, bool not_ready) {
  return status::JsonDocument("FleetStatus", [&](doc::JsonWriter& out) {
    out.Member("time", base::Rfc3339(time));
    out.MemberNumber("count", fleet.nodes.size());
    out.MemberNumber("ready", fleet.ready);
    out.MemberNumber("progressing", fleet.progressing);
    out.MemberNumber("failing", fleet.failing);
    out.MemberNumber("notHeard", fleet.unreachable);
    out.MemberNumber("leaving", fleet.leaving);
    out.MemberNumber("noDetail", fleet.no_detail);
    out.MemberNumber("publicOnly", fleet.public_only);
    out.MemberNumber("bytesLeft", fleet.bytes_left);
    std::optional<std::uint64_t> seconds;
    if (fleet.time_left) seconds = static_cast<std::uint64_t>(fleet.time_left->count());
    out.MemberOrNull("secondsLeft", seconds);
    out.Objects("causes", fleet.groups, [&](const FleetGroup& group) { WriteGroup(out, group); });
    out.Array("nodes", [&] {
      for (const FleetNode& node : fleet.nodes) {
        if (!not_ready || node.state != NodeState::kReady) WriteNode(out, node);
      }
    });
  });
}

namespace {

constexpr std::size_t kMaxNamesInText = 10;     // of nodes and causes in the text
constexpr std::size_t kMaxNodesInNotice = 100;  // failing, and as many that recovered
constexpr std::size_t kMaxImagesPerNode = 10;   // of a node

// Returns the notice as one line of text. The failing nodes and their causes come first.
std::string TextOf(const FleetNotice& notice) {
  std::string text = "prefetchd: ";
  if (!notice.failing.nodes.empty()) {
    std::vector<std::string> names, causes;
    for (const FleetNode& node : notice.failing.nodes) names.push_back(node.name);
    for (const FleetGroup& group : notice.failing.groups) {
      if (group.state != NodeState::kFailing) continue;
      causes.push_back(group.image.empty() ? group.reason : group.image + ": " + group.reason);
    }
    text += base::Plural(names.size(), "node fails", "nodes fail") + ": " +
            base::JoinFirst(names, kMaxNamesInText);
    if (!causes.empty()) text += " (" + base::JoinFirst(causes, kMaxNamesInText) + ")";
    text += "; ";
  }
  if (!notice.recovered.empty())
    text += "ready again: " + base::JoinFirst(notice.recovered, kMaxNamesInText) + "; ";
  return text + std::to_string(notice.ready) + " of " + base::Plural(notice.nodes, "node", "nodes") +
         " ready";
}

// Returns one failing node with its failing images. An image that is still on its way is left out.
doc::Node NodeOf(const FleetNode& node) {
  std::vector<doc::Node> images;
  for (const FleetMissing& one : node.missing) {
    if (one.tone != Tone::kFailing || images.size() == kMaxImagesPerNode) continue;
    images.push_back(doc::Node::Mapping()
                         .Set("image", doc::Node::String(one.image))
                         .Set("reason", doc::Node::String(one.reason.text()))
                         .Set("message", doc::Node::String(one.message)));
  }
  return doc::Node::Mapping()
      .Set("node", doc::Node::String(node.name))
      .Set("reason", doc::Node::String(node.reason.text()))
      .Set("message", doc::Node::String(node.message))
      .Set("images", doc::Node::Sequence(std::move(images)));
}

doc::Node CountOf(std::size_t number) {
  return doc::Node::Int(static_cast<std::int64_t>(number));
}

}  // namespace

// Reports changes only. A node that leaves is no news, and a failing node that was announced is announced
// again only after it has recovered.
FleetNotice FleetNews::Compare(const Fleet& fleet) {
  FleetNotice notice{.nodes = fleet.CountedNodes(), .ready = fleet.ready};
  std::vector<FleetNode> failing;
  std::set<std::string> still;
  for (const FleetNode& node : fleet.nodes) {
    const bool known = announced_.contains(node.name);
    if (known) still.insert(node.name);
    if (!node.leaving.empty()) continue;
    if (node.state == NodeState::kFailing && !known) failing.push_back(node);
    if (node.state == NodeState::kReady && known) notice.recovered.push_back(node.name);
  }
  announced_ = std::move(still);
  notice.failing = GatherFleet(std::move(failing));
  return notice;
}

// Called after the webhook has accepted the notice. Until then, the next comparison repeats the same news.
void FleetNews::MarkDelivered(const FleetNotice& notice) {
  for (const FleetNode& node : notice.failing.nodes) announced_.insert(node.name);
  for (const std::string& name : notice.recovered) announced_.erase(name);
}

std::string NoticeJson(const FleetNotice& notice, base::WallTime now) {
  std::vector<doc::Node> failing, recovered;
  for (const FleetNode& node : notice.failing.nodes) {
    if (failing.size() < kMaxNodesInNotice) failing.push_back(NodeOf(node));
  }
  for (const std::string& name : notice.recovered) {
    if (recovered.size() < kMaxNodesInNotice) recovered.push_back(doc::Node::String(name));
  }
  return doc::WriteJson(doc::Node::Mapping()
                            .Set("text", doc::Node::String(TextOf(notice)))
                            .Set("time", doc::Node::String(base::Rfc3339(now)))
                            .Set("nodes", CountOf(notice.nodes))
                            .Set("ready", CountOf(notice.ready))
                            .Set("failing", doc::Node::Sequence(std::move(failing)))
                            .Set("recovered", doc::Node::Sequence(std::move(recovered))));
}

}  // namespace prefetch::screen
