#include "registry/registries_conf.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "temp_dir.h"

namespace prefetch::registry::registries_files_test {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kFile = "/etc/containers/registries.conf";

std::string Location(const std::string& host) {
  return "[[registry]]\nlocation = \"" + host + "\"\n";
}

class RegistriesFilesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { dir_.Write(path.substr(1), text); }
  void Folder(const std::string& path) { std::filesystem::create_directories(dir_.path() + path); }
  std::shared_ptr<const RegistriesSettings> Look() { return files_.Current(); }
  Texts Prefixes() {
    auto word = Look();
    EXPECT_EQ(word->notes, Texts{});
    Texts prefixes;
    if (!word->conf) return {"only CRI-O knows"};
    for (const ConfRegistry& entry : word->conf->registries) prefixes.push_back(entry.prefix);
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
  RegistriesFiles files_{kFile, dir_.path()};
};

TEST_F(RegistriesFilesTest, AFolderThatIsNotMountedIsNoNodeWithoutMirrors) {
  EXPECT_EQ(Note(),
            "/etc/containers, where CRI-O finds its mirrors (registries.conf), is not visible to the agent: "
            "mount it "
            "at the same path, or set registryHostRoot. Until then the agent checks by pulling");
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
  EXPECT_EQ(word->conf->registries[1].own.location, "ten.io");
  EXPECT_EQ(word->conf->registries[2].own.location, "c.io");
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
  EXPECT_EQ(
      Note(),
      "/etc/containers/registries.conf.d/10.conf cannot be used: line 2: a registry without a location. "
      "Until you correct it, the agent checks by pulling");
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
  RegistriesFiles files("/opt/registries.conf", dir_.path());
  EXPECT_FALSE(files.Current()->conf);
  Write("/opt/registries.conf", Location("a.io"));
  Write("/root/.config/containers/registries.conf", Location("c.io"));
  Write("/etc/containers/registries.conf.d/10.conf", Location("b.io"));
  ASSERT_TRUE(files.Current()->conf);
  EXPECT_EQ(files.Current()->conf->registries.size(), 2U);
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
}  // namespace prefetch::registry::registries_files_test
