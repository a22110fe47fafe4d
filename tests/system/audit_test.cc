// `prefetchctl audit` on a node with a real containerd, on which somebody pulls behind the agent's back.

#include <gtest/gtest.h>

#include <string>

#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::audit_test {
namespace {

constexpr const char* kHost = "registry.example.test";

TEST(AuditCommand, AnImageThatWasPulledBehindTheAgentsBack) {
  Node node;
  auto registry = node.AddRegistry(kHost, {});
  std::string listed = registry->Push("app", "v1", {{1, 100'000}});
  std::string before = registry->Push("before", "v1", {{2, 100'000}});
  std::string unlisted = registry->Push("tool", "v9", {{3, 100'000}});
  auto endpoint = cri::ParseEndpoint(node.containerd().endpoint());
  ASSERT_OK(endpoint);
  const auto pods = cri::MakeImageService(*endpoint);
  auto pull = [&](const std::string& image) {
    return pods->PullImage(base::Call{}.Within(seconds(30)), {.image = image}).ok();
  };
  ASSERT_TRUE(pull(before));
  node.HasList({listed});
  node.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node.Status().ready; })) << node.AgentLog();
  rig::Ran clean = node.Ctl({"audit"});
  EXPECT_EQ(clean.exit, (rig::Exit{0, 0})) << clean.out << clean.err;

  ASSERT_TRUE(pull(unlisted));
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return !node.Status().Unlisted().empty(); }))
      << node.AgentLog();
  rig::Ran found = node.Ctl({"audit"});
  EXPECT_EQ(found.exit, (rig::Exit{1, 0})) << found.err;
  EXPECT_NE(found.out.find("1 image on no list on 1 node:\n  " + unlisted + "\n"), std::string::npos)
      << found.out;
  EXPECT_EQ(found.out.find("before"), std::string::npos) << found.out;
  EXPECT_EQ(node.Ctl({"audit", "--ignore", std::string(kHost) + "/tool"}).exit, (rig::Exit{0, 0}));
  EXPECT_NE(node.Get("/metrics").body.find("\nprefetchd_unlisted_images 1\n"), std::string::npos);
  EXPECT_TRUE(node.Status().ready);

  node.HasList({listed, unlisted});
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return node.Status().Unlisted().empty(); }))
      << node.AgentLog();
  EXPECT_EQ(node.Ctl({"audit"}).exit, (rig::Exit{0, 0}));
}

}  // namespace
}  // namespace prefetch::system::audit_test
