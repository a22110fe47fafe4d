#include "registry/registries_conf.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "rows.h"
#include "temp_dir.h"

namespace prefetch::registry::registries_conf_test {
namespace {

// The judge of the family "registries-conf" (tests/judges) has what is read.

struct MistakeRow {
  std::string name, text, expect;
  ConfKind kind = ConfKind::kMain;
};

TEST_TABLE(RegistriesConfMistakeTest, IsToldWithItsLine, MistakeRow) {
  auto conf = ParseRegistriesConf(row.text, row.kind);
  ASSERT_FALSE(conf);
  EXPECT_EQ(conf.error().message(), row.expect);
}

std::string Entry(const std::string& keys) {
  return "[[registry]]\n" + keys;
}

TEST_ROWS(
    AsTheLibrary, RegistriesConfMistakeTest, {"NoToml", "[[registry]\n", "line 1: this is no TOML"},
    {"OneTable", "[registry]\nlocation = \"a.io\"\n",
     "line 1: registry is written [registry] instead of [[registry]]"},
    {"NeitherPrefixNorLocation", Entry("insecure = true\n"),
     "line 1: a registry with neither prefix nor location"},
    {"NoLocation", Entry("prefix = \"a.io\"\n"), "line 1: a registry without a location"},
    {"Url", Entry("location = \"https://a.io\"\n"),
     "line 2: a location is a name without http:// or https://"},
    {"WildcardWithAPath", Entry("prefix = \"*.a.io/b\"\nlocation = \"c.io\"\n"),
     "line 1: a prefix with * is *.example.com, without port and path"},
    {"NoText", Entry("location = 5\n"), "line 2: location is no string"},
    {"NoFlag", Entry("location = \"a.io\"\nblocked = \"yes\"\n"),
     "line 3: blocked is neither true nor false"},
    {"TwoSpellings", Entry("location = \"a.io\"\nLocation = \"b.io\"\n"),
     "line 2: location is there twice, in different spellings"},
    {"UseOfTheRegistryItself", Entry("location = \"a.io\"\npull-from-mirror = \"all\"\n"),
     "line 1: pull-from-mirror belongs to a mirror"},
    {"MirrorWithoutLocation", Entry("location = \"a.io\"\n[[registry.mirror]]\ninsecure = true\n"),
     "line 3: a mirror without a location"},
    {"UnknownUse",
     Entry("location = \"a.io\"\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = \"never\"\n"),
     "line 3: pull-from-mirror is neither all, digest-only nor tag-only"},
    {"BothUses",
     Entry("location = \"a.io\"\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = "
           "\"m\"\npull-from-mirror = \"all\"\n"),
     "line 4: pull-from-mirror beside the registry's mirror-by-digest-only"},
    {"LocationsDisagree",
     Entry("location = \"a.io\"\n[[registry]]\nprefix = \"b.io\"\nlocation = \"a.io\"\nblocked "
           "= true\n"),
     "line 3: a location is there twice, and insecure or blocked differ"},
    {"SearchNoHost", "unqualified-search-registries = [\"a.io/b\"]\n",
     "line 1: unqualified-search-registries holds something that is no host"},
    {"Mode", "short-name-mode = \"x\"\n", "line 1: short-name-mode is none that there is"},
    {"AliasOfAFullName", "[aliases]\n\"quay.io/a\" = \"quay.io/b\"\n",
     "line 2: an alias must be for a short name"},
    {"AliasOfATag", "[aliases]\n\"a:v1\" = \"quay.io/b\"\n", "line 2: an alias must be for a short name"},
    {"AliasToAShortName", "[aliases]\na = \"library/b\"\n",
     "line 2: an alias is registry/repository, without tag and digest"},
    {"AliasToATag", "[aliases]\na = \"quay.io:5000/b:v1\"\n",
     "line 2: an alias is registry/repository, without tag and digest"},
    {"BothVersions", "[registries.search]\nregistries = []\n[[registry]]\nlocation = \"a.io\"\n",
     "line 1: versions 1 and 2 of the format in one file"},
    {"DropInOfVersion1", "[registries.block]\nregistries = [\"a.io\"]\n",
     "line 1: a drop-in of version 1 of the format", ConfKind::kDropIn},
    {"TooLong", std::string(1024 * 1024 + 1, '\n'), "the file is too long"});

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

TEST_TABLE(CrioSettingsMistake, IsToldWithItsLineAndNoValue, Mistake) {
  CrioSettings settings;
  auto updated = UpdateCrioSettings(row.text, "/x", settings);
  ASSERT_FALSE(updated);
  EXPECT_NE(updated.error().message().find(row.told), std::string::npos) << updated.error().message();
  EXPECT_EQ(updated.error().message().find("s3cr3t"), std::string::npos);
}

TEST_ROWS(, CrioSettingsMistake, {"crio = 1\n", "line 1: crio is no table"},
          {"[crio]\nimage = \"s3cr3t\"\n", "line 2: image is no table"},
          {"[crio.image]\nglobal_auth_file = 5\n", "line 2: global_auth_file is no string"},
          {"[crio.image]\nnamespaced_auth_dir = [\"s3cr3t\"]\n", "line 2: namespaced_auth_dir"},
          {"[crio.image\n", "line 1"});

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
  dir_.Write("etc/crio/crio.conf.d/15-folder/99.conf", Names("/d"));
  EXPECT_EQ(GlobalAuthFile(), "/b in /etc/crio/crio.conf.d/20-b");
  dir_.Write("etc/crio/crio.conf.d/25-folder/deeper/10.conf", Names("/e"));
  EXPECT_EQ(GlobalAuthFile(), "/e in /etc/crio/crio.conf.d/25-folder/deeper/10.conf");
  dir_.Write("etc/crio/crio.conf.d/30", "[crio");
  EXPECT_NE(GlobalAuthFile().find("/etc/crio/crio.conf.d/30: "), std::string::npos) << GlobalAuthFile();
}

using Texts = std::vector<std::string>;

constexpr const char* kFile = "/etc/containers/registries.conf";

std::string Location(const std::string& host) {
  return "[[registry]]\nlocation = \"" + host + "\"\n";
}

class RegistriesFilesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { dir_.Write(path.substr(1), text); }
  void Folder(const std::string& path) { std::filesystem::create_directories(dir_.path() + path); }
  std::shared_ptr<const RegistriesSettings> Look() {
    return files_.Get(
        [this](base::StampedFiles& disk) { return LoadRegistriesConf(kFile, dir_.path(), disk); });
  }
  Texts Prefixes() {
    auto word = Look();
    EXPECT_EQ(word->notes, Texts{});
    Texts prefixes;
    if (!word->conf) return {"only CRI-O knows"};
    for (const auto& [prefix, entry] : word->conf->registries) prefixes.push_back(prefix);
    return prefixes;
  }
  // Why it cannot be followed.
  std::string Note() {
    auto word = Look();
    EXPECT_FALSE(word->conf);
    EXPECT_EQ(word->notes.size(), 1U);
    return word->notes.empty() ? "" : word->notes[0];
  }

