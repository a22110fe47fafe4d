#include "image/platform.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <string>

#include "image/local_image.h"
#include "image/pod_coordinates.h"
#include "rows.h"

namespace prefetch::image::platform_test {
namespace {

struct RunsRow {
  std::string name;
  Platform node;
  Platform image;
  bool runs;
};

TEST_TABLE(RunsTest, Decides, RunsRow) {
  EXPECT_EQ(CanRun(row.node, row.image), row.runs);
}

TEST_ROWS(Platform, RunsTest, {"Same", {"linux", "amd64", ""}, {"linux", "amd64", ""}, true},
          {"OtherArchitecture", {"linux", "amd64", ""}, {"linux", "arm64", ""}, false},
          {"OtherSystem", {"linux", "amd64", ""}, {"windows", "amd64", ""}, false},
          {"NothingClaimed", {"linux", "amd64", ""}, {}, true},
          {"ArchitectureUnknown", {"linux", "amd64", ""}, {"linux", "", ""}, true},
          {"SystemUnknownArchitectureWrong", {"linux", "amd64", ""}, {"", "s390x", ""}, false},
          {"Arm64V8IsNone", {"linux", "arm64", ""}, {"linux", "arm64", "v8"}, true},
          {"Arm64NoneIsV8", {"linux", "arm64", "v8"}, {"linux", "arm64", ""}, true},
          {"Arm64DeclaredV8RefusesV9", {"linux", "arm64", "v8"}, {"linux", "arm64", "v9"}, false},
          {"Arm64UndeclaredTriesV9", {"linux", "arm64", ""}, {"linux", "arm64", "v9"}, true},
          {"ArmV7RunsV6", {"linux", "arm", "v7"}, {"linux", "arm", "v6"}, true},
          {"ArmV7RunsV5", {"linux", "arm", "v7"}, {"linux", "arm", "v5"}, true},
          {"ArmV6RefusesV7", {"linux", "arm", "v6"}, {"linux", "arm", "v7"}, false},
          {"ArmAloneIsV7", {"linux", "arm", ""}, {"linux", "arm", "v7"}, true},
          {"ArmAloneRefusesV8", {"linux", "arm", ""}, {"linux", "arm", "v8"}, false},
          {"Amd64UndeclaredTriesV3", {"linux", "amd64", ""}, {"linux", "amd64", "v3"}, true},
          {"Amd64V2RefusesV3", {"linux", "amd64", "v2"}, {"linux", "amd64", "v3"}, false},
          {"OddVariantRefused", {"linux", "arm", "v7"}, {"linux", "arm", "odd"}, false},
          {"Amd64Runs386", {"linux", "amd64", ""}, {"linux", "386", ""}, true},
          {"Arm64RunsArm", {"linux", "arm64", ""}, {"linux", "arm", "v7"}, true},
          {"ArmRefusesArm64", {"linux", "arm", "v7"}, {"linux", "arm64", ""}, false});

TEST(Platform, ParsesAndPrints) {
  for (const char* text : {"linux/amd64", "linux/arm64/v8", "windows/amd64", "linux/386"}) {
    base::Result<Platform> platform = Platform::Parse(text);
    ASSERT_TRUE(platform.ok()) << text;
    EXPECT_EQ(platform->ToString(), text);
  }
  for (const char* text : {"", "linux", "linux/", "/amd64", "linux/arm/v7/x", "Linux/amd64", "linux /amd64",
                           "linux/arm/", "linux/\xff"}) {
    EXPECT_FALSE(Platform::Parse(text).ok()) << text;
  }
}

TEST(Platform, HostSpeaksOci) {
  Platform host = Platform::Host();
  EXPECT_EQ(host.os, "linux");
  EXPECT_NE(host.architecture, "x86_64");
  EXPECT_NE(host.architecture, "aarch64");
  utsname name{};
  ASSERT_EQ(uname(&name), 0);
  if (std::string(name.machine) == "x86_64") {
    EXPECT_EQ(host.ToString(), "linux/amd64");
  }
  EXPECT_TRUE(Platform::Parse(host.ToString()).ok());
}

const std::string kA = "sha256:" + std::string(64, 'a');
const std::string kB = "sha256:" + std::string(64, 'b');

LocalImage Image(std::string id, std::vector<std::string> tags, std::vector<std::string> digests) {
  LocalImage image;
  image.id = std::move(id);
  image.repo_tags = std::move(tags);
  image.repo_digests = std::move(digests);
  return image;
}

const std::vector<LocalImage>& Images() {
  static const std::vector<LocalImage> kImages = {
      Image("one", {"docker.io/library/nginx:latest", "reg:5000/nginx:v1"},
            {"docker.io/library/nginx@" + kA, "reg:5000/nginx@" + kA}),
      Image("artifact", {"reg:5000/chart:v1"}, {}),
      Image("retagged", {"reg:5000/other:v1"}, {"reg:5000/origin@" + kB}),
      Image("prefix", {"reg:5000/app:v1"}, {"reg:5000/app-more@" + kB}),
      Image("untagged", {}, {"reg:5000/pinned@" + kB}),
      Image("nothing", {}, {}),
  };
  return kImages;
}

struct Row {
  std::string name;
  std::string reference;
  std::string id;  // empty: not present
};

TEST_TABLE(FindTest, WhatWasPulledUnderThatName, Row) {
  Reference reference = *Reference::Parse(row.reference);
  LocalImageIndex index(Images());
  LocalImageIndex copy = index;  // NOLINT(performance-unnecessary-copy-initialization): a copy finds the same
  const LocalImage* indexed = copy.Find(reference);
  EXPECT_EQ(indexed == nullptr ? "" : indexed->id, row.id);
}

TEST_ROWS(LocalImage, FindTest, {"Tag", "nginx", "one"}, {"OtherRepository", "reg:5000/nginx:v1", "one"},
          {"OtherTag", "nginx:1", ""}, {"Digest", "nginx@" + kA, "one"},
          {"TagBesideDigestIsIgnored", "nginx:whatever@" + kA, "one"}, {"OtherDigest", "nginx@" + kB, ""},
          {"DigestOfOtherRepository", "reg:5000/x@" + kA, ""},
          {"TagWithoutRepoDigest", "reg:5000/chart:v1", ""},
          {"TagWithDigestOfOtherRepository", "reg:5000/other:v1", ""},
          {"TagWithDigestOfLongerRepository", "reg:5000/app:v1", ""},
          {"DigestOnlyIsAbsentByTag", "reg:5000/pinned", ""},
          {"DigestOnly", "reg:5000/pinned@" + kB, "untagged"});

TEST_TABLE(FindTaggedTest, WhatHasTheTagAlone, Row) {
  LocalImageIndex index(Images());
  const LocalImage* found = index.FindTagged(*Reference::Parse(row.reference));
  EXPECT_EQ(found == nullptr ? "" : found->id, row.id);
}

TEST_ROWS(LocalImage, FindTaggedTest, {"Pulled", "nginx", ""}, {"NoDigest", "reg:5000/chart:v1", "artifact"},
          {"DigestOfOtherRepository", "reg:5000/other:v1", "retagged"},
          {"DigestOfLongerRepository", "reg:5000/app:v1", "prefix"}, {"OtherTag", "reg:5000/chart:v2", ""},
          {"ByDigest", "reg:5000/chart@" + kA, ""});

TEST(LocalImageIndex, NamesThatShareAnId) {
  LocalImageIndex index(Images());
  EXPECT_EQ(index.NamesOf("one"),
            (std::vector<std::string>{"docker.io/library/nginx:latest", "docker.io/library/nginx@" + kA,
                                      "reg:5000/nginx:v1", "reg:5000/nginx@" + kA}));
  EXPECT_TRUE(index.NamesOf("nothing").empty());
  EXPECT_TRUE(index.NamesOf("unheard of").empty());
  EXPECT_EQ(index.images().size(), Images().size());
  EXPECT_EQ(LocalImageIndex().Find(*Reference::Parse("nginx")), nullptr);
}

TEST(NodeLabels, AllPairsMustBeThere) {
  const NodeLabels labels{{"pool", "gpu"}, {"example.com/zone", ""}};
  EXPECT_TRUE(Selects({}, labels));
  EXPECT_TRUE(Selects({}, {}));
  EXPECT_TRUE(Selects({{"pool", "gpu"}}, labels));
  EXPECT_TRUE(Selects({{"example.com/zone", ""}}, labels));
  EXPECT_FALSE(Selects({{"pool", "ci"}}, labels));
  EXPECT_FALSE(Selects({{"pool", "gpu"}, {"zone", ""}}, labels)) << "an empty value is no missing label";
}

}  // namespace
}  // namespace prefetch::image::platform_test
