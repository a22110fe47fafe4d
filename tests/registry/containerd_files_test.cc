#include "registry/containerd_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "temp_dir.h"

namespace prefetch::registry::containerd_files_test {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kFile = "/etc/containerd/config.toml";

std::string Path(const std::string& path) {
  return "version = 3\n[plugins.\"io.containerd.cri.v1.images\".registry]\nconfig_path = \"" + path + "\"\n";
}

std::string Imports(const std::string& list, const std::string& rest) {
  return "imports = " + list + "\n" + rest;
}

class ContainerdFilesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { dir_.Write(path.substr(1), text); }
  const ContainerdSettings& Look() {
    word_ = files_.Current();
    return *word_;
  }
  std::string ConfigPath() { return Look().registries.config_path; }
  std::string OnlyNote() {
    Look();
    EXPECT_EQ(word_->notes.size(), 1U);
    return word_->notes.empty() ? "" : word_->notes[0];
  }

  tests::TempDir dir_;
  ContainerdFiles files_{kFile, dir_.path()};
  std::shared_ptr<const ContainerdSettings> word_;
};

const image::RuntimeRegistries kOnlyTheRuntimeKnows = {.hosts_in_tables = {"*"}};

TEST_F(ContainerdFilesTest, NoFileMeansDefaults) {
  EXPECT_EQ(
      OnlyNote(),
      "/etc/containerd/config.toml is not there: containerd is taken to run with its defaults; if it has its "
      "configuration elsewhere, set --registry-containerd-config");
  EXPECT_EQ(word_->registries, image::RuntimeRegistries{});
}

