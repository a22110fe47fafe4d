// Forged tokens, where the keys of the cluster can be read and where they cannot.
#include "agent/cluster/client_authenticator.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/fs.h"
#include "base/text.h"
#include "fakes/fake_clock.h"
#include "fakes/refusing_api.h"

namespace prefetch::agent::issuer_keys_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using TokenVerdict = IssuerKeys::TokenVerdict;

std::string File(const std::string& name) {
  const char* testdata = std::getenv("PREFETCH_TESTDATA");
  EXPECT_NE(testdata, nullptr) << "run by meson test";
  auto text =
      base::ReadFile(std::string(testdata == nullptr ? "" : testdata) + "/kube/tokens/" + name, 1 << 16);
  EXPECT_TRUE(text) << name;
  return text ? std::string(base::TrimSpace(*text)) : "";
}

class Api final : public tests::RefusingApi {
 public:
  kube::Answer<std::string> GetTokenKeys(const base::Call& call) override {
    keys_read++;
    if (call.Stopped()) return kube::Failure{.kind = kube::ApiError::kCancelled, .message = "stopped"};
    if (failure) return *failure;
    return keys;
  }
  kube::Answer<kube::TokenReview> ReviewToken(const base::Call&, const base::Secret& token,
                                              const std::string& audience) override {
    reviews++;
    kube::TokenReview review;
    review.authenticated = token.Reveal() == File("rsa.jwt");
    review.audiences = {audience};
    review.user = "system:serviceaccount:ci:runner";
    review.node = "n1";
    review.pod = "job-1";
    review.pod_uid = "job-1-uid";
    return review;
  }

  std::string keys = File("jwks.json");
  std::optional<kube::Failure> failure;
  int keys_read = 0, reviews = 0;
};

class IssuerKeysTest : public testing::Test {
 protected:
  std::string Ask(const std::string& token) {
    auto read = callers.Read("Bearer " + token, plan::CallerPurpose::kPreflight);
    if (const auto* away = std::get_if<CallerError>(&read)) return std::to_string(away->status);
    auto who = callers.Identify({}, std::get<ClientAuthenticator::Token>(read), "10.0.0.1");
    if (const auto* away = std::get_if<CallerError>(&who)) return std::to_string(away->status);
    return std::get<plan::Caller>(who).pod;
  }
  // With another signature of the same length.
  static std::string Forged(int i) {
    std::string token = File("rsa.jwt");
    const std::string number = std::to_string(100'000 + i);
    return token.replace(token.rfind('.') + 9, number.size(), number);
  }

  tests::FakeClock clock;
  Api api;
  Metrics metrics;
  ClientAuthenticator callers{{.namespaces = {"ci"}}, false, {"n1", "prefetchd"}, api, metrics, clock};
};

TEST_F(IssuerKeysTest, AForgedTokenCostsNoReview) {
  for (int i = 0; i < 1000; i++) EXPECT_EQ(Ask(Forged(i)), "401");
  EXPECT_EQ(Ask(File("rsa_other.jwt")), "401");
  EXPECT_EQ(api.reviews, 0);
  EXPECT_EQ(api.keys_read, 1);
  EXPECT_EQ(Ask(File("rsa.jwt")), "job-1");
  EXPECT_EQ(api.reviews, 1) << "a genuine one may belong to a pod that is gone";
}

TEST_F(IssuerKeysTest, ANewKeyIsReadAndForeignKeysCostOneReadingInTenSeconds) {
  IssuerKeys issuer(api, clock);
  EXPECT_EQ(issuer.Verify({}, File("rsa.jwt")), TokenVerdict::kReview);
  EXPECT_EQ(issuer.Verify({}, File("rsa_new.jwt")), TokenVerdict::kLater);
  EXPECT_EQ(api.keys_read, 1);
  clock.Advance(seconds(10));
  EXPECT_EQ(issuer.Verify({}, File("rsa_new.jwt")), TokenVerdict::kForged);
  EXPECT_EQ(api.keys_read, 2);
  api.keys = File("jwks_new.json");
  for (int i = 0; i < 50; i++) EXPECT_EQ(issuer.Verify({}, File("rsa_new.jwt")), TokenVerdict::kLater);
  EXPECT_EQ(api.keys_read, 2);
  clock.Advance(seconds(10));
  EXPECT_EQ(issuer.Verify({}, File("rsa_new.jwt")), TokenVerdict::kReview);
  EXPECT_EQ(api.keys_read, 3);
}

// It would end each reading, and cause the next one.
TEST_F(IssuerKeysTest, ACallerThatLeavesEndsNoReading) {
  std::stop_source gone;
  gone.request_stop();
  for (int i = 0; i < 50; i++) {
    auto read = callers.Read("Bearer " + Forged(i), plan::CallerPurpose::kPreflight);
    auto who =
        callers.Identify({.stop = gone.get_token()}, std::get<ClientAuthenticator::Token>(read), "10.0.0.1");
    EXPECT_EQ(std::get<CallerError>(who).status, 401);
  }
  EXPECT_EQ(api.keys_read, 1);
}

TEST_F(IssuerKeysTest, WithoutKeysEachTokenIsReviewedAsBefore) {
  for (auto [kind, readings] :
       {std::pair(kube::ApiError::kForbidden, 2), std::pair(kube::ApiError::kNotFound, 2),
        std::pair(kube::ApiError::kUnreachable, 3)}) {
    Api bare;
    bare.failure = kube::Failure{.kind = kind, .message = "no"};
    IssuerKeys issuer(bare, clock);
    for (int i = 0; i < 50; i++) EXPECT_EQ(issuer.Verify({}, Forged(i)), TokenVerdict::kReview);
    EXPECT_EQ(bare.keys_read, 1);
    clock.Advance(minutes(10));
    issuer.Verify({}, Forged(0));
    clock.Advance(seconds(30));
    issuer.Verify({}, Forged(0));
    EXPECT_EQ(bare.keys_read, readings);
  }
  api.keys = "<html>";
  EXPECT_EQ(Ask(Forged(1)), "401");
  EXPECT_EQ(api.reviews, 1);
}

TEST_F(IssuerKeysTest, KeysThatCannotBeReadAgainStillTellForgeries) {
  IssuerKeys issuer(api, clock);
  EXPECT_EQ(issuer.Verify({}, Forged(0)), TokenVerdict::kForged);
  api.failure = kube::Failure{.kind = kube::ApiError::kUnreachable, .message = "no"};
  clock.Advance(minutes(10));
  EXPECT_EQ(issuer.Verify({}, Forged(0)), TokenVerdict::kForged);
  EXPECT_EQ(issuer.Verify({}, File("rsa_new.jwt")), TokenVerdict::kReview) << "its key may be new";
}

}  // namespace
}  // namespace prefetch::agent::issuer_keys_test
