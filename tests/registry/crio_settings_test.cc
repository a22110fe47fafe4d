#include "registry/registries_conf.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "temp_dir.h"

namespace prefetch::registry::crio_settings_test {
namespace {

TEST(UpdateCrioSettings, TakesWhatIsOfInterest) {
  CrioSettings settings;
  ASSERT_TRUE(UpdateCrioSettings(R"(
[crio]
root = "/var/lib/containers/storage"
[crio.runtime]
global_auth_file = "/not/this.json"
[crio.Image]
Global_Auth_File = "/var/lib/kubelet/config.json"
namespaced_auth_dir = "/etc/other"
unknown = 1
)",
                                 "/etc/crio/crio.conf", settings));
  EXPECT_EQ(settings, (CrioSettings{"/var/lib/kubelet/config.json", "/etc/crio/crio.conf", "/etc/other"}));
  ASSERT_TRUE(UpdateCrioSettings("[crio.image]\npause_image = \"x\"\n", "/b", settings));
  EXPECT_EQ(settings.auth_file_source, "/etc/crio/crio.conf");
  ASSERT_TRUE(UpdateCrioSettings("[crio.image]\nglobal_auth_file = \"\"\n", "/c", settings));
  EXPECT_EQ(settings.global_auth_file, "") << "a later file takes it back";
  EXPECT_EQ(settings.auth_file_source, "/c");
}

struct Mistake {
  const char* text;
  const char* told;
};

class CrioSettingsMistake : public testing::TestWithParam<Mistake> {};

TEST_P(CrioSettingsMistake, IsToldWithItsLineAndNoValue) {
  CrioSettings settings;
  auto updated = UpdateCrioSettings(GetParam().text, "/x", settings);
  ASSERT_FALSE(updated);
  EXPECT_NE(updated.error().message().find(GetParam().told), std::string::npos) << updated.error().message();
  EXPECT_EQ(updated.error().message().find("s3cr3t"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, CrioSettingsMistake,
                         testing::Values(Mistake{"crio = 1\n", "line 1: crio is no table"},
                                         Mistake{"[crio]\nimage = \"s3cr3t\"\n", "line 2: image is no table"},
                                         Mistake{"[crio.image]\nglobal_auth_file = 5\n",
                                                 "line 2: global_auth_file is no string"},
                                         Mistake{"[crio.image]\nnamespaced_auth_dir = [\"s3cr3t\"]\n",
                                                 "line 2: namespaced_auth_dir"},
                                         Mistake{"[crio.image\n", "line 1"}));

class ReadCrioSettingsTest : public testing::Test {
 protected:
  std::string GlobalAuthFile() {
    auto read = ReadCrioSettings(kCrioFile, dir_.path());
    if (!read) return read.error().message();
    return *read ? (*read)->global_auth_file + " in " + (*read)->auth_file_source : "no CRI-O";
  }
  static std::string Names(const std::string& file) {
    return "[crio.image]\nglobal_auth_file = \"" + file + "\"\n";
  }

  tests::TempDir dir_;
};

TEST_F(ReadCrioSettingsTest, ANodeWithoutCrioHasNone) {
  EXPECT_EQ(GlobalAuthFile(), "no CRI-O");
  std::filesystem::create_directories(dir_.path() + "/etc/crio/crio.conf.d");
  EXPECT_EQ(GlobalAuthFile(), " in ");
}

TEST_F(ReadCrioSettingsTest, DropInsCountInTheOrderOfTheirNamesWhateverTheseAre) {
  dir_.Write("etc/crio/crio.conf", Names("/a"));
  EXPECT_EQ(GlobalAuthFile(), "/a in /etc/crio/crio.conf");
  dir_.Write("etc/crio/crio.conf.d/20-b", Names("/b"));
  dir_.Write("etc/crio/crio.conf.d/10-c.conf", Names("/c"));
  EXPECT_EQ(GlobalAuthFile(), "/b in /etc/crio/crio.conf.d/20-b");
  dir_.Write("etc/crio/crio.conf.d/30", "[crio");
  EXPECT_NE(GlobalAuthFile().find("/etc/crio/crio.conf.d/30: "), std::string::npos) << GlobalAuthFile();
}

}  // namespace
}  // namespace prefetch::registry::crio_settings_test
