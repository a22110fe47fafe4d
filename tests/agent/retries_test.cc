// POST /v1/retry: which images are retried, and how often.
#include "agent/answers/endpoints.h"

#include <gtest/gtest.h>

#include "agent/answering_node.h"
#include "status/sample.h"

namespace prefetch::agent::retries_test {
namespace {

using Names = std::vector<std::string>;
using std::chrono::seconds;

// Two wait for their next attempt, one is here.
plan::Snapshot Shown() {
  plan::Snapshot snapshot;
  snapshot.node = "ci-7";
  for (const char* name : {"quay.io/acme/a:v1", "docker.io/library/b:1", "quay.io/acme/c:v1"}) {
    plan::ImageState image;
    image.desired = plan::DesiredImage{.reference = *image::Reference::Parse(name)};
    image.pull.state = plan::PullState::kWaiting;
    snapshot.images.push_back(std::move(image));
  }
  snapshot.images[2].pull.state = plan::PullState::kDone;
  return snapshot;
}

class RetryTest : public testing::Test {
 protected:
  http::ServerResponse Ask(const std::string& body) {
    return handler_({.method = http::Method::kPost, .path = "/v1/retry", .body = body}).Wait({});
  }

  AnsweringNode node_{Shown()};
  http::Handler handler_ = node_.Handler(Audience::kLocal);
};

TEST_F(RetryTest, WithoutNamesAllThatWait) {
  for (const char* body : {"", "{}", R"({"images":[]})"}) {
    const http::ServerResponse answer = Ask(body);
    EXPECT_EQ(answer.status, 200);
    auto result = status::ParseRetryResult(answer.body);
    ASSERT_TRUE(result) << answer.body;
    EXPECT_EQ(result->node, "ci-7");
    EXPECT_EQ(result->images.size(), 2U);
  }
  EXPECT_EQ(node_.retried()[0], (Names{"quay.io/acme/a:v1", "docker.io/library/b:1"}));
}

TEST_F(RetryTest, TheNamedOnes) {
  auto result =
      status::ParseRetryResult(Ask(R"({"images":["b:1","quay.io/acme/c:v1","quay.io/x:v1"]})").body);
  ASSERT_TRUE(result);
  using status::RetryState;
  EXPECT_EQ(result->images, (std::vector<status::RetriedImage>{{"b:1", RetryState::kRequested},
                                                               {"quay.io/acme/c:v1", RetryState::kNotWaiting},
                                                               {"quay.io/x:v1", RetryState::kNotListed}}));
  EXPECT_EQ(node_.retried(), (std::vector<Names>{{"docker.io/library/b:1"}}));
}

// Nobody hammers a registry through an agent.
TEST_F(RetryTest, ThreeAtOnceAndThenOneAMinute) {
  for (int i = 0; i < 3; i++) EXPECT_EQ(Ask("").status, 200);
  const http::ServerResponse away = Ask("");
  EXPECT_EQ(away.status, 429);
  EXPECT_EQ(away.headers.Get("Retry-After"), "60");
  EXPECT_EQ(node_.retried().size(), 3U);
  EXPECT_EQ(Ask(R"({"images":["quay.io/acme/c:v1"]})").status, 200) << "nothing to retry costs nothing";
  node_.clock.Advance(seconds(61));
  EXPECT_EQ(Ask("").status, 200);
  EXPECT_EQ(Ask("").status, 429);
}

TEST_F(RetryTest, BadRequests) {
  for (const char* body : {"[]", "{", R"({"images":"a"})", R"({"images":["A B"]})", R"({"image":["a:1"]})"}) {
    EXPECT_EQ(Ask(body).status, 400) << body;
  }
  EXPECT_EQ(handler_({.path = "/v1/retry"}).Wait({}).status, 405);
  std::string many = R"({"images":["a:1")";
  for (std::size_t i = 0; i < status::kMostRetries; i++) many += R"(,"a:1")";
  EXPECT_EQ(Ask(many + "]}").status, 400);
  EXPECT_TRUE(node_.retried().empty());
}

}  // namespace
}  // namespace prefetch::agent::retries_test
