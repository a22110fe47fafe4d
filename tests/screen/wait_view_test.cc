#include "screen/wait_view.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "screen/text_layout.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::wait_view_test {
namespace {

status::StatusDocument Parsed(std::vector<plan::ImageState> images) {
  auto document = status::ParseStatusDocument(status::StatusJson(sample::Node(std::move(images))));
  EXPECT_TRUE(document);
  return document ? *document : status::StatusDocument{};
}

plan::ImageState GivenUp(const std::string& name) {
  plan::ImageState image = sample::Failing(name, plan::Reason::kNotFound, "quay.io has no such tag", 2);
  image.settled = true;
  return image;
}

plan::ImageState TriedAgain(const std::string& name) {
  return sample::Failing(name, plan::Reason::kUnreachable, "connection refused", 1);
}

plan::ImageState OutsideWindow(const std::string& name, int opens_in) {
  plan::ImageState image =
      sample::Image(name, plan::Phase::kProgressing, plan::Reason::kOutsidePullWindow,
                    "waits for its pullWindow (22:00 to 06:00 UTC), which opens at 2026-07-15T22:00:00Z");
  image.pull.next_attempt_at = sample::At(opens_in);
  return image;
}

TEST(WaitLine, SaysWhichImagesWaitForTheirWindowAndHowLong) {
  EXPECT_EQ(WaitLine(Parsed({OutsideWindow("a/b:1", 5 * 3600), OutsideWindow("a/c:1", 3600),
                             sample::Queued("a/e:1")}),
                     200),
            "0 of 3 ready, 1 queued, 2 outside their pullWindow (opens in 60 min)");
  EXPECT_EQ(WaitLine(Parsed({OutsideWindow("a/b:1", 5 * 3600)}), 200),
            "0 of 1 ready, 1 outside its pullWindow (opens in 5 h)");
}

// A window is no failure: --fail-fast goes on.
TEST(WaitResult, NamesTheWindowThatOpensAfterTheTimeLimit) {
  const status::StatusDocument document = Parsed({OutsideWindow("a/b:1", 5 * 3600)});
  EXPECT_FALSE(AnyFailedPermanently(document));
  EXPECT_EQ(
      WaitResult(document, WaitOutcome::kTimedOut, std::chrono::seconds(600), 100),
      "timed out after 10 min: 0 of 1 ready on node ci-7\n"
      "  1 outside its pullWindow (opens in 5 h): prefetchctl retry pulls at once\n"
      "  scheduled    a/b:1\n"
      "               waits for its pullWindow (22:00 to 06:00 UTC), which opens at 2026-07-15T22:00:00Z\n");
}

TEST(WaitLine, SaysWhatWillNotGetBetterFirst) {
  EXPECT_EQ(WaitLine(Parsed({TriedAgain("a/b:1"), GivenUp("a/c:1"), sample::Ready("a/d:1", 1),
                             sample::Queued("a/e:1")}),
                     200),
            "1 of 4 ready, 1 queued, 2 failing (1 for good): not found a/c:1");
  EXPECT_EQ(WaitLine(Parsed({TriedAgain("a/b:1")}), 200), "0 of 1 ready, 1 failing: unreachable a/b:1");
}

struct KeyCase {
  std::string name;
  std::vector<plan::ImageState> before, after;
  bool worth_a_line;
};
class WaitKeyTest : public testing::TestWithParam<KeyCase> {};
TEST_P(WaitKeyTest, ChangesWithWhatIsWorthALine) {
  EXPECT_EQ(WaitKey(Parsed(GetParam().before)) != WaitKey(Parsed(GetParam().after)), GetParam().worth_a_line);
}
INSTANTIATE_TEST_SUITE_P(
    Rows, WaitKeyTest,
    testing::Values(
        KeyCase{"Bytes", {sample::Pulling("a:1", 10, 100, 1)}, {sample::Pulling("a:1", 50, 100, 9)}, false},
        KeyCase{"Starts", {sample::Queued("a:1")}, {sample::Pulling("a:1", 0, 100, 0)}, false},
        KeyCase{"Ready", {sample::Pulling("a:1", 99, 100, 1)}, {sample::Ready("a:1", 100)}, true},
        KeyCase{"Fails", {sample::Pulling("a:1", 99, 100, 1)}, {TriedAgain("a:1")}, true},
        KeyCase{"FailsOtherwise", {TriedAgain("a:1")}, {GivenUp("a:1")}, true},
        KeyCase{"TheWindowCloses", {sample::Queued("a:1")}, {OutsideWindow("a:1", 3600)}, true},
        KeyCase{"TimePasses", {OutsideWindow("a:1", 3600)}, {OutsideWindow("a:1", 1800)}, false},
        KeyCase{"AnotherOneFails",
                {TriedAgain("a:1"), sample::Queued("b:1")},
                {sample::Queued("a:1"), TriedAgain("b:1")},
                true}),
    [](const auto& row) { return row.param.name; });

TEST(WaitDetails, ShowsWhatFailsThenWhatMoves) {
  status::StatusDocument document =
      Parsed({sample::Queued("a/q:1"),
              sample::Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000),
              sample::Ready("a/r:1", 1), GivenUp("quay.io/acme/gone:v2")});
  std::vector<std::string> lines = WaitDetails(document, 120, 10);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            "  not found    quay.io/acme/gone:v2  quay.io has no such tag; tried 2 times, again in 2 min");
  const std::vector<std::string> outside = WaitDetails(Parsed({OutsideWindow("a/b:1", 3600)}), 120, 10);
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside[0].find("  scheduled    a/b:1  waits for its pullWindow"), 0U) << outside[0];
  EXPECT_EQ(lines[1], "  pulling      ghcr.io/acme/e2e:main  412 of 680 MB, 38 MB/s, about 8 s left");
  for (const std::string& line : WaitDetails(document, 40, 10)) EXPECT_LE(DisplayWidth(line), 40U);
}

