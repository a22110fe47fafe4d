// `prefetchctl check` and an agent that asks for patience.
#include <gtest/gtest.h>

#include <chrono>

#include "ctl/check.h"
#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"

namespace prefetch::ctl::check_patience_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPath = "/v1/check";

class CheckPatience : public testing::Test {
 protected:
  // The agent is busy, with this header.
  tests::Ran CheckWith(const std::string& retry_after, const std::string& timeout) {
    agent_.Answers(kPath, 429, "", retry_after);
    const auto began = std::chrono::steady_clock::now();
    tests::Ran ran = tests::Run([&](std::ostream& out, std::ostream& err) {
      return Check({}, agent_.Client(), {.images = {{"q.io/a:v1", "Never"}}, .timeout = timeout}, out, err);
    });
    took_ = std::chrono::steady_clock::now() - began;
    return ran;
  }

  tests::FakeAgent agent_;
  base::Duration took_{};
};

TEST_F(CheckPatience, AsksAgainWhenTheAgentSaidAndNotBefore) {
  EXPECT_EQ(CheckWith("1", "2500ms").exit, kTimedOut);
  EXPECT_GE(agent_.asked().size(), 2U);
  EXPECT_LE(agent_.asked().size(), 3U);
  EXPECT_GE(took_, seconds(1));
}

TEST_F(CheckPatience, AsksALastTimeWhereTheTimeIsShorter) {
  tests::Ran ran = CheckWith("60", "1500ms");
  EXPECT_EQ(ran.exit, kTimedOut);
  EXPECT_NE(ran.err.find("it is busy"), std::string::npos) << ran;
  EXPECT_EQ(agent_.asked().size(), 2U);
  EXPECT_GE(took_, milliseconds(500));
  EXPECT_LT(took_, seconds(10));
}

TEST_F(CheckPatience, WithoutATimeItAsksTwiceASecond) {
  EXPECT_EQ(CheckWith("", "1200ms").exit, kTimedOut);
  EXPECT_EQ(agent_.asked().size(), 3U);
}

}  // namespace
}  // namespace prefetch::ctl::check_patience_test
