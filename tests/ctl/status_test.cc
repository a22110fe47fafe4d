// `status` of one node, once: forms of output, and who sends what is no status.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::ctl::status_test {
namespace {

class StatusTest : public testing::Test {
 protected:
  Ran Show(const std::string& output) {
    return tests::Run(
        [&](auto& out, auto& err) { return Status({}, agent_.Client(), {.output = output}, out, err); });
  }
  void Says(const std::string& body) { agent_.Answers("/v1/status", 200, body); }

  tests::FakeAgent agent_;
};

TEST_F(StatusTest, FormsOfOutput) {
  Says(status::StatusJson(sample::TroubledNode()));
  struct Row {
    std::string output, has;
  };
  for (const Row& row : {Row{"table", "quay.io/acme/private:v2"}, Row{"wide", "quay.io/acme/private:v2"},
                         Row{"json", "\"kind\": \"NodeStatus\""}, Row{"yaml", "kind: NodeStatus"},
                         Row{"html", "<h1>Node ci-7 is not ready</h1>"}}) {
    Ran ran = Show(row.output);
    EXPECT_EQ(ran.exit, kOk) << ran;
    EXPECT_HAS(ran.out, row.has) << row.output << ran;
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_NE(Show("wide").out, Show("table").out);
}

TEST_F(StatusTest, ResultsAreARowForEachImage) {
  Says(status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1000), sample::Queued("q.io/b:v1")})));
  Ran ran = tests::Run([&](auto& out, auto& err) {
    return Status({}, agent_.Client(), {.results = screen::ResultsFormat::kCsv}, out, err);
  });
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 3) << ran;
  EXPECT_HAS(ran.out, "q.io/b:v1");
  agent_.Goes(base::Unavailable("connection refused"));
  ran = tests::Run([&](auto& out, auto& err) {
    return Status({}, agent_.Client(), {.results = screen::ResultsFormat::kCsv}, out, err);
  });
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace prefetch::ctl::status_test
