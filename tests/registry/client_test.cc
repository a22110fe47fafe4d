#include "registry/client.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "fakes/certificates.h"
#include "fakes/front.h"
#include "temp_dir.h"
#include "world.h"

namespace prefetch::registry::client_test {
namespace {

using tests::CertificateAuthority;
using tests::Front;

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

// Where CRI-O asks: the places of registries.conf, by the name that the image has there, with what a pull
// would show there (R46 to R48).

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
  mirror_.Always({.status = 404});
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
  mirror_.Always({.status = 503});
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

// TLS: trusted authorities, client certificates, and the cost of a connection (R39 and R42).

// The fake registry behind a front that speaks TLS, and a hosts.toml for it.
class RegistryTlsTest : public tests::RegistryWorld {
 protected:
  RegistryTlsTest() : ca_(dir_.path(), "right"), other_ca_(dir_.path(), "wrong") {
    registry_.Put("app", "v1");
  }

  void Serve(const tests::KeyPair& pair, const std::string& client_ca_file = "") {
    front_.emplace(tests::FrontOptions{pair.certificate_file, pair.key_file, client_ca_file});
    front_->ForwardTo(registry_.port());
  }
  std::string Address() const { return "127.0.0.1:" + std::to_string(front_->port()); }
  // `keys` are those of the registry's own server in hosts.toml.
  void Trust(const std::string& keys) {
    std::string folder = dir_ / "certs/" + Address();
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/hosts.toml") << "server = \"https://" << Address() << "\"\n" << keys;
    ClientOptions options = tests::QuickOptions();
    options.hosts.runtime = {.containerd_version = "1.7.32", .config_path = dir_ / "certs"};
    Make(std::move(options));
  }
  std::string Quoted(const std::string& text) const { return "\"" + text + "\""; }
  std::string AskWord() { return Word(Ask(Address() + "/app:v1")); }