TEST_F(ContainerdFilesTest, IsReadAgainOnlyWhenSomethingHasChanged) {
  Write(kFile, Path("/a"));
  auto before = files_.Current();
  EXPECT_EQ(before->registries.config_path, "/a");
  EXPECT_EQ(before->notes, Texts{});
  EXPECT_EQ(files_.Current(), before);
  // What says the same as before is no news, either.
  Write(kFile, "# touched\n" + Path("/a"));
  EXPECT_EQ(files_.Current(), before);
  Write(kFile, Path("/other"));
  EXPECT_EQ(ConfigPath(), "/other");
  std::filesystem::remove(dir_ / kFile);
  EXPECT_FALSE(Look().registries.known);
  Write(kFile, Path("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, ImportsComeAfterTheFileInTheirOrderAndThenTheirs) {
  Write(kFile, Imports(R"(["a.toml", "/etc/b.toml"])", Path("/root")));
  Write("/etc/containerd/a.toml", Imports(R"(["sub/../c.toml"])", Path("/a")));
  Write("/etc/b.toml", Path("/b"));
  Write("/etc/containerd/c.toml", Path("/c"));
  EXPECT_EQ(ConfigPath(), "/c");
  Write("/etc/containerd/c.toml", "version = 3\n");
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/b.toml", "version = 3\n");
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, ACircleEnds) {
  Write(kFile, Imports(R"(["a.toml", "./config.toml"])", Path("/root")));
  Write("/etc/containerd/a.toml", Imports(R"(["config.toml", "a.toml"])", Path("/a")));
  EXPECT_EQ(ConfigPath(), "/a");
  EXPECT_EQ(word_->notes, Texts{});
}

TEST_F(ContainerdFilesTest, PatternsAreMatchedInOrder) {
  Write(kFile, Imports(R"(["conf.d/*.toml"])", Path("/root")));
  std::filesystem::create_directories(dir_ / "etc/containerd/conf.d");
  EXPECT_EQ(ConfigPath(), "/root");
  EXPECT_EQ(word_->notes, Texts{});
  Write("/etc/containerd/conf.d/b.toml", Path("/b"));  // a new file in the folder is seen
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/a.toml", Path("/a"));
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/c.toml.off", Path("/c"));
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/.d.toml", "version = 3\n");
  Write("/etc/containerd/conf.d/b.toml", Path("/changed"));
  EXPECT_EQ(ConfigPath(), "/changed");
  std::filesystem::remove(dir_ / "etc/containerd/conf.d/b.toml");
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, FoldersMayBePatternsToo) {
  Write(kFile, Imports(R"(["/etc/*/conf.d/*.toml*"])", Path("/root")));
  Write("/etc/one/conf.d/1.toml", Path("/one"));
  Write("/etc/two/conf.d/1.toml", Path("/two"));
  EXPECT_EQ(ConfigPath(), "/two");
}

TEST_F(ContainerdFilesTest, OtherSignsOfPatternsAreLeftToTheRuntime) {
  Write("/etc/containerd/a.toml", Path("/a"));
  for (const char* name : {"[!b]*.toml", "[*.toml", "?*.toml", "\\\\*.toml"}) {
    Write(kFile, Imports("[\"" + std::string(name) + "\"]", Path("/root")));
    EXPECT_EQ(Look().registries, kOnlyTheRuntimeKnows) << name;
  }
}

// Without a "*" it is a name, as containerd takes it.
TEST_F(ContainerdFilesTest, AQuestionMarkAloneIsNoPattern) {
  Write(kFile, Imports(R"(["d?.toml"])", Path("/root")));
  Write("/etc/containerd/d1.toml", Path("/d"));
  EXPECT_EQ(Look().registries, kOnlyTheRuntimeKnows);
}

TEST_F(ContainerdFilesTest, AnImportThatIsNotToBeSeenIsSaid) {
  Write(kFile, Imports(R"(["/opt/more.toml"])", Path("/root")));
  EXPECT_EQ(
      OnlyNote(),
      "/opt/more.toml, which /etc/containerd/config.toml imports, is not visible to the agent: mount it "
      "at the same path. Until then the agent checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  Write("/opt/more.toml", Path("/more"));
  EXPECT_EQ(ConfigPath(), "/more");
}

TEST_F(ContainerdFilesTest, AFolderOfImportsThatIsNotToBeSeenIsSaid) {
  Write(kFile, Imports(R"(["/opt/*.toml"])", Path("/root")));
  EXPECT_EQ(OnlyNote(),
            "/opt, from which /etc/containerd/config.toml imports, is not visible to the agent: if the node "
            "has it, mount it at the same path");
  EXPECT_EQ(word_->registries.config_path, "/root");
  Write("/opt/a.toml", Path("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
  EXPECT_EQ(word_->notes, Texts{});
}

TEST_F(ContainerdFilesTest, ABrokenFileIsSaidAndOnlyTheRuntimeKnows) {
  Write(kFile, Imports(R"(["a.toml"])", Path("/root")));
  Write("/etc/containerd/a.toml", "version = 3\n[plugins\npassword = \"topsecret\"\n");
  EXPECT_EQ(OnlyNote(),
            "/etc/containerd/a.toml cannot be used: line 2: this is no TOML. Until you correct it, the agent "
            "checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  Write("/etc/containerd/a.toml", Path("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, WhatIsNoFileIsSaid) {
  std::filesystem::create_directories(dir_ / kFile);
  EXPECT_EQ(OnlyNote(), "/etc/containerd/config.toml cannot be read: " + dir_.path() + kFile +
                            " is not a regular file. Until then the agent checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
}

TEST_F(ContainerdFilesTest, BoundsAreKept) {
  Write(kFile, Imports(R"(["conf.d/*.toml"])", Path("/root")));
  for (int i = 100; i < 163; i++) {
    Write("/etc/containerd/conf.d/" + std::to_string(i) + ".toml", Path("/" + std::to_string(i)));
  }
  EXPECT_EQ(ConfigPath(), "/162");
  Write("/etc/containerd/conf.d/163.toml", Path("/163"));
  EXPECT_EQ(OnlyNote(), "/etc/containerd/config.toml imports too many files");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  std::filesystem::remove_all(dir_ / "etc/containerd/conf.d");
  std::filesystem::create_directories(dir_ / "etc/containerd/conf.d");
  Write("/etc/containerd/conf.d/a.toml", std::string(1024 * 1024 + 1, '#'));
  EXPECT_NE(OnlyNote().find("/etc/containerd/conf.d/a.toml cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::registry::containerd_files_test
