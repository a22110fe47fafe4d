// The meaning of tokens and of their reviews. agent/client_authenticator_test.cc has the usual ones, with an
// API server.
#include "plan/caller.h"

#include <gtest/gtest.h>

#include <functional>

#include "rows.h"

namespace prefetch::plan::caller_test {
namespace {

using std::chrono::seconds;
const base::WallTime kNow{seconds(1'800'000'000)};

const AgentLocation kPlace{"n1", "prefetchd"};

base::TokenClaims Good() {
  return {.audiences = {"prefetchd"}, .expires = kNow + seconds(600), .node = "n1", .pod_uid = "p-uid"};
}

struct ClaimsCase {
  std::string name;
  std::function<void(base::TokenClaims&)> change;
  std::optional<RejectionReason> expect;
};

TEST_TABLE(PrejudgeTest, Is, ClaimsCase) {
  base::TokenClaims claims = Good();
  row.change(claims);
  EXPECT_EQ(CheckClaims(claims, CallerPurpose::kPreflight, "n1", kNow), row.expect);
}

TEST_ROWS(Tokens, PrejudgeTest, {"Good", [](auto&) {}, std::nullopt},
          {"OneOfSeveralAudiences",
           [](auto& c) {
             c.audiences = {"other", "prefetchd"};
           },
           std::nullopt},
          {"NoAudience", [](auto& c) { c.audiences.clear(); }, RejectionReason::kOtherAudience},
          {"Expired", [](auto& c) { c.expires = kNow - seconds(61); }, RejectionReason::kExpired},
          {"WithinTheClocks", [](auto& c) { c.expires = kNow - seconds(59); }, std::nullopt},
          {"WithoutAnEnd", [](auto& c) { c.expires.reset(); }, RejectionReason::kExpired},
          {"OfNoPod", [](auto& c) { c.pod_uid.clear(); }, RejectionReason::kNotBound});

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
  std::function<void(base::TokenReview&, CallerRules&)> change;
  std::optional<RejectionReason> expect;
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

TEST_ROWS(Answers, ReviewTest, {"Good", [](auto&, auto&) {}, std::nullopt},
          {"ForOthers", [](auto& r, auto&) { r.audiences = {"other"}; }, RejectionReason::kOtherAudience},
          // A server that knows no audiences answers without them.
          {"ForNobodySaid", [](auto& r, auto&) { r.audiences.clear(); }, RejectionReason::kOtherAudience},
          {"APerson", [](auto& r, auto&) { r.user = "alice"; }, RejectionReason::kNotAToken},
          {"ANode", [](auto& r, auto&) { r.user = "system:node:n1"; }, RejectionReason::kNotAToken},
          {"HalfAnAccount", [](auto& r, auto&) { r.user = "system:serviceaccount:ci:"; },
           RejectionReason::kNotAToken},
          {"TooManyParts", [](auto& r, auto&) { r.user = "system:serviceaccount:ci:a:b"; },
           RejectionReason::kNotAToken},
          {"NodeNotTold", [](auto& r, auto&) { r.node.clear(); }, RejectionReason::kNotBound},
          {"PodNotTold", [](auto& r, auto&) { r.pod_uid.clear(); }, RejectionReason::kNotBound},
          {"OfAnotherNode", [](auto& r, auto&) { r.node = "n2"; }, RejectionReason::kOtherNode},
          {"NobodyAdmitted", [](auto&, auto& rules) { rules.namespaces.clear(); },
           RejectionReason::kNotAdmitted},
          {"ByPattern",
           [](auto&, auto& rules) {
             rules.namespaces = {"team-*", "c*"};
           },
           std::nullopt},
          {"ByAccount", [](auto&, auto& rules) { rules.service_accounts = {"*/runner"}; }, std::nullopt},
          {"OtherAccount", [](auto&, auto& rules) { rules.service_accounts = {"ci/default"}; },
           RejectionReason::kNotAdmitted},
          // Both have to match.
          {"AccountOfAnotherNamespace",
           [](auto&, auto& rules) {
             rules.namespaces = {"team"};
             rules.service_accounts = {"ci/runner"};
           },
           RejectionReason::kNotAdmitted});

struct FleetCase {
  std::string name;
  std::function<void(base::TokenReview&)> change;
  std::optional<RejectionReason> expect;
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

TEST_ROWS(Fleet, FleetReviewTest, {"Good", [](auto&) {}, std::nullopt},
          {"BoundToAPodOfAnyNode",
           [](auto& r) {
             r.node = "n2";
             r.pod = r.pod_uid = "p";
           },
           std::nullopt},
          {"ForOthers", [](auto& r) { r.audiences = {"https://kubernetes.default.svc"}; },
           RejectionReason::kOtherAudience},
          {"APerson", OfUser("alice"), RejectionReason::kNotAToken},
          {"WithAPrefix", OfUser("system:serviceaccount:prefetchd:team-a-prefetchd-fleet"), std::nullopt},
          {"WithASuffix", OfUser("system:serviceaccount:prefetchd:prefetchd-fleet-team-a"), std::nullopt},
          {"WithThatNameTwice", OfUser("system:serviceaccount:prefetchd:prefetchd-fleets-prefetchd-fleet"),
           std::nullopt},
          {"WithoutADashBefore", OfUser("system:serviceaccount:prefetchd:myprefetchd-fleet"),
           RejectionReason::kNotAdmitted},
          {"WithoutADashBehind", OfUser("system:serviceaccount:prefetchd:prefetchd-fleets"),
           RejectionReason::kNotAdmitted});

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
  EXPECT_EQ(judge({.audiences = {"other"}, .expires = good.expires}), RejectionReason::kOtherAudience);
  EXPECT_EQ(judge({.audiences = {"prefetchd"}, .expires = kNow - seconds(61)}), RejectionReason::kExpired);
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
  for (int i = 0; i <= static_cast<int>(RejectionReason::kNotAdmitted); i++) {
    const auto refusal = static_cast<RejectionReason>(i);
    EXPECT_FALSE(RejectionReasonText(refusal, CallerPurpose::kPreflight).empty());
    EXPECT_FALSE(RejectionReasonText(refusal, CallerPurpose::kFleet).empty());
  }
  for (const CallerPurpose purpose : {CallerPurpose::kPreflight, CallerPurpose::kFleet}) {
    const bool fleet = purpose == CallerPurpose::kFleet;
    const auto text = RejectionReasonText(RejectionReason::kNotAdmitted, purpose);
    EXPECT_EQ(text.find("preflight") == text.npos, fleet) << text;
    EXPECT_EQ(text.find("prefetchd-fleet") != text.npos, fleet) << text;
    EXPECT_EQ(RejectionReasonText(RejectionReason::kExpired, purpose).ends_with("request a new one"), fleet);
  }
  EXPECT_FALSE(IsAboutTheToken(RejectionReason::kNotAdmitted));
  EXPECT_TRUE(IsAboutTheToken(RejectionReason::kExpired));
}

}  // namespace
}  // namespace prefetch::plan::caller_test
