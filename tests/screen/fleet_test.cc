#include "screen/fleet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "doc/write.h"
#include "golden.h"
#include "rows.h"
#include "screen/node_text.h"
#include "screen/text_layout.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::fleet_test {
namespace {

using tests::ExpectGolden;

status::StatusDocument Parsed(const plan::Snapshot& snapshot) {
  auto document = status::ParseStatusDocument(status::StatusJson(snapshot));
  EXPECT_TRUE(document);
  return document ? *document : status::StatusDocument{};
}

plan::ImageState GivenUp(plan::ImageState image) {
  image.settled = true;
  return image;
}

plan::ImageState Denied(const std::string& error = "401 Unauthorized from quay.io") {
  return GivenUp(sample::Failing("quay.io/acme/private:v2", plan::Reason::kAccessDenied, error, 3));
}

FleetNode NodeOf(const std::string& name, std::vector<plan::ImageState> images) {
  return SummarizeStatus(Parsed(sample::Node(std::move(images))), name);
}

FleetNode ReadyNode(const std::string& name) {
  return NodeOf(name, {sample::Ready("ghcr.io/acme/runner:v3", 1'200'000'000)});
}

// 20 nodes: 12 ready, 3 denied, 2 pulling, 1 with a broken list, 1 not heard, 1 that is new.
Fleet MixedFleet() {
  std::vector<FleetNode> nodes;
  for (int i = 10; i < 22; i++) nodes.push_back(ReadyNode("ci-" + std::to_string(i)));
  for (int i = 22; i < 25; i++) {
    nodes.push_back(
        NodeOf("ci-" + std::to_string(i),
               {sample::Ready("ghcr.io/acme/runner:v3", 1'200'000'000),
                i == 23 ? Denied("401 Unauthorized from quay.io by mirror 198.51.100.7") : Denied()}));
  }
  nodes.push_back(
      NodeOf("ci-25", {sample::Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000)}));
  nodes.push_back(NodeOf("ci-26", {sample::Pulling("ghcr.io/acme/e2e:main", 0, 2'100'000'000, 0),
                                   sample::Queued("quay.io/acme/tool:v9"), Denied()}));
  nodes.push_back(SummarizeStatus(Parsed(sample::BrokenListNode()), "ci-27"));
  nodes.push_back(NodeWithoutDetail("ci-28", {.has_pod = true,
                                              .pod_ready = true,
                                              .pod_phase = "Running",
                                              .label = "ready",
                                              .why = "the API server answered 503"}));
  nodes.push_back(NodeWithoutDetail("ci-29", {}));
  return GatherFleet(std::move(nodes));
}

TEST(GatherFleet, Counts) {
  Fleet fleet = MixedFleet();
  EXPECT_EQ(fleet.nodes.size(), 20U);
  EXPECT_EQ(fleet.ready, 13U);
  EXPECT_EQ(fleet.progressing, 1U);
  EXPECT_EQ(fleet.failing, 5U);
  EXPECT_EQ(fleet.unreachable, 1U);
  EXPECT_EQ(fleet.no_detail, 2U);
  EXPECT_EQ(fleet.bytes_left, 2'368'000'000U);
  EXPECT_EQ(RemainingText(fleet), "2.4 GB left in running pulls") << "one pull has no speed yet";
  EXPECT_EQ(
      RemainingText(GatherFleet({NodeOf("a", {sample::Pulling("q.io/a:v1", 10, 380'000'010, 38'000'000)}),
                                 NodeOf("b", {sample::Pulling("q.io/a:v1", 0, 76'000'000, 38'000'000)})})),
      "456 MB left in running pulls, about 11 s");
  EXPECT_EQ(fleet.slowest, "ci-26");
  EXPECT_EQ(fleet.most_bytes_left, 2'100'000'000U);
}

TEST(GatherFleet, OneCauseIsOneGroupHoweverItIsWorded) {
  Fleet fleet = MixedFleet();
  ASSERT_FALSE(fleet.groups.empty());
  const FleetGroup& denied = fleet.groups.front();
  EXPECT_EQ(denied.reason, "AccessDenied");
  EXPECT_EQ(denied.image, "quay.io/acme/private:v2");
  EXPECT_EQ(denied.nodes, (std::vector<std::string>{"ci-22", "ci-23", "ci-24", "ci-26"}));
  EXPECT_EQ(denied.message, "401 Unauthorized from quay.io");
  EXPECT_EQ(denied.other_messages, 1U);
}

// Sample documents with one cause each: a person must act, the registry may come back, the pull moves.
TEST(GatherFleet, CausesAreInTheOrderOfWhoMustAct) {
  const plan::ImageState away =
      sample::Failing("q.io/away:v1", plan::Reason::kUnreachable, "connection refused", 2);
  const Fleet fleet = GatherFleet({NodeOf("a", {away}), NodeOf("b", {away}), NodeOf("c", {Denied()}),
                                   NodeOf("d", {sample::Queued("q.io/a:v1")})});
  std::string reasons;
  for (const FleetGroup& group : fleet.groups) reasons += group.reason + " ";
  EXPECT_EQ(reasons, "AccessDenied Unreachable Queued ");
}

TEST(CommonEnd, BeginsAtADotAndLeavesEachNameSomething) {
  const auto end = [](const std::vector<std::string>& names) {
    std::vector<FleetNode> nodes;
    for (const std::string& name : names) nodes.push_back({.name = name});
    return CommonSuffix(nodes);
  };
  EXPECT_EQ(end({"ip-10-0-0-1.eu.internal", "ip-10-0-1-1.eu.internal"}), ".eu.internal");
  EXPECT_EQ(end({"a-1.eu.internal", "b-1.us.internal"}), ".internal");
  EXPECT_EQ(end({"ci-1", "ci-11"}), "");
  EXPECT_EQ(end({"a.b"}), "");
  EXPECT_EQ(end({"x.eu", "x.eu"}), ".eu");
  EXPECT_EQ(end({".eu", "x.eu"}), "");
}

TEST(GatherFleet, NodesThatLeaveAreCountedApart) {
  FleetNode ready = ReadyNode("a"), cordoned = NodeOf("b", {Denied()}), dead = NodeWithoutDetail("c", {});
  cordoned.leaving = "cordoned";
  dead.leaving = "kubelet does not report";
  const Fleet fleet = GatherFleet({ready, cordoned, dead});
  EXPECT_EQ(fleet.leaving, 2U);
  EXPECT_EQ(fleet.CountedNodes(), 1U);
  EXPECT_EQ(fleet.ready + fleet.progressing + fleet.failing + fleet.unreachable, 1U);
  EXPECT_TRUE(fleet.groups.empty());
  EXPECT_EQ(EvaluateFleet(fleet, {}, false), WaitOutcome::kReady);
  EXPECT_EQ(FleetTable(fleet, {.width = 120}),
            "3 nodes   1 ready   2 dead or leaving\nlist " + fleet.lists.begin()->first.substr(7, 6) +
                "\n2 nodes dead or leaving are not counted: b (cordoned), c (kubelet does not report)\n");
  EXPECT_EQ(EvaluateFleet(GatherFleet({cordoned, dead}), {}, true), std::nullopt);
}

struct SignsCase {
  std::string name;
  ClusterFacts facts;
  NodeState state;
  std::string reason;
};
TEST_TABLE(NodeWithoutDetailTest, IsReadyOrProgressingAndNeverFailing, SignsCase) {
  FleetNode node = NodeWithoutDetail("n1", row.facts);
  EXPECT_EQ(node.state, row.state) << node.message;
  EXPECT_EQ(node.reason.text(), row.reason);
  EXPECT_FALSE(node.detail);
  EXPECT_FALSE(node.all_missing_settled);
  EXPECT_FALSE(node.message.empty());
}

const ClusterFacts kReadyPod = {.has_pod = true, .pod_ready = true, .pod_phase = "Running", .why = "timeout"};

ClusterFacts With(ClusterFacts facts, const std::string& label, bool pod_readiness_counts = true) {
  facts.label = label;
  facts.pod_readiness_counts = pod_readiness_counts;
  return facts;
}

TEST_ROWS(Rows, NodeWithoutDetailTest, {"NoPodYet", {}, NodeState::kProgressing, "NoAgent"},
          {"NodeIsDownToo", {.node_is_up = false}, NodeState::kProgressing, "NoAgent"},
          {"ReadyPod", kReadyPod, NodeState::kReady, "NoDetail"},
          {"ReadyPodAndLabel", With(kReadyPod, "ready"), NodeState::kReady, "NoDetail"},
          {"TheLabelContradicts", With(kReadyPod, "notready"), NodeState::kProgressing, "NoDetail"},
          {"AnotherListIsAsked", With(kReadyPod, "ready", false), NodeState::kProgressing, "NoDetail"},
          {"PodNotReady",
           {.has_pod = true, .pod_phase = "Pending", .label = "ready"},
           NodeState::kProgressing,
           "NoDetail"});

struct TargetCase {
  std::string text;
  std::optional<FleetTarget> target;
};
TEST_TABLE(FleetTargetTest, IsParsed, TargetCase) {
  EXPECT_EQ(ParseFleetTarget(row.text), row.target);
}
TEST_ROWS(Rows, FleetTargetTest, {"1", FleetTarget{1, false}}, {"271", FleetTarget{271, false}},
          {"95%", FleetTarget{95, true}}, {"100%", FleetTarget{100, true}}, {"0", std::nullopt},
          {"0%", std::nullopt}, {"101%", std::nullopt}, {"", std::nullopt}, {"%", std::nullopt},
          {"-1", std::nullopt}, {"1.5%", std::nullopt}, {"99999999999999999999", std::nullopt});

TEST(FleetTarget, APartOfANodeIsAWholeOne) {
  EXPECT_EQ((FleetTarget{95, true}.Needed(300)), 285U);
  EXPECT_EQ((FleetTarget{95, true}.Needed(3)), 3U);
  EXPECT_EQ((FleetTarget{1, true}.Needed(1)), 1U);
  EXPECT_EQ((FleetTarget{7, false}.Needed(3)), 7U);
}

struct EndCase {
  std::string name;
  std::vector<FleetNode> nodes;
  FleetTarget target;
  std::optional<WaitOutcome> end, end_fail_fast;
};
TEST_TABLE(JudgeFleetTest, Ends, EndCase) {
  Fleet fleet = GatherFleet(row.nodes);
  EXPECT_EQ(EvaluateFleet(fleet, row.target, false), row.end);
  EXPECT_EQ(EvaluateFleet(fleet, row.target, true), row.end_fail_fast);
}

std::vector<EndCase> EndCases() {
  FleetNode ready = ReadyNode("r"), denied = NodeOf("d", {Denied()});
  FleetNode moving = NodeOf("m", {sample::Queued("a:1")}),
            half = NodeOf("h", {sample::Queued("a:1"), Denied()});
  FleetNode silent = NodeWithoutDetail("s", {.has_pod = true});
  FleetTarget all, two{2, false}, most{60, true};
  return {
      {"NoNodes", {}, all, std::nullopt, std::nullopt},
      {"AllReady", {ready, ready}, all, WaitOutcome::kReady, WaitOutcome::kReady},
      {"StillMoving", {ready, moving}, all, std::nullopt, std::nullopt},
      {"EnoughReady", {ready, ready, moving}, two, WaitOutcome::kReady, WaitOutcome::kReady},
      {"EnoughPercent", {ready, ready, denied}, most, WaitOutcome::kReady, WaitOutcome::kReady},
      {"TheRestIsDenied", {ready, denied}, all, std::nullopt, WaitOutcome::kFailedFast},
      {"OthersMove", {moving, denied}, all, std::nullopt, WaitOutcome::kFailedFast},
      {"OneImageOfTheNodeMoves", {ready, half}, all, std::nullopt, WaitOutcome::kFailedFast},
      {"EnoughCanStillCome", {ready, moving, denied}, two, std::nullopt, std::nullopt},
      {"SilentIsNotFailed", {ready, silent}, all, std::nullopt, std::nullopt},
      {"MoreThanThereAre", {ready}, two, std::nullopt, std::nullopt},
  };
}
INSTANTIATE_TEST_SUITE_P(Rows, JudgeFleetTest, testing::ValuesIn(EndCases()), tests::kRowName);

TEST(FleetTable, Screens) {
  Fleet fleet = MixedFleet();
  for (std::size_t width : {60, 80, 120}) {
    std::string screen = FleetTable(fleet, {.width = width, .not_ready = true});
    for (std::string_view line : base::Split(screen, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
    if (width != 60) ExpectGolden("screen/fleet.table" + std::to_string(width), screen);
  }
  ExpectGolden("screen/fleet.wide", FleetTable(fleet, {.width = 120, .wide = true}));
  EXPECT_EQ(FleetTable(GatherFleet({}), {}), "no node matches\n");
}

TEST(FleetTable, NodesThatShowPublicFieldsOnlySaySo) {
  auto open = status::ParseStatusDocument(status::PublicStatusJson(sample::TroubledNode()));
  auto full = status::ParseStatusDocument(status::StatusJson(sample::TroubledNode()));
  ASSERT_TRUE(open && full);
  const Fleet mixed = GatherFleet({SummarizeStatus(*open, "n1"), SummarizeStatus(*full, "n2")});
  EXPECT_EQ(mixed.public_only, 1U);
  const std::string screen = FleetTable(mixed, {.width = 160});
  EXPECT_NE(screen.find("unlisted images on 1 node\n"), std::string::npos) << screen;
  const Fleet hidden = GatherFleet({SummarizeStatus(*open, "n1")});
  tests::ExpectGolden("screen/fleet.public80", FleetTable(hidden, {.width = 80, .not_ready = true}));
  EXPECT_NE(FleetJson(hidden, sample::At(0), false).find("\"publicOnly\":1"), std::string::npos);
}

TEST(FleetTable, ManyCausesAreFoldedAndNothingFailingIsLeftOutFirst) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 20; i++) images.push_back(sample::Queued("a/b" + std::to_string(i) + ":1"));
  images.push_back(Denied());
  std::string screen = FleetTable(GatherFleet({NodeOf("n1", images)}), {});
  EXPECT_NE(screen.find("quay.io/acme/private:v2"), std::string::npos) << screen;
  EXPECT_NE(screen.find("… 9 causes more (-o wide shows all)"), std::string::npos) << screen;
}

TEST(FleetTable, ColorOnlySupportsTheWords) {
  std::string colored = FleetTable(MixedFleet(), {.not_ready = true, .color = true});
  for (const char* code : {"\xff[31m", "\xff[32m", "\xff[33m", "\xff[0m"})
    colored = base::ReplaceAll(colored, code, "");
  EXPECT_EQ(colored, FleetTable(MixedFleet(), {.not_ready = true}));
}

TEST(FleetLine, FitsAndSaysTheSlowest) {
  Fleet fleet = MixedFleet();
  EXPECT_EQ(FleetLine(fleet, 200),
            "20 nodes   13 ready   1 progressing   5 failing   1 not heard   ██████████████░░░░░░░░   "
            "slowest: node ci-26, 2.1 GB left");
  for (std::size_t width = 1; width < 120; width++) EXPECT_LE(DisplayWidth(FleetLine(fleet, width)), width);
}

TEST(FleetDetails, OneCauseALine) {
  auto lines = FleetDetails(MixedFleet(), 79, 8);
  ExpectGolden("screen/fleet.details", base::Join(lines, "\n") + "\n");
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 79U) << line;
  EXPECT_EQ(FleetDetails(MixedFleet(), 79, 3).size(), 3U);
}

TEST(FleetResult, FinalError) {
  Fleet fleet = MixedFleet();
  std::string text = FleetResult(fleet, {}, WaitOutcome::kTimedOut, std::chrono::minutes(10), 80);
  text += FleetResult(fleet, {80, true}, WaitOutcome::kFailedFast, std::chrono::minutes(1), 80);
  text += FleetResult(fleet, {60, true}, WaitOutcome::kReady, std::chrono::seconds(42), 80);
  ExpectGolden("screen/fleet.result", text);
}

TEST(FleetJson, IsWhatToolsRead) {
  auto text = doc::IndentedJson(FleetJson(MixedFleet(), sample::At(0), true));
  ASSERT_TRUE(text);
  ExpectGolden("screen/fleet.json", *text);
  EXPECT_EQ(FleetJson(MixedFleet(), sample::At(0), true).find("\"ci-10\""), std::string::npos);
  EXPECT_NE(FleetJson(MixedFleet(), sample::At(0), false).find("\"ci-10\""), std::string::npos);
}

TEST(Results, OneRowForEachImageAndNode) {
  status::StatusDocument document =
      Parsed(sample::Node({sample::Ready("ghcr.io/acme/runner:v3", 1'200'000'000), Denied()}));
  ExpectGolden("screen/results.csv",
               ResultsHeader(ResultsFormat::kCsv) + ResultRows(document, "ci-7", ResultsFormat::kCsv));
  ExpectGolden("screen/results.jsonl",
               ResultsHeader(ResultsFormat::kJson) + ResultRows(document, "ci-7", ResultsFormat::kJson));
}

TEST(Results, ACellIsNoFormulaAndNoSecondCell) {
  status::StatusDocument document;
  document.images.push_back({.image = "=HYPERLINK(\"x\"),1"});
  std::string row = ResultRows(document, "n", ResultsFormat::kCsv);
  EXPECT_TRUE(row.starts_with("n,\"'=HYPERLINK(\"\"x\"\"),1\",true,")) << row;
}

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
}  // namespace prefetch::screen::fleet_test