  tests::TempDir dir_;
  CertificateAuthority ca_, other_ca_;
  std::optional<Front> front_;
};

TEST_F(RegistryTlsTest, OnlyTheConfiguredAuthority) {
  Serve(ca_.Server("server"));
  Trust("");
  auto answer = Ask(Address() + "/app:v1");
  EXPECT_EQ(Word(answer), "Unreachable Tls");
  EXPECT_EQ(answer.requests, 0);
  Trust("ca = " + Quoted(other_ca_.certificate_file()));
  EXPECT_EQ(AskWord(), "Unreachable Tls");
  Trust("ca = [" + Quoted(other_ca_.certificate_file()) + ", " + Quoted(ca_.certificate_file()) + "]");
  EXPECT_EQ(AskWord(), "Moved");
  Trust("skip_verify = true");
  EXPECT_EQ(AskWord(), "Moved");
  Trust("");
  EXPECT_EQ(AskWord(), "Unreachable Tls");  // what was open without verification is not used again
}

TEST_F(RegistryTlsTest, ANewAuthorityInTheSameFile) {
  Serve(ca_.Server("server"));
  std::string file = dir_ / "authority.pem";
  std::ofstream(file) << other_ca_.certificate();
  Trust("ca = " + Quoted(file));
  EXPECT_EQ(AskWord(), "Unreachable Tls");
  std::ofstream(file) << ca_.certificate() << "\n";
  EXPECT_EQ(AskWord(), "Moved");
}

TEST_F(RegistryTlsTest, AnExpiredCertificate) {
  Serve(ca_.ExpiredServer("old"));
  Trust("ca = " + Quoted(ca_.certificate_file()));
  EXPECT_EQ(AskWord(), "Unreachable Tls");
}

TEST_F(RegistryTlsTest, ACertificateOfOurs) {
  tests::KeyPair mine = ca_.Client("node"), stranger = other_ca_.Client("node");
  Serve(ca_.Server("server"), ca_.certificate_file());
  std::string ca = "ca = " + Quoted(ca_.certificate_file()) + "\n";
  auto client = [&](const tests::KeyPair& pair) {
    return ca + "client = [[" + Quoted(pair.certificate_file) + ", " + Quoted(pair.key_file) + "]]\n";
  };
  // With TLS 1.3, a server rejects only after the handshake; the reset that follows may lose its alert.
  Trust(ca);
  EXPECT_EQ(AskWord().substr(0, 11), "Unreachable");
  Trust(client(stranger));
  EXPECT_EQ(AskWord().substr(0, 11), "Unreachable");
  EXPECT_TRUE(registry_.lines().empty());
  Trust(client(mine));
  EXPECT_EQ(AskWord(), "Moved");
}

// As containerd since 1.7: https without verification, then plain http.
TEST_F(RegistryTlsTest, OnLoopbackHttpsIsTriedFirst) {
  Serve(ca_.Server("server"));
  Make();
  auto answer = Ask(Address() + "/app:v1");
  EXPECT_EQ(Word(answer), "Moved") << answer.message;
  EXPECT_EQ(answer.requests, 1);
  EXPECT_EQ(AskWord(), "Moved");
}

TEST_F(RegistryTlsTest, WhoSpeaksOnlyPlainHttpIsNotAskedForTlsAgain) {
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  int connections = registry_.connections();
  EXPECT_EQ(connections, 2) << "one of them for TLS";
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  EXPECT_EQ(registry_.connections(), connections);
}

TEST_F(RegistryTlsTest, NothingFromHttpsToPlainHttp) {
  Serve(ca_.Server("server"));
  Trust("ca = " + Quoted(ca_.certificate_file()));
  registry_.Always(
      {.status = 302, .headers = {{"Location", "http://" + registry_.address() + "/v2/app/manifests/v1"}}});
  auto answer = Ask(Address() + "/app:v1");
  EXPECT_EQ(Word(answer), "Indeterminate InsecureRedirect");
  EXPECT_EQ(answer.requests, 1);
}

TEST_F(RegistryTlsTest, ATokenServiceWithTheSameAuthority) {
  Serve(ca_.Server("server"));
  Front tokens(tests::FrontOptions{ca_.Server("tokens").certificate_file, ca_.Server("tokens").key_file});
  tokens.ForwardTo(registry_.port());
  registry_.DemandToken("https://127.0.0.1:" + std::to_string(tokens.port()) + "/token");
  registry_.GiveTokensTo("me", "secret");
  Trust("ca = " + Quoted(ca_.certificate_file()));
  EXPECT_EQ(Word(Ask(Address() + "/app:v1", {User("me", "secret")})), "Moved");
  // Verification that was switched off for the registry is not off for others.
  Trust("skip_verify = true");
  EXPECT_EQ(Word(Ask(Address() + "/app:v1", {User("me", "secret")})), "Unreachable Tls");
}

TEST_F(RegistryTlsTest, AHundredTagsCostOneHandshake) {
  Serve(ca_.Server("server"));
  Trust("ca = " + Quoted(ca_.certificate_file()));
  for (int i = 0; i < 100; i++) {
    std::string tag = "t" + std::to_string(i);
    std::string digest = registry_.Put("app", tag);
    EXPECT_EQ(Word(Ask(Address() + "/app:" + tag, {}, {digest})), "Same");
  }
  EXPECT_EQ(front_->accepted(), 1);
  EXPECT_EQ(registry_.lines().size(), 100U);
}

// In every phase of a check with a token: the connection that brings the answer is cut, and the check is made
// again.
TEST_F(RegistryTlsTest, CutsAreSurvived) {
  Serve(ca_.Server("server"));
  Trust("ca = " + Quoted(ca_.certificate_file()));
  for (int cuts = 1; cuts <= 2; cuts++) {
    front_->CutNextAnswer();
    EXPECT_EQ(AskWord(), "Moved");
    EXPECT_EQ(front_->accepted(), cuts + 1);
  }
  front_->ForwardTo(0);  // accepts and closes
  front_->CutAll();
  auto answer = Ask(Address() + "/app:v1");
  EXPECT_EQ(Word(answer).substr(0, 11), "Unreachable");
}

}  // namespace
}  // namespace prefetch::registry::client_test
