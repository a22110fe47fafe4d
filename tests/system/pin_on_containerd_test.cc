// Pins in a real containerd, which keeps them in labels of names.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "plan/pins.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::pin_on_containerd_test {
namespace {

using std::chrono::seconds;

std::string ListOf(const std::string& image, const std::string& fields) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- {image: \"" + image + "\"" +
         fields + "}\n";
}

class PinOnContainerd : public testing::Test {
 protected:
  // Does the name have the label, as ctr sees it?
  bool IsLabelled() { return IsLabelled(image_); }
  bool IsLabelled(const std::string& name) {
    auto listed = node_.containerd().Ctr({"images", "ls", "name==" + name});
    EXPECT_OK(listed);
    return listed && listed->find("io.cri-containerd.pinned=pinned") != std::string::npos;
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, 1'000'000}});
};

TEST_F(PinOnContainerd, IsSetAndReportedAndGoesWithTheField) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.StartAgent();
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return IsLabelled(); })) << node_.AgentLog();
  // A release that does not report the label is named.
  const bool reports = plan::ReportsPins(node_.Status().runtime.version);
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    const status::StatusImage shown = node_.StatusOf(image_);
    return shown.ready && shown.pinned == reports && shown.pin_problem.empty() == reports;
  })) << node_.Ctl({"status"}).out;
  node_.HasListFile("list.yaml", ListOf(image_, ""));
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return !IsLabelled() && !node_.StatusOf(image_).pinned; }))
      << node_.AgentLog();
  EXPECT_TRUE(node_.Has(image_));
}

// The way to take all pins off a node: a list without them.
TEST_F(PinOnContainerd, AnotherProcessTakesThePinsOff) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return IsLabelled(); })) << node_.AgentLog();
  node_.agent().Kill();
  node_.HasListFile("list.yaml", ListOf(image_, ""));
  node_.StartAgent();
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return !IsLabelled(); })) << node_.AgentLog();
}

// Before the agent is deleted for good. Pins of agents that have gone come off, and those of other clients
// stay.
TEST_F(PinOnContainerd, UnpinTakesThePinsOfAllAgentsOff) {
  const std::string foreign = registry_->Push("foreign", "v1", {{2, 100'000}});
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.HasListFile("other.yaml", ListOf(foreign, ""));
  const rig::Ran ran = node_.Once({"--instance", "before"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_TRUE(IsLabelled()) << "before --once ends: " << ran.out;
  ASSERT_OK(node_.containerd().Ctr({"images", "label", foreign, "io.cri-containerd.pinned=pinned"}));
  node_.StartAgent({"--unpin"});
  EXPECT_FALSE(IsLabelled()) << "before the agent answers";
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    const status::StatusImage shown = node_.StatusOf(image_);
    return shown.ready && shown.pin_problem == "the agent runs with --unpin";
  })) << node_.Ctl({"status"}).out;
  EXPECT_FALSE(IsLabelled());
  EXPECT_TRUE(IsLabelled(foreign));
}

TEST_F(PinOnContainerd, UnpinOnceNeedsNoListAndEndsAtOnce) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  EXPECT_EQ(node_.Once().exit, rig::Exit{});
  ASSERT_TRUE(IsLabelled());
  rig::Command command = node_.Agent({});
  command.argv = {command.argv.front(), "--runtime-endpoint", node_.runtime().endpoint(), "--unpin",
                  "--once"};
  for (const char* said : {"unpinned 1 image\n", "unpinned 0 images\n"}) {
    const auto ran = rig::RunProgram(command, seconds(30));
    ASSERT_OK(ran);
    EXPECT_EQ(ran->exit, rig::Exit{}) << ran->err;
    EXPECT_EQ(ran->out, said);
    EXPECT_FALSE(IsLabelled());
  }
  ASSERT_TRUE(node_.containerd().Stop());
  const auto ran = rig::RunProgram(command, seconds(30));
  ASSERT_OK(ran);
  EXPECT_EQ(ran->exit, (rig::Exit{4, 0})) << ran->err;
}

}  // namespace
}  // namespace prefetch::system::pin_on_containerd_test
