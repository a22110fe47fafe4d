// TLS: whom to trust, who we are, and what a connection costs (R39 and R42).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fakes/certificates.h"
#include "fakes/front.h"
#include "temp_dir.h"
#include "world.h"

namespace prefetch::registry::client_tls_test {
namespace {

using tests::CertificateAuthority;
using tests::FakeReply;
using tests::Front;
using tests::User;
using tests::WireRequest;
using tests::Word;

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

TEST_F(RegistryTlsTest, AnotherName) {
  Serve(ca_.Server("server", "DNS:elsewhere.example,IP:192.0.2.7"));
  Trust("ca = " + Quoted(ca_.certificate_file()));
  EXPECT_EQ(AskWord(), "Unreachable Tls");
  Trust("skip_verify = true");
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
  // TLS 1.3 lets a server say so only after the handshake; its word can get lost in the reset that follows.
  Trust(ca);
  EXPECT_EQ(AskWord().substr(0, 11), "Unreachable");
  Trust(client(stranger));
  EXPECT_EQ(AskWord().substr(0, 11), "Unreachable");
  EXPECT_TRUE(registry_.lines().empty());
  Trust(client(mine));
  EXPECT_EQ(AskWord(), "Moved");
}

TEST_F(RegistryTlsTest, PlainHttpOnAnHttpsPort) {
  front_.emplace(tests::FrontOptions{});
  front_->ForwardTo(registry_.port());
  Trust("");
  EXPECT_EQ(AskWord(), "Unreachable Tls");
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
  registry_.Answer([&](const WireRequest&) {
    return FakeReply{.status = 302,
                     .headers = {{"Location", "http://" + registry_.address() + "/v2/app/manifests/v1"}}};
  });
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
}  // namespace prefetch::registry::client_tls_test
