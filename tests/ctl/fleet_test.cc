// Which agents there are, and what each says.
#include "ctl/fleet.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "ctl/commands.h"
#include "ctl/fake_agent.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::fleet_test {
namespace {

using kube::ApiError;
using tests::FleetApi;

std::vector<FleetMember> Members(FleetApi& api, const FleetQuery& query = {}) {
  auto roster = ListMembers({}, api, query);
  EXPECT_TRUE(roster);
  return roster ? roster->members : std::vector<FleetMember>();
}

struct LeftOutCase {
  std::string name;
  std::map<std::string, std::map<std::string, std::string>> nodes;
  std::vector<std::string> with_agent;
  std::string counted, nodes_flag = kDefaultNodeSelector;
};

TEST_TABLE(LeftOut, AreNodesThatTheUsualDaemonSetKeepsOff, LeftOutCase) {
  FleetApi api;
  for (const auto& [name, labels] : row.nodes) {
    api.Add(name);
    api.node(api.size() - 1).labels = labels;
  }
  for (const std::string& node : row.with_agent) api.AddPod(node, "agent-" + node);
  std::vector<std::string> counted;
  for (const FleetMember& member : Members(api, {.nodes = row.nodes_flag})) counted.push_back(member.node);
  EXPECT_EQ(base::Join(counted, " "), row.counted);
}

TEST(FleetRoster, ANodeThatHadAnAgentIsNotLeftOutWhileItsPodIsReplaced) {
  FleetApi api;
  api.Add("c");
  api.node(0).labels = {{"node-role.kubernetes.io/control-plane", ""}};
  api.Add("w");
  api.AddPod("w", "agent");
  auto roster = ListMembers({}, api, {});
  ASSERT_TRUE(roster);
  EXPECT_EQ(roster->members.size(), 1U);
  EXPECT_EQ(roster->left_out, 1U);
  EXPECT_EQ(ListMembers({}, api, {}, {"c"})->members.size(), 2U);
  EXPECT_EQ(ListMembers({}, api, {.leave_out = false})->members.size(), 2U);
}

using Labels = std::map<std::string, std::string>;
const Labels kControl = {{"node-role.kubernetes.io/control-plane", ""}};
const Labels kMaster = {{"node-role.kubernetes.io/master", ""}};
const Labels kControlAndWorker = {{"node-role.kubernetes.io/control-plane", ""},
                                  {"node-role.kubernetes.io/worker", ""}};

TEST_ROWS(
    Rows, LeftOut, {"ControlPlanes", {{"c", kControl}, {"m", kMaster}, {"w", {}}}, {"w"}, "w"},
    {"AWorkerWithoutAnAgentIsMissed", {{"c", kControl}, {"w", {}}, {"x", {}}}, {"w"}, "w x"},
    {"ControlPlanesThatAreWorkers", {{"c", kControlAndWorker}, {"w", {}}}, {"w"}, "c w"},
    {"OneControlPlaneHasAnAgentSoAllCount", {{"c", kControl}, {"d", kControl}, {"w", {}}}, {"c"}, "c d w"},
    {"ThereAreOnlyControlPlanes", {{"c", kControl}, {"d", kControl}}, {}, "c d"},
    {"VirtualNodes",
     {{"v", {{"type", "virtual-kubelet"}}},
      {"f", {{"eks.amazonaws.com/compute-type", "fargate"}}},
      {"a", {{"eks.amazonaws.com/compute-type", "auto"}}},
      {"w", {{"eks.amazonaws.com/compute-type", "ec2"}}}},
     {},
     "w"},
    {"ASelectorOfOnesOwnCounts", {{"c", kControl}, {"w", {}}}, {"w"}, "c w", ""});

TEST(FleetRoster, HasEachNodeOnceByNameWithItsPodOrWithout) {
  FleetApi api;
  for (const char* node : {"n2", "n1", "n3"}) api.Add(node);
  api.node(0).labels = {{"prefetchd.dev/prefetchd", "ready"}, {"prefetchd.dev/other", "notready"}};
  api.node(1).conditions = {{.type = "Ready", .status = "False"}};
  api.AddPod("n2", "agent-2").ready = true;
  api.AddPod("gone", "agent-of-a-node-that-is-gone");
  std::vector<FleetMember> members = Members(api);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].node + members[1].node + members[2].node, "n1n2n3");
  EXPECT_EQ(members[0].facts.node_is_up, false);
  EXPECT_EQ(members[2].facts.node_is_up, std::nullopt);
  EXPECT_FALSE(members[0].facts.has_pod);
  EXPECT_EQ(members[1].pod, "agent-2");
  EXPECT_EQ(members[1].port, 9477) << "the usual one, where the pod names none";
  EXPECT_EQ(members[1].facts.label, "ready");
  EXPECT_TRUE(members[1].facts.pod_ready);
}

