// `uninstall --nodes`: what is taken off Node objects of an API server on loopback, and what stays, with the
// rights that deploy/examples/node-cleaner.yaml grants.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "base/clock.h"
#include "ctl/ran.h"
#include "doc/node.h"
#include "doc/write.h"
#include "fakes/fake_api_server.h"
#include "fakes/rbac.h"
#include "golden.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "text_of.h"

namespace prefetch::ctl::uninstall_test {
namespace {

// A node with all that agents ever write to it, and with entries of others.
constexpr const char* kTold = R"({"metadata":{"labels":{"kubernetes.io/os":"linux","pool":"ci",
   "prefetchd.dev/prefetchd":"ready","prefetchd.dev/team-a":"notready","image-prefetcher.stackrox.io/x":"failed"}},
  "spec":{"taints":[{"key":"dedicated","value":"ci","effect":"NoSchedule"},
                    {"key":"prefetchd.dev/not-ready","effect":"NoSchedule"}]},
  "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"ImagesPrefetched","status":"False"}]}})";
constexpr const char* kNotShown = R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},
  "status":{"conditions":[{"type":"Ready","status":"True"}]}})";
const std::string kOurs = R"({"key":"prefetchd.dev/not-ready","effect":"NoSchedule"})";

// kTold with one more taint.
std::string ToldWithTaint(const std::string& taint) {
  std::string told = kTold;
  return told.replace(told.find(kOurs), kOurs.size(), kOurs + "," + taint);
}

std::string Example() {
  return tests::TextOf(tests::Testdata() + "/../../deploy/examples/node-cleaner.yaml");
}

class UninstallNodes : public testing::Test {
 protected:
  void SetUp() override { EXPECT_TRUE(server_.LoadRbac(Example())); }

  Ran ClearAs(const std::string& token, const UninstallOptions& options = {}) {
    kube::Identity identity({.server = server_.url(), .token = base::Secret(token)}, clock_);
    const auto api = kube::MakeHttpApi(client_, identity, clock_);
    return tests::Run([&](auto& out, auto& err) { return Uninstall({}, *api, options, out, err); });
  }
  Ran Clear(const UninstallOptions& options = {}) {
    return ClearAs(server_.AddToken("cleaner", {"prefetchd-node-cleaners"}), options);
  }
  void ExpectClear(const UninstallOptions& options = {}) {
    const Ran ran = Clear(options);
    EXPECT_EQ(ran.exit, kOk) << ran;
  }
  std::string Stored(const std::string& node) const {
    auto object = server_.Get("nodes/" + node);
    return object ? doc::WriteJson(*object) : "";
  }
  bool Has(const std::string& node, const std::string& part) const {
    return Stored(node).find(part) != std::string::npos;
  }
  bool IsClear(const std::string& node) const {
    return !Has(node, "prefetchd.dev/") && !Has(node, "ImagesPrefetched");
  }

  base::SystemClock clock_;
  tests::FakeApiServer server_{clock_};
  http::CurlClient client_;
};

TEST_F(UninstallNodes, LeavesNothingOfOursAndAllOfTheirs) {
  server_.Put("nodes/n1", kTold);
  server_.Put("nodes/n2", kNotShown);
  const std::string before = Stored("n2");
  Ran ran = Clear();
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  for (const char* part :
       {"\"pool\":\"ci\"", "\"dedicated\"", "\"type\":\"Ready\"", "image-prefetcher.stackrox.io/x"}) {
    EXPECT_TRUE(Has("n1", part)) << part;
  }
  EXPECT_EQ(Stored("n2"), before) << "what had nothing is not written to";
  EXPECT_EQ(
      ran.out,
      "n1: cleared label prefetchd.dev/prefetchd, label prefetchd.dev/team-a, condition ImagesPrefetched, "
      "taint prefetchd.dev/not-ready\ncleared 1 node; 1 of 2 nodes had nothing of ours\n");
  EXPECT_EQ(Clear().out, "cleared 0 nodes; 2 of 2 nodes had nothing of ours\n");
}

TEST_F(UninstallNodes, AnInstanceTakesItsLabelOnly) {
  server_.Put("nodes/n1", kTold);
  ExpectClear({.instance = "team-a", .labels = {"image-prefetcher.stackrox.io/x"}});
  EXPECT_FALSE(Has("n1", "prefetchd.dev/team-a"));
  EXPECT_FALSE(Has("n1", "image-prefetcher.stackrox.io"));
  EXPECT_TRUE(Has("n1", "prefetchd.dev/prefetchd"));
  EXPECT_TRUE(Has("n1", "ImagesPrefetched"));
  EXPECT_TRUE(Has("n1", "prefetchd.dev/not-ready"));
}

TEST_F(UninstallNodes, ALabelOfAnotherPrefixGoesWhereItIsNamed) {
  server_.Put("nodes/n1", kTold);
  ExpectClear({.labels = {"image-prefetcher.stackrox.io/x"}});
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  EXPECT_FALSE(Has("n1", "image-prefetcher.stackrox.io"));
}

TEST_F(UninstallNodes, AStartupTaintOfAnotherKeyGoesToo) {
  server_.Put("nodes/n1", ToldWithTaint(R"({"key":"example.com/cold","effect":"NoSchedule"})"));
  Ran ran = Clear({.taint_key = "example.com/cold"});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  EXPECT_FALSE(Has("n1", "example.com/cold"));
  EXPECT_TRUE(Has("n1", "dedicated"));
  EXPECT_HAS(ran.out, "taint prefetchd.dev/not-ready, taint example.com/cold");
}

