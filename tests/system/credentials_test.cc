// Private images with the node's own credentials, on a real runtime and real registries.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "system/node.h"

namespace prefetch::system::credentials_test {
namespace {

const rig::User kAnn{"ann", "right-Passw0rd"};
const rig::User kStale{"ann", "stale-Passw0rd"};

void ExpectNoSecrets(const std::string& text) {
  EXPECT_EQ(text.find(kAnn.password), std::string::npos);
  EXPECT_EQ(text.find(kStale.password), std::string::npos);
}

class Credentials : public testing::Test {
 protected:
  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", kAnn);
  std::string image_ = registry_->Push("team/app", "v1", {{1, 200'000}, {2, 50'000}});

  void ExpectPulled() {
    node_.HasList({image_});
    rig::Ran ran = node_.Once();
    EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
    EXPECT_TRUE(node_.Has(image_));
    ExpectNoSecrets(ran.out + ran.err);
  }
};

TEST_F(Credentials, ByPlugin) {
  node_.HasPlugin(registry_->host(), kAnn);
  ExpectPulled();
}

TEST_F(Credentials, ByDockerConfig) {
  node_.HasDockerConfig(registry_->host(), kAnn);
  ExpectPulled();
}

TEST_F(Credentials, ByBothWithTheFirstRefused) {
  node_.HasDockerConfig(registry_->host(), kStale);
  node_.HasPlugin(registry_->host(), kAnn);
  ExpectPulled();
  EXPECT_GE(registry_->RequestsAs(kStale), 1U);
  EXPECT_LE(registry_->RequestsAs(kStale), 5U);  // one pull of a runtime repeats it by itself
}

TEST_F(Credentials, AWrongPasswordIsDeniedSaidAndNotHammered) {
  std::string other = registry_->Push("team/other", "v1", {{3, 10'000}});
  node_.HasDockerConfig(registry_->host(), kStale);
  node_.HasList({image_, other});
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
    return node_.StatusOf(image_).settled && node_.StatusOf(other).settled;
  })) << node_.AgentLog();
  rig::Ran waited = node_.Ctl({"wait", "--fail-fast", "--timeout", "30s"});
  EXPECT_EQ(waited.exit, (rig::Exit{1, 0})) << waited.out << waited.err << node_.AgentLog();

  status::StatusImage status = node_.StatusOf(image_);
  EXPECT_FALSE(status.ready);
  EXPECT_EQ(status.reason.text(), "AccessDenied");
  EXPECT_EQ(node_.Get("/readyz").status, 503);
  EXPECT_NE(node_.Get("/readyz?verbose").body.find("AccessDenied"), std::string::npos);

  std::size_t refused = registry_->RequestsAs(kStale);
  EXPECT_LE(refused, 10U);  // two images, up to five by the runtime for each
  EXPECT_FALSE(rig::Eventually(seconds(3), [&] { return registry_->RequestsAs(kStale) > refused; }))
      << "the refused password was sent again on a short timer";
  ExpectNoSecrets(node_.AgentLog() + node_.Ctl({"status", "-o", "wide"}).out + waited.out);
}

}  // namespace
}  // namespace prefetch::system::credentials_test
