#include "agent/observe_kubelet.h"

#include <gtest/gtest.h>

#include "temp_dir.h"

namespace prefetch::agent::observe_kubelet_test {
namespace {

using std::chrono::seconds;

class StaleMounts : public testing::Test {
 protected:
  std::string Deleted(const std::string& file) const { return "1 2 3:4 /a//deleted " + file + " rw\n"; }
  void Mounts(const std::string& lines) { dir_.Write("mountinfo", lines); }
  // Of a look so long after the first one.
  std::vector<std::string> Problems(seconds at) {
    return observer_
        .Take(std::make_shared<const KubeletQuestion>(), {}, base::TimePoint(seconds(1000) + at), {})
        .problems;
  }
  std::vector<std::string> Told() const {
    return {
        file_ +
        " was replaced on the node, and the agent still has the old file mounted: restart the agent's pod, "
        "and mount the folder instead of the file"};
  }
  KubeletOptions Options(const std::string& mountinfo) const {
    return {.facts = kubelet::NodeFactsReader({.root = dir_.path()}, "", {}),
            .watch = false,
            .mountinfo = mountinfo};
  }

  tests::TempDir dir_;
  std::string file_ = dir_.Write("config.json", "{}");
  std::string records_ = dir_.Write("image_manager/pulled/x", "{}");
  KubeletObserver observer_{Options(dir_ / "mountinfo"), nullptr};
};

TEST_F(StaleMounts, AreTold) {
  Mounts(Deleted(file_) + Deleted(dir_.path()));
  EXPECT_EQ(Problems(seconds(0)), Told()) << "files alone";
}

TEST_F(StaleMounts, AreLookedForEveryHalfMinute) {
  Mounts("");
  EXPECT_TRUE(Problems(seconds(0)).empty());
  Mounts(Deleted(file_));
  EXPECT_TRUE(Problems(seconds(29)).empty()) << "a node has thousands of mounts";
  EXPECT_EQ(Problems(seconds(30)), Told());
  Mounts("");
  EXPECT_EQ(Problems(seconds(59)), Told());
  EXPECT_TRUE(Problems(seconds(60)).empty());
}

TEST_F(StaleMounts, AreNotLookedForWithoutAList) {
  Mounts(Deleted(file_));
  KubeletObserver without{Options(""), nullptr};
  EXPECT_TRUE(without.Take(std::make_shared<const KubeletQuestion>(), {}, base::TimePoint(seconds(1)), {})
                  .problems.empty());
}

}  // namespace
}  // namespace prefetch::agent::observe_kubelet_test
