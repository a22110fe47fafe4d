#include "agent/runtime_view.h"

#include <gtest/gtest.h>

#include "temp_dir.h"

namespace prefetch::agent::stale_mounts_test {
namespace {

using std::chrono::seconds;

class StaleMountsTest : public testing::Test {
 protected:
  std::string Deleted(const std::string& file) const { return "1 2 3:4 /a//deleted " + file + " rw\n"; }
  void Mounts(const std::string& lines) { dir_.Write("mountinfo", lines); }
  // Of a look so long after the first one.
  std::vector<std::string> Problems(seconds at) { return mounts_.Poll(base::TimePoint(seconds(1000) + at)); }
  std::vector<std::string> Told() const {
    return {
        file_ +
        " was replaced on the node, and the agent still has the old file mounted: restart the agent's pod, "
        "and mount the folder instead of the file"};
  }

  tests::TempDir dir_;
  std::string file_ = dir_.Write("config.json", "{}");
  StaleMounts mounts_{dir_ / "mountinfo"};
};

TEST_F(StaleMountsTest, AreTold) {
  Mounts(Deleted(file_) + Deleted(dir_.path()));
  EXPECT_EQ(Problems(seconds(0)), Told()) << "files alone";
}

TEST_F(StaleMountsTest, AreLookedForEveryHalfMinute) {
  Mounts("");
  EXPECT_TRUE(Problems(seconds(0)).empty());
  Mounts(Deleted(file_));
  EXPECT_TRUE(Problems(seconds(29)).empty()) << "a node has thousands of mounts";
  EXPECT_EQ(Problems(seconds(30)), Told());
  Mounts("");
  EXPECT_EQ(Problems(seconds(59)), Told());
  EXPECT_TRUE(Problems(seconds(60)).empty());
}

TEST_F(StaleMountsTest, AreNotLookedForWithoutAList) {
  Mounts(Deleted(file_));
  EXPECT_TRUE(StaleMounts("").Poll(base::TimePoint(seconds(1))).empty());
}

}  // namespace
}  // namespace prefetch::agent::stale_mounts_test
