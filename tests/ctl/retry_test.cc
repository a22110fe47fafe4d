// `retry` of one node.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "ctl/fake_agent.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "ctl/terminal.h"
#include "rows.h"
#include "status/retry_document.h"

namespace prefetch::ctl::retry_test {
namespace {

using status::RetryState;

class RetryTest : public testing::Test {
 protected:
  Ran Ask(const std::vector<std::string>& images, bool json = false) {
    return tests::Run([&](auto& out, auto& err) {
      return Retry({}, agent_.Client(), {images, json}, out, err);
    });
  }
  void Says(std::vector<status::RetriedImage> images) {
    agent_.Answers("/v1/retry", 200, status::RetryResultJson({"ci-7", std::move(images)}));
  }

  tests::FakeAgent agent_;
};

TEST_F(RetryTest, SaysWhatIsRetried) {
  Says({{"q.io/a:v1", RetryState::kRequested}, {"q.io/b:v1", RetryState::kNotWaiting}});
  EXPECT_EQ(Ask({"q.io/a:v1", "q.io/b:v1"}),
            (Ran{kOk, "retry requested: q.io/a:v1\nnothing to retry: q.io/b:v1\n", ""}));
  EXPECT_EQ(agent_.asked(), std::vector<std::string>{"POST http://localhost/v1/retry /run/a.sock"});
  EXPECT_EQ(Ask({}, true).out,
            status::RetryResultJson(
                {"ci-7", {{"q.io/a:v1", RetryState::kRequested}, {"q.io/b:v1", RetryState::kNotWaiting}}}));
}

TEST_F(RetryTest, AnUnlistedImageIsANo) {
  Says({{"q.io/x:v1", RetryState::kNotListed}});
  EXPECT_EQ(Ask({"q.io/x:v1"}), (Ran{kNegative, "not on the list: q.io/x:v1\n", ""}));
}

TEST_F(RetryTest, Refusals) {
  struct Row {
    int status;
    std::string body;
    int exit;
    std::string has;
  };
  for (const Row& row : {Row{429, R"({"error":"too many retries: the agent takes another one in 40 s"})",
                             kUnreachable, "in 40 s"},
                         Row{403, R"({"error":"over the socket"})", kUnreachable, "over the socket"},
                         Row{404, "", kUnreachable, "as new as this prefetchctl?"},
                         Row{200, "{}", kUnreachable, "unexpected answer"}}) {
    agent_.Answers("/v1/retry", row.status, row.body);
    EXPECT_TRUE(Complains(Ask({}), row.exit, row.has));
  }
  EXPECT_EQ(Ask({"A B"}).exit, kBadInput);
}

class RetryFleetTest : public testing::Test {
 protected:
  RetryFleetTest() {
    for (const char* node : {"n1", "n2", "n3"}) api_.Add(node);
    for (const char* node : {"n1", "n2"})
      api_.AddPod(node, "agent-" + std::string(node)).service_account = "prefetchd";
    api_.HasFleet("prefetchd-fleet");
  }
  Ran Ask(const std::vector<std::string>& images) {
    return tests::Run(
        [&](auto& out, auto& err) { return RetryFleet({}, api_, FleetQuery{}, images, out, err); });
  }
  void Says(const std::string& node, std::vector<status::RetriedImage> images) {
    api_.Answers("agent-" + node, status::RetryResultJson({node, std::move(images)}));
  }

