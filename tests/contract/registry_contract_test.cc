#include "contract/registry_contract.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "fakes/certificates.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_registry.h"
#include "fakes/signed_token.h"
#include "http/curl_client.h"
#include "registry/client.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/registry.h"
#include "rig/scratch.h"
#include "rows.h"

namespace prefetch::tests::registry_contract_test {
namespace {

using image::AuthConfig;
using image::RegistryAnswer;
using Kind = image::RegistryAnswerKind;

constexpr char kUser[] = "reader";
constexpr char kPassword[] = "contract-pw-4711";

AuthConfig Reader() {
  return {.username = kUser, .password = base::Secret(kPassword)};
}

class FakeUnderTest : public RegistryUnderTest {
 public:
  std::string address() const override { return registry_.address(); }
  AuthConfig user() const override { return Reader(); }
  std::string Put(const std::string& repository, const std::string& tag) override {
    return registry_.Put(repository, tag, {.body = "{\"n\":" + std::to_string(++puts_) + "}"});
  }

 protected:
  FakeRegistry registry_;

 private:
  int puts_ = 0;
};

class FakeWithPassword final : public FakeUnderTest {
 public:
  FakeWithPassword() { registry_.DemandPassword(kUser, kPassword); }
};

class FakeWithTokens final : public FakeUnderTest {
 public:
  FakeWithTokens() {
    registry_.DemandToken("http://" + registry_.address() + "/token");
    registry_.GiveTokensTo(kUser, kPassword);
  }
};

// Pushes an index of one small image, as whoever may.
std::string PushIndex(const std::string& address, const std::string& repository, const std::string& tag,
                      int n, const std::string& user = "", const std::string& password = "") {
  rig::Pusher pusher(address, user, base::Secret(password));
  auto pushed = pusher.PushIndex({{.repository = repository,
                                   .tag = tag,
                                   .layers = {{.seed = static_cast<std::uint64_t>(n), .size = 2048}},
                                   .kind = rig::ManifestKind::kOci}});
  EXPECT_TRUE(pushed) << (pushed ? "" : pushed.error().message());
  return pushed ? pushed->digest : "";
}

class RealWithPassword final : public RegistryUnderTest {
 public:
  RealWithPassword() : registry_(scratch_, "registry", {{kUser, kPassword}}) { EXPECT_OK(registry_.Start()); }

  std::string address() const override { return registry_.address(); }
  AuthConfig user() const override { return Reader(); }
  std::string Put(const std::string& repository, const std::string& tag) override {
    return PushIndex(address(), repository, tag, ++puts_, kUser, kPassword);
  }

 private:
  rig::Scratch scratch_;
  rig::Registry registry_;
  int puts_ = 0;
};

// The real registry demands tokens of a token service that the test plays. It is filled through a second one,
// which serves the same files to everybody.
class RealWithTokens final : public RegistryUnderTest {
 public:
  RealWithTokens() : authority_(scratch_.path(), "tokens"), registry_(scratch_, "registry") {
    service_.Answer([this](const WireRequest& request) { return Token(request); });
    registry_.DemandTokens({.realm = "http://" + service_.address() + "/token",
                            .service = "rig",
                            .issuer = "contract",
                            .root_bundle = authority_.certificate_file()});
    EXPECT_OK(registry_.Start());
  }

  std::string address() const override { return registry_.address(); }
  AuthConfig user() const override { return Reader(); }
  std::string Put(const std::string& repository, const std::string& tag) override {
    rig::Registry open(scratch_, "registry");
    EXPECT_OK(open.Start());
    std::string digest = PushIndex(open.address(), repository, tag, ++puts_);
    open.Stop();
    return digest;
  }

 private:
  // Grants what is asked for to the one user, and nothing to others.
  FakeReply Token(const WireRequest& request) const {
    if (request.method != "POST") return {.status = 401};
    std::string access, user, password;
    for (std::string_view parameter : base::Split(request.body, '&')) {
      std::string value = base::PercentDecode(parameter.substr(parameter.find('=') + 1)).value_or("");
      if (parameter.starts_with("username=")) user = value;
      if (parameter.starts_with("password=")) password = value;
      if (!parameter.starts_with("scope=")) continue;
      const std::string& scope = value;
      std::vector<std::string_view> parts = base::Split(scope, ':');
      if (parts.size() != 3) continue;
      access += (access.empty() ? "" : ",") + (R"({"type":")" + std::string(parts[0])) + R"(","name":")" +
                std::string(parts[1]) + R"(","actions":[")" + std::string(parts[2]) + "\"]}";
    }
    if (user != kUser || password != kPassword) return {.status = 401};
    auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    std::string claims = R"({"iss":"contract","sub":"reader","aud":"rig","jti":"1","nbf":)" +
                         std::to_string(now - 10) + ",\"iat\":" + std::to_string(now - 10) +
                         ",\"exp\":" + std::to_string(now + 300) + ",\"access\":[" + access + "]}";
    std::string token = SignedToken(scratch_ / "tokens.key", authority_.certificate_file(), claims);
    return {.headers = {{"Content-Type", "application/json"}},
            .body = R"({"access_token":")" + token + R"(","expires_in":300})"};
  }

  rig::Scratch scratch_;
  CertificateAuthority authority_;
  FakeRegistry service_;
  rig::Registry registry_;
  int puts_ = 0;
};

template <typename T>
std::unique_ptr<RegistryUnderTest> Make() {
  return std::make_unique<T>();
}

class RegistryContract : public testing::TestWithParam<RegistryUnderTestFactory> {
 protected:
  RegistryContract() : registry_(GetParam().make()), client_(http_, clock_, Options()) {}