TEST(WaitDetails, HasSoManyLinesAndNoMore) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 9; i++) images.push_back(GivenUp("a/b" + std::to_string(i) + ":1"));
  EXPECT_EQ(WaitDetails(Parsed(images), 80, 9).size(), 9U);
  std::vector<std::string> lines = WaitDetails(Parsed(images), 80, 5);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines.back(), "  … 5 more");
}

// Each mistake in a list begins a line of its own, below the first line.
TEST(WaitResult, IndentsWhatIsWrongWithTheNode) {
  status::StatusDocument document;
  document.node = "n1";
  document.reason = "ListInvalid";
  document.message =
      "no valid version of a.yaml is known: a.yaml:1:1: kind: is required\na.yaml:2:1: images: is required";
  EXPECT_EQ(WaitResult(document, WaitOutcome::kFailedFast, std::chrono::seconds(1), 80),
            "failed: 0 of 0 ready on node n1; something has failed for good\n"
            "  no valid version of a.yaml is known: a.yaml:1:1: kind: is required\n"
            "    a.yaml:2:1: images: is required\n");
}

TEST(FailedPermanently, AllOrSomething) {
  EXPECT_TRUE(FailedPermanently(Parsed({GivenUp("a:1"), sample::Ready("b:1", 1)})));
  EXPECT_FALSE(FailedPermanently(Parsed({GivenUp("a:1"), sample::Queued("b:1")})));
  EXPECT_FALSE(FailedPermanently(Parsed({sample::Ready("b:1", 1)})));
  EXPECT_TRUE(AnyFailedPermanently(Parsed({GivenUp("a:1"), sample::Queued("b:1")})));
  EXPECT_FALSE(AnyFailedPermanently(Parsed({TriedAgain("a:1"), sample::Queued("b:1")})));
  plan::ImageState optional = GivenUp("a:1");
  optional.desired.Change([](plan::DesiredImage& desired) { desired.required = false; });
  EXPECT_FALSE(AnyFailedPermanently(Parsed({optional})));
}

}  // namespace
}  // namespace prefetch::screen::wait_view_test
