// `wait` against an agent in this process: each way to its end.
#include "ctl/wait.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::ctl::wait_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Status(std::vector<plan::ImageState> images) {
  return status::StatusJson(sample::Node(std::move(images)));
}
plan::ImageState GoneForGood() {
  plan::ImageState image = sample::Failing("q.io/gone:v1", plan::Reason::kNotFound, "404 Not Found", 3);
  image.settled = true;
  return image;
}

struct EndCase {
  std::string name;
  std::vector<plan::ImageState> images;
  bool fail_fast;
  int exit;
  std::string says;
};

class End : public testing::TestWithParam<EndCase> {};

TEST_P(End, HasItsCode) {
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, Status(GetParam().images));
  tests::Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, agent.Client(), {.fail_fast = GetParam().fail_fast, .timeout = milliseconds(600)}, out,
                err);
  });
  EXPECT_EQ(ran.exit, GetParam().exit) << ran;
  EXPECT_NE(ran.out.find(GetParam().says), std::string::npos) << ran;
  EXPECT_EQ(ran.err, "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, End,
    testing::Values(
        EndCase{"Ready", {sample::Ready("q.io/a:v1", 1000)}, false, kOk, "ready"},
        EndCase{"TimeIsOver", {sample::Queued("q.io/a:v1")}, false, kTimedOut, "q.io/a:v1"},
        EndCase{"AllHasFailed", {GoneForGood()}, false, kTimedOut, "q.io/gone:v1"},
        EndCase{"AllHasFailedFast", {GoneForGood()}, true, kNegative, "q.io/gone:v1"},
        EndCase{
            "OneFailsAndAnotherIsPulled", {GoneForGood(), sample::Queued("q.io/a:v1")}, false, kTimedOut, ""},
        EndCase{"FailFast", {GoneForGood(), sample::Queued("q.io/a:v1")}, true, kNegative, "q.io/gone:v1"},
        EndCase{"NothingIsListed", {}, false, kOk, ""}),
    [](const auto& row) { return row.param.name; });

// An agent that goes from pulling to ready, or away and back.
class ChangingAgent : public http::Client {
 public:
  explicit ChangingAgent(std::vector<base::Result<std::string>> says) : says_(std::move(says)) {}
  http::ExchangeResult Exchange(const base::Call&, const http::Request&) override {
    const auto& now = says_[std::min(next_, says_.size() - 1)];
    next_++;
    if (!now) return {now.error(), http::Fault::kConnect};
    return {http::Response{.status = 200, .headers = {}, .body = *now}};
  }
  AgentClient Client() { return *AgentClient::Make(*this, "unix:///run/a.sock"); }
  std::size_t asked() const { return next_; }

 private:
  const std::vector<base::Result<std::string>> says_;
  std::size_t next_ = 0;
};

TEST(WaitCommand, GoesOnWhileAnAgentIsReplaced) {
  ChangingAgent agent({Status({sample::Queued("q.io/a:v1")}), base::Unavailable("connection refused"),
                       Status({sample::Ready("q.io/a:v1", 1000)})});
  tests::Ran ran = tests::Run(
      [&](auto& out, auto& err) { return Wait({}, agent.Client(), {.timeout = seconds(30)}, out, err); });
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(agent.asked(), 3U);  // the third after 500 ms
  EXPECT_NE(ran.err.find("connection refused"), std::string::npos) << ran;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran;
}

// A workstation has no agent, and never gets one.
TEST(WaitCommand, WithoutTheAgentsFolderItEndsAtOnce) {
  tests::TempDir dir;
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, Status({sample::Ready("q.io/a:v1", 1000)}));
  const auto wait = [&](const std::string& folder) {
    return tests::Run([&](auto& out, auto& err) {
      return Wait({}, agent.Client(), {.timeout = seconds(30), .folder = folder}, out, err);
    });
  };
  const tests::Ran ran = wait(dir / "none");
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_EQ(ran.err, "prefetchctl: no agent is on this machine, since " + (dir / "none") +
                         " is missing: wait for all nodes with --fleet, or name an agent with --agent, which "
                         "need not run yet\n");
  EXPECT_TRUE(agent.asked().empty());
  EXPECT_EQ(wait(dir.path()).exit, kOk);
}

// A user who edits a list and waits at once gets an answer about the new list.
TEST(WaitCommand, AnAnswerBeforeTheListIsReadAgainIsNotTheLastWord) {
  ChangingAgent agent({Status({GoneForGood()}), Status({sample::Ready("q.io/a:v1", 1000)})});
  tests::Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, agent.Client(), {.fail_fast = true, .timeout = seconds(30)}, out, err);
  });
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(agent.asked(), 2U);
  EXPECT_EQ(ran.out.find("q.io/gone"), std::string::npos) << ran;

  ChangingAgent ready({Status({sample::Ready("q.io/a:v1", 1000)}), Status({sample::Queued("q.io/b:v1")})});
  ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, ready.Client(), {.timeout = milliseconds(600)}, out, err);
  });
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
}

TEST(WaitCommand, NobodyThereIsTheLastWordAndNoTimeout) {
  ChangingAgent agent({base::Unavailable("connection refused")});
  tests::Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, agent.Client(), {.timeout = milliseconds(400)}, out, err);
  });
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  const std::size_t told = ran.err.find("connection refused");
  EXPECT_NE(told, std::string::npos) << ran;
  EXPECT_EQ((ran.out + ran.err).find("connection refused", told + 1), std::string::npos) << "twice: " << ran;
}

TEST(WaitCommand, AStopEndsIt) {
  ChangingAgent agent({Status({sample::Queued("q.io/a:v1")})});
  std::stop_source stop;
  stop.request_stop();
  tests::Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({.stop = stop.get_token()}, agent.Client(), {.timeout = seconds(30)}, out, err);
  });
  EXPECT_EQ(ran.exit, kInterrupted) << ran;
}

}  // namespace
}  // namespace prefetch::ctl::wait_test