  static registry::ClientOptions Options() {
    registry::ClientOptions options;
    options.hosts.runtime.containerd = false;
    options.throttle.rate = {};
    return options;
  }
  RegistryAnswer Ask(const std::string& name, std::vector<AuthConfig> credentials,
                     std::vector<std::string> local = {}) {
    auto reference = image::Reference::Parse(registry_->address() + "/" + name);
    EXPECT_TRUE(reference) << name;
    return client_.Ask(base::Call{}.Within(std::chrono::seconds(30)),
                       {.reference = *reference,
                        .local_digests = std::move(local),
                        .platform = {"linux", "amd64", ""},
                        .credentials = std::move(credentials)});
  }
  AuthConfig Me() const { return registry_->user(); }
  AuthConfig Wrong() const { return {.username = kUser, .password = base::Secret("wrong")}; }

  std::unique_ptr<RegistryUnderTest> registry_;
  FakeClock clock_;
  http::CurlClient http_;
  registry::Client client_;
};

TEST_P(RegistryContract, ATagMovesAndIsSeenToMove) {
  std::string first = registry_->Put("team/app", "v1");
  auto answer = Ask("team/app:v1", {Me()});
  EXPECT_EQ(answer.kind, Kind::kMoved) << answer.message;
  EXPECT_EQ(answer.digest, first);  // the index's, not a platform's
  EXPECT_EQ(Ask("team/app:v1", {Me()}, {first}).kind, Kind::kSame);
  std::string second = registry_->Put("team/app", "v1");
  EXPECT_NE(first, second);
  answer = Ask("team/app:v1", {Me()}, {first});
  EXPECT_EQ(answer.kind, Kind::kMoved);
  EXPECT_EQ(answer.digest, second);
  // The manifest to which the tag pointed before is still there by its digest.
  EXPECT_EQ(Ask("team/app@" + first, {Me()}).kind, Kind::kSame);
}

TEST_P(RegistryContract, WhatIsNotThere) {
  registry_->Put("team/app", "v1");
  EXPECT_EQ(Ask("team/app:v2", {Me()}).kind, Kind::kTagMissing);
  EXPECT_EQ(Ask("team/other:v1", {Me()}).kind, Kind::kTagMissing);
  EXPECT_EQ(Ask("team/app@sha256:" + std::string(64, 'a'), {Me()}).kind, Kind::kTagMissing);
}

TEST_P(RegistryContract, WhoMayNot) {
  registry_->Put("team/app", "v1");
  EXPECT_EQ(Ask("team/app:v1", {}).kind, Kind::kAccessDenied);
  auto refused = Ask("team/app:v1", {Wrong()});
  EXPECT_EQ(refused.kind, Kind::kAccessDenied);
  EXPECT_EQ(refused.detail, image::RegistryDetail::kBadCredentials);
  EXPECT_EQ(Ask("team/app:v1", {Wrong(), Me()}).kind, Kind::kMoved);
  EXPECT_EQ(Ask("team/app:v1", {Me(), Wrong()}).kind, Kind::kMoved);
}

TEST_P(RegistryContract, TheSecondCheckCostsOneRequest) {
  registry_->Put("team/app", "v1");
  registry_->Put("team/app", "v2");
  EXPECT_LE(Ask("team/app:v1", {Me()}).requests, 3);
  EXPECT_EQ(Ask("team/app:v1", {Me()}).requests, 1);
}

TEST_ROWS(Registries, RegistryContract, {"FakeWithPassword", &Make<FakeWithPassword>},
          {"FakeWithTokens", &Make<FakeWithTokens>}, {"RealWithPassword", &Make<RealWithPassword>},
          {"RealWithTokens", &Make<RealWithTokens>});

}  // namespace
}  // namespace prefetch::tests::registry_contract_test
