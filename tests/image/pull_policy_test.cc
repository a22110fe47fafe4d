#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

#include "image/kubelet_version.h"
#include "image/pod_coordinates.h"
#include "image/pull_error.h"
#include "rows.h"

namespace prefetch::image::pull_policy_test {
namespace {

TEST(PullPolicy, AreOrderedByWhatTheyAskOfTheRegistry) {
  EXPECT_LT(PullPolicy::kNever, PullPolicy::kIfNotPresent);
  EXPECT_LT(PullPolicy::kIfNotPresent, PullPolicy::kAlways);
}

// kubelet's rule K2.
TEST(PullPolicy, DefaultFollowsTheTag) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const struct {
    std::string image;
    PullPolicy policy;
  } rows[] = {
      {"nginx", PullPolicy::kAlways},
      {"nginx:latest", PullPolicy::kAlways},
      {"reg:5000/x:latest" + digest, PullPolicy::kAlways},
      {"nginx:1.27", PullPolicy::kIfNotPresent},
      {"nginx:Latest", PullPolicy::kIfNotPresent},
      {"nginx" + digest, PullPolicy::kIfNotPresent},
      {"nginx:1.27" + digest, PullPolicy::kIfNotPresent},
      {"latest:1", PullPolicy::kIfNotPresent},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(DefaultPullPolicy(*Reference::Parse(row.image)), row.policy) << row.image;
  }
}

// The next credential is tried when this one was refused, never when the registry is down.
TEST(ErrorClass, OnlyARefusedCredentialIsACredentialRefusal) {
  for (int i = 0; i <= static_cast<int>(ErrorClass::kUnknown); i++) {
    auto error_class = static_cast<ErrorClass>(i);
    bool refusal =
        error_class == ErrorClass::kAccessDenied || error_class == ErrorClass::kBadCredentialFormat;
    EXPECT_EQ(IsCredentialRefusal(error_class), refusal) << base::EnumName(error_class);
  }
}

TEST(KubeletVersion, Parses) {
  EXPECT_EQ(KubeletVersion::Parse("1.34")->ToString(), "1.34");
  EXPECT_EQ(KubeletVersion::Parse("v1.31.14")->ToString(), "1.31.14");
  EXPECT_EQ(KubeletVersion::Parse("1.33.1-eks-a1b2")->ToString(), "1.33.1");
  EXPECT_EQ(KubeletVersion::Parse("v1.32+k3s1")->ToString(), "1.32");
  for (const char* text : {"", "1", "v1", "1.", "1.x", "x.1", "1.34x", "1.99999", "-1.3"}) {
    EXPECT_FALSE(KubeletVersion::Parse(text).ok()) << text;
  }
  EXPECT_EQ(KubeletVersion().ToString(), "1.37");
  EXPECT_EQ(*KubeletVersion::Parse("1.36.2"), (KubeletVersion{1, 36})) << "patches decide nothing";
  EXPECT_FALSE(*KubeletVersion::Parse("1.36.2") > (KubeletVersion{1, 36}));
  EXPECT_LT(*KubeletVersion::Parse("1.35.9"), (KubeletVersion{1, 36}));
}

TEST(KubeletVersion, KnowsWhichRulesAreKnown) {
  EXPECT_EQ(kKnownKubelets, kOldestKnownKubelet.ToString() + " to " + kNewestKnownKubelet.ToString());
  EXPECT_EQ(kNewestKnownKubelet, KubeletVersion()) << "the default is the newest";
  EXPECT_FALSE(IsNewerThanKnown(*KubeletVersion::Parse("1.37.9")));
  EXPECT_TRUE(IsNewerThanKnown(*KubeletVersion::Parse("1.99.0-alpha.1")));
  EXPECT_TRUE(IsNewerThanKnown({2, 0}));
}

const Coordinates kPull{.uid = "", .namespace_name = "ci", .name = "pull"};
const Coordinates kOther{.uid = "9a41", .namespace_name = "ci", .name = "other"};
const Coordinates kRunner{.uid = "", .namespace_name = "ci", .name = "runner"};

struct TextCase {
  std::string name;
  PodCredentialRefs pod;
  std::string with;
};
TEST_TABLE(PodTextTest, Says, TextCase) {
  EXPECT_EQ(DescribeCredentials(row.pod), row.with);
  EXPECT_EQ(TextOf(row.pod).empty(), row.pod.empty());
}
TEST_ROWS(All, PodTextTest, {"Nothing", {}, "without pull secrets"},
          {"Secret", {.secrets = {kPull}}, "with secret ci/pull"},
          {"Secrets", {.secrets = {kOther, kPull}}, "with secrets ci/other (UID 9a41), ci/pull"},
          {"Account", {.service_account = kRunner}, "with service account ci/runner"},
          {"Both",
           {.secrets = {kPull}, .service_account = kRunner},
           "with secret ci/pull and service account ci/runner"});

}  // namespace
}  // namespace prefetch::image::pull_policy_test