TEST(FleetRoster, APodsOwnPortCounts) {
  FleetApi api;
  api.Add("n1");
  api.AddPod("n1", "agent").containers = {{.name = "init", .init = true},
                                          {.name = "a", .ports = {{"http", 80}}}};
  EXPECT_EQ(Members(api)[0].port, 80);
}

struct OfTwo {
  std::string name;
  std::function<void(kube::Pod& stays, kube::Pod& goes)> change;
};

TEST_TABLE(Rollout, ThePodThatStaysIsTaken, OfTwo) {
  for (const bool stays_first : {true, false}) {
    FleetApi api;
    api.Add("n1");
    kube::Pod stays = api.AddPod("n1", "stays"), goes = api.AddPod("n1", "goes");
    row.change(stays, goes);
    FleetApi fresh;
    fresh.Add("n1");
    fresh.AddPod("n1", "x") = stays_first ? stays : goes;
    fresh.AddPod("n1", "y") = stays_first ? goes : stays;
    EXPECT_EQ(Members(fresh)[0].pod, "stays") << stays_first;
  }
}

TEST_ROWS(Rows, Rollout,
          {"NotTheOneThatGoes", [](kube::Pod&, kube::Pod& goes) { goes.ready = goes.terminating = true; }},
          {"NotTheOneThatFailed", [](kube::Pod&, kube::Pod& goes) { goes.phase = "Failed"; }},
          {"NotTheOneThatEnded",
           [](kube::Pod& stays, kube::Pod& goes) {
             goes.phase = "Succeeded";
             stays.terminating = true;
           }},
          {"TheReadyOne", [](kube::Pod& stays, kube::Pod&) { stays.ready = true; }});

TEST(FleetPollOptions, EachMemberIsHeardOrSaysWhyNot) {
  FleetApi api;
  for (const char* node : {"heard", "late", "lost", "none", "stranger"}) api.Add(node);
  for (const char* node : {"heard", "late", "lost", "stranger"}) api.AddPod(node, std::string("pod-") + node);
  api.Answers("pod-heard", tests::kTwoImages);
  api.Answers("pod-late", kube::Failure{.kind = ApiError::kTimeout, .message = "get pods/proxy \"x\": late"});
  api.Answers("pod-lost", kube::Failure{.kind = ApiError::kUnreachable, .message = "get \"x\": refused"});
  api.Answers("pod-stranger", std::string("<html>"));
  std::vector<FleetMember> members = Members(api);
  std::atomic<int> documents = 0;
  std::ostringstream shown;
  Progress progress(shown, {.interactive = true});
  FleetPollOptions poll{.each = [&](std::size_t, const status::StatusDocument&) { documents++; },
                        .progress = &progress};
  FleetAgents agents(api, "prefetchd");
  FleetAnswers answers = PollMembers({}, agents, members, poll);
  ASSERT_EQ(answers.nodes.size(), 5U);
  EXPECT_TRUE(answers.nodes[0].detail);
  for (std::size_t i = 1; i < 5; i++) EXPECT_FALSE(answers.nodes[i].detail) << answers.nodes[i].name;
  EXPECT_HAS(answers.nodes[1].message, "it did not answer in time");
  EXPECT_HAS(answers.nodes[2].message, "refused");
  EXPECT_LACKS(answers.nodes[2].message, "\"x\"") << "the same trouble reads the same";
  EXPECT_FALSE(answers.forbidden);
  EXPECT_EQ(documents, 1);
  for (const char* asked : {"1", "2", "3", "4", "5"}) {
    EXPECT_HAS(shown.str(), std::string("asked ") + asked + " of 5 nodes");
  }
}

TEST(FleetPollOptions, WhoIsLetInNowhereIsToldTheRight) {
  FleetApi api;
  for (const char* node : {"n1", "n2"}) {
    api.Add(node);
    api.AddPod(node, std::string("pod-") + node);
  }
  std::vector<FleetMember> members = Members(api);
  FleetAgents agents(api, "prefetchd");
  EXPECT_TRUE(PollMembers({}, agents, members, {}).forbidden);
  api.Answers("pod-n2", tests::kTwoImages);
  EXPECT_FALSE(PollMembers({}, agents, members, {}).forbidden) << "let in somewhere";
}