  tests::FleetApi api_;
};

TEST_F(RetryFleetTest, CountsNodesByImage) {
  Says("n1", {{"q.io/a:v1", RetryState::kRequested}, {"q.io/b:v1", RetryState::kNotWaiting}});
  Says("n2", {{"q.io/a:v1", RetryState::kRequested}, {"q.io/b:v1", RetryState::kNotListed}});
  EXPECT_EQ(Ask({"q.io/a:v1", "q.io/b:v1"}),
            (Ran{kOk, "retry requested on 2 nodes: q.io/a:v1\nnothing to retry: q.io/b:v1\n", ""}));
  EXPECT_EQ(api_.shown(), 2) << "with a fleet token";
  EXPECT_EQ(api_.posted().at("agent-n1"), "/v1/retry {\"images\":[\"q.io/a:v1\",\"q.io/b:v1\"]}");
}

TEST_F(RetryFleetTest, NothingWaits) {
  Says("n1", {});
  Says("n2", {});
  EXPECT_EQ(Ask({}), (Ran{kOk, "nothing to retry: no image waits for its next attempt (2 nodes)\n", ""}));
}

TEST_F(RetryFleetTest, WhatDidNotWorkIsANo) {
  Says("n1", {{"q.io/x:v1", RetryState::kNotListed}});
  api_.Answers("agent-n2", kube::Failure{.kind = kube::ApiError::kTooManyRequests,
                                         .message = "m",
                                         .retry_after = std::chrono::seconds(40)});
  const Ran ran = Ask({"q.io/x:v1"});
  EXPECT_EQ(ran.exit, kNegative);
  EXPECT_EQ(ran.out, "not on the list of any node: q.io/x:v1\n");
  EXPECT_HAS(ran.err, "1 node not asked (n2): it had too many requests, and takes another one in 40 s");
}

TEST_F(RetryFleetTest, NoAgentTakesIt) {
  // The agent denies the first request, the API server the second one.
  api_.Answers("agent-n1", kube::Failure{.kind = kube::ApiError::kForbidden, .message = "m"});
  api_.Answers("agent-n2",
               kube::Failure{.kind = kube::ApiError::kForbidden, .reason = "Forbidden", .message = "m"});
  const Ran ran = Ask({});
  EXPECT_TRUE(Complains(ran, kUnreachable, "install component fleet"));
  EXPECT_HAS(ran.err, "you may not create pods/proxy");
}

const Terminal kScreen{.interactive = true, .color = false, .width = 20, .height = 5};
const Terminal kLog{};

TEST(Terminal, LinesFitTheScreenAndALogGetsAll) {
  const std::string sentence = "one two three\nfour five six";
  EXPECT_EQ(OneLine(sentence, kLog), "one two three four five six");
  EXPECT_EQ(OneLine(sentence, kScreen), "one two three four…");
  EXPECT_EQ(OneLine("short", kScreen), "short");
  EXPECT_EQ(LineWidth(kScreen), 19U);
  EXPECT_EQ(LineWidth(kLog), 200U);
}

TEST(Terminal, DetailsStayOnTheScreen) {
  EXPECT_EQ(DetailLines(kScreen, 10), 4U);
  EXPECT_EQ(DetailLines(kScreen, 2), 2U);
  EXPECT_EQ(DetailLines({.interactive = true, .height = 0}, 9), 1U);
}

TEST(Progress, IsDrawnAnewOnAScreen) {
  std::ostringstream out;
  {
    Progress progress(out, kScreen);
    progress.Show("1 of 2", "a", {"one", "two"});
    EXPECT_EQ(out.str(), "1 of 2\none\ntwo");
    progress.Show("2 of 2", "b");
    EXPECT_EQ(out.str(), "1 of 2\none\ntwo\r\xff[2A\xff[J2 of 2");
  }
  EXPECT_TRUE(out.str().ends_with("2 of 2\r\xff[J")) << "a line is taken away without a step up";
}

TEST(Progress, IsALineInALogAndNotEachTime) {
  std::ostringstream out;
  Progress progress(out, kLog);
  progress.Show("1 of 3", "a", {"detail"});
  progress.Show("2 of 3", "b");
  progress.Close();
  EXPECT_EQ(out.str(), "1 of 3\n");
}

TEST(Progress, SaysNothingInALogOfWorkThatEndsSoon) {
  std::ostringstream out;
  Progress progress(out, kLog, true);
  progress.Show("1 of 3", "a");
  EXPECT_EQ(out.str(), "");
}

struct LineCase {
  std::string name;
  std::string mistake;
  std::string told;
};

TEST_TABLE(HasReported, WithItsPlaceOrTheProgramsName, LineCase) {
  std::ostringstream err;
  EXPECT_EQ(RejectInput({row.mistake}, err), kBadInput);
  EXPECT_EQ(err.str(), row.told);
}

TEST_ROWS(Lines, HasReported, {"Place", "a.yaml:12:5: images[3]: x", "a.yaml:12:5: images[3]: x\n"},
          {"PathWithColon", "c:/a.yaml:1:1: x", "c:/a.yaml:1:1: x\n"},
          {"NoColumn", "a.yaml:12: x", "prefetchctl: a.yaml:12: x\n"},
          {"NoNumber", "a:b:c: x", "prefetchctl: a:b:c: x\n"},
          {"HostAndPort", "http://r.io:5000: x", "prefetchctl: http://r.io:5000: x\n"},
          {"Words", "--list is required", "prefetchctl: --list is required\n"},
          {"SeveralLines", "a:1:1: x\nno place", "a:1:1: x\nprefetchctl: no place\n"});

TEST(ExitCode, OfAnErrorTellsBadInputFromWhoCannotBeAsked) {
  std::ostringstream err;
  EXPECT_EQ(Fail(base::InvalidArgument("x"), err), kBadInput);
  for (const base::Error& error : {base::Unavailable("x"), base::DeadlineExceeded("x"), base::Internal("x"),
                                   base::NotFound("x"), base::PermissionDenied("x")}) {
    EXPECT_EQ(Fail(error, err), kUnreachable) << error.message();
  }
  EXPECT_EQ(Fail(kTimedOut, base::InvalidArgument("one\ntwo"), err), kTimedOut);
  EXPECT_TRUE(err.str().starts_with("prefetchctl: x\n")) << err.str();
  EXPECT_TRUE(err.str().ends_with("prefetchctl: one\n             two\n")) << err.str();
}

// Scripts rely on these.
TEST(ExitCode, NumbersAreAContract) {
  EXPECT_EQ((std::vector<int>{kOk, kNegative, kBadInput, kTimedOut, kUnreachable, kInterrupted}),
            (std::vector<int>{0, 1, 2, 3, 4, 130}));
}

}  // namespace
}  // namespace prefetch::ctl::retry_test
