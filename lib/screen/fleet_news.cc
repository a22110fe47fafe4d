#include "screen/fleet_news.h"

#include <cstdint>
#include <utility>

#include "base/text.h"
#include "doc/node.h"
#include "doc/write.h"
#include "screen/fleet_text.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kNamesOfText = 10;     // of nodes and causes in the text
constexpr std::size_t kNodesOfNotice = 100;  // failing, and as many that recovered
constexpr std::size_t kImagesOfNode = 10;    // of a node

std::string FirstOf(const std::vector<std::string>& names) {
  return Names(names, SIZE_MAX, kNamesOfText);
}

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
    text += base::Counted(names.size(), "node fails", "nodes fail") + ": " + FirstOf(names);
    if (!causes.empty()) text += " (" + FirstOf(causes) + ")";
    text += "; ";
  }
  if (!notice.recovered.empty()) text += "ready again: " + FirstOf(notice.recovered) + "; ";
  return text + std::to_string(notice.ready) + " of " + base::Counted(notice.nodes, "node", "nodes") +
         " ready";
}

// Returns one failing node with its failing images. An image that is still on its way is left out.
doc::Node NodeOf(const FleetNode& node) {
  std::vector<doc::Node> images;
  for (const FleetMissing& one : node.missing) {
    if (one.tone != Tone::kFailing || images.size() == kImagesOfNode) continue;
    images.push_back(doc::Node::Mapping()
                         .Set("image", doc::Node::String(one.image))
                         .Set("reason", doc::Node::String(one.reason))
                         .Set("message", doc::Node::String(one.message)));
  }
  return doc::Node::Mapping()
      .Set("node", doc::Node::String(node.name))
      .Set("reason", doc::Node::String(node.reason))
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
  FleetNotice notice{.nodes = fleet.Counted(), .ready = fleet.ready};
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
void FleetNews::Delivered(const FleetNotice& notice) {
  for (const FleetNode& node : notice.failing.nodes) announced_.insert(node.name);
  for (const std::string& name : notice.recovered) announced_.erase(name);
}

std::string NoticeJson(const FleetNotice& notice, base::WallTime now) {
  std::vector<doc::Node> failing, recovered;
  for (const FleetNode& node : notice.failing.nodes) {
    if (failing.size() < kNodesOfNotice) failing.push_back(NodeOf(node));
  }
  for (const std::string& name : notice.recovered) {
    if (recovered.size() < kNodesOfNotice) recovered.push_back(doc::Node::String(name));
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