TEST(FleetPollOptions, PatienceIsAskedForOnce) {
  FleetApi api;
  api.Add("n1");
  api.AddPod("n1", "busy");
  api.Answers("busy", kube::Failure{.kind = ApiError::kTooManyRequests,
                                    .message = "busy",
                                    .retry_after = std::chrono::seconds(0)});
  FleetAgents agents(api, "prefetchd");
  EXPECT_FALSE(PollMembers({}, agents, Members(api), {}).nodes[0].detail);
  EXPECT_EQ(api.asked(), 2);
}

TEST(FleetPollOptions, AStopAsksNobody) {
  FleetApi api;
  api.Add("n1");
  api.AddPod("n1", "pod");
  std::stop_source stop;
  stop.request_stop();
  base::Call call;
  call.stop = stop.get_token();
  FleetAgents agents(api, "prefetchd");
  EXPECT_FALSE(PollMembers(call, agents, Members(api), {}).nodes[0].detail);
  EXPECT_EQ(api.asked(), 0);
}

const std::string kHidden =
    R"({"apiVersion":"prefetchd.dev/v1","kind":"NodeStatus","node":"n","hidden":["message"],"images":[]})";

// Agents of the account prefetchd-ci.
class FleetTokensTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"n1", "n2", "n3"}) {
      api_.Add(node);
      api_.AddPod(node, std::string("pod-") + node).service_account = "prefetchd-ci";
      api_.Answers(std::string("pod-") + node, kHidden);
    }
  }
  FleetAnswers Ask() { return PollMembers({}, agents_, Members(api_), {}); }

  FleetApi api_;
  FleetAgents agents_{api_, "prefetchd-ci"};
};

TEST_F(FleetTokensTest, OneIsRequestedForAllAgentsAndShownToEach) {
  api_.HasFleet();
  for (const char* pod : {"pod-n1", "pod-n2", "pod-n3"}) api_.AnswersToToken(pod, tests::kTwoImages);
  const FleetAnswers answers = Ask();
  for (const screen::FleetNode& node : answers.nodes) EXPECT_FALSE(node.public_only) << node.name;
  EXPECT_EQ(api_.shown(), 3);
  EXPECT_EQ(api_.asked(), 3);
  Ask();
  EXPECT_EQ(api_.requested(), 1) << "it lasts ten minutes";
}

// The instance is called prefetchd-ci; its account could as well be one with the prefix "prefetchd".
TEST_F(FleetTokensTest, OfAnAgentsAccountWithTheNameInItTwiceEachReadingIsTried) {
  FleetApi api;
  api.Add("n1");
  api.AddPod("n1", "pod-n1").service_account = "prefetchd-prefetchd-ci";
  api.Answers("pod-n1", kHidden);
  api.AnswersToToken("pod-n1", tests::kTwoImages);
  api.HasFleet("prefetchd-prefetchd-fleet-ci");
  FleetAgents agents(api, "prefetchd-ci");
  const FleetAnswers answers = PollMembers({}, agents, Members(api), {});
  EXPECT_FALSE(answers.nodes[0].public_only);
  EXPECT_EQ(api.requested(), 2);
}

TEST_F(FleetTokensTest, WithoutTheComponentStrangersAreShownWhatTheyMaySee) {
  const FleetAnswers answers = Ask();
  for (const screen::FleetNode& node : answers.nodes)
    EXPECT_TRUE(node.detail && node.public_only) << node.name;
  EXPECT_FALSE(answers.forbidden);
  Ask();
  EXPECT_EQ(api_.requested(), 1) << "a refusal holds for a minute";
  EXPECT_EQ(api_.shown(), 0);
}

TEST_F(FleetTokensTest, AnAgentThatRefusesItIsAskedWithout) {
  api_.HasFleet();
  api_.AnswersToToken("pod-n1", kube::Failure{.kind = ApiError::kForbidden, .message = "fleetTokens"});
  api_.AnswersToToken("pod-n2", kube::Failure{.kind = ApiError::kServerError, .message = "no API server"});
  api_.AnswersToToken("pod-n3", tests::kTwoImages);
  const FleetAnswers answers = Ask();
  EXPECT_TRUE(answers.nodes[0].detail && answers.nodes[0].public_only);
  EXPECT_TRUE(answers.nodes[1].detail && answers.nodes[1].public_only);
  EXPECT_TRUE(answers.nodes[2].detail && !answers.nodes[2].public_only);
  EXPECT_FALSE(answers.forbidden);
}

