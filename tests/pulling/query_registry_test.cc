#include "pulling/query_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "fakes/fake_clock.h"
#include "rows.h"

namespace prefetch::pulling::ask_registry_test {
namespace {

using image::RegistryAnswerKind;
using image::RegistryDetail;
using std::chrono::minutes;
using std::chrono::seconds;

struct NothingCase {
  std::string name;
  RegistryAnswerKind kind;
  RegistryDetail detail;
  bool expect;
};
TEST_TABLE(SaysNothingTest, Table, NothingCase) {
  EXPECT_EQ(IsLocalFailure({.kind = row.kind, .detail = row.detail}), row.expect);
}

// The agent's own limit and its own stop tell nothing of the registry.
TEST_ROWS(QueryRegistry, SaysNothingTest,
          {"OwnLimit", RegistryAnswerKind::kRateLimited, RegistryDetail::kOwnLimit, true},
          {"Stopped", RegistryAnswerKind::kUnreachable, RegistryDetail::kStopped, true},
          {"ItsLimit", RegistryAnswerKind::kRateLimited, RegistryDetail::kNone, false},
          {"TooSlow", RegistryAnswerKind::kUnreachable, RegistryDetail::kTimeout, false},
          {"Same", RegistryAnswerKind::kSame, RegistryDetail::kNone, false});

const base::TimePoint kNow = tests::FakeClock().Now();

image::Reference Ref(std::string_view name) {
  return *image::Reference::Parse(name);
}
image::AuthConfig Auth(std::string user, std::string password) {
  return {.username = std::move(user), .password = base::Secret(std::move(password))};
}

struct Words {
  std::string name;
  std::string error;
  bool about_the_credential;
};

TEST_TABLE(WordsTest, Row, Words) {
  EXPECT_EQ(IsAuthenticationFailure(row.error, Ref("r.io/team/unauthorized:401")), row.about_the_credential);
}
TEST_ROWS(Refusals, WordsTest, {"Basic", "unexpected status code https://r/v2/a: 401 Unauthorized", true},
          {"TokenService", "failed to fetch oauth token: unexpected status: 401 Unauthorized", true},
          {"CriO", "invalid username/password: unauthorized: authentication required", true},
          {"CriOsBareWord", "reading manifest v1 in r.io/team/app: unauthorized", true},
          {"CriOsMessage", "reading manifest v1 in r.io/team/app: authentication required", true},
          {"DockerHubScope",
           "pull access denied, repository does not exist or may require "
           "authorization: server message: insufficient_scope: authorization failed",
           false},
          {"Forbidden", "unexpected status from HEAD request to https://r/v2/a: 403 Forbidden", false},
          {"ATagIsNoStatus", "failed to resolve r.io/team/unauthorized:401: 403 Forbidden", false},
          {"AShortNameIsNoStatus", "reading manifest 401 in team/unauthorized:401: manifest unknown", false},
          {"ATagAlone", "unauthorized:401 not found", false},
          {"APort", "dial tcp 10.0.0.1:4013: connection refused", false},
          {"OneRepository", "denied: requested access to the resource is denied: 401", false});

struct ProviderCase {
  credentials::ProviderReport provider;
  RegistryAnswerKind answer, expect;
  const char* message;
  bool for_pods = false;
};
// A provider without a credential may be what a denial lacks; it is no help against another answer. One that
// failed may have a credential that the registry has not seen.
TEST_TABLE(DeniedWithoutTest, NamesTheProviderThatGaveNone, ProviderCase) {
  RegistryQueryJob job{.reference = Ref("r.io/a"), .for_pods = row.for_pods};
  job.credentials = std::make_shared<const credentials::Lookup>(
      credentials::Lookup{.providers = {{.name = "own", .error = "no pattern matched"}, row.provider}});
  const RegistryResolver resolver = [&](const auto&, const auto&, const auto&) {
    return image::RegistryAnswer{.kind = row.answer, .message = "no"};
  };
  const tests::FakeClock clock;
  const auto answer = QueryRegistry({}, {.resolver = resolver, .refusals = nullptr, .clock = clock}, job);
  EXPECT_EQ(answer.kind, row.expect);
  EXPECT_EQ(answer.message, row.message);
}
const credentials::ProviderReport kMissing{
    .name = "acme", .matched = true, .error = "kubelet uses it", .missing_on_agent = true};
const credentials::ProviderReport kBroken{
    .name = "acme", .matched = true, .outcome = credentials::ProviderOutcome::kError, .error = "exit code 1"};
TEST_ROWS(Providers, DeniedWithoutTest,
          {kMissing, RegistryAnswerKind::kAccessDenied, RegistryAnswerKind::kAccessDenied,
           "no (provider \"acme\" was skipped: kubelet uses it)"},
          {kMissing, RegistryAnswerKind::kTagMissing, RegistryAnswerKind::kTagMissing, "no"},
          {kBroken, RegistryAnswerKind::kAccessDenied, RegistryAnswerKind::kUnreachable,
           "no (provider \"acme\" failed: exit code 1)"},
          {kBroken, RegistryAnswerKind::kAccessDenied, RegistryAnswerKind::kUnreachable,
           "no (provider \"acme\" failed)", true},
          {kBroken, RegistryAnswerKind::kMoved, RegistryAnswerKind::kMoved, "no"});

TEST(Refusals, ThreeImagesThenItIsHeldForFiveMinutes) {
  RejectedCredentials refusals;
  image::AuthConfig bad = Auth("ci", "wrong");
  for (const char* name : {"r.io/a", "r.io/b"}) refusals.RecordRejection(Ref(name), bad, kNow);
  refusals.RecordRejection(Ref("r.io/b"), bad, kNow);  // the same image again tells nothing new
  EXPECT_FALSE(refusals.IsSuppressed(Ref("r.io/c"), bad, kNow));
  const tests::FakeClock clock;
  const RegistryResolver resolver = [](const auto&, const auto&, const auto&) {
    return image::RegistryAnswer{.kind = RegistryAnswerKind::kAccessDenied,
                                 .detail = RegistryDetail::kBadCredentials};
  };
  RegistryQueryJob job{.reference = Ref("r.io/c")};
  job.credentials =
      std::make_shared<const credentials::Lookup>(credentials::Lookup{.credentials = {{.auth = bad}}});
  QueryRegistry({}, {.resolver = resolver, .refusals = &refusals, .clock = clock}, job);
  EXPECT_TRUE(refusals.IsSuppressed(Ref("r.io/d"), bad, kNow));
  EXPECT_TRUE(refusals.IsSuppressed(Ref("r.io/d"), bad, kNow + minutes(5)));
  EXPECT_FALSE(refusals.IsSuppressed(Ref("r.io/d"), bad, kNow + minutes(5) + seconds(1)));
}

TEST(Refusals, OnlyThatCredentialAndThatRegistry) {
  RejectedCredentials refusals;
  image::AuthConfig bad = Auth("ci", "wrong");
  for (const char* name : {"r.io/a", "r.io/b", "r.io/c"}) refusals.RecordRejection(Ref(name), bad, kNow);
  EXPECT_FALSE(refusals.IsSuppressed(Ref("other.io/a"), bad, kNow));
  EXPECT_FALSE(refusals.IsSuppressed(Ref("r.io/a"), Auth("ci", "right"), kNow));
}

TEST(Refusals, WhatWorksOnceIsNotWrong) {
  RejectedCredentials refusals;
  image::AuthConfig auth = Auth("ci", "pw");
  for (const char* name : {"r.io/a", "r.io/b", "r.io/c"}) refusals.RecordRejection(Ref(name), auth, kNow);
  refusals.RecordSuccess(Ref("r.io/d"), auth);
  EXPECT_FALSE(refusals.IsSuppressed(Ref("r.io/a"), auth, kNow));
}

}  // namespace
}  // namespace prefetch::pulling::ask_registry_test
