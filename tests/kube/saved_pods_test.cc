#include "kube/decode.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::kube::saved_pods_test {
namespace {

base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json) {
  SavedPods pods;
  pods.Feed(json);
  return pods.Take();
}

struct SavedCase {
  std::string name;
  std::string json;
  std::vector<std::string> images;  // of all pods
};
TEST_TABLE(SavedPodsTest, AreRead, SavedCase) {
  auto pods = ReadSavedPods(row.json);
  ASSERT_TRUE(pods) << pods.error().message();
  std::vector<std::string> images;
  for (const Pod& pod : *pods) {
    for (const PodContainer& container : pod.containers) images.push_back(container.image);
  }
  EXPECT_EQ(images, row.images);
}

const std::string kPod = R"({"metadata":{"name":"p","namespace":"a"},"spec":{"nodeName":"n1",
  "initContainers":[{"name":"i","image":"x:1"}],"containers":[{"name":"c","image":"y:1"}]}})";

TEST_ROWS(
    Rows, SavedPodsTest,
    {"AListAsKubectlPrintsIt", R"({"apiVersion":"v1","kind":"List","items":[)" + kPod + "]}", {"x:1", "y:1"}},
    {"APodList", R"({"kind":"PodList","items":[)" + kPod + "," + kPod + "]}", {"x:1", "y:1", "x:1", "y:1"}},
    {"Nothing", R"({"kind":"List","items":[]})", {}},
    {"OnePod", R"({"kind":"Pod",)" + kPod.substr(1), {"x:1", "y:1"}},
    {"OthersArePassedOver",
     R"({"kind":"List","items":[{"kind":"Service","metadata":{"name":"s"}},
          {"kind":"Pod"},7]})",
     {}});

TEST(SavedPods, WhatIsNoneIsRefused) {
  for (const char* text : {"", "pods", "[]", "{}", R"({"items":7})", R"({"kind":"Service"})",
                           R"({"kind":"DeploymentList","items":[{"metadata":{"name":"d"}}]})",
                           R"({"kind":"List","items":[{"kind":"Deployment"}]})"}) {
    auto pods = ReadSavedPods(text);
    ASSERT_FALSE(pods) << text;
    EXPECT_EQ(pods.error().code(), base::Code::kInvalidArgument) << text;
  }
}

struct TimeCase {
  std::string name, text;
  std::string expect;  // as our own Rfc3339 writes it; "": refused
};
TEST_TABLE(TimeTest, IsRead, TimeCase) {
  auto time = ParseRfc3339(row.text);
  EXPECT_EQ(time ? base::Rfc3339(*time) : "", row.expect);
}
TEST_ROWS(Rfc3339, TimeTest, {"Plain", "2026-08-01T10:00:00Z", "2026-08-01T10:00:00Z"},
          {"Micro", "2026-08-01T10:00:00.123456Z", "2026-08-01T10:00:00Z"},
          {"East", "2026-08-01T12:30:00+02:30", "2026-08-01T10:00:00Z"},
          {"West", "2026-07-31T23:00:00-11:00", "2026-08-01T10:00:00Z"},
          {"NeverIsAYearThatFits", "9999-12-31T23:59:59Z", "2200-01-01T23:59:59Z"},
          {"NoSuchDay", "2026-02-29T00:00:00Z", ""});

struct WaitCase {
  std::string name, text;
  int expect;  // seconds; -1: refused
};
TEST_TABLE(WaitTest, IsRead, WaitCase) {
  auto wait = ParseRetryAfter(row.text, *ParseRfc3339("2026-08-01T10:00:00Z"));
  EXPECT_EQ(wait ? wait->count() : -1, row.expect);
}
TEST_ROWS(RetryAfter, WaitTest, {"Seconds", "120", 120}, {"Zero", "0", 0}, {"Blanks", " 5 ", 5},
          {"TooFar", "99999999999", 86400}, {"Date", "Sat, 01 Aug 2026 10:01:30 GMT", 90},
          {"DateThatPassed", "Sat, 01 Aug 2026 09:00:00 GMT", 0},
          {"DateTooFar", "Sun, 01 Aug 2027 10:00:00 GMT", 86400}, {"Negative", "-1", -1},
          {"Fraction", "1.5", -1}, {"OtherZone", "Sat, 01 Aug 2026 10:01:30 CET", -1},
          {"NoSuchMonth", "Sat, 01 Abc 2026 10:01:30 GMT", -1}, {"ShortDate", "Sat, 01 A", -1},
          {"Word", "soon", -1}, {"Empty", "", -1});

}  // namespace
}  // namespace prefetch::kube::saved_pods_test
