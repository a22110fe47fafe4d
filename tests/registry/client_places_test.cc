// Where CRI-O asks: the places of registries.conf, by the name that the image has there, with what a pull
// would show there (R46 to R48).
#include <gtest/gtest.h>

#include <memory>

#include "world.h"

namespace prefetch::registry::client_places_test {
namespace {

using tests::FakeRegistry;
using tests::FakeReply;
using tests::User;
using tests::WireRequest;
using tests::Word;
using Lines = std::vector<std::string>;

// The registry itself, and a mirror of it. Both speak plain http, so their places are insecure.
class ClientPlacesTest : public tests::RegistryWorld {
 protected:
  void Conf(const std::string& text) {
    auto conf = ParseRegistriesConf(text, ConfKind::kMain);
    ASSERT_TRUE(conf) << conf.error().message();
    ClientOptions options = tests::QuickOptions();
    options.registries = std::make_shared<const RegistriesConf>(std::move(*conf));
    // An operator's trust is about containerd's mirrors: CRI-O shows no mirror what a pull brings.
    options.trust_every_mirror = true;
    options.skip_mirrors = skip_mirrors_;
    Make(std::move(options));
  }
  std::string Entry(const std::string& path, const std::string& keys = "") {
    return "[[registry]]\nprefix = \"" + registry_.address() + path + "\"\nlocation = \"" +
           registry_.address() + path + "\"\ninsecure = true\n" + keys;
  }
  std::string Mirror(const std::string& path = "", const std::string& keys = "") {
    return "[[registry.mirror]]\nlocation = \"" + mirror_.address() + path + "\"\ninsecure = true\n" + keys;
  }
  static FakeRegistry::Override Always(int status) {
    return [status](const WireRequest&) { return FakeReply{.status = status}; };
  }

  FakeRegistry mirror_;
  bool skip_mirrors_ = false;
};

TEST_F(ClientPlacesTest, AMirrorIsAskedForTheImagesNameThere) {
  std::string digest = mirror_.Put("cache/app", "v1");
  Conf(Entry("", Mirror("/cache")));
  auto answer = AskFake("app:v1", {}, {digest});
  EXPECT_EQ(Word(answer), "Same");
  EXPECT_EQ(answer.answered_by, mirror_.address());
  EXPECT_EQ(mirror_.lines(), Lines{"HEAD /v2/cache/app/manifests/v1"});  // and no ?ns=
  EXPECT_TRUE(registry_.lines().empty());
}

TEST_F(ClientPlacesTest, TheRegistryItselfIsAskedWhereNoMirrorKnowsTheTag) {
  registry_.Put("app", "v1");
  Conf(Entry("", Mirror()));
  EXPECT_EQ(AskFake("app:v1").answered_by, registry_.address());
  EXPECT_EQ(mirror_.lines()[0], "HEAD /v2/app/manifests/v1");
  skip_mirrors_ = true;
  Conf(Entry("", Mirror()));
  mirror_.Forget();
  EXPECT_EQ(AskFake("app:v1").answered_by, registry_.address());
  EXPECT_TRUE(mirror_.lines().empty());
}

TEST_F(ClientPlacesTest, AMirrorForDigestsIsAskedForDigestsAlone) {
  std::string digest = mirror_.Put("app", "v1");
  registry_.Put("app", "v1");
  Conf(Entry("", "mirror-by-digest-only = true\n" + Mirror()));
  EXPECT_EQ(AskFake("app:v1").answered_by, registry_.address());
  EXPECT_EQ(AskFake("app@" + digest).answered_by, mirror_.address());
}

TEST_F(ClientPlacesTest, OnlyTheRegistrysOwnServerGetsCredentials) {
  registry_.Put("inner/app", "v1");
  registry_.DemandPassword("me", "secret");
  mirror_.Answer(Always(404));
  Conf("[[registry]]\nprefix = \"" + registry_.address() + "/outer\"\nlocation = \"" + registry_.address() +
       "/inner\"\ninsecure = true\n" + Mirror());
  EXPECT_EQ(Word(AskFake("outer/app:v1", {User("me", "secret")})), "Moved");
  EXPECT_EQ(registry_.lines().back(), "HEAD /v2/inner/app/manifests/v1");
  for (const WireRequest& request : mirror_.requests()) EXPECT_FALSE(request.headers.Has("Authorization"));
}

TEST_F(ClientPlacesTest, AMirrorThatAsksForCredentialsLeavesItToAPull) {
  mirror_.DemandPassword("me", "secret");
  mirror_.Put("app", "v1");
  registry_.Put("app", "v1");
  Conf(Entry("", Mirror()));
  auto answer = AskFake("app:v1", {User("me", "secret")});
  EXPECT_EQ(Word(answer), "Indeterminate CredentialsWithheld");
  EXPECT_TRUE(answer.only_by_pull);
  for (const WireRequest& request : mirror_.requests()) EXPECT_FALSE(request.headers.Has("Authorization"));
  EXPECT_TRUE(registry_.lines().empty());
}

TEST_F(ClientPlacesTest, WithoutCredentialsOfOursCrioMayHaveSome) {
  registry_.DemandPassword("me", "secret");
  registry_.Put("app", "v1");
  Conf(Entry(""));
  EXPECT_TRUE(AskFake("app:v1").only_by_pull);
  auto refused = AskFake("app:v1", {User("me", "wrong")});
  EXPECT_FALSE(refused.only_by_pull);
  EXPECT_EQ(Word(refused), "AccessDenied BadCredentials");
}

TEST_F(ClientPlacesTest, WhatIsBlockedIsNotAsked) {
  registry_.Put("app", "v1");
  Conf(Entry("", "blocked = true\n"));
  auto answer = AskFake("app:v1");
  EXPECT_EQ(Word(answer), "AccessDenied Blocked");
  EXPECT_EQ(answer.message, "registries.conf blocks " + registry_.address());
  EXPECT_TRUE(registry_.lines().empty());
}

// A source that is never contacted: what its mirrors say is all there is.
TEST_F(ClientPlacesTest, ABlockedRegistryHasTheWordOfItsMirrors) {
  std::string digest = mirror_.Put("app", "v1");
  Conf(Entry("", "blocked = true\n" + Mirror()));
  EXPECT_EQ(Word(AskFake("app:v1", {}, {digest})), "Same");
  mirror_.Answer(Always(503));
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status503");
  EXPECT_TRUE(registry_.lines().empty());
}

TEST_F(ClientPlacesTest, WhatOnlyCrioCanFollowIsNotAsked) {
  Conf(Entry("", "[[registry.mirror]]\nlocation = \"inner\"\n"));
  auto answer = AskFake("app:v1");
  EXPECT_TRUE(answer.only_by_pull);
  EXPECT_EQ(answer.requests, 0);
  EXPECT_NE(answer.message.find("makes no image's name"), std::string::npos);
  EXPECT_TRUE(registry_.lines().empty());
}

TEST_F(ClientPlacesTest, PlainHttpIsForInsecurePlacesAlone) {
  registry_.Put("app", "v1");
  Conf("");
  EXPECT_EQ(Word(AskFake("app:v1")), "Unreachable Tls");
  EXPECT_TRUE(registry_.lines().empty());
  Conf(Entry(""));
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
}

}  // namespace
}  // namespace prefetch::registry::client_places_test
