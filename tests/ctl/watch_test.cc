// `prefetchctl watch --fleet`: news of nodes to a webhook on loopback.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/sha256.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::ctl::watch_test {
namespace {

using tests::FakeReply;
using tests::WireRequest;

plan::ImageState Denied() {
  plan::ImageState image = sample::Failing("q.io/a:v1", plan::Reason::kAccessDenied, "401 Unauthorized", 3);
  image.settled = true;
  return image;
}

class WatchTest : public testing::Test {
 protected:
  WatchTest() {
    for (const char* name : {"n1", "n2"}) {
      api_.Add(name);
      api_.AddPod(name, std::string("agent-") + name);
    }
    api_.Answers("agent-n1", status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1)})));
    api_.Answers("agent-n2", status::StatusJson(sample::Node({Denied()})));
    options_.webhook_file = dir_.Write("url", "http://" + hook_.address() + "/services/SECRET\n");
    options_.once = true;
  }
  Ran Watch(const base::Call& call = {}) {
    auto get_env = [this](const char* name) {
      auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    };
    return tests::Run(
        [&](auto& out, auto& err) { return WatchFleet(call, api_, get_env, options_, out, err); });
  }
  // Stops the watch in the look after `rounds`. `before` is called in each look, with its number.
  Ran Rounds(
      int rounds, const std::function<void(int)>& before = [](int) {}) {
    std::stop_source stop;
    options_.once = false;
    options_.interval = base::Duration(0);
    const int earlier = api_.listings();
    api_.WhenPodsAreListed([&, rounds, earlier](int listing) {
      const int look = listing - earlier;
      before(look);
      if (look > rounds) stop.request_stop();
    });
    return Watch({.stop = stop.get_token()});
  }

  tests::TempDir dir_;
  tests::FakeRegistry hook_;
  tests::FleetApi api_;
  WatchOptions options_;
  std::map<std::string, std::string> environment_;
};

TEST_F(WatchTest, AFailingNodeIsOneRequestWithASignature) {
  hook_.Always({.status = 200});
  options_.secret_file = dir_.Write("key", "k3y\n");
  EXPECT_TRUE(Prints(Watch(), kOk, "told of 1 failing node and 0 that recovered"));
  ASSERT_EQ(hook_.requests().size(), 1U);
  const WireRequest request = hook_.requests()[0];
  EXPECT_EQ(request.method + " " + request.target, "POST /services/SECRET");
  EXPECT_EQ(request.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(request.headers.Get("X-Prefetchd-Signature-256"),
            "sha256=" + base::HmacSha256Hex("k3y", request.body));
  EXPECT_HAS(request.body, "1 node fails: n2 (q.io/a:v1: AccessDenied); 1 of 2 nodes ready");
}

TEST_F(WatchTest, AWebhookThatRefusesIsNamedWithoutItsUrl) {
  hook_.Always({.status = 500});
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_EQ(ran.err, "prefetchctl: the webhook answers 500\n");
  EXPECT_FALSE(hook_.requests()[0].headers.Has("X-Prefetchd-Signature-256"));
}

TEST_F(WatchTest, ARefusedNoticeIsSentOnceMoreInTheNextRound) {
  std::atomic<int> asked = 0;
  hook_.Answer([&](const WireRequest&) -> std::optional<FakeReply> {
    return FakeReply{.status = asked++ == 0 ? 500 : 200};
  });
  Ran ran = Rounds(3);
  EXPECT_EQ(ran.exit, kInterrupted) << ran;
  EXPECT_EQ(ran.err, "prefetchctl: the webhook answers 500; the news is sent again in the next round\n");
  ASSERT_EQ(hook_.requests().size(), 2U);
  for (const WireRequest& request : hook_.requests()) {
    EXPECT_HAS(request.body, "1 node fails: n2");
  }
  EXPECT_TRUE(ran.out.ends_with(" told of 1 failing node and 0 that recovered\n")) << ran;
}

TEST_F(WatchTest, AWebhookThatRejectsItsUrlEndsTheWatch) {
  for (int status : {401, 403, 404, 410}) {
    hook_.Always({.status = status});
    EXPECT_EQ(Rounds(2), (Ran{kNegative, "",
                              "prefetchctl: the webhook answers " + std::to_string(status) +
                                  ": correct the URL in --webhook-file, and start again\n"}));
  }
}

TEST_F(WatchTest, TheProxyOfTheEnvironmentGetsTheNews) {
  hook_.Always({.status = 200});
  options_.webhook_file = dir_.Write("url", "http://hook.example.test/SECRET\n");
  environment_["HTTP_PROXY"] = "http://" + hook_.address();
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(hook_.lines(), std::vector<std::string>{"POST http://hook.example.test/SECRET"});
}

TEST_F(WatchTest, ANodeThatIsDeadOrLacksItsAgentForALookIsNotToldAgain) {
  hook_.Always({.status = 200});
  api_.node(1).labels["node-role.kubernetes.io/control-plane"] = "";
  Ran ran = Rounds(5, [&](int look) {
    // The nodes of this look have been listed.
    if (look == 1) api_.node(1).taints = {{.key = "node.kubernetes.io/unreachable"}};
    if (look == 2) api_.node(1).taints.clear();
    if (look == 3) api_.RemovePod("agent-n2");
    if (look == 4) api_.AddPod("n2", "agent-n2");
  });
  EXPECT_EQ(ran.exit, kInterrupted) << ran;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(hook_.requests().size(), 1U) << ran;
}

TEST_F(WatchTest, WithoutNewsNothingIsSent) {
  api_.Answers("agent-n2", status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1)})));
  Ran ran = Watch();
  EXPECT_EQ(ran, (Ran{kOk, "", ""}));
  EXPECT_TRUE(hook_.requests().empty());
}