  tests::TempDir dir_;
  base::CachedFromFiles<RegistriesSettings> files_;
};

TEST_F(RegistriesFilesTest, AFolderThatIsNotMountedIsNoNodeWithoutMirrors) {
  EXPECT_EQ(Note(),
            "/etc/containers, where CRI-O finds its mirrors (registries.conf), is not visible to the agent: "
            "mount it at the same path, or set registryHostRoot. Until then the agent checks by pulling");
  Folder("/etc/containers");
  EXPECT_EQ(Prefixes(), Texts{});
  EXPECT_EQ(Look()->file, kFile);
}

TEST_F(RegistriesFilesTest, DropInsCountInTheOrderOfTheirNames) {
  Write(kFile, Location("a.io") + Location("b.io"));
  Write("/etc/containers/registries.conf.d/20.conf", Location("c.io"));
  Write("/etc/containers/registries.conf.d/10.conf",
        "[[registry]]\nprefix = \"b.io\"\nlocation = \"ten.io\"\n[[registry]]\nprefix = \"c.io\"\nlocation = "
        "\"ten.io\"\n");
  Write("/etc/containers/registries.conf.d/README", "no TOML");
  Write("/etc/containers/registries.conf.d/sub.conf/x.conf", "no TOML");
  Write("/root/.config/containers/registries.conf.d/05.conf", Location("d.io"));
  EXPECT_EQ(Prefixes(), (Texts{"a.io", "b.io", "c.io", "d.io"}));
  auto word = Look();
  EXPECT_EQ(word->conf->registries.at("b.io").own.location, "ten.io");
  EXPECT_EQ(word->conf->registries.at("c.io").own.location, "c.io");
}

