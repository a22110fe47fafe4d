// HttpApi over TLS: authorities that are right, wrong and replaced, and client certificates.
#include <gtest/gtest.h>

#include <filesystem>

#include "fakes/certificates.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "temp_dir.h"

namespace prefetch::kube::tls_test {
namespace {

const std::string kRbac = tests::ClusterRights("{kind: User, name: ann}",
                                               R"([
 {apiGroups: [""], resources: [nodes], verbs: [get]}])");

class TlsTest : public testing::Test {
 protected:
  TlsTest() : old_ca_(dir_.path(), "old"), new_ca_(dir_.path(), "new") {}

  void Start(const std::string& client_ca_file = "") {
    tests::KeyPair pair = old_ca_.Server("api");
    server_.emplace(clock_, tests::FrontOptions{pair.certificate_file, pair.key_file, client_ca_file});
    server_->Put("nodes/n1", "{}");
    EXPECT_TRUE(server_->LoadRbac(kRbac));
  }
  // As the mounted service account: token and ca.crt.
  Cluster FromFiles(const std::string& ca) {
    Trust(ca);
    dir_.Write("token", server_->AddToken("ann"));
    return {.server = server_->url(), .ca_file = dir_ / "ca.crt", .token_file = dir_ / "token"};
  }
  void Trust(const std::string& ca) {
    dir_.Write("ca.new", ca);
    std::filesystem::rename(dir_ / "ca.new", dir_ / "ca.crt");
  }
  // "", or the failure's name.
  std::string Get(Identity& identity) {
    HttpApi api(client_, identity, clock_);
    auto node = api.GetNode(base::Call{}.Within(std::chrono::seconds(20)), "n1");
    return node ? "" : std::string(ApiErrorName(node.failure().kind));
  }

  tests::TempDir dir_;
  tests::CertificateAuthority old_ca_, new_ca_;
  tests::FakeClock clock_;
  std::optional<tests::FakeApiServer> server_;
  http::CurlClient client_;
};

TEST_F(TlsTest, TheRightAuthorityAndTheWrongOne) {
  Start();
  Identity right(FromFiles(old_ca_.certificate()), clock_);
  EXPECT_EQ(Get(right), "");
  Trust(new_ca_.certificate());
  std::size_t before = server_->Requests().size();
  EXPECT_EQ(Get(right), "TLSError");
  EXPECT_EQ(server_->Requests().size(), before);  // no token went anywhere
  Trust(old_ca_.certificate());
  EXPECT_EQ(Get(right), "");
}

// The order of a real rotation: first both are trusted, then the server changes, then the old one goes.
TEST_F(TlsTest, AnAuthorityIsRotatedWhileInUse) {
  Start();
  Identity identity(FromFiles(old_ca_.certificate()), clock_);
  EXPECT_EQ(Get(identity), "");
  Trust(old_ca_.certificate() + new_ca_.certificate());
  EXPECT_EQ(Get(identity), "");
  tests::KeyPair renewed = new_ca_.Server("renewed");
  server_->front().SetCertificate(renewed.certificate_file, renewed.key_file);
  server_->front().CutAll();
  EXPECT_EQ(Get(identity), "");
  Trust(new_ca_.certificate());
  EXPECT_EQ(Get(identity), "");
}

TEST_F(TlsTest, AnAuthorityThatComesTooLateIsAFailureUntilItIsThere) {
  Start();
  Identity identity(FromFiles(old_ca_.certificate()), clock_);
  tests::KeyPair renewed = new_ca_.Server("renewed");
  server_->front().SetCertificate(renewed.certificate_file, renewed.key_file);
  EXPECT_EQ(Get(identity), "TLSError");
  Trust(new_ca_.certificate());
  EXPECT_EQ(Get(identity), "");
}

TEST_F(TlsTest, AClientCertificate) {
  Start(new_ca_.certificate_file());
  server_->SetCertificateUser("ann");
  tests::KeyPair ann = new_ca_.Client("ann");
  Identity with({.server = server_->url(),
                 .ca_file = old_ca_.certificate_file(),
                 .certificate_file = ann.certificate_file,
                 .key_file = ann.key_file},
                clock_);
  EXPECT_EQ(Get(with), "");
  Identity without({.server = server_->url(), .ca_file = old_ca_.certificate_file()}, clock_);
  EXPECT_EQ(Get(without),
            "Unreachable");  // the server hangs up: TLS 1.3 knows no better word after a handshake
  Identity insecure({.server = server_->url(),
                     .verify = false,
                     .certificate_file = ann.certificate_file,
                     .key_file = ann.key_file},
                    clock_);
  EXPECT_EQ(Get(insecure), "");
}

TEST_F(TlsTest, AServerOfAnotherName) {
  Start();
  Cluster cluster = FromFiles(old_ca_.certificate());
  cluster.server = "https://localhost:" + std::to_string(server_->front().port());
  Identity wrong(cluster, clock_);
  EXPECT_EQ(Get(wrong), "TLSError");
  cluster.tls_server_name = "api.test";
  Identity right(cluster, clock_);
  EXPECT_EQ(Get(right), "");
}

}  // namespace
}  // namespace prefetch::kube::tls_test