TEST_F(WatchTest, AStopEndsTheWaitForTheNextLook) {
  std::stop_source stop;
  hook_.Answer([&](const WireRequest&) -> std::optional<FakeReply> {
    stop.request_stop();
    return FakeReply{};
  });
  options_.once = false;
  EXPECT_EQ(Watch({.stop = stop.get_token()}).exit, kInterrupted);
  EXPECT_EQ(hook_.requests().size(), 1U);
}

TEST_F(WatchTest, AStopDuringALookPrintsNothing) {
  std::stop_source stop;
  api_.ListingFails({.kind = kube::ApiError::kCancelled, .message = "list pods: stopped"});
  api_.WhenPodsAreListed([&](int) { stop.request_stop(); });
  EXPECT_EQ(Watch({.stop = stop.get_token()}), (Ran{kInterrupted, "", ""}));
}

TEST_F(WatchTest, ARefusalOfTheClusterEndsTheWatch) {
  for (const char* pod : {"agent-n1", "agent-n2"}) {
    api_.Answers(pod, kube::Failure{.kind = kube::ApiError::kForbidden, .message = "get pods/proxy: no"});
  }
  Ran ran = Rounds(2);
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_TRUE(ran.err.starts_with("prefetchctl: a right is missing, get pods/proxy (")) << ran;
  api_.ListingFails({.kind = kube::ApiError::kUnauthorized, .message = "list pods: 401"});
  EXPECT_EQ(Rounds(2), (Ran{kUnreachable, "", "prefetchctl: list pods: 401\n"}));
}

TEST_F(WatchTest, AnApiServerThatIsAwayIsAskedAgain) {
  api_.ListingFails({.kind = kube::ApiError::kUnreachable, .message = "list pods: away"});
  EXPECT_EQ(Rounds(2),
            (Ran{kInterrupted, "", "prefetchctl: list pods: away\nprefetchctl: list pods: away\n"}));
}

TEST_F(WatchTest, NodesWithoutAgentsAreNotedOnce) {
  hook_.Always({.status = 200});
  api_.Add("control");
  api_.node(2).labels["node-role.kubernetes.io/control-plane"] = "";
  EXPECT_EQ(Rounds(2).err,
            "note: 1 node takes no agent (control planes, virtual nodes); --nodes '' counts every node\n");
}

TEST_F(WatchTest, ThatNoNodeMatchesIsNoted) {
  tests::FleetApi empty;
  const Ran ran = tests::Run([&](auto& out, auto& err) {
    return WatchFleet(
        {}, empty, [](const char*) -> const char* { return nullptr; }, options_, out, err);
  });
  EXPECT_EQ(ran.err, "note: no node matches (yet): see --nodes\n");
  EXPECT_EQ(ran.exit, kOk);
}

TEST_F(WatchTest, BadInputIsNamed) {
  options_.webhook_file = dir_.Write("two", "a\nb\n");
  options_.secret_file = dir_ / "none";
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kBadInput);
  for (const char* says : {"two: must be one line", "none"}) {
    EXPECT_HAS(ran.err, says);
  }
  for (const char* url : {"slack.example/x", "https://slack.example:0/x", "https://b\xc3\xbc.example/x"}) {
    options_ = {.webhook_file = dir_.Write("url", url)};
    EXPECT_HAS(Watch().err, "url: must have an http or https URL: ") << url;
  }
}

}  // namespace
}  // namespace prefetch::ctl::watch_test
