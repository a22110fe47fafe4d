#include "kubelet/node_facts_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "temp_dir.h"

namespace prefetch::kubelet::drop_ins_test {
namespace {

namespace fs = std::filesystem;

// The paths below the folder, in their order.
std::vector<std::string> Names(const std::string& folder) {
  auto found = ListDropIns(folder);
  EXPECT_TRUE(found.ok());
  std::vector<std::string> names;
  if (!found) return names;
  for (const DropIn& drop_in : *found) names.push_back(drop_in.path.substr(folder.size() + 1));
  return names;
}

using List = std::vector<std::string>;

// K48.
TEST(DropIns, AreListedByNameOnEachLevel) {
  tests::TempDir dir;
  for (const char* name : {"d/20.conf", "d/10.conf", "d/15/b.conf", "d/15/a.conf", "d/15.conf", "d/9.conf",
                           "d/Z.conf", "d/a/deep/er/x.conf"}) {
    dir.Write(name, "");
  }
  EXPECT_EQ(Names(dir / "d"), (List{"10.conf", "15/a.conf", "15/b.conf", "15.conf", "20.conf", "9.conf",
                                    "Z.conf", "a/deep/er/x.conf"}));
}

TEST(DropIns, OnlyConfCounts) {
  tests::TempDir dir;
  for (const char* name :
       {"d/a.conf", "d/b.yaml", "d/c.conf.bak", "d/d.CONF", "d/conf", "d/.conf", "d/.e.conf"}) {
    dir.Write(name, "");
  }
  dir.Write("d/f.conf/g.conf", "");  // a directory of that name is a directory
  EXPECT_EQ(Names(dir / "d"), (List{".conf", ".e.conf", "a.conf", "f.conf/g.conf"}));
}

TEST(DropIns, LinksToFilesAreFollowedThoseToDirectoriesAreNot) {
  tests::TempDir dir;
  dir.Write("elsewhere/x.conf", "content");
  dir.Write("d/a.conf", "");
  fs::create_symlink("../elsewhere/x.conf", dir / "d/b.conf");
  fs::create_directory_symlink("../elsewhere", dir / "d/c");
  fs::create_directory_symlink("..", dir / "d/loop");
  fs::create_directory_symlink(".", dir / "d/loop2");
  EXPECT_EQ(Names(dir / "d"), (List{"a.conf", "b.conf"}));
  auto found = ListDropIns(dir / "d");
  EXPECT_EQ(found->back().stamp, StampOf(dir / "elsewhere/x.conf"));
  EXPECT_EQ(found->back().stamp.size, 7U);
}

TEST(DropIns, FolderThatIsALinkIsNotWalked) {
  tests::TempDir dir;
  dir.Write("d/a.conf", "");
  fs::create_directory_symlink("d", dir / "link");
  EXPECT_EQ(Names(dir / "link"), List());
  EXPECT_EQ(ListDropIns(dir / "link/")->size(), 1U);  // but with a slash it is, as kubelet does
}

// kubelet's own ConfigMap volumes: the hidden directory is walked, its link is not.
TEST(DropIns, ConfigMapVolumeIsWalkedAsKubeletDoes) {
  tests::TempDir dir;
  dir.Write("d/..2026_01/a.conf", "");
  fs::create_directory_symlink("..2026_01", dir / "d/..data");
  fs::create_symlink("..data/a.conf", dir / "d/a.conf");
  EXPECT_EQ(Names(dir / "d"), (List{"..2026_01/a.conf", "a.conf"}));
}

TEST(DropIns, WhatIsMissingOrTooMuchIsAnError) {
  tests::TempDir dir;
  EXPECT_EQ(ListDropIns(dir / "none").error().code(), base::Code::kNotFound);
  std::string deep = "deep";
  for (int i = 0; i < 17; i++) deep += "/d";
  dir.Write(deep + "/a.conf", "");
  EXPECT_EQ(ListDropIns(dir / "deep").error().code(), base::Code::kResourceExhausted);
  for (int i = 0; i < 1001; i++) dir.Write("many/" + std::to_string(i), "");
  EXPECT_EQ(ListDropIns(dir / "many").error().code(), base::Code::kResourceExhausted);
  for (int i = 0; i < 600; i++) dir.Write("more/" + std::to_string(i % 2) + "/" + std::to_string(i), "");
  EXPECT_TRUE(ListDropIns(dir / "more").ok());
  for (int i = 0; i < 1200; i++) dir.Write("more/" + std::to_string(i % 2) + "/" + std::to_string(i), "");
  EXPECT_EQ(ListDropIns(dir / "more").error().code(), base::Code::kResourceExhausted);
}

TEST(DropIns, StampTellsChanges) {
  tests::TempDir dir;
  EXPECT_EQ(StampOf(dir / "a").error, ENOENT);
  dir.Write("a", "1");
  ConfigStamp before = StampOf(dir / "a");
  EXPECT_EQ(before.error, 0);
  EXPECT_EQ(before, StampOf(dir / "a"));
  dir.Write("b", "1");
  fs::rename(dir / "b", dir / "a");
  EXPECT_NE(before, StampOf(dir / "a"));
}

}  // namespace
}  // namespace prefetch::kubelet::drop_ins_test
