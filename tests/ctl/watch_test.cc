// `prefetchctl watch --fleet`: news of nodes to a webhook on loopback.
#include "ctl/watch.h"

#include <gtest/gtest.h>

#include <optional>
#include <stop_token>
#include <string>

#include "base/sha256.h"
#include "ctl/exit_code.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "http/curl_client.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::ctl::watch_test {
namespace {

using tests::FakeReply;
using tests::Ran;
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
  void HookAnswers(int status) {
    hook_.Answer(
        [status](const WireRequest&) -> std::optional<FakeReply> { return FakeReply{.status = status}; });
  }
  Ran Watch(const base::Call& call = {}) {
    http::CurlClient client;
    return tests::Run(
        [&](auto& out, auto& err) { return WatchFleet(call, api_, client, options_, out, err); });
  }

  tests::TempDir dir_;
  tests::FakeRegistry hook_;
  tests::FleetApi api_;
  WatchOptions options_;
};

TEST_F(WatchTest, AFailingNodeIsOneRequestWithASignature) {
  HookAnswers(200);
  options_.secret_file = dir_.Write("key", "k3y\n");
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find("told of 1 failing node and 0 that recovered"), std::string::npos) << ran;
  ASSERT_EQ(hook_.requests().size(), 1U);
  const WireRequest request = hook_.requests()[0];
  EXPECT_EQ(request.method + " " + request.target, "POST /services/SECRET");
  EXPECT_EQ(request.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(request.headers.Get("X-Prefetchd-Signature-256"),
            "sha256=" + base::HmacSha256Hex("k3y", request.body));
  EXPECT_NE(request.body.find("1 node fails: n2 (q.io/a:v1: AccessDenied); 1 of 2 nodes ready"),
            std::string::npos)
      << request.body;
}

TEST_F(WatchTest, AWebhookThatRefusesIsNamedWithoutItsUrl) {
  HookAnswers(500);
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kNo) << ran;
  EXPECT_EQ(ran.err, "prefetchctl: the webhook answers 500; the news is sent again in the next round\n");
  EXPECT_FALSE(hook_.requests()[0].headers.Has("X-Prefetchd-Signature-256"));
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

TEST_F(WatchTest, BadInputIsNamed) {
  options_.interval = "1s";
  options_.webhook_file = dir_.Write("two", "a\nb\n");
  options_.secret_file = dir_ / "none";
  Ran ran = Watch();
  EXPECT_EQ(ran.exit, kBadInput);
  for (const char* says :
       {"--interval must be a duration of at least 10s", "two: must be one line", "none"}) {
    EXPECT_NE(ran.err.find(says), std::string::npos) << says << ran;
  }
  options_ = {.webhook_file = dir_.Write("url", "slack.example/x")};
  EXPECT_NE(Watch().err.find("must have a URL that begins with https:// or http://"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::ctl::watch_test
