// `prefetchctl check` of listed images on a node with a real containerd, on which somebody removes them.
#include <gtest/gtest.h>

#include <string>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::check_now_test {
namespace {

using std::chrono::seconds;

TEST(CheckNow, AListedImageThatWasJustRemovedIsANoAtOnceAndEachTime) {
  Node node;
  auto registry = node.AddRegistry("registry.example.test", {});
  std::string image = registry->Push("app", "v1", {{1, 100'000}});
  node.HasList({image});
  node.StartAgent();
  ASSERT_EQ(node.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << node.AgentLog();
  ASSERT_EQ(node.Ctl({"check", "--image", image, "--policy", "Never"}).exit, rig::Exit{});

  ASSERT_OK(registry->proxy().Refuse(true));  // nobody brings it back
  ASSERT_OK(node.containerd().RemoveAll());
  for (int i = 0; i < 10; i++) {
    rig::Ran local = node.Ctl({"check", "--image", image, "--policy", "Never"});
    EXPECT_EQ(local.exit, (rig::Exit{1, 0})) << i << ": " << local.out << local.err;
    EXPECT_NE(local.out.find("ImageAbsent"), std::string::npos) << local.out;
  }
  rig::Ran neighbour =
      node.Ctl({"check", "--agent", node.NeighbourUrl(), "--image", image, "--policy", "Never"});
  EXPECT_EQ(neighbour.exit, (rig::Exit{1, 0})) << neighbour.out << neighbour.err;

  ASSERT_OK(registry->proxy().Refuse(false));
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] {
    return node.Ctl({"check", "--image", image, "--policy", "Never"}).exit == rig::Exit{};
  })) << node.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::check_now_test
