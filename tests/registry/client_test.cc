#include "registry/client.h"

#include <gtest/gtest.h>

#include "world.h"

namespace prefetch::registry::client_test {
namespace {

using tests::FakeReply;
using tests::User;
using tests::WireRequest;
using tests::Word;
using Lines = std::vector<std::string>;

class ClientTest : public tests::RegistryWorld {};

TEST_F(ClientTest, OneHeadTellsWhetherATagHasMoved) {
  std::string digest = registry_.Put("team/app", "v1");
  auto unknown = AskFake("team/app:v1");
  EXPECT_EQ(Word(unknown), "Moved");
  EXPECT_TRUE(unknown.local_digest_unknown);
  EXPECT_EQ(unknown.digest, digest);
  EXPECT_EQ(unknown.answered_by, registry_.address());
  EXPECT_EQ(unknown.requests, 1);
  EXPECT_EQ(registry_.lines(), Lines{"HEAD /v2/team/app/manifests/v1"});
  EXPECT_EQ(registry_.requests()[0].headers.Get("Accept"),
            "application/vnd.docker.distribution.manifest.v2+json, "
            "application/vnd.docker.distribution.manifest.list.v2+json, "
            "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*");
  EXPECT_FALSE(registry_.requests()[0].headers.Has("Accept-Encoding"));
  EXPECT_FALSE(registry_.requests()[0].headers.Has("Authorization"));

  std::string other = "sha256:" + std::string(64, '0');
  EXPECT_EQ(Word(AskFake("team/app:v1", {}, {other, digest})), "Same");
  auto moved = AskFake("team/app:v1", {}, {other});
  EXPECT_EQ(Word(moved), "Moved");
  EXPECT_FALSE(moved.local_digest_unknown);
}

TEST_F(ClientTest, ADigestIsAskedWhetherItIsThere) {
  std::string digest = registry_.Put("app", "v1");
  EXPECT_EQ(Word(AskFake("app@" + digest)), "Same");
  EXPECT_EQ(registry_.lines(), Lines{"HEAD /v2/app/manifests/" + digest});
  EXPECT_EQ(Word(AskFake("app@sha256:" + std::string(64, '0'))), "TagMissing");
}

TEST_F(ClientTest, Basic) {
  registry_.Put("app", "v1");
  registry_.DemandPassword("me", "secret");
  EXPECT_EQ(Word(AskFake("app:v1")), "AccessDenied NoCredentials");
  auto answer = AskFake("app:v1", {User("me", "wrong"), User("me", "secret")});
  EXPECT_EQ(Word(answer), "Moved");
  registry_.Forget();
  EXPECT_EQ(AskFake("app:v1", {User("me", "secret")}).requests, 1);
  EXPECT_EQ(Word(AskFake("app:v1", {User("me", "wrong")})), "AccessDenied BadCredentials");
  EXPECT_EQ(registry_.lines().size(), 2U);
}

TEST_F(ClientTest, BearerWithATokenThatIsKept) {
  registry_.Put("app", "v1");
  registry_.DemandToken("http://" + registry_.address() + "/token");
  registry_.GiveTokensTo("me", "secret");
  auto first = AskFake("app:v1", {User("me", "secret")});
  EXPECT_EQ(Word(first), "Moved");
  EXPECT_EQ(first.requests, 3);
  EXPECT_EQ(registry_.lines(),
            (Lines{"HEAD /v2/app/manifests/v1", "POST /token", "HEAD /v2/app/manifests/v1"}));
  EXPECT_EQ(AskFake("app:v1", {User("me", "secret")}).requests, 1);
  EXPECT_EQ(Word(AskFake("app:v1", {User("me", "wrong")})), "AccessDenied BadCredentials");
  EXPECT_EQ(Word(AskFake("app:v1")), "AccessDenied Unauthenticated");
}

}  // namespace
}  // namespace prefetch::registry::client_test
