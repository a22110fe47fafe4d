// A pull secret that is mounted into the agent serves what it is declared for, and nothing else.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "system/node.h"

namespace prefetch::system::pull_secret_test {
namespace {

const rig::User kTeam{"team-robot", "s3cr3t-pull-secret"};
constexpr const char* kHost = "registry.example.test";

class PullSecret : public testing::Test {
 protected:
  PullSecret() {
    const rig::Scratch& scratch = node_.scratch();
    scratch.Write("secret/.dockerconfigjson", R"({"auths":{")" + std::string(kHost) + R"(":{"auth":")" +
                                                  base::Base64Encode(kTeam.name + ":" + kTeam.password) +
                                                  R"("}}})");
    config_ = scratch.Write("with-secret.yaml", R"(apiVersion: prefetchd.dev/v1alpha1
kind: AgentConfiguration
limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000}
pullSecrets:
- name: team
  path: )" + (scratch / "secret") + R"(
  allowRepositories: [")" + kHost + R"(/team"]
  sources: [team.txt]
)");
  }

  // The first line of the refused requests that carried the secret's login and were for `path`.
  bool WasShownTo(const std::string& path) {
    std::string header = "Basic " + base::Base64Encode(kTeam.name + ":" + kTeam.password);
    for (const rig::Passed& request : registry_->proxy().Requests()) {
      if (request.authorization == header && request.path.find(path) != std::string::npos) return true;
    }
    return false;
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry(kHost, kTeam);
  std::string config_;
};

TEST_F(PullSecret, ServesItsRepositoriesInItsSourcesOnly) {
  std::string served = registry_->Push("team/app", "v1", {{1, 50'000}});
  std::string other_repository = registry_->Push("elsewhere/app", "v1", {{2, 50'000}});
  std::string other_source = registry_->Push("team/unlisted", "v1", {{3, 50'000}});
  node_.HasListFile("team.txt", served + "\n" + other_repository + "\n");
  node_.HasListFile("all.txt", other_source + "\n");
  node_.StartAgent({"--config", config_});
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
    status::StatusDocument status = node_.Status();
    std::size_t settled = 0;
    for (const status::StatusImage& image : status.images) settled += image.settled ? 1U : 0U;
    return settled == 3;
  })) << node_.AgentLog();

  status::StatusImage image = node_.StatusOf(served);
  EXPECT_TRUE(image.ready);
  EXPECT_EQ(image.pulled_with.text(), "PullSecret");
  EXPECT_EQ(image.origin.credential, "team");
  EXPECT_TRUE(image.origin.exposed);
  EXPECT_NE(node_.Get("/v1/status").body.find(R"("exposed":true)"), std::string::npos);
  for (const std::string& refused : {other_repository, other_source}) {
    image = node_.StatusOf(refused);
    EXPECT_EQ(image.reason.text(), "AccessDenied") << refused;
    EXPECT_FALSE(image.origin.exposed);
    EXPECT_NE(image.message.find("no credential of this node matches"), std::string::npos) << image.message;
  }
  EXPECT_TRUE(WasShownTo("/v2/team/app/"));
  EXPECT_FALSE(WasShownTo("/v2/elsewhere/"));
  EXPECT_FALSE(WasShownTo("/v2/team/unlisted/"));
  EXPECT_NE(node_.Ctl({"status", "-o", "wide"}).out.find("every pod of the node can use it"),
            std::string::npos);
  for (const std::string& text : {node_.AgentLog(), node_.Get("/v1/status").body}) {
    EXPECT_EQ(text.find(kTeam.password), std::string::npos);
    EXPECT_EQ(text.find(base::Base64Encode(kTeam.name + ":" + kTeam.password)), std::string::npos);
  }
}

}  // namespace
}  // namespace prefetch::system::pull_secret_test