TEST_F(FleetTokensTest, WhoMayAskNoPodIsStillToldTheRight) {
  api_.HasFleet();
  for (const char* pod : {"pod-n1", "pod-n2", "pod-n3"}) {
    const kube::Failure no{.kind = ApiError::kForbidden, .message = "pods/proxy"};
    api_.Answers(pod, no);
    api_.AnswersToToken(pod, no);
  }
  EXPECT_TRUE(Ask().forbidden);
}

// `prefetchctl plan` against a registry on loopback, and without one.

Ran Plan(const PlanOptions& options) {
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  return tests::Run([&](auto& out, auto& err) { return PlanFleet({}, options, nothing, out, err); });
}

TEST(FleetPlan, OneSizeForEachImageNeedsNoRegistry) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.yaml",
                                     "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                                     "- image: docker.io/library/nginx:1.27\n  priority: 10\n"
                                     "- image: q.io/a:v1\n- image: q.io/b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 300, .registry_rate = 1000, .image_size = 400});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out,
            R"(3 images, 1.2 GB for each node; 300 nodes, 360 GB in all

REGISTRY   IMAGES  A NODE  ALL NODES  PULLS  REQUESTS
docker.io  1       400 MB  120 GB     300    3300
q.io       2       800 MB  240 GB     600    6600

PRIORITY  IMAGES  A NODE  ON A NODE AFTER  ON ALL NODES AFTER
10        1       400 MB  4 s              2 min
0         2       800 MB  12 s             6 min

By a rollout of the DaemonSet: 10 waves of 30 nodes, 36 s each, 6 min in all

START JITTER  IN THE FIRST SECOND  REQUESTS/S THEN  ALL NODES READY AFTER
0 s           2700                 28               6 min
60 s          45                   28               6 min
10 min        9                    16               10 min
60 min        9                    3                60 min
)");
  EXPECT_TRUE(ran.err.starts_with("warning: docker.io: 300 pulls, and Docker Hub allows 100 in 6 h")) << ran;
}

TEST(FleetPlan, AWindowThatIsTooShortIsAWarning) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.yaml",
                                     "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                                     "- image: q.io/a:v1\n  pullWindow: {start: '22:00', end: '22:05'}\n"
                                     "- image: q.io/b:v1\n");
  PlanOptions options{.lists = {list}, .nodes = 300, .registry_rate = 1000, .image_size = 400};
  Ran ran = Plan(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_HAS(ran.out,
             "\nPULLWINDOW          IMAGES  A NODE  OPEN FOR  ON ALL NODES AFTER\n"
             "22:00 to 22:05 UTC  1       400 MB  5 min     2 min\n\n");
  EXPECT_EQ(ran.err, "");
  options.nodes = 900;
  options.json = true;
  ran = Plan(options);
  EXPECT_TRUE(Prints(ran, kOk,
                     R"("windows":[{"pullWindow":"22:00 to 22:05 UTC","images":1,"nodeBytes":400000000,)"
                     R"("openSeconds":300,"fleetSeconds":360}])"));
  EXPECT_TRUE(ran.err.starts_with("warning: pullWindow 22:00 to 22:05 UTC: 1 image needs 6 min")) << ran;
}

tests::FakeManifest ImageManifest(const std::string& layer, int bytes) {
  return {
      .content_type = "application/vnd.oci.image.manifest.v1+json",
      .body = R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"digest":"sha256:c)" +
              layer + R"(","size":1000000},"layers":[{"digest":"sha256:)" + layer + R"(","size":)" +
              std::to_string(bytes) + "}]}"};
}

