#include "screen/fleet_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prefetch::screen::fleet_news_test {
namespace {

using Names = std::vector<std::string>;

FleetNode Node(const std::string& name, NodeState state) {
  FleetNode node;
  node.name = name;
  node.state = state;
  node.detail = true;
  if (state == NodeState::kFailing) {
    node.reason = "ImagesNotReady";
    node.message = "1 image fails";
    node.missing = {{.image = "q.io/app:v1", .phase = "Failed", .reason = "AccessDenied", .message = "no"},
                    {.image = "q.io/slow:v1", .phase = "Pulling", .tone = Tone::kProgressing}};
  }
  return node;
}

Names FailingOf(const FleetNotice& notice) {
  Names names;
  for (const FleetNode& node : notice.failing.nodes) names.push_back(node.name);
  return names;
}

TEST(FleetNews, IsWhatFailsAndWhatRecoversOnceEach) {
  FleetNews news;
  std::vector<FleetNode> nodes = {Node("a", NodeState::kReady), Node("b", NodeState::kFailing),
                                  Node("c", NodeState::kProgressing)};
  FleetNotice notice = news.Compare(GatherFleet(nodes));
  EXPECT_EQ(FailingOf(notice), Names{"b"});
  EXPECT_EQ(notice.nodes, 3U);
  EXPECT_EQ(notice.ready, 1U);
  EXPECT_EQ(FailingOf(news.Compare(GatherFleet(nodes))), Names{"b"}) << "it was not delivered";
  news.MarkDelivered(notice);
  EXPECT_TRUE(news.Compare(GatherFleet(nodes)).Empty());
  nodes[1].state = NodeState::kProgressing;
  EXPECT_TRUE(news.Compare(GatherFleet(nodes)).Empty()) << "a retry is under way";
  nodes[1].state = NodeState::kReady;
  notice = news.Compare(GatherFleet(nodes));
  EXPECT_EQ(notice.recovered, Names{"b"});
  news.MarkDelivered(notice);
  EXPECT_TRUE(news.Compare(GatherFleet(nodes)).Empty());
}

TEST(FleetNews, ANodeThatLeavesIsNoNewsAndANodeThatIsGoneIsForgotten) {
  FleetNews news;
  std::vector<FleetNode> nodes = {Node("a", NodeState::kFailing), Node("b", NodeState::kFailing)};
  news.MarkDelivered(news.Compare(GatherFleet(nodes)));
  nodes[0].leaving = "kubelet does not report";
  nodes.pop_back();
  FleetNotice notice = news.Compare(GatherFleet(nodes));
  EXPECT_TRUE(notice.Empty());
  EXPECT_EQ(notice.nodes, 0U);
  nodes = {Node("a", NodeState::kFailing), Node("b", NodeState::kFailing)};
  EXPECT_EQ(FailingOf(news.Compare(GatherFleet(nodes))), Names{"b"});
  nodes[0].state = NodeState::kReady;
  EXPECT_EQ(news.Compare(GatherFleet(nodes)).recovered, Names{"a"});
}

TEST(FleetNews, ANodesOwnReasonIsACauseBesideItsImages) {
  FleetNode node = Node("ci-1", NodeState::kFailing);
  node.reason = "RuntimeDown";
  node.missing.erase(node.missing.begin());
  const std::string json = NoticeJson(FleetNews().Compare(GatherFleet({node})), base::WallTime());
  EXPECT_NE(json.find("1 node fails: ci-1 (RuntimeDown); 0 of 1 node ready"), std::string::npos) << json;
}

TEST(FleetNews, TheNoticeSaysAllInOneLineAndInMembers) {
  FleetNotice notice{
      .failing = GatherFleet({Node("ci-1", NodeState::kFailing), Node("ci-2", NodeState::kFailing)}),
      .recovered = {"ci-9"},
      .nodes = 300,
      .ready = 297};
  EXPECT_EQ(
      NoticeJson(notice, base::WallTime()),
      R"({"text":"prefetchd: 2 nodes fail: ci-1, ci-2 (q.io/app:v1: AccessDenied); ready again: ci-9; )"
      R"(297 of 300 nodes ready","time":"1970-01-01T00:00:00Z","nodes":300,"ready":297,"failing":[)"
      R"({"node":"ci-1","reason":"ImagesNotReady","message":"1 image fails","images":[{"image":"q.io/app:v1","reason":"AccessDenied","message":"no"}]},)"
      R"({"node":"ci-2","reason":"ImagesNotReady","message":"1 image fails","images":[{"image":"q.io/app:v1","reason":"AccessDenied","message":"no"}]}],)"
      R"("recovered":["ci-9"]})");
}

TEST(FleetNews, ALargeNoticeIsCut) {
  std::vector<FleetNode> nodes;
  FleetNotice notice{.nodes = 5000};
  for (int i = 0; i < 5000; i++) {
    nodes.push_back(Node("n" + std::to_string(i), NodeState::kFailing));
    notice.recovered.push_back("r" + std::to_string(i));
  }
  notice.failing = GatherFleet(std::move(nodes));
  const std::string json = NoticeJson(notice, base::WallTime());
  EXPECT_NE(json.find("n1005 and 4990 more (q.io/app:v1: AccessDenied); ready again: r0, "),
            std::string::npos);
  EXPECT_NE(json.find("r9 and 4990 more; 0 of 5000 nodes ready"), std::string::npos);
  EXPECT_LT(json.size(), 40'000U);
}

}  // namespace
}  // namespace prefetch::screen::fleet_news_test
