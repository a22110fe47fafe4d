#include "kubelet/node_facts_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>

#include "temp_dir.h"

namespace prefetch::kubelet::start_file_test {
namespace {

TEST(StartFileOf, IsTheSocketOfK3sAlone) {
  EXPECT_EQ(StartFileOf("/run/k3s/containerd/containerd.sock"), "/run/k3s/containerd/containerd.sock");
  EXPECT_EQ(StartFileOf("/var/run/k3s/containerd/containerd.sock"),
            "/var/run/k3s/containerd/containerd.sock");
  EXPECT_EQ(StartFileOf("/run/containerd/containerd.sock"), "");
  EXPECT_EQ(StartFileOf("/run/k0s/containerd.sock"), "");
}

TEST(StartFile, TellsWhenItIsMadeAnew) {
  tests::TempDir dir;
  StartFile file(dir / "a.sock");
  EXPECT_FALSE(file.Poll());
  EXPECT_EQ(file.seen(), "");
  EXPECT_FALSE(file.CreatedAt());
  const std::string path = dir.Write("a.sock", "");
  EXPECT_TRUE(file.Poll());
  const std::string first = file.seen();
  EXPECT_LE(*file.CreatedAt(), std::chrono::system_clock::now());
  EXPECT_GE(*file.CreatedAt(), std::chrono::system_clock::now() - std::chrono::minutes(1));
  EXPECT_FALSE(file.Poll());
  ::chmod(path.c_str(), 0700);
  EXPECT_FALSE(file.Poll()) << "who has made it changes its mode";
  std::remove(path.c_str());
  EXPECT_FALSE(file.Poll()) << "it is away for a moment";
  EXPECT_EQ(file.seen(), first);
  dir.Write("other", "");
  std::rename((dir / "other").c_str(), path.c_str());
  EXPECT_TRUE(file.Poll());
  EXPECT_NE(file.seen(), first);
}

TEST(StartFile, WithoutAPathThereIsNone) {
  StartFile none("");
  EXPECT_FALSE(none.Poll());
  EXPECT_EQ(none.seen(), "");
}

}  // namespace
}  // namespace prefetch::kubelet::start_file_test
