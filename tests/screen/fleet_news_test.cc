#include "screen/fleet_news.h"

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
  if (state == NodeState::kFailing) {
    node.missing = {{.image = "q.io/app:v1", .phase = "Failed", .reason = "AccessDenied", .message = "no"},
                    {.image = "q.io/slow:v1", .phase = "Pulling", .tone = Tone::kMoving}};
  }
  return node;
}

Names FailingOf(const FleetNotice& notice) {
  Names names;
  for (const FleetNode& node : notice.failing) names.push_back(node.name);
  return names;
}

TEST(FleetNews, IsWhatFailsAndWhatRecoversOnceEach) {
  FleetNews news;
  std::vector<FleetNode> nodes = {Node("a", NodeState::kReady), Node("b", NodeState::kFailing),
                                  Node("c", NodeState::kProgressing)};
  FleetNotice notice = news.Compare(nodes);
  EXPECT_EQ(FailingOf(notice), Names{"b"});
  EXPECT_EQ(notice.nodes, 3U);
  EXPECT_EQ(notice.ready, 1U);
  EXPECT_EQ(FailingOf(news.Compare(nodes)), Names{"b"}) << "it was not delivered";
  news.Delivered(notice, nodes);
  EXPECT_TRUE(news.Compare(nodes).Empty());
  nodes[1].state = NodeState::kProgressing;
  EXPECT_TRUE(news.Compare(nodes).Empty()) << "a retry is under way";
  nodes[1].state = NodeState::kReady;
  notice = news.Compare(nodes);
  EXPECT_EQ(notice.recovered, Names{"b"});
  news.Delivered(notice, nodes);
  EXPECT_TRUE(news.Compare(nodes).Empty());
}

TEST(FleetNews, ANodeThatLeavesIsNoNewsAndIsForgotten) {
  FleetNews news;
  std::vector<FleetNode> nodes = {Node("a", NodeState::kFailing), Node("b", NodeState::kFailing)};
  news.Delivered(news.Compare(nodes), nodes);
  nodes[0].leaving = "cordoned";
  nodes.pop_back();
  FleetNotice notice = news.Compare(nodes);
  EXPECT_TRUE(notice.Empty());
  EXPECT_EQ(notice.nodes, 0U);
  news.Delivered(notice, nodes);
  nodes = {Node("a", NodeState::kFailing), Node("b", NodeState::kFailing)};
  EXPECT_EQ(FailingOf(news.Compare(nodes)), (Names{"a", "b"}));
}

TEST(FleetNews, TheNoticeSaysAllInOneLineAndInMembers) {
  FleetNotice notice{.failing = {Node("ci-1", NodeState::kFailing), Node("ci-2", NodeState::kFailing)},
                     .recovered = {"ci-9"},
                     .nodes = 300,
                     .ready = 297};
  EXPECT_EQ(
      NoticeJson(notice, base::WallTime()),
      R"({"text":"prefetchd: 2 nodes fail: ci-1, ci-2 (q.io/app:v1: AccessDenied); ready again: ci-9; )"
      R"(297 of 300 nodes ready","time":"1970-01-01T00:00:00Z","nodes":300,"ready":297,"failing":[)"
      R"({"node":"ci-1","reason":"","images":[{"image":"q.io/app:v1","reason":"AccessDenied","message":"no"}]},)"
      R"({"node":"ci-2","reason":"","images":[{"image":"q.io/app:v1","reason":"AccessDenied","message":"no"}]}],)"
      R"("recovered":["ci-9"]})");
}

TEST(FleetNews, ALargeNoticeIsCut) {
  FleetNotice notice{.nodes = 5000};
  for (int i = 0; i < 5000; i++) notice.failing.push_back(Node("n" + std::to_string(i), NodeState::kFailing));
  const std::string json = NoticeJson(notice, base::WallTime());
  EXPECT_NE(json.find("n9 and 4990 more (q.io/app:v1: AccessDenied); 0 of 5000 nodes ready"),
            std::string::npos);
  EXPECT_LT(json.size(), 40'000U);
}

}  // namespace
}  // namespace prefetch::screen::fleet_news_test
