#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "fakes/certificates.h"
#include "fakes/front.h"
#include "http/curl_client.h"
#include "http/server.h"
#include "temp_dir.h"

namespace prefetch::http::client_tls_test {
namespace {

using tests::CertificateAuthority;
using tests::Front;

// Two authorities, a server that one of them vouches for, and what a client may bring.
class ClientTlsTest : public testing::Test {
 protected:
  ClientTlsTest() : ca_(dir_.path(), "right"), other_ca_(dir_.path(), "wrong") {
    auto listener = Listener::Tcp("127.0.0.1:0");
    EXPECT_TRUE(listener);
    auto server = Server::Start(std::move(*listener), {}, [](const ServerRequest& request) -> ServerResponse {
      return {.body = std::string(request.headers.Get("Host").value_or("-"))};
    });
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }

  void Serve(const tests::KeyPair& pair, const std::string& client_ca_file = "") {
    front_.emplace(tests::FrontOptions{pair.certificate_file, pair.key_file, client_ca_file});
    front_->ForwardTo(server_->port());
  }
  std::string Host() const { return "127.0.0.1:" + std::to_string(front_->port()); }
  // The body, or the name of the error's code.
  std::string Ask(Tls tls) {
    Request request{.url = "https://" + Host() + "/"};
    request.tls = std::make_shared<const Tls>(std::move(tls));
    auto got = client_.Send(base::Call{}.Within(std::chrono::seconds(20)), request);
    return got ? got->body : std::string(base::CodeName(got.error().code()));
  }

  tests::TempDir dir_;
  CertificateAuthority ca_, other_ca_;
  std::unique_ptr<Server> server_;
  std::optional<Front> front_;
  CurlClient client_;
};

std::string Content(const std::string& file) {
  auto text = base::ReadFile(file, 1 << 20);
  return text ? *text : "";
}

TEST_F(ClientTlsTest, OnlyTheGivenAuthorityIsTrusted) {
  Serve(ca_.Server("server"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), Host());
  // Also over a connection that is open already, and back again.
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate() + ca_.certificate()}), Host());
  EXPECT_EQ(Ask({.ca_pem = "no certificate"}), "PermissionDenied");
  EXPECT_EQ(Ask({.verify = false}), Host());
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), "PermissionDenied");
}

TEST_F(ClientTlsTest, TheNameIsVerified) {
  Serve(ca_.Server("server", "DNS:api.test,IP:192.0.2.7"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "api.test"}), Host());
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "192.0.2.7"}), Host());
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "other.test"}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "a/b"}), "InvalidArgument");
}

// As Go has it: OpenSSL alone would take the name of the subject.
TEST_F(ClientTlsTest, ANameInTheSubjectAloneIsNone) {
  auto ask = [&](const tests::KeyPair& pair, Tls tls) -> std::string {
    Serve(pair);
    Request request{.url = "https://localhost:" + std::to_string(front_->port()) + "/"};
    request.tls = std::make_shared<const Tls>(std::move(tls));
    ExchangeResult got = client_.Exchange(base::Call{}.Within(std::chrono::seconds(20)), request);
    if (got.response) return "answered";
    EXPECT_EQ(got.fault, Fault::kUntrustedCertificate);
    return got.response.error().message();
  };
  EXPECT_EQ(ask(ca_.Server("named", "DNS:localhost"), {.ca_pem = ca_.certificate()}), "answered");
  std::string refusal = ask(ca_.Server("localhost", ""), {.ca_pem = ca_.certificate()});
  EXPECT_NE(refusal.find("no subject alternative name"), std::string::npos) << refusal;
  EXPECT_EQ(ask(ca_.Server("localhost", ""), {.verify = false}), "answered");
}

TEST_F(ClientTlsTest, ANewServerCertificateIsVerifiedAnew) {
  Serve(ca_.Server("server"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), Host());
  tests::KeyPair renewed = other_ca_.Server("renewed");
  front_->SetCertificate(renewed.certificate_file, renewed.key_file);
  front_->CutAll();
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), Host());
}

TEST_F(ClientTlsTest, ClientCertificates) {
  Serve(ca_.Server("server"), ca_.certificate_file());
  tests::KeyPair mine = ca_.Client("me"), stranger = other_ca_.Client("stranger");
  auto with = [&](const tests::KeyPair& pair, const std::string& key_file) {
    return Tls{.ca_pem = ca_.certificate(),
               .certificate_pem = Content(pair.certificate_file),
               .key_pem = base::Secret(Content(key_file))};
  };
  EXPECT_EQ(Ask(with(mine, mine.key_file)), Host());
  // The server's refusal comes after the handshake: it looks like a broken connection.
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "Unavailable");
  EXPECT_EQ(Ask(with(stranger, stranger.key_file)), "Unavailable");
  // libcurl reuses an open connection of the same certificate. Since its fix of CVE-2026-8932, the key must
  // be the same, too.
  const std::string reused = Ask(with(mine, stranger.key_file));
  EXPECT_TRUE(reused == Host() || reused == "PermissionDenied") << reused;
  front_->CutAll();
  EXPECT_EQ(Ask(with(mine, stranger.key_file)), "PermissionDenied");
  EXPECT_EQ(Ask(with(mine, mine.certificate_file)), "PermissionDenied");
  EXPECT_EQ(Ask(with(mine, mine.key_file)), Host());
}

}  // namespace
}  // namespace prefetch::http::client_tls_test
