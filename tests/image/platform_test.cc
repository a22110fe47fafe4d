#include "image/platform.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <string>

namespace prefetch::image::platform_test {
namespace {

struct RunsRow {
  std::string name;
  Platform node;
  Platform image;
  bool runs;
};

void PrintTo(const RunsRow& row, std::ostream* out) {
  *out << row.name;
}

class RunsTest : public testing::TestWithParam<RunsRow> {};

TEST_P(RunsTest, Decides) {
  EXPECT_EQ(CanRun(GetParam().node, GetParam().image), GetParam().runs);
}

INSTANTIATE_TEST_SUITE_P(
    Platform, RunsTest,
    testing::Values(
        RunsRow{"Same", {"linux", "amd64", ""}, {"linux", "amd64", ""}, true},
        RunsRow{"OtherArchitecture", {"linux", "amd64", ""}, {"linux", "arm64", ""}, false},
        RunsRow{"OtherSystem", {"linux", "amd64", ""}, {"windows", "amd64", ""}, false},
        RunsRow{"NothingClaimed", {"linux", "amd64", ""}, {}, true},
        RunsRow{"ArchitectureUnknown", {"linux", "amd64", ""}, {"linux", "", ""}, true},
        RunsRow{"SystemUnknownArchitectureWrong", {"linux", "amd64", ""}, {"", "s390x", ""}, false},
        RunsRow{"Arm64V8IsNone", {"linux", "arm64", ""}, {"linux", "arm64", "v8"}, true},
        RunsRow{"Arm64NoneIsV8", {"linux", "arm64", "v8"}, {"linux", "arm64", ""}, true},
        RunsRow{"Arm64DeclaredV8RefusesV9", {"linux", "arm64", "v8"}, {"linux", "arm64", "v9"}, false},
        RunsRow{"Arm64UndeclaredTriesV9", {"linux", "arm64", ""}, {"linux", "arm64", "v9"}, true},
        RunsRow{"ArmV7RunsV6", {"linux", "arm", "v7"}, {"linux", "arm", "v6"}, true},
        RunsRow{"ArmV7RunsV5", {"linux", "arm", "v7"}, {"linux", "arm", "v5"}, true},
        RunsRow{"ArmV6RefusesV7", {"linux", "arm", "v6"}, {"linux", "arm", "v7"}, false},
        RunsRow{"ArmAloneIsV7", {"linux", "arm", ""}, {"linux", "arm", "v7"}, true},
        RunsRow{"ArmAloneRefusesV8", {"linux", "arm", ""}, {"linux", "arm", "v8"}, false},
        RunsRow{"Amd64UndeclaredTriesV3", {"linux", "amd64", ""}, {"linux", "amd64", "v3"}, true},
        RunsRow{"Amd64V2RefusesV3", {"linux", "amd64", "v2"}, {"linux", "amd64", "v3"}, false},
        RunsRow{"OddVariantRefused", {"linux", "arm", "v7"}, {"linux", "arm", "odd"}, false},
        RunsRow{"Amd64Runs386", {"linux", "amd64", ""}, {"linux", "386", ""}, true},
        RunsRow{"Arm64RunsArm", {"linux", "arm64", ""}, {"linux", "arm", "v7"}, true},
        RunsRow{"ArmRefusesArm64", {"linux", "arm", "v7"}, {"linux", "arm64", ""}, false}),
    [](const auto& row) { return row.param.name; });

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

}  // namespace
}  // namespace prefetch::image::platform_test
