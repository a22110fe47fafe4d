// `prefetchctl status --fleet` and `wait --fleet` against an API server on loopback that stands before
// agents.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "fakes/fake_api_server.h"
#include "fakes/rbac.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rows.h"
#include "serve.h"
#include "status/check_document.h"
#include "status/kubelet_sample.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "system/cluster_account.h"
#include "temp_dir.h"

namespace prefetch::system::fleet_command_test {
namespace {

using rig::ExpectHas;
using sample::Failing;
using sample::Pulling;
using sample::Ready;
using std::chrono::seconds;

using Words = std::vector<std::string>;

constexpr const char* kRunner = "ghcr.io/acme/runner:v3";

std::size_t CountOf(const std::vector<std::string>& lines, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(part) != std::string::npos;
  }));
}

// A cluster in which "ci", a person's account, has the rights that the example grants and no other.
class FleetCommand : public ClusterAccount {
 protected:
  FleetCommand() : ClusterAccount("fleet-viewer.yaml", "prefetchd-fleet-viewers") {}

  void AddNode(const std::string& node, const std::string& labels = "") {
    server_.Put("nodes/" + node, R"({"metadata":{"labels":{"kubernetes.io/os":"linux")" + labels +
                                     R"(}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  }
  void AddPod(const std::string& node, bool ready = true, int port = 9477, const std::string& name = "") {
    server_.Put("pods/prefetchd/" + (name.empty() ? "agent-" + node : name),
                R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":")" +
                    node + R"(","containers":[{"name":"prefetchd","ports":[{"name":"http","containerPort":)" +
                    std::to_string(port) +
                    R"(}]}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" +
                    (ready ? "True" : "False") + "\"}]}}");
  }
  void Says(const std::string& node, std::vector<plan::ImageState> images) {
    plan::Snapshot snapshot = sample::Node(std::move(images));
    snapshot.unlisted = std::make_shared<const plan::Unlisted>(
        plan::Unlisted{.since = sample::At(-3600), .images = {}, .left_out = 0});
    server_.SetPodAnswer("prefetchd/agent-" + node + ":9477/v1/status", status::StatusJson(snapshot));
  }
  // Adds a node whose agent reports these images.
  void Has(const std::string& node, std::vector<plan::ImageState> images) {
    AddNode(node);
    AddPod(node);
    Says(node, std::move(images));
  }

  rig::Command Command(std::vector<std::string> words) const {
    if (std::find(words.begin(), words.end(), "--fleet") != words.end()) words.push_back(kubeconfig());
    return Prefetchctl(std::move(words));
  }
  rig::Ran Run(int exit, const std::vector<std::string>& words, seconds limit = seconds(60)) const {
    return RunToEnd(exit, Command(words), limit);
  }
};

plan::ImageState Denied() {
  plan::ImageState image = Failing("quay.io/acme/private:v2", plan::Reason::kAccessDenied,
                                   "401 Unauthorized from quay.io with the node's credentials", 3);
  image.settled = true;
  return image;
}

TEST_F(FleetCommand, ShowsWhatIsMissingWhereAndWhy) {
  for (int i = 1; i <= 3; i++) Has("n" + std::to_string(i), {Ready(kRunner, 1'200'000'000)});
  Has("n4", {Ready(kRunner, 1'200'000'000), Denied()});
  Has("n5", {Denied(), Pulling("ghcr.io/acme/e2e:main", 100'000'000, 680'000'000, 38'000'000)});
  AddNode("n6");  // the DaemonSet has not put a pod there
  AddNode("n7", R"(,"prefetchd.dev/prefetchd":"ready")");
  AddPod("n7");  // nobody answers there
  server_.Put("nodes/w1", R"({"metadata":{"labels":{"kubernetes.io/os":"windows"}}})");
  std::string out = Run(0, {"status", "--fleet", "--not-ready"}).out;
  ExpectHas(out, {"7 nodes   4 ready   2 failing   1 not heard\n", "denied       quay.io/acme/private:v2",
                  "on 2 of 7 nodes", "401 Unauthorized from quay.io with the node's credentials", "n4, n5",
                  "pulling      ghcr.io/acme/e2e:main", "580 MB left on n5", "no agent is on it (yet)",
                  "no detail    (the node itself)", "no endpoints available", "n4    failing      1/2"});
  EXPECT_LACKS(out, "agent-n7") << "causes would differ by the pod's name";
  EXPECT_LACKS(out, "w1");
  doc::Problems problems("out");
  auto json = tests::Must(doc::ParseJson(Run(0, {"status", "--fleet", "-o", "json"}).out, problems));
  EXPECT_EQ(json->Find("count")->integer, 7);
  EXPECT_EQ(json->Find("causes")->items.at(0).Find("count")->integer, 2);
  ExpectHas(Run(0, {"status", "--fleet", "-o", "yaml"}).out, {"kind: FleetStatus\n"});
  ExpectHas(
      Run(0, {"status", "--fleet", "-o", "html"}).out,
      {"<h1>4 of 7 nodes are ready</h1>", "quay.io/acme/private:v2", "no agent is on it (yet)", "</html>\n"});
  EXPECT_EQ(Run(0, {"status", "--fleet", "--nodes", "pool=none"}).out, "no node matches\n");
}

// A node without agent that is cordoned holds up nobody; table, document and page have the same numbers.
TEST_F(FleetCommand, NodesThatLeaveAreCountedApartEverywhere) {
  Has("n1", {Ready(kRunner, 1'200'000'000)});
  Has("n2", {Denied()});
  AddNode("n3");
  server_.Put("nodes/n4",
              R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},"spec":{"unschedulable":true}})");
  server_.Put("nodes/n5", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},"spec":{"taints":[)"
                          R"({"key":"karpenter.sh/disrupted","effect":"NoSchedule"}]}})");
  ExpectHas(Run(0, {"status", "--fleet"}).out,
            {"5 nodes   1 ready   1 failing   1 not heard   2 dead or leaving\n",
             "n4 (cordoned), n5 (Karpenter removes"});
  ExpectHas(Run(0, {"status", "--fleet", "-o", "html"}).out,
            {"<h1>1 of 3 nodes are ready</h1>", "<b>1</b> <span><i class=\"key failing\"",
             "<b>1</b> <span><i class=\"key silent\"", "<b>2</b> <span><i class=\"key leaving\"",
             "not counted: cordoned"});
  doc::Problems problems("out");
  auto json = tests::Must(doc::ParseJson(Run(0, {"status", "--fleet", "-o", "json"}).out, problems));
  for (const auto& [name, count] : {std::pair{"count", 5},
                                    {"ready", 1},
                                    {"failing", 1},
                                    {"progressing", 0},
                                    {"notHeard", 1},
                                    {"leaving", 2}})
    EXPECT_EQ(json->Find(name)->integer, count) << name;
  ExpectHas(Run(0, {"status", "--fleet", "--include-unready"}).out,
            {"5 nodes   1 ready   1 failing   3 not heard\n"});
  Run(0, {"wait", "--fleet", "--min-ready", "33%", "--timeout", "20s"});
}

TEST_F(FleetCommand, ResultsAreARowForEachImageAndNode) {
  Has("n1", {Ready(kRunner, 1'200'000'000), Denied()});
  Has("n2", {Ready(kRunner, 1'200'000'000)});
  std::string csv = Run(0, {"status", "--fleet", "--results", "csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4) << csv;
  ExpectHas(csv, {"node,image,required,", "\nn1,ghcr.io/acme/runner:v3,true,true,", "\nn2,ghcr.io/",
                  ",1200000000,1,2026-08-01T09:58:20Z,2026-08-01T09:58:30Z,10\n"});
  std::string json = Run(0, {"status", "--fleet", "--results", "json"}).out;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 3) << json;
  Run(2, {"status", "--fleet", "--results", "csv", "-o", "json"});
}

TEST_F(FleetCommand, ManyNodesAreAskedThirtyTwoAtATimeAndListedInPages) {
  for (int i = 0; i < 250; i++) Has("n" + std::to_string(1000 + i), {Ready(kRunner, 1)});
  server_.HoldPodAnswersUntil(32);
  ExpectHas(Run(0, {"status", "--fleet"}).out, {"250 nodes   250 ready\n"});
  EXPECT_EQ(server_.most_at_once(), 32);
  for (const char* list : {"nodes", "namespaces/prefetchd/pods"}) {
    EXPECT_EQ(CountOf(server_.Requests(), "GET /api/v1/" + std::string(list) + "?limit=50"), 5U) << list;
  }
  EXPECT_EQ(CountOf(server_.Requests(), "/proxy/v1/status"), 250U);
}

TEST_F(FleetCommand, AStrangersTokenIsNamed) {
  Has("n1", {Ready(kRunner, 1)});
  WriteKubeconfig("stranger");
  ExpectHas(Run(4, {"status", "--fleet"}).err, {"401"});
}

TEST_F(FleetCommand, WaitEndsWhenEnoughAreReady) {
  Has("n1", {Ready(kRunner, 1)});
  Has("n2", {Denied()});
  Has("n3", {Pulling("a/b:1", 1, 10, 0)});
  ExpectHas(Run(0, {"wait", "--fleet", "--min-ready", "1"}).out, {"ready: 1 of 3 nodes ready, 1 needed"});
  ExpectHas(Run(3, {"wait", "--fleet", "--timeout", "1s"}).out,
            {"timed out after 1 s: 1 of 3 nodes ready", "denied", "not ready: n2, n3"});
  ExpectHas(Run(1, {"wait", "--fleet", "--fail-fast"}).out, {"failed: 1 of 3 nodes ready"});
  Says("n3", {Ready("a/b:1", 1)});
  ExpectHas(Run(3, {"wait", "--fleet", "--timeout", "1s"}).out,
            {"timed out after 1 s: 2 of 3 nodes ready", "401 Unauthorized"});
  ExpectHas(Run(1, {"wait", "--fleet", "--fail-fast"}).out,
            {"failed: 2 of 3 nodes ready; an image keeps failing", "401 Unauthorized"});
  Run(2, {"wait", "--fleet", "--min-ready", "101%"});
  Run(2, {"wait", "--min-ready", "1"});
  ExpectHas(Run(3, {"wait", "--fleet", "--timeout", "1s", "--nodes", "pool=none"}).out, {"no node matches"});
}

TEST_F(FleetCommand, WaitByListIsNotFooledByAPodThatKnowsAnother) {
  Has("n1", {Ready(kRunner, 1)});
  AddNode("n2", R"(,"prefetchd.dev/prefetchd":"ready")");
  AddPod("n2");  // ready, and not heard
  std::string list = dir_.Write("images.txt", std::string(kRunner) + "\n");
  std::string other = dir_.Write("other.txt", "ghcr.io/acme/new:v1\n");
  ExpectHas(Run(0, {"wait", "--fleet", "--timeout", "2s"}).out,
            {"ready: 2 of 2 nodes ready, 1 with no detail"});
  ExpectHas(Run(3, {"wait", "--fleet", "--list", list, "--timeout", "1s"}).out,
            {"1 of 2 nodes ready, 1 with no detail", "not ready: n2"});
  ExpectHas(Run(3, {"wait", "--fleet", "--list", other, "--timeout", "1s"}).out,
            {"0 of 2 nodes ready", "not listed   ghcr.io/acme/new:v1", "on 1 of 2 nodes"});
  ExpectHas(Run(3, {"wait", "--fleet", "--hash", "sha256:" + std::string(64, '0'), "--timeout", "1s"}).out,
            {"0 of 2 nodes ready", "sha256:" + std::string(64, '0')});
}

TEST_F(FleetCommand, WaitGoesOnUntilItIsTrue) {
  Has("n1", {Pulling(kRunner, 1, 10, 0)});
  AddNode("n2");
  rig::Process waiting;
  EXPECT_OK(waiting.Start(Command({"wait", "--fleet", "--timeout", "60s"}), dir_ / "log"));
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return CountOf(server_.Requests(), "/proxy/") >= 1; }));
  Has("n2", {Ready(kRunner, 1)});
  Says("n1", {Ready(kRunner, 1)});
  EXPECT_EQ(waiting.Wait(seconds(40)), (rig::Exit{0, 0}));
  ExpectHas(tests::TextOf(dir_ / "log"),
            {"2 nodes   0 ready   1 progressing   1 not heard", "ready: 2 of 2 nodes ready"});
}

// A node on which images came that are on no list.
TEST_F(FleetCommand, AuditNamesWhatCameAndWhoBroughtIt) {
  plan::Snapshot snapshot = sample::PeacefulNode();
  AddNode("n1");
  AddPod("n1");
  server_.SetPodAnswer("prefetchd/agent-n1:9477/v1/status", status::StatusJson(snapshot));
  AddNode("n2");
  server_.Put("pods/team/job",
              R"({"spec":{"nodeName":"n1","containers":[{"name":"c","image":"quay.io/acme/tool:v9"}]}})");
  server_.Put("events/team/pulled", R"json({"involvedObject":{"kind":"Pod","namespace":"team","name":"job"},
    "reason":"Pulled","source":{"host":"n1"},"lastTimestamp":"2026-08-01T10:00:00Z",
    "message":"Successfully pulled image \"busybox:1.36\" in 1.5s (1.5s including waiting)"
})json");
  std::string out = Run(1, {"audit", "--fleet"}).out;
  ExpectHas(out, {"2 images on no list on 1 node:\n  docker.io/library/alpine:3.20\n", "gone again",
                  "quay.io/acme/tool:v9", "node n2 could not be asked: no agent is on it (yet)",
                  "the pods that brought them are not known: list pods of all namespaces is"});
  EXPECT_LACKS(out, "team/job");
  WriteKubeconfig(server_.AddToken("auditor", {"prefetchd-fleet-viewers", "prefetchd-audit-viewers"}));
  EXPECT_OK(server_.LoadRbac(Example("audit-viewer.yaml")));
  ExpectHas(Run(1, {"audit", "--fleet"}).out,
            {"asked for by team/job", "1 listed image was pulled for pods all the same",
             "docker.io/library/busybox:1.36", "pulled once, at most 1.5 s, for team/job on n1"});
  ExpectHas(Run(1, {"audit", "--fleet", "-o", "json"}).out,
            {"\"kind\": \"AuditReport\"", "\"longestMilliseconds\": 1500"});
  Run(0, {"audit", "--fleet", "--ignore", "quay.io/*", "--ignore", "*/alpine"});
  Run(0, {"audit", "--fleet", "--since", "2026-08-01T10:00:00Z"});
  Run(2, {"audit", "--fleet", "--since", "yesterday"});
  Run(2, {"audit", "--fleet", "--ignore", "a b"});
  ExpectHas(Run(4, {"audit", "--fleet", "--nodes", "pool=none"}).err, {"no agent could be asked"});
  // An agent that knows nothing yet is nobody's clean node.
  snapshot.unlisted.reset();
  server_.SetPodAnswer("prefetchd/agent-n1:9477/v1/status", status::StatusJson(snapshot));
  rig::Ran untold = Run(4, {"audit", "--fleet"});
  ExpectHas(untold.err, {"no agent could be asked, so nothing is known: node n1 cannot list new images yet"});
  EXPECT_EQ(untold.out, "");
}

std::string Chapter(const std::string& page, const std::string& heading) {
  const std::string text = Example("../docs/" + page);
  const std::size_t begin = text.find("\n## " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << page;
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n## ", begin + 5) - begin);
}

// Every prefetchctl line of these chapters, where all is well.
TEST_F(FleetCommand, TheGuidesCommandsWork) {
  Has("n1", {Ready(kRunner, 1)});
  std::string list =
      dir_.Write("images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages: [{image: " +
                                    std::string(kRunner) + "}]\n");
  dir_.Write("deploy/pod.yaml",
             "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: " +
                 std::string(kRunner) + "}]}\n");
  std::string pods = dir_.Write("pods.json", R"({"kind":"List","items":[]})");
  std::string url = dir_.Write("slack-url.txt", "http://127.0.0.1:1/\n"),
              key = dir_.Write("key.txt", "k3y\n");
  const std::string pages = Chapter("watch.md", "All nodes at a glance") +
                            Chapter("watch.md", "Notify a webhook") +
                            Chapter("lists.md", "Find images that are on no list") +
                            Chapter("ci-systems.md", "Common to all recipes");
  int commands = 0;
  for (std::string_view line : base::Split(pages, '\n')) {
    if (line.starts_with("  - ")) line.remove_prefix(4);
    if (!line.starts_with("prefetchctl ")) continue;
    std::vector<std::string> words;
    for (std::string_view word : base::Split(line.substr(0, line.find(" >")), ' '))
      words.push_back(word == "images.yaml"     ? list
                      : word == "images.txt"    ? list
                      : word == "pods.json"     ? pods
                      : word == "deploy/"       ? dir_ / "deploy"
                      : word == "slack-url.txt" ? url
                      : word == "key.txt"       ? key
                                                : base::ReplaceAll(word, "'", ""));
    words.erase(words.begin());
    if (words[0] == "watch") words.emplace_back("--once");
    EXPECT_EQ(Run(0, words).err, "") << line;
    commands++;
  }
  EXPECT_EQ(commands, 11);
}

TEST(FleetViewer, GrantsNoMoreThanItSays) {
  tests::Rbac rbac;
  ASSERT_OK(rbac.Load(Example("fleet-viewer.yaml")));
  EXPECT_EQ(rbac.ForbiddenGrants(), std::vector<std::string>{});
  tests::Attempt attempt{.user = "x",
                         .groups = {"prefetchd-fleet-viewers"},
                         .verb = "get",
                         .resource = "pods/proxy",
                         .name_space = "prefetchd",
                         .name = "agent"};
  EXPECT_TRUE(rbac.Allows(attempt));
  attempt.name_space = "kube-system";
  EXPECT_FALSE(rbac.Allows(attempt));
  attempt.name_space = "prefetchd";
  attempt.verb = "create";
  EXPECT_FALSE(rbac.Allows(attempt));
}

// Each right of the examples is needed, and named where it is missing.
struct RightCase {
  std::string name, example, verb, resource;
  std::vector<std::string> words;
  int exit;
  std::string says;
};
class MissingRight : public FleetCommand, public testing::WithParamInterface<RightCase> {
 protected:
  void SetUp() override {
    const RightCase& without = GetParam();
    EXPECT_OK(
        server_.LoadRbac(tests::WithoutRight(Example(without.example), without.verb, without.resource)));
    if (without.example == "audit-viewer.yaml") {
      EXPECT_OK(server_.LoadRbac(Example("fleet-viewer.yaml")));
    }
    WriteKubeconfig(server_.AddToken("auditor", {"prefetchd-fleet-viewers", "prefetchd-audit-viewers"}));
  }
};
TEST_P(MissingRight, IsNamed) {
  AddNode("n1");
  AddPod("n1");
  server_.SetPodAnswer("prefetchd/agent-n1:9477/v1/status", status::StatusJson(sample::PeacefulNode()));
  rig::Ran ran = Run(GetParam().exit, GetParam().words);
  ExpectHas(ran.out + ran.err, {GetParam().says});
}
const Words kStatus = {"status", "--fleet"}, kAudit = {"audit", "--fleet"},
            kWait = {"wait", "--fleet", "--timeout", "10m"};
TEST_ROWS(Examples, MissingRight,
          {"ListNodes", "fleet-viewer.yaml", "list", "nodes", kStatus, 4,
           "prefetchctl: a right is missing, list nodes (deploy/examples/fleet-viewer.yaml grants what"},
          {"ListPods", "fleet-viewer.yaml", "list", "pods", kStatus, 4, "a right is missing, list pods"},
          {"GetProxy", "fleet-viewer.yaml", "get", "pods/proxy", kStatus, 4,
           "a right is missing, get pods/proxy"},
          {"WaitGetProxy", "fleet-viewer.yaml", "get", "pods/proxy", kWait, 4,
           "a right is missing, get pods/proxy"},
          {"AuditPods", "audit-viewer.yaml", "list", "pods", kAudit, 1,
           "the pods that brought them are not known: list pods of all namespaces is"},
          {"AuditEvents", "audit-viewer.yaml", "list", "events", kAudit, 1,
           "kubelet's own pulls of listed images are not known: list events of"});

TEST_F(FleetCommand, WithoutAClusterItSaysWhatWasLookedFor) {
  auto ran = tests::Must(rig::RunProgram(
      {{rig::Prefetchctl(), "status", "--fleet"}, {{"KUBECONFIG", dir_ / "none"}, {"HOME", dir_ / "home"}}},
      seconds(20)));
  EXPECT_EQ(ran->exit, (rig::Exit{4, 0})) << ran->err;
  ExpectHas(ran->err, {"no cluster is known", "--kubeconfig"});
  Run(2, {"status", "--nodes", "a=b"});
  Run(2, {"status", "--fleet", "--watch", "-o", "html"});
  ExpectHas(Run(2, {"watch", "--fleet", "--webhook-file", "url", "--interval", "1s"}).err,
            {"prefetchctl: --interval must be a duration of at least 10s\n"});
}

// prefetchctl against agents of other versions: during a rollout, and from a desk that is older or newer than
// the nodes.

constexpr const char* kImage = "quay.io/acme/runner:v3";
const std::string kFleetRights = tests::ClusterRights("{kind: User, name: viewer}", R"([
 {apiGroups: [""], resources: [nodes, pods, events], verbs: [list]},
 {apiGroups: [""], resources: [pods/proxy], verbs: [get]}])");

std::string Status() {
  plan::Snapshot snapshot = sample::KubeletNode();
  snapshot.unlisted = sample::PeacefulNode().unlisted;
  return status::StatusJson(snapshot);
}
std::string Image() {
  plan::ImageState image = sample::ClosedByOthers();
  return status::ImageJson(
      sample::KubeletNodeOf({image}), image,
      sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets())));
}
std::string Check() {
  status::CheckResult result{.node = "n1", .time = base::WallTime(), .ok = true};
  result.answers = {{.image = kImage,
                     .policy = "Never",
                     .ok = true,
                     .listed = true,
                     .result = "Starts",
                     .reason = "OpenToNode",
                     .rule = "7: open to the node",
                     .message = "open to the node"}};
  return status::CheckResultJson(result);
}

// A member that nobody knows in every object of it, as a newer agent may have.
void Extend(doc::Node& node) {
  for (doc::Member& member : node.members) Extend(member.value);
  for (doc::Node& item : node.items) Extend(item);
  if (node.kind != doc::Node::Kind::kMapping) return;
  doc::Node news = doc::Node::Mapping();
  news.Set("deeper", doc::Node::Sequence({doc::Node::Int(1), doc::Node::String("x")}));
  node.Set("somethingNew", std::move(news));
}
std::string Newer(const std::string& json) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems);
  EXPECT_TRUE(root);
  if (!root) return "";
  Extend(*root);
  return doc::WriteJson(*root);
}

class VersionSkew : public testing::Test {
 protected:
  VersionSkew() {
    EXPECT_OK(api_.LoadRbac(kFleetRights));
    api_.Put("nodes/n1", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}}})");
    api_.Put("pods/prefetchd/a-n1",
             R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":"n1"},
                "status":{"phase":"Running"}})");
    dir_.Write("kubeconfig", api_.Kubeconfig(api_.AddToken("viewer")));
    dir_.Write("images.txt", std::string(kImage) + "\n");
  }

  // An agent that answers so.
  void Serve(const std::string& status, const std::string& image, const std::string& check) {
    agent_ = tests::Serve([status, image, check](const http::ServerRequest& request) {
      if (request.path == "/v1/status") return http::JsonResponse(200, status);
      if (request.path == "/v1/check") return http::JsonResponse(200, check);
      if (request.path.starts_with("/v1/images/")) return http::JsonResponse(200, image);
      return http::ErrorResponse(404, "no");
    });
    api_.SetPodAnswer("prefetchd/a-n1:9477/v1/status", status);
  }

  rig::Ran Run(Words words) const {
    words.insert(words.begin(), rig::Prefetchctl());
    return *tests::Must(
        rig::RunProgram({words,
                         {{"NO_COLOR", "1"},
                          {"KUBECONFIG", dir_ / "kubeconfig"},
                          {"PREFETCHD_AGENT", "http://127.0.0.1:" + std::to_string(agent_->port())}}},
                        seconds(30)));
  }
  std::vector<Words> Commands() const {
    return {{"status"},
            {"status", "-o", "wide"},
            {"wait", "--timeout", "1s"},
            {"audit"},
            {"explain", kImage},
            {"check", "--image", kImage, "--policy", "Never"},
            {"list", "diff", dir_ / "images.txt", "--node"},
            {"list", "check", "--agent", dir_ / "images.txt"},
            {"status", "--fleet", "-o", "wide"},
            {"status", "--fleet", "--results", "csv"},
            {"wait", "--fleet", "--timeout", "1s"},
            {"audit", "--fleet"}};
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  tests::FakeApiServer api_{clock_, tests::FakeApiServer::OverTls()};
  std::unique_ptr<http::Server> agent_;
};

TEST_F(VersionSkew, WhatANewerAgentSaysBesidesChangesNothing) {
  for (const Words& words : Commands()) {
    SCOPED_TRACE(testing::PrintToString(words));
    Serve(Status(), Image(), Check());
    rig::Ran before = Run(words);
    EXPECT_NE(before.out, "");
    EXPECT_NE(before.exit, (rig::Exit{4, 0})) << before.err;
    Serve(Newer(Status()), Newer(Image()), Newer(Check()));
    rig::Ran after = Run(words);
    EXPECT_EQ(after.exit, before.exit) << after.err;
    EXPECT_EQ(after.out, before.out);
    EXPECT_EQ(after.err, before.err);
  }
}

// The very least that a version 1 document has. Nothing of it may be taken for ready.
TEST_F(VersionSkew, WhatAnOlderAgentDoesNotSayIsNotKnown) {
  const std::string frame = R"({"apiVersion":"prefetchd.dev/v1","node":"n1","kind":)";
  Serve(frame + R"("NodeStatus","images":[{"image":")" + kImage + "\"}]}",
        frame + R"("ImageStatus","image":")" + kImage + "\"}",
        frame + R"("CheckResult","results":[{"image":")" + kImage + "\"}]}");
  for (const Words& words : Commands()) {
    SCOPED_TRACE(testing::PrintToString(words));
    rig::Ran ran = Run(words);
    EXPECT_EQ(ran.exit.signal, 0) << ran.err;
    const bool judges = words[0] == "wait" || words[0] == "check";
    const bool differs = words[0] == "list" && words[1] == "diff";
    const bool audits = words[0] == "audit";  // nothing is known, and that is not clean
    EXPECT_EQ(ran.exit.code == 0, !judges && !differs && !audits) << ran.exit.code << ran.out << ran.err;
    EXPECT_EQ(ran.exit.code == 4, audits) << ran.err;
    EXPECT_EQ(ran.out.empty(), audits);
  }
}

// An agent takes no question for another one than it is: what it does not know in it, it refuses.
TEST_F(VersionSkew, AnOlderAgentThatDoesNotKnowAnOptionIsNamed) {
  agent_ = tests::Serve(
      [](const http::ServerRequest&) { return http::ErrorResponse(400, "request: pull: unknown key"); });
  rig::Ran ran = Run({"check", "--image", kImage, "--pull"});
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << ran.out;
  EXPECT_EQ(ran.err,
            "prefetchctl: the agent refuses the question: request: pull: unknown key (is it as new as this "
            "prefetchctl?)\n");
}

}  // namespace
}  // namespace prefetch::system::fleet_command_test
