#include "kube/decode.h"

#include <gtest/gtest.h>

namespace prefetch::kube::saved_pods_test {
namespace {

struct SavedCase {
  std::string name;
  std::string json;
  std::vector<std::string> images;  // of all pods
};
class SavedPodsTest : public testing::TestWithParam<SavedCase> {};
TEST_P(SavedPodsTest, AreRead) {
  auto pods = ReadSavedPods(GetParam().json);
  ASSERT_TRUE(pods) << pods.error().message();
  std::vector<std::string> images;
  for (const Pod& pod : *pods) {
    for (const PodContainer& container : pod.containers) images.push_back(container.image);
  }
  EXPECT_EQ(images, GetParam().images);
}

const std::string kPod = R"({"metadata":{"name":"p","namespace":"a"},"spec":{"nodeName":"n1",
  "initContainers":[{"name":"i","image":"x:1"}],"containers":[{"name":"c","image":"y:1"}]}})";

INSTANTIATE_TEST_SUITE_P(
    Rows, SavedPodsTest,
    testing::Values(SavedCase{"AListAsKubectlPrintsIt",
                              R"({"apiVersion":"v1","kind":"List","items":[)" + kPod + "]}",
                              {"x:1", "y:1"}},
                    SavedCase{"APodList",
                              R"({"kind":"PodList","items":[)" + kPod + "," + kPod + "]}",
                              {"x:1", "y:1", "x:1", "y:1"}},
                    SavedCase{"Nothing", R"({"kind":"List","items":[]})", {}},
                    SavedCase{"OnePod", R"({"kind":"Pod",)" + kPod.substr(1), {"x:1", "y:1"}},
                    SavedCase{"OthersArePassedOver",
                              R"({"kind":"List","items":[{"kind":"Service","metadata":{"name":"s"}},
          {"kind":"Pod"},7]})",
                              {}}),
    [](const auto& row) { return row.param.name; });

TEST(SavedPods, WhatIsNoneIsRefused) {
  for (const char* text : {"", "pods", "[]", "{}", R"({"items":7})", R"({"kind":"Service"})"}) {
    auto pods = ReadSavedPods(text);
    ASSERT_FALSE(pods) << text;
    EXPECT_EQ(pods.error().code(), base::Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace prefetch::kube::saved_pods_test
