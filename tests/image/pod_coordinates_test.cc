#include "image/pod_coordinates.h"

#include <gtest/gtest.h>

namespace prefetch::image::pod_coordinates_test {
namespace {

const Coordinates kPull{.uid = "", .namespace_name = "ci", .name = "pull"};
const Coordinates kOther{.uid = "9a41", .namespace_name = "ci", .name = "other"};
const Coordinates kRunner{.uid = "", .namespace_name = "ci", .name = "runner"};

struct TextCase {
  std::string name;
  PodCredentialRefs pod;
  std::string with;
};
class PodTextTest : public testing::TestWithParam<TextCase> {};
TEST_P(PodTextTest, Says) {
  EXPECT_EQ(DescribeCredentials(GetParam().pod), GetParam().with);
  EXPECT_EQ(TextOf(GetParam().pod).empty(), GetParam().pod.empty());
}
INSTANTIATE_TEST_SUITE_P(
    All, PodTextTest,
    testing::Values(
        TextCase{"Nothing", {}, "without pull secrets"},
        TextCase{"Secret", {.secrets = {kPull}, .service_account = {}}, "with secret ci/pull"},
        TextCase{"Secrets",
                 {.secrets = {kOther, kPull}, .service_account = {}},
                 "with secrets ci/other (UID 9a41), ci/pull"},
        TextCase{"Account", {.secrets = {}, .service_account = kRunner}, "with service account ci/runner"},
        TextCase{"Both",
                 {.secrets = {kPull}, .service_account = kRunner},
                 "with secret ci/pull and service account ci/runner"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::image::pod_coordinates_test
