#include "screen/fleet_news.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/text.h"
#include "doc/node.h"
#include "doc/write.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kNamesOfText = 10;     // of nodes and causes in the text
constexpr std::size_t kNodesOfNotice = 100;  // with their images in a notice
constexpr std::size_t kImagesOfNode = 10;    // of a node

std::string FirstOf(const std::vector<std::string>& names) {
  std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kNamesOfText, names.size())));
  std::string text = base::Join(first, ", ");
  if (names.size() > kNamesOfText) text += " and " + std::to_string(names.size() - kNamesOfText) + " more";
  return text;
}

// "quay.io/acme/app:v1: AccessDenied", the most frequent first.
std::vector<std::string> CausesOf(const std::vector<FleetNode>& nodes) {
  std::map<std::string, std::size_t> counts;
  for (const FleetNode& node : nodes) {
    for (const FleetMissing& one : node.missing) {
      if (one.tone == Tone::kFailing) counts[one.image + ": " + one.reason]++;
    }
    if (node.missing.empty() && !node.reason.empty()) counts[node.reason]++;
  }
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [cause, count] : counts) order.emplace_back(count, cause);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> causes;
  for (auto& [count, cause] : order) causes.push_back(std::move(cause));
  return causes;
}

std::string TextOf(const FleetNotice& notice) {
  std::string text = "prefetchd: ";
  if (!notice.failing.empty()) {
    std::vector<std::string> names;
    for (const FleetNode& node : notice.failing) names.push_back(node.name);
    text += base::Counted(names.size(), "node fails", "nodes fail") + ": " + FirstOf(names);
    const std::vector<std::string> causes = CausesOf(notice.failing);
    if (!causes.empty()) text += " (" + FirstOf(causes) + ")";
    text += "; ";
  }
  if (!notice.recovered.empty()) text += "ready again: " + FirstOf(notice.recovered) + "; ";
  return text + std::to_string(notice.ready) + " of " + base::Counted(notice.nodes, "node", "nodes") +
         " ready";
}

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
      .Set("images", doc::Node::Sequence(std::move(images)));
}

doc::Node CountOf(std::size_t number) {
  return doc::Node::Int(static_cast<std::int64_t>(number));
}

}  // namespace

FleetNotice FleetNews::Compare(const std::vector<FleetNode>& nodes) const {
  FleetNotice notice;
  for (const FleetNode& node : nodes) {
    if (!node.leaving.empty()) continue;
    const bool known = announced_.contains(node.name);
    notice.nodes++;
    notice.ready += node.state == NodeState::kReady ? 1 : 0;
    if (node.state == NodeState::kFailing && !known) notice.failing.push_back(node);
    if (node.state == NodeState::kReady && known) notice.recovered.push_back(node.name);
  }
  return notice;
}

void FleetNews::Delivered(const FleetNotice& notice, const std::vector<FleetNode>& nodes) {
  for (const FleetNode& node : notice.failing) announced_.insert(node.name);
  for (const std::string& name : notice.recovered) announced_.erase(name);
  // Nodes that are gone are forgotten: an autoscaler may use a name again.
  std::set<std::string> here;
  for (const FleetNode& node : nodes) {
    if (node.leaving.empty()) here.insert(node.name);
  }
  std::erase_if(announced_, [&](const std::string& name) { return !here.contains(name); });
}

std::string NoticeJson(const FleetNotice& notice, base::WallTime now) {
  std::vector<doc::Node> failing, recovered;
  for (const FleetNode& node : notice.failing) {
    if (failing.size() < kNodesOfNotice) failing.push_back(NodeOf(node));
  }
  for (const std::string& name : notice.recovered) recovered.push_back(doc::Node::String(name));
  return doc::WriteJson(doc::Node::Mapping()
                            .Set("text", doc::Node::String(TextOf(notice)))
                            .Set("time", doc::Node::String(base::Rfc3339(now)))
                            .Set("nodes", CountOf(notice.nodes))
                            .Set("ready", CountOf(notice.ready))
                            .Set("failing", doc::Node::Sequence(std::move(failing)))
                            .Set("recovered", doc::Node::Sequence(std::move(recovered))));
}

}  // namespace prefetch::screen