TEST(FleetPlan, RegistriesTellTheSizes) {
  tests::FakeRegistry registry;
  registry.Put("team/a", "v1", ImageManifest("a", 99000000));
  registry.Put("team/b", "v1", ImageManifest("b", 49000000));
  tests::TempDir dir;
  const std::string name = registry.address() + "/team/";
  const std::string list = dir.Write("images.txt", name + "a:v1\n" + name + "b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 2, .json = true});
  EXPECT_TRUE(Prints(ran, kOk, R"("nodeBytes":150000000)"));
  EXPECT_HAS(ran.out, R"("pulls":4,"requests":16)");
  dir.Write("images.txt", name + "a:v1\n" + name + "gone:v1\n");
  ran = Plan({.lists = {list}, .nodes = 2});
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_TRUE(ran.out.starts_with("2 images, 100 MB for each node; 2 nodes, 200 MB in all\n")) << ran;
  EXPECT_HAS(ran.err, name + "gone:v1 counts with size 0: ");
}

TEST(FleetPlan, ThePlatformChoosesTheManifest) {
  tests::FakeRegistry registry;
  const std::string amd = registry.Put("a", "amd64", ImageManifest("x", 99000000));
  const std::string arm = registry.Put("a", "arm64", ImageManifest("y", 49000000));
  const auto listed = [](const std::string& digest, const char* architecture) {
    return R"({"digest":")" + digest + R"(","platform":{"os":"linux","architecture":")" + architecture +
           "\"}}";
  };
  registry.Put("a", "v1",
               {.body = R"({"schemaVersion":2,"manifests":[)" + listed(amd, "amd64") + "," +
                        listed(arm, "arm64") + "]}"});
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", registry.address() + "/a:v1\n");
  for (const auto& [platform, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"linux/amd64", R"("nodeBytes":100000000)"}, {"linux/arm64", R"("nodeBytes":50000000)"}}) {
    EXPECT_TRUE(Prints(Plan({.lists = {list}, .nodes = 1, .platform = platform, .json = true}), kOk, says));
  }
}

TEST(FleetPlan, AManifestThatCannotBeReadIsNamed) {
  tests::FakeRegistry registry;
  tests::TempDir dir;
  const std::string name = registry.address() + "/a:v1";
  const std::string list = dir.Write("images.txt", name + "\n");
  // The second size is larger than any blob.
  for (const char* body : {R"({"layers":[]})", R"({"config":{"digest":"sha256:c","size":9223372036854775807},
                                               "layers":[]})"}) {
    registry.Put("a", "v1", {.content_type = "application/vnd.oci.image.manifest.v1+json", .body = body});
    Ran ran = Plan({.lists = {list}, .nodes = 2});
    EXPECT_TRUE(Complains(ran, kNegative, name + " counts with size 0: its manifest cannot be read\n"));
  }
}

TEST(FleetPlan, ARegistryThatAsksForPatienceGetsItWithinTheTimeout) {
  tests::FakeRegistry registry;
  registry.Put("a", "v1", ImageManifest("x", 99000000));
  std::atomic<const char*> wait = "1";
  registry.Answer([&](const tests::WireRequest&) -> std::optional<tests::FakeReply> {
    const char* once = wait.exchange(nullptr);
    if (once == nullptr) return std::nullopt;
    return tests::FakeReply{.status = 429, .headers = {{"Retry-After", once}}};
  });
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", registry.address() + "/a:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 1});
  EXPECT_TRUE(Complains(ran, kOk, " limits requests: continuing in 1 s"));
  wait = "3600";
  ran = Plan({.lists = {list}, .nodes = 1});
  EXPECT_TRUE(Complains(ran, kNegative, "/a:v1 counts with size 0: "));
}

TEST(FleetPlan, SizesBeyondAllDisksStayTheLargestNumber) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", "q.io/a:v1\nq.io/b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 100000, .image_size = 10'000'000'000'000'000, .json = true});
  EXPECT_TRUE(Prints(ran, kOk, R"("nodeBytes":9223372036854775807)"));
  EXPECT_LACKS(ran.out, ":-");
}

TEST(FleetPlan, BadInputIsNamed) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", "q.io/a:v1\n");
  for (const auto& [options, says] : std::initializer_list<std::pair<PlanOptions, const char*>>{
           {{.lists = {list}}, "--nodes must be a number from 1"},
           {{.lists = {list}, .nodes = 1, .node_rate = 0}, "--node-rate"},
           {{.lists = {list}, .nodes = 1, .image_size = 0}, "--image-size must be at least 1"},
           {{.lists = {list}, .nodes = 1, .start_jitter = "-1s"}, "--start-jitter must be"},
           {{.lists = {list}, .nodes = 1, .platform = "linux"}, "--platform: "},
           {{.lists = {dir / "none.yaml"}, .nodes = 1}, "none.yaml"}}) {
    EXPECT_TRUE(OnlyComplains(Plan(options), kBadInput, says));
  }
}

}  // namespace
}  // namespace prefetch::ctl::fleet_test
