#include "image/kubelet_version.h"

#include <gtest/gtest.h>

namespace prefetch::image::kubelet_version_test {
namespace {

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
  EXPECT_TRUE(IsNewerThanKnown(*KubeletVersion::Parse("1.38.0-alpha.1")));
  EXPECT_TRUE(IsNewerThanKnown({2, 0}));
}

}  // namespace
}  // namespace prefetch::image::kubelet_version_test