TEST_F(UninstallNodes, ATaintThatIsNamedGoesBesideAnInstance) {
  server_.Put("nodes/n1", ToldWithTaint(R"({"key":"example.com/cold","effect":"NoSchedule"})"));
  ExpectClear({.instance = "team-a", .taint_key = "example.com/cold"});
  EXPECT_FALSE(Has("n1", "example.com/cold"));
  EXPECT_TRUE(Has("n1", "prefetchd.dev/not-ready"));
}

TEST_F(UninstallNodes, ATaintOfKubernetesIsRejected) {
  server_.Put("nodes/n1",
              ToldWithTaint(R"({"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"})"));
  const std::string before = Stored("n1");
  for (const char* key : {"node.kubernetes.io/unschedulable", "dedicated"}) {
    Ran ran = Clear({.taint_key = key});
    EXPECT_EQ(ran.exit, kBadInput) << ran;
    EXPECT_TRUE(ran.err.starts_with("prefetchctl: --startup-taint-key must be a key of a domain")) << ran;
    EXPECT_EQ(Stored("n1"), before);
  }
}

TEST_F(UninstallNodes, ADryRunOnlyTells) {
  server_.Put("nodes/n1", kTold);
  Ran ran = Clear({.dry_run = true});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(
      ran.out,
      "n1: would clear label prefetchd.dev/prefetchd, label prefetchd.dev/team-a, condition "
      "ImagesPrefetched, taint prefetchd.dev/not-ready\nwould clear 1 node of 1; nothing was changed\n");
  EXPECT_HAS(ran.err, "pin: true") << "what no object of the cluster shows: " << ran;
  for (const std::string& request : server_.Requests()) EXPECT_TRUE(request.starts_with("GET ")) << request;
}

TEST_F(UninstallNodes, ManyNodesOnSeveralPagesThroughAServerInTrouble) {
  for (int i = 0; i < 600; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  server_.Fail({.status = 503, .times = 2});
  server_.Fail({.status = 429, .retry_after = "1", .times = 1});
  Ran ran = Clear();
  EXPECT_EQ(ran.exit, kOk) << ran.err;
  for (int i = 0; i < 600; i++) EXPECT_TRUE(IsClear("n" + std::to_string(i))) << i;
  EXPECT_HAS(ran.out, "cleared 600 nodes; 0 of 600 nodes had nothing of ours\n");
}

TEST_F(UninstallNodes, AListThatGrewTooOldIsBegunAgain) {
  for (int i = 0; i < 300; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  std::atomic<int> lists{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request == "GET /api/v1/nodes" && lists++ == 1) {
      server_.Put("nodes/late", kTold);
      server_.ExpireContinueTokens();
    }
  });
  ExpectClear();
  EXPECT_TRUE(IsClear("n0"));
  EXPECT_TRUE(IsClear("late"));
}

TEST_F(UninstallNodes, AnotherOwnersTaintAtTheSameMomentIsKept) {
  server_.Put("nodes/n1", kTold);
  std::atomic<int> patches{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request != "PATCH /api/v1/nodes/n1" || patches++ != 0) return;
    server_.Put("nodes/n1", ToldWithTaint(R"({"key":"karpenter.sh/disrupted","effect":"NoSchedule"})"));
  });
  ExpectClear();
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  EXPECT_TRUE(Has("n1", "karpenter.sh/disrupted"));
  EXPECT_TRUE(Has("n1", "dedicated"));
}

TEST_F(UninstallNodes, ANodeThatGoesAwayMeanwhileIsNoFailure) {
  server_.Put("nodes/n1", kTold);
  std::atomic<int> seen{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request == "GET /api/v1/nodes/n1" && seen++ == 0) server_.Delete("nodes/n1");
  });
  ExpectClear();
}

TEST_F(UninstallNodes, AMissingRightIsSaidForEachNodeAndTheExitCodeTells) {
  for (int i = 0; i < 12; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  EXPECT_TRUE(server_.LoadRbac(
      tests::ClusterRights("{kind: Group, name: viewers, apiGroup: rbac.authorization.k8s.io}",
                           "[{apiGroups: [\"\"], resources: [nodes], verbs: [get, list]}]")));
  Ran ran = ClearAs(server_.AddToken("viewer", {"viewers"}));
  EXPECT_EQ(ran.exit, kNegative) << ran;
  for (const char* part :
       {"patch nodes \"n", "… and 2 nodes more", "12 nodes are not cleared; run it again"}) {
    EXPECT_HAS(ran.err, part);
  }
  ran = ClearAs(server_.AddToken("nobody"));
  EXPECT_TRUE(Complains(ran, kUnreachable, "list nodes"));
}

// Each right of the example is needed.
class UninstallRight : public UninstallNodes,
                       public testing::WithParamInterface<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    EXPECT_TRUE(server_.LoadRbac(tests::WithoutRight(Example(), GetParam().first, GetParam().second)));
  }
};

TEST_P(UninstallRight, IsNamed) {
  const auto [verb, resource] = GetParam();
  server_.Put("nodes/n1", kTold);
  Ran ran = Clear();
  EXPECT_TRUE(Complains(ran, std::string(verb) == "list" ? kUnreachable : kNegative,
                        std::string(verb) + " " + resource));
}

INSTANTIATE_TEST_SUITE_P(Example, UninstallRight,
                         testing::Values(std::pair("list", "nodes"), std::pair("get", "nodes"),
                                         std::pair("patch", "nodes"), std::pair("patch", "nodes/status")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           std::erase(name, '/');
                           return name;
                         });

}  // namespace
}  // namespace prefetch::ctl::uninstall_test
