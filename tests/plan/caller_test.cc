// The meaning of tokens and of their reviews. agent/client_authenticator_test.cc has the usual ones, with an
// API server.
#include "plan/caller.h"

#include <gtest/gtest.h>

#include <functional>

#include "rows.h"

namespace prefetch::plan::caller_test {
namespace {

using enum RejectionReason;
using std::chrono::seconds;
const base::WallTime kNow{seconds(1'800'000'000)};

const AgentLocation kPlace{"n1", "prefetchd"};

base::TokenClaims Good() {
  return {.audiences = {"prefetchd"}, .expires = kNow + seconds(600), .node = "n1", .pod_uid = "p-uid"};
}

struct ClaimsCase {
  std::string name;
  std::optional<RejectionReason> expect;
  std::function<void(base::TokenClaims&)> change = [](auto&) {};
};

TEST_TABLE(PrejudgeTest, Is, ClaimsCase) {
  base::TokenClaims claims = Good();
  row.change(claims);
  EXPECT_EQ(CheckClaims(claims, CallerPurpose::kPreflight, "n1", kNow), row.expect);
}

TEST_ROWS(Tokens, PrejudgeTest, {"Good", {}},
          {"OneOfSeveralAudiences",
           {},
           [](auto& c) {
             c.audiences = {"other", "prefetchd"};
           }},
          {"NoAudience", kOtherAudience, [](auto& c) { c.audiences.clear(); }},
          {"Expired", kExpired, [](auto& c) { c.expires = kNow - seconds(61); }},
          {"WithinTheClocks", {}, [](auto& c) { c.expires = kNow - seconds(59); }},
          {"WithoutAnEnd", kExpired, [](auto& c) { c.expires.reset(); }},
          {"OfNoPod", kNotBound, [](auto& c) { c.pod_uid.clear(); }});

base::TokenReview Reviewed() {
  return {.authenticated = true,
          .audiences = {"prefetchd"},
          .user = "system:serviceaccount:ci:runner",
          .user_uid = "a-uid",
          .node = "n1",
          .pod = "job-1",
          .pod_uid = "p-uid"};
}

struct ReviewCase {
  std::string name;
  std::optional<RejectionReason> expect;
  std::function<void(base::TokenReview&, CallerRules&)> change = [](auto&, auto&) {};
};

TEST_TABLE(ReviewTest, Is, ReviewCase) {
  base::TokenReview review = Reviewed();
  CallerRules rules{.namespaces = {"ci"}};
  row.change(review, rules);
  auto judged = EvaluateReview(review, CallerPurpose::kPreflight, kPlace, rules);
  if (row.expect) {
    ASSERT_FALSE(judged);
    EXPECT_EQ(judged.error(), *row.expect);
    return;
  }
  ASSERT_TRUE(judged);
  EXPECT_EQ(*judged, (Caller{"ci", "runner", "a-uid", "job-1", "p-uid"}));
}

TEST_ROWS(Answers, ReviewTest, {"Good", {}},
          {"ForOthers", kOtherAudience, [](auto& r, auto&) { r.audiences = {"other"}; }},
          // A server that knows no audiences answers without them.
          {"ForNobodySaid", kOtherAudience, [](auto& r, auto&) { r.audiences.clear(); }},
          {"APerson", kNotAToken, [](auto& r, auto&) { r.user = "alice"; }},
          {"ANode", kNotAToken, [](auto& r, auto&) { r.user = "system:node:n1"; }},
          {"HalfAnAccount", kNotAToken, [](auto& r, auto&) { r.user = "system:serviceaccount:ci:"; }},
          {"TooManyParts", kNotAToken, [](auto& r, auto&) { r.user = "system:serviceaccount:ci:a:b"; }},
          {"NodeNotTold", kNotBound, [](auto& r, auto&) { r.node.clear(); }},
          {"PodNotTold", kNotBound, [](auto& r, auto&) { r.pod_uid.clear(); }},
          {"OfAnotherNode", kOtherNode, [](auto& r, auto&) { r.node = "n2"; }},
          {"NobodyAdmitted", kNotAdmitted, [](auto&, auto& rules) { rules.namespaces.clear(); }},
          {"ByPattern",
           {},
           [](auto&, auto& rules) {
             rules.namespaces = {"team-*", "c*"};
           }},
          {"ByAccount", {}, [](auto&, auto& rules) { rules.service_accounts = {"*/runner"}; }},
          {"OtherAccount", kNotAdmitted, [](auto&, auto& rules) { rules.service_accounts = {"ci/default"}; }},
          // Both have to match.
          {"AccountOfAnotherNamespace", kNotAdmitted, [](auto&, auto& rules) {
             rules.namespaces = {"team"};
             rules.service_accounts = {"ci/runner"};
           }});

struct FleetCase {
  std::string name;
  std::optional<RejectionReason> expect;
  std::function<void(base::TokenReview&)> change = [](auto&) {};
};
TEST_TABLE(FleetReviewTest, Is, FleetCase) {
  base::TokenReview review{.authenticated = true,
                           .audiences = {"prefetchd"},
                           .user = "system:serviceaccount:prefetchd:prefetchd-fleet",
                           .user_uid = "f-uid"};
  row.change(review);
  // Rules are of preflights: they neither admit nor refuse a fleet token.
  for (const CallerRules& rules : {CallerRules{}, CallerRules{.namespaces = {"*"}}}) {
    auto judged = EvaluateReview(review, CallerPurpose::kFleet, kPlace, rules);
    EXPECT_EQ(judged ? std::nullopt : std::optional(judged.error()), row.expect);
  }
}

auto OfUser(const char* user) {
  return [user](base::TokenReview& review) { review.user = user; };
}

TEST_ROWS(Fleet, FleetReviewTest, {"Good", {}},
          {"BoundToAPodOfAnyNode",
           {},
           [](auto& r) {
             r.node = "n2";
             r.pod = r.pod_uid = "p";
           }},
          {"ForOthers", kOtherAudience, [](auto& r) { r.audiences = {"https://kubernetes.default.svc"}; }},
          {"APerson", kNotAToken, OfUser("alice")},
          {"WithAPrefix", {}, OfUser("system:serviceaccount:prefetchd:team-a-prefetchd-fleet")},
          {"WithASuffix", {}, OfUser("system:serviceaccount:prefetchd:prefetchd-fleet-team-a")},
          {"WithThatNameTwice",
           {},
           OfUser("system:serviceaccount:prefetchd:prefetchd-fleets-prefetchd-fleet")},
          {"WithoutADashBefore", kNotAdmitted, OfUser("system:serviceaccount:prefetchd:myprefetchd-fleet")},
          {"WithoutADashBehind", kNotAdmitted, OfUser("system:serviceaccount:prefetchd:prefetchd-fleets")});

using Accounts = std::vector<std::string>;
struct BesideCase {
  std::string agents;
  Accounts fleets;
};
TEST_TABLE(FleetAccountsTest, AreNamedAsTheAgentsIsAndPass, BesideCase) {
  const Accounts accounts = FleetAccountsBeside(row.agents);
  EXPECT_EQ(accounts, row.fleets);
  for (const std::string& account : accounts) EXPECT_TRUE(IsFleetAccount(account)) << account;
}

TEST_ROWS(Names, FleetAccountsTest, {"prefetchd", {"prefetchd-fleet"}},
          {"prefetchd-ci", {"prefetchd-fleet-ci"}}, {"a-prefetchd-ci", {"a-prefetchd-fleet-ci"}},
          {"prefetchd-prefetchd-ci", {"prefetchd-fleet-prefetchd-ci", "prefetchd-prefetchd-fleet-ci"}},
          {"myprefetchd-prefetchd", {"myprefetchd-prefetchd-fleet"}}, {"myprefetchd", {}}, {"agents", {}},
          {"", {}});

// Which namespace is its own is not known: nobody's is.
TEST(FleetReview, AdmitsNobodyWhereTheAgentHasNoNamespace) {
  const base::TokenReview review{.authenticated = true,
                                 .audiences = {"prefetchd"},
                                 .user = "system:serviceaccount:prefetchd:prefetchd-fleet"};
  EXPECT_FALSE(EvaluateReview(review, CallerPurpose::kFleet, {"n1", ""}, {.namespaces = {"*"}}));
}

TEST(FleetClaims, NeedNoPodButAudienceAndEnd) {
  auto judge = [](const base::TokenClaims& claims) {
    return CheckClaims(claims, CallerPurpose::kFleet, "n1", kNow);
  };
  const base::TokenClaims good{.audiences = {"prefetchd"}, .expires = kNow + seconds(600)};
  EXPECT_EQ(judge(good), std::nullopt);
  EXPECT_EQ(judge({.audiences = {"other"}, .expires = good.expires}), kOtherAudience);
  EXPECT_EQ(judge({.audiences = {"prefetchd"}, .expires = kNow - seconds(61)}), kExpired);
}

std::string Told(const CheckRights& rights) {
  return std::string(rights.unlisted ? "unlisted " : "") + (rights.registry ? "registry " : "") +
         (rights.pull ? "pull" : "");
}

TEST(RightsOf, AreNoneByDefaultAndEachByItself) {
  EXPECT_EQ(Told(RightsOf({.namespaces = {"*"}}, true)), "");
  EXPECT_EQ(Told(RightsOf({.always = AnswerSource::kAsk}, true)), "registry ");
  EXPECT_EQ(Told(RightsOf({.unlisted = AnswerSource::kAsk}, false)), "unlisted ");
  EXPECT_EQ(Told(RightsOf({.pull = PullFor::kListed}, true)), "pull");
  EXPECT_EQ(Told(RightsOf({.pull = PullFor::kListed}, false)), "");
  EXPECT_EQ(Told(RightsOf({.pull = PullFor::kAny}, false)), "pull");
}

TEST(CallerRefusals, HaveWords) {
  for (int i = 0; i <= static_cast<int>(kNotAdmitted); i++) {
    const auto refusal = static_cast<RejectionReason>(i);
    EXPECT_FALSE(RejectionReasonText(refusal, CallerPurpose::kPreflight).empty());
    EXPECT_FALSE(RejectionReasonText(refusal, CallerPurpose::kFleet).empty());
  }
  for (const CallerPurpose purpose : {CallerPurpose::kPreflight, CallerPurpose::kFleet}) {
    const bool fleet = purpose == CallerPurpose::kFleet;
    const auto text = RejectionReasonText(kNotAdmitted, purpose);
    EXPECT_EQ(text.find("preflight") == text.npos, fleet) << text;
    EXPECT_EQ(text.find("prefetchd-fleet") != text.npos, fleet) << text;
    EXPECT_EQ(RejectionReasonText(kExpired, purpose).ends_with("request a new one"), fleet);
  }
  EXPECT_FALSE(IsAboutTheToken(kNotAdmitted));
  EXPECT_TRUE(IsAboutTheToken(kExpired));
}

}  // namespace
}  // namespace prefetch::plan::caller_test