TEST_F(RegistriesFilesTest, WhatHasChangedIsReadAgain) {
  Write(kFile, Location("a.io"));
  auto before = Look();
  EXPECT_EQ(Look(), before);
  Write("/etc/containers/registries.conf.d/10.conf", Location("b.io"));
  EXPECT_EQ(Prefixes(), (Texts{"a.io", "b.io"}));
  std::filesystem::remove(dir_.path() + "/etc/containers/registries.conf.d/10.conf");
  EXPECT_EQ(Prefixes(), Texts{"a.io"});
  std::filesystem::remove(dir_.path() + kFile);
  EXPECT_EQ(Prefixes(), Texts{});
}

TEST_F(RegistriesFilesTest, WhatSaysTheSameIsNoNews) {
  Write(kFile, Location("a.io"));
  auto before = Look();
  Write(kFile, "# a comment\n" + Location("a.io"));
  EXPECT_EQ(Look(), before);
}

TEST_F(RegistriesFilesTest, ABrokenFileLeavesItToPulls) {
  Write(kFile, Location("a.io"));
  Write("/etc/containers/registries.conf.d/10.conf", "\n[[registry]]\nprefix = \"b.io\"\n");
  EXPECT_EQ(Note(),
            "/etc/containers/registries.conf.d/10.conf cannot be used: line 2: a registry without a "
            "location. Until you correct it, the agent checks by pulling");
  Write("/etc/containers/registries.conf.d/10.conf", "[registries.block]\nregistries = [\"b.io\"]\n");
  EXPECT_NE(Note().find("a drop-in of version 1 of the format"), std::string::npos);
}

TEST_F(RegistriesFilesTest, ALinkOutOfTheMountIsNoAbsentFile) {
  Folder("/etc/containers/registries.conf.d");
  std::filesystem::create_symlink("../../usr/share/registries.conf", dir_.path() + kFile);
  EXPECT_EQ(Note(),
            "The target of the link " + std::string(kFile) +
                " is not visible to the agent: mount it as well. Until then the agent checks by pulling");
  Write("/usr/share/registries.conf", Location("a.io"));
  EXPECT_EQ(Prefixes(), Texts{"a.io"});
}

TEST_F(RegistriesFilesTest, AFileOfRootsTakesThePlaceOfTheUsualOne) {
  Write(kFile, Location("a.io"));
  Write("/etc/containers/registries.conf.d/10.conf", Location("b.io"));
  Write("/root/.config/containers/registries.conf", Location("c.io"));
  EXPECT_EQ(Prefixes(), Texts{"c.io"});
}

TEST_F(RegistriesFilesTest, AFileThatWasNamedMustBeThere) {
  const auto load = [&] {
    base::StampedFiles disk;
    return LoadRegistriesConf("/opt/registries.conf", dir_.path(), disk).conf;
  };
  EXPECT_FALSE(load());
  Write("/opt/registries.conf", Location("a.io"));
  Write("/root/.config/containers/registries.conf", Location("c.io"));
  Write("/etc/containers/registries.conf.d/10.conf", Location("b.io"));
  ASSERT_TRUE(load());
  EXPECT_EQ(load()->registries.size(), 2U);
}

TEST_F(RegistriesFilesTest, ShortNamesThatPodmanWasToldCountFirst) {
  Write(kFile, "[aliases]\na = \"quay.io/a\"\nb = \"quay.io/b\"\n");
  Write("/var/cache/containers/short-name-aliases.conf", "[aliases]\nb = \"docker.io/x/b\"\n");
  auto word = Look();
  ASSERT_TRUE(word->conf);
  EXPECT_EQ(word->conf->aliases,
            (std::map<std::string, std::string>{{"a", "quay.io/a"}, {"b", "docker.io/x/b"}}));
}

}  // namespace
}  // namespace prefetch::registry::registries_conf_test
