// Tokens of callers, against an API server that reviews them.
#include "agent/cluster/client_authenticator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "agent/reviewing_api.h"
#include "base/log.h"
#include "base/text.h"
#include "fakes/fake_clock.h"
#include "fakes/refusing_api.h"
#include "golden.h"
#include "text_of.h"

namespace prefetch::agent::callers_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using tests::PodToken;

const PodToken kJob{"ci", "runner", "n1", "job-1"};

class CallersTest : public testing::Test {
 protected:
  base::Result<plan::Caller, CallerError> Identify(
      ClientAuthenticator& callers, const std::string& authorization,
      plan::CallerPurpose purpose = plan::CallerPurpose::kPreflight) const {
    auto token = callers.Read(authorization, purpose);
    if (!token) return token.error();
    return callers.Identify({}, *token, peer);
  }
  // "Admitted ci/runner", or the status and how long to wait.
  std::string Ask(const std::string& authorization,
                  plan::CallerPurpose purpose = plan::CallerPurpose::kPreflight) {
    auto who = Identify(callers, authorization, purpose);
    if (who) return "Admitted " + who->name_space + "/" + who->service_account + " of " + who->pod;
    const CallerError& away = who.error();
    EXPECT_FALSE(away.message.empty());
    EXPECT_EQ(away.message.find("eyJ"), std::string::npos) << away.message;
    return std::to_string(away.status) +
           (away.retry_after.count() > 0 ? " in " + std::to_string(away.retry_after.count()) + " s" : "");
  }
  std::string AskWith(const PodToken& of, const std::string& audience = "prefetchd",
                      seconds life = std::chrono::hours(1)) {
    return Ask("Bearer " + server.AddPodToken(of, audience, life));
  }
  // The header of a pod of this node.
  std::string TokenOf(const std::string& pod) {
    return "Bearer " + server.AddPodToken({"ci", "runner", "n1", pod}, "prefetchd");
  }
  static std::string WithAnotherSignature(std::string header) {
    header.back() = header.back() == '1' ? '2' : '1';
    return header;
  }
  std::string Forged(const std::string& pod) { return WithAnotherSignature(TokenOf(pod)); }
  std::size_t Reviews() const {
    const std::vector<std::string> requests = server.Requests();
    return static_cast<std::size_t>(std::count_if(
        requests.begin(), requests.end(),
        [](const std::string& each) { return each.find("tokenreviews") != std::string::npos; }));
  }
  // For 30 s at most.
  void AwaitReviews(std::size_t count) const {
    const auto patience = std::chrono::steady_clock::now() + seconds(30);
    while (Reviews() < count && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  }
  // Until the promise is kept.
  std::promise<void> HoldAnswers() {
    std::promise<void> open;
    server.SetWatcher([answer = open.get_future().share()](const std::string&) { answer.wait(); });
    return open;
  }
  std::uint64_t Counted(const std::string& result,
                        plan::CallerPurpose purpose = plan::CallerPurpose::kPreflight) const {
    const bool fleet = purpose == plan::CallerPurpose::kFleet;
    const auto metric = fleet ? status::MetricNamed("prefetchd_fleet_callers_total")
                              : status::MetricNamed("prefetchd_preflight_callers_total");
    return static_cast<std::uint64_t>(metrics.Copy().At(metric, {result}).value);
  }

  std::string peer = "10.0.0.1";  // where questions come from
  tests::FakeClock clock;
  ReviewingApi reviewing{clock};
  tests::FakeApiServer& server = reviewing.server;
  kube::Api& api = *reviewing.api;
  Metrics metrics;
  ClientAuthenticator callers{
      {.namespaces = {"ci", "team-*"}}, true, {"n1", "prefetchd"}, api, metrics, clock};
};

TEST_F(CallersTest, APodOfThisNodeIsKnownByItsToken) {
  EXPECT_EQ(AskWith(kJob), "Admitted ci/runner of job-1");
  EXPECT_EQ(Counted("Admitted"), 1U);
}

TEST_F(CallersTest, WhoIsNoCallerOfOursCostsTheApiServerNothing) {
  EXPECT_EQ(Ask(""), "401");
  EXPECT_EQ(Ask("Basic dXNlcjpwYXNz"), "401");
  EXPECT_EQ(Ask("Bearer"), "401");
  EXPECT_EQ(Ask("Bearer garbage"), "401");
  EXPECT_EQ(Ask("Bearer a.b.c"), "401");
  EXPECT_EQ(AskWith(kJob, "https://kubernetes.default.svc"), "401");
  EXPECT_EQ(AskWith({"ci", "runner", "", "job-1"}), "401") << "the cluster does not tell the pod's node";
  EXPECT_EQ(AskWith({"ci", "runner", "", ""}), "401") << "bound to no pod";
  EXPECT_EQ(AskWith({"ci", "runner", "n2", "job-1"}), "403") << "stolen on another node";
  std::string late = server.AddPodToken(kJob, "prefetchd", minutes(10));
  clock.Advance(minutes(12));
  EXPECT_EQ(Ask("Bearer " + late), "401");
  EXPECT_EQ(Reviews(), 0U);
  EXPECT_EQ(Counted("OtherNode"), 1U);
  EXPECT_EQ(Counted("OtherAudience"), 1U);
  EXPECT_EQ(Counted("Expired"), 1U);
  EXPECT_EQ(Counted("NotBound"), 2U);
  EXPECT_EQ(Counted("NotAToken"), 5U);
}

TEST_F(CallersTest, AForgedTokenIsRejectedAndRememberedAsSuch) {
  std::string header = Forged("job-1");
  EXPECT_EQ(Ask(header), "401");
  header[0] = 'b';
  EXPECT_EQ(Ask(header), "401");
  EXPECT_EQ(Reviews(), 1U);
  EXPECT_EQ(Counted("Rejected"), 2U);
}

TEST_F(CallersTest, OtherNamespacesAreNotAdmitted) {
  EXPECT_EQ(AskWith({"kube-system", "runner", "n1", "p"}), "403");
  EXPECT_EQ(AskWith({"team-a", "default", "n1", "p"}), "Admitted team-a/default of p");
  EXPECT_EQ(Counted("NotAdmitted"), 1U);
}

TEST_F(CallersTest, AGoodAnswerIsRememberedForAMinute) {
  const std::string header = TokenOf("job-1");
  for (int i = 0; i < 5; i++) EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  EXPECT_EQ(Reviews(), 1U);
  clock.Advance(seconds(29));
  Ask(header);
  EXPECT_EQ(Reviews(), 1U);
  clock.Advance(seconds(32));
  Ask(header);
  EXPECT_EQ(Reviews(), 2U);
}

// The API server holds each review of a token in use. Its client does not wait, until the old answer is one
// and a half minutes old.
TEST_F(CallersTest, AnAnswerInUseIsRenewedWhileItServes) {
  const std::string header = TokenOf("job-1");
  Ask(header);
  std::promise<void> begun, held;
  server.SetWatcher([&](const std::string& request) {
    if (request.find("tokenreviews") == std::string::npos) return;
    begun.set_value();
    held.get_future().wait();
  });
  clock.Advance(seconds(31));
  for (int i = 0; i < 3; i++) EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  ASSERT_EQ(begun.get_future().wait_for(seconds(10)), std::future_status::ready) << "no renewal";
  clock.Advance(seconds(58));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1") << "89 s after the review";
  EXPECT_EQ(Reviews(), 1U) << "held";
  held.set_value();
  clock.Advance(seconds(2));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1") << "it waits for the renewal, at most";
  EXPECT_EQ(Reviews(), 2U);
  server.SetWatcher(nullptr);
}

// All renewals are due at once, and wait in the queue until the API server answers.
TEST_F(CallersTest, AHundredPodsThatAreDueTogetherAreAllRenewed) {
  constexpr int kPods = 100;
  std::vector<std::string> headers;
  for (int i = 0; i < kPods; i++) {
    headers.push_back(TokenOf("job-" + std::to_string(i)));
    Ask(headers.back());
  }
  std::promise<void> open = HoldAnswers();
  clock.Advance(seconds(31));
  for (const std::string& header : headers) EXPECT_EQ(Ask(header).substr(0, 8), "Admitted");
  open.set_value();  // no pod asks again: each waits in the queue
  AwaitReviews(2 * kPods);
  EXPECT_EQ(Reviews(), 2U * kPods);
  server.SetWatcher(nullptr);
}

// The API server is held until those of two namespaces with many tokens fill the queue. It has revoked the
// third one's token, and its renewal finds that. No pod asks while the queue is worked off.
TEST_F(CallersTest, ANamespaceWithFewTokensIsRenewedBesideOthersWithMany) {
  std::vector<std::string> headers;
  for (const auto& [name_space, tokens] : {std::pair("ci", 250), std::pair("team-b", 45)}) {
    for (int i = 0; i < tokens; i++) {
      peer = "10.0.1." + std::to_string(headers.size());
      headers.push_back(
          "Bearer " + server.AddPodToken({name_space, "runner", "n1", "p" + std::to_string(i)}, "prefetchd"));
      EXPECT_EQ(Ask(headers.back()).substr(0, 8), "Admitted");
    }
    clock.Advance(seconds(3));  // reviews have a rate of their own
  }
  const std::string few = server.AddPodToken({"team-a", "runner", "n1", "p"}, "prefetchd");
  EXPECT_EQ(Ask("Bearer " + few), "Admitted team-a/runner of p");
  server.Revoke(few);
  std::promise<void> open = HoldAnswers();
  clock.Advance(seconds(31));
  for (const std::string& header : headers) Ask(header);
  EXPECT_EQ(Ask("Bearer " + few), "Admitted team-a/runner of p");
  const std::size_t before = Reviews();
  open.set_value();
  AwaitReviews(before + ClientAuthenticator::kMaxQueuedRenewals);
  server.SetWatcher(nullptr);
  EXPECT_EQ(Ask("Bearer " + few), "401") << "it was not renewed";
}

// While one review fails, the API server answers another.
TEST_F(CallersTest, AReviewThatFailsBesideAnotherThatIsAnsweredTurnsNobodyAway) {
  Ask(TokenOf("job-0"));  // the keys are read
  server.Fail({.hang = true});
  const std::size_t before = Reviews();
  std::string failed;
  {
    std::jthread asker([&, header = TokenOf("job-1")] { failed = Ask(header); });
    while (Reviews() == before) std::this_thread::yield();
    clock.Advance(seconds(1));
    EXPECT_EQ(Ask(TokenOf("job-2")), "Admitted ci/runner of job-2");
    server.GoAway();  // its connection breaks
  }
  server.ComeBack();
  EXPECT_EQ(failed.substr(0, 3), "503");
  EXPECT_EQ(Ask(TokenOf("job-3")), "Admitted ci/runner of job-3");
}

TEST_F(CallersTest, ARenewalThatFailsTurnsNoNewCallerAway) {
  std::promise<void> failed;
  callers.OnProblem([&](const std::string& problem) {
    if (!problem.empty()) failed.set_value();
  });
  const std::string header = TokenOf("job-1");
  Ask(header);
  server.Fail({.status = 403});
  clock.Advance(seconds(31));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  ASSERT_EQ(failed.get_future().wait_for(seconds(10)), std::future_status::ready) << "no renewal";
  EXPECT_EQ(Ask(TokenOf("job-2")), "Admitted ci/runner of job-2");
}

// A proxy in front of an API server that is away may ask for an hour.
TEST_F(CallersTest, AnOutageShutsNewCallersOutForHalfAMinuteAtMost) {
  Ask(TokenOf("job-0"));  // the keys are read
  server.Fail({.status = 503, .retry_after = "3600"});
  EXPECT_EQ(Ask(TokenOf("job-1")), "503 in 30 s");
  clock.Advance(seconds(30));
  EXPECT_EQ(Ask(TokenOf("job-2")), "Admitted ci/runner of job-2");
}

// Its question waited so long that no time is left for a review, which shows nothing about the API server.
TEST_F(CallersTest, ACallerWhoseTimeIsOverTurnsNobodyElseAway) {
  auto token = callers.Read(TokenOf("job-1"), plan::CallerPurpose::kPreflight);
  ASSERT_TRUE(token);
  auto who = callers.Identify(base::Call{}.Within(seconds(0)), *token, peer);
  ASSERT_FALSE(who);
  EXPECT_EQ(who.error().status, 503);
  EXPECT_EQ(Ask(TokenOf("job-2")), "Admitted ci/runner of job-2");
}

// Renewals that waited for a worker when the API server went away are due again when it is back.
TEST_F(CallersTest, ARenewalThatAnOutageDropsIsMadeUpFor) {
  std::atomic<int> failures = 0;
  base::SetLogSink([&](std::string_view line) { failures += line.find("token not reviewed") != line.npos; });
  std::vector<std::string> headers;
  for (int i = 0; i <= ClientAuthenticator::kRenewalsAtOnce; i++) {
    headers.push_back(TokenOf("job-" + std::to_string(i)));
    Ask(headers.back());
  }
  const std::size_t first = Reviews();
  const std::size_t held = ClientAuthenticator::kRenewalsAtOnce;
  server.Fail({.hang = true, .times = ClientAuthenticator::kRenewalsAtOnce});
  server.Fail({.status = 500});
  clock.Advance(seconds(31));
  for (const std::string& header : headers) Ask(header);
  while (Reviews() < first + held) std::this_thread::yield();
  EXPECT_EQ(Ask(TokenOf("new")), "503 in 5 s");
  server.GoAway();  // ends the reviews that hang, so that the last renewal has its turn
  while (failures < ClientAuthenticator::kRenewalsAtOnce + 1) std::this_thread::yield();
  server.ComeBack();
  const std::size_t before = Reviews();
  clock.Advance(seconds(6));
  const auto patience = std::chrono::steady_clock::now() + seconds(10);
  while (Reviews() == before && std::chrono::steady_clock::now() < patience) Ask(headers.back());
  EXPECT_GT(Reviews(), before) << "it was dropped for good";
  base::SetLogSink(nullptr);
}

TEST_F(CallersTest, AfterAnOutageOneRenewalTriesWhetherTheApiServerIsBack) {
  ClientAuthenticator ours({.namespaces = {"ci"}}, true, {"n1", "prefetchd"}, api, metrics, clock);
  const auto admitted = [&](const std::string& header) { return Identify(ours, header).ok(); };
  std::vector<std::string> headers;
  for (int i = 0; i < 4; i++) {
    headers.push_back(TokenOf("job-" + std::to_string(i)));
    EXPECT_TRUE(admitted(headers.back()));
  }
  clock.Advance(seconds(26));
  server.Fail({.status = 500});
  EXPECT_FALSE(admitted(TokenOf("new")));
  const std::size_t before = Reviews();
  server.Fail({.hang = true});
  clock.Advance(seconds(5));
  EXPECT_TRUE(admitted(headers[0]));
  while (Reviews() == before) std::this_thread::yield();
  for (const std::string& header : headers) EXPECT_TRUE(admitted(header));
  EXPECT_FALSE(admitted(TokenOf("new"))) << "the renewal tries";
  // Another agent's questions take longer than the begin of a renewal.
  for (int i = 0; i < 10; i++) EXPECT_EQ(Ask(TokenOf("other-" + std::to_string(i))).substr(0, 8), "Admitted");
  EXPECT_EQ(Reviews(), before + 1 + 10);
}

TEST_F(CallersTest, ARenewalThatTheApiServerRejectsEndsTheOldAnswer) {
  const std::string token = server.AddPodToken(kJob, "prefetchd");
  Ask("Bearer " + token);
  server.Revoke(token);
  clock.Advance(seconds(31));
  EXPECT_EQ(Ask("Bearer " + token), "Admitted ci/runner of job-1");
  while (Ask("Bearer " + token) != "401") std::this_thread::yield();
  EXPECT_EQ(Reviews(), 2U);
}

TEST_F(CallersTest, AFailedRenewalLeavesTheOldAnswerForItsMinute) {
  const std::string header = TokenOf("job-1");
  Ask(header);
  server.GoAway();
  clock.Advance(seconds(31));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  clock.Advance(seconds(28));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  clock.Advance(seconds(10));
  // Until the next renewal has failed, the old answer serves.
  while (Ask(header).substr(0, 3) != "503") std::this_thread::yield();
}

TEST_F(CallersTest, AnAnswerLastsNoLongerThanItsToken) {
  const std::string header = "Bearer " + server.AddPodToken(kJob, "prefetchd", seconds(20));
  EXPECT_EQ(Ask(header), "Admitted ci/runner of job-1");
  clock.Advance(seconds(21));
  EXPECT_EQ(Ask(header), "401");
  EXPECT_EQ(Reviews(), 2U) << "within the clocks' difference the API server decides";
}

TEST_F(CallersTest, WhileTheApiServerIsAwayOnlyThoseWhoAreKnownGoOn) {
  const std::string known = TokenOf("job-1");
  const std::string unknown = TokenOf("job-2");
  Ask(known);
  server.GoAway();
  EXPECT_EQ(Ask(known), "Admitted ci/runner of job-1");
  EXPECT_EQ(Ask(unknown), "503 in 5 s");
  EXPECT_EQ(Counted("NotReviewed"), 1U);
  const std::size_t asked = Reviews();
  for (int i = 0; i < 20; i++) EXPECT_EQ(Ask(unknown), "503 in 5 s");
  EXPECT_EQ(Reviews(), asked) << "nobody waits for a server that is away";
  server.ComeBack();
  clock.Advance(seconds(5));
  EXPECT_EQ(Ask(unknown), "Admitted ci/runner of job-2");
}

TEST_F(CallersTest, AnApiServerThatFailsIsLeftAloneForAWhile) {
  server.Fail({.status = 500, .times = 100});
  EXPECT_EQ(Ask(TokenOf("job-1")), "503 in 5 s");
  const std::size_t asked = Reviews();
  for (int i = 0; i < 5; i++) EXPECT_EQ(Ask(TokenOf("other-" + std::to_string(i))), "503 in 5 s");
  EXPECT_EQ(Reviews(), asked);
  clock.Advance(seconds(3));
  EXPECT_EQ(Ask(TokenOf("job-1")), "503 in 2 s");
  EXPECT_EQ(Reviews(), asked);
  clock.Advance(seconds(2));
  Ask(TokenOf("job-1"));
  EXPECT_GT(Reviews(), asked);
}

TEST_F(CallersTest, AfterAnOutageOneTokenTriesWhetherTheApiServerIsBack) {
  server.GoAway();
  EXPECT_EQ(Ask(TokenOf("job-1")), "503 in 5 s");
  server.ComeBack();
  clock.Advance(seconds(5));
  // A caller that hangs up does not find out whether the server is back.
  std::stop_source gone;
  gone.request_stop();
  auto token = callers.Read(TokenOf("gone"), plan::CallerPurpose::kPreflight);
  (void)callers.Identify({.stop = gone.get_token()}, *token, peer);
  std::promise<void> tried, others_have_asked;
  server.SetWatcher([&](const std::string&) {
    tried.set_value();
    others_have_asked.get_future().wait();
  });
  std::string first;
  std::jthread one([&] { first = Ask(TokenOf("job-1")); });
  tried.get_future().wait();
  for (int i = 0; i < 5; i++) EXPECT_EQ(Ask(TokenOf("other-" + std::to_string(i))), "503 in 1 s");
  others_have_asked.set_value();
  one.join();
  server.SetWatcher(nullptr);
  EXPECT_EQ(first, "Admitted ci/runner of job-1");
  EXPECT_EQ(Ask(TokenOf("other-1")), "Admitted ci/runner of other-1");
}

TEST_F(CallersTest, QuestionsWithOneTokenThatComeTogetherAreOneReview) {
  server.SetLatency(std::chrono::milliseconds(50));
  const std::string header = TokenOf("job-1");
  std::atomic<int> admitted{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; i++) {
      threads.emplace_back([&] {
        if (Identify(callers, header)) admitted++;
      });
    }
  }
  EXPECT_EQ(admitted, 8);
  EXPECT_EQ(Reviews(), 1U);
}

TEST_F(CallersTest, ARefusalIsRememberedWhateverEndTheTokenClaims) {
  std::string token = server.AddPodToken(kJob, "prefetchd", seconds(-30));  // within the clocks' difference
  for (int i = 0; i < 5; i++) EXPECT_EQ(Ask("Bearer " + token), "401");
  EXPECT_EQ(Reviews(), 1U);
}

TEST_F(CallersTest, AMissingRightIsToldUntilItIsGranted) {
  kube::Identity identity(
      {.server = server.url(), .token = base::Secret(server.AddServiceAccountToken("prefetchd", "another"))},
      clock);
  const auto unbound = kube::MakeHttpApi(reviewing.client, identity, clock);
  ClientAuthenticator ours({.namespaces = {"*"}}, true, {"n1", "prefetchd"}, *unbound, metrics, clock);
  std::vector<std::string> told;
  ours.OnProblem([&](std::string problem) { told.push_back(std::move(problem)); });
  for (int i = 0; i < 3; i++) {
    auto who = Identify(ours, TokenOf("pod-" + std::to_string(i)));
    ASSERT_FALSE(who);
    EXPECT_EQ(who.error().status, 503);
    EXPECT_NE(who.error().message.find("component preflight grants"), std::string::npos);
    clock.Advance(minutes(1));
  }
  ASSERT_EQ(told.size(), 1U) << "in status once";
  EXPECT_EQ(told[0],
            "pods and fleet commands that ask over the network get no answer: this agent may not review "
            "tokens: the component preflight grants that right");
  ASSERT_TRUE(server.LoadRbac(tests::ClusterRights(
      "{kind: ServiceAccount, name: another, namespace: prefetchd}",
      "[{apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}]")));
  (void)Identify(ours, TokenOf("pod-4"));
  (void)Identify(ours, TokenOf("pod-5"));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1], "");
}

TEST_F(CallersTest, TwoHundredAtOnceAreFineAndAFloodIsHeld) {
  for (int i = 0; i < 200; i++) {
    peer = "10.0.1." + std::to_string(i);
    EXPECT_EQ(AskWith({"ci", "runner", "n1", "job-" + std::to_string(i)}).substr(0, 8), "Admitted");
  }
  std::set<std::string> answers;
  for (int i = 0; i < 100; i++) {
    peer = "10.0.2." + std::to_string(i);
    answers.insert(AskWith({"x", "y", "n1", "p" + std::to_string(i)}));
  }
  EXPECT_TRUE(answers.contains("429 in 1 s"));
  EXPECT_LE(Reviews(), 251U);
  EXPECT_GT(Counted("TooManyReviews"), 0U);
}

TEST_F(CallersTest, ForgedTokensOfOneAddressLeaveReviewsForOthers) {
  peer = "10.0.0.66";
  for (int i = 0; i < 1000; i++) Ask(Forged("p" + std::to_string(i)));
  EXPECT_EQ(Reviews(), 10U);
  EXPECT_EQ(Ask(TokenOf("its-own")), "429 in 1 s");
  peer = "10.0.0.1";
  EXPECT_EQ(Ask(TokenOf("job-1")), "Admitted ci/runner of job-1");
  peer = "10.0.0.66";
  clock.Advance(seconds(1));
  EXPECT_EQ(Ask(TokenOf("its-own")), "Admitted ci/runner of its-own");
}

TEST_F(CallersTest, ForgedTokensOfEightAddressesLeaveReviewsForOthers) {
  for (int second = 0; second < 5; second++) {
    for (int address = 0; address < 8; address++) {
      peer = "10.0.0." + std::to_string(address);
      for (int i = 0; i < 30; i++) Ask(Forged("p" + std::to_string(address + 8 * (i + 30 * second))));
    }
    clock.Advance(seconds(1));
  }
  for (int i = 0; i < 100; i++) {
    peer = "10.0.1." + std::to_string(i);
    EXPECT_EQ(Ask(TokenOf("job-" + std::to_string(i))).substr(0, 8), "Admitted");
  }
}

TEST_F(CallersTest, EachNamespaceHasItsOwnBudget) {
  const std::string noisy = TokenOf("job-1");
  std::string last;
  for (int i = 0; i < 1010; i++) last = Ask(noisy);
  EXPECT_EQ(last, "429 in 1 s");
  EXPECT_EQ(AskWith({"team-a", "default", "n1", "p"}), "Admitted team-a/default of p");
  clock.Advance(seconds(5));
  EXPECT_EQ(Ask(noisy), "Admitted ci/runner of job-1");
}

// Fleet tokens: a TokenRequest for one account, bound to nothing.
class FleetTokens : public CallersTest {
 protected:
  std::string Header(const std::string& name_space = "prefetchd",
                     const std::string& account = "prefetchd-fleet",
                     const std::string& audience = "prefetchd", seconds life = std::chrono::hours(1)) {
    return "Bearer " + server.AddPodToken({name_space, account, "", ""}, audience, life);
  }
  std::string AskFleet(const std::string& authorization) {
    return Ask(authorization, plan::CallerPurpose::kFleet);
  }
  std::uint64_t FleetCounted(const std::string& result) const {
    return Counted(result, plan::CallerPurpose::kFleet);
  }
};

TEST_F(FleetTokens, AreKnownByTheirAccountAndRemembered) {
  const std::string header = Header();
  for (int i = 0; i < 5; i++) EXPECT_EQ(AskFleet(header), "Admitted prefetchd/prefetchd-fleet of ");
  EXPECT_EQ(Reviews(), 1U);
  clock.Advance(seconds(61));
  AskFleet(header);
  EXPECT_EQ(Reviews(), 2U);
  EXPECT_EQ(FleetCounted("Admitted"), 6U);
  EXPECT_EQ(Counted("Admitted"), 0U);
}

TEST_F(FleetTokens, OpenNothingOfAPreflightAndAPodsTokenNoStatus) {
  const std::string fleet = Header();
  EXPECT_EQ(Ask(fleet), "401") << "bound to no pod";
  const std::string bound =
      "Bearer " + server.AddPodToken({"prefetchd", "prefetchd-fleet", "n1", "p"}, "prefetchd");
  EXPECT_EQ(AskFleet(bound), "Admitted prefetchd/prefetchd-fleet of p");
  ClientAuthenticator all{{.namespaces = {"*"}}, true, {"n1", "prefetchd"}, api, metrics, clock};
  auto who = Identify(all, bound);
  ASSERT_FALSE(who) << "whatever namespaces preflights are for";
  EXPECT_EQ(who.error().status, 403);

  const std::string pod = TokenOf("job-1");
  EXPECT_EQ(Ask(pod), "Admitted ci/runner of job-1");
  EXPECT_EQ(AskFleet(pod), "403") << "what is remembered holds for one purpose";
  EXPECT_EQ(Ask(pod), "Admitted ci/runner of job-1");
}

TEST_F(FleetTokens, OfOthersAreRefused) {
  EXPECT_EQ(AskFleet("Bearer garbage"), "401");
  EXPECT_EQ(AskFleet(Header("prefetchd", "prefetchd-fleet", "https://kubernetes.default.svc")), "401");
  EXPECT_EQ(Reviews(), 0U);
  EXPECT_EQ(AskFleet(Header("ci")), "403");
  EXPECT_EQ(AskFleet(Header("prefetchd", "prefetchd")), "403");
  EXPECT_EQ(AskFleet(WithAnotherSignature(Header())), "401");
  EXPECT_EQ(FleetCounted("NotAdmitted"), 2U);
  EXPECT_EQ(FleetCounted("Rejected"), 1U);
}

TEST_F(FleetTokens, WhileTheApiServerIsAwayWaitAndStrangersDoNotUseUpTheOthersReviews) {
  server.GoAway();
  EXPECT_EQ(AskFleet(Header()), "503 in 5 s");
  EXPECT_EQ(FleetCounted("NotReviewed"), 1U);
  server.ComeBack();
  clock.Advance(seconds(5));
  std::set<std::string> answers;
  for (int i = 0; i < 70; i++) answers.insert(AskFleet(Header("x", "y")));
  EXPECT_TRUE(answers.contains("429 in 1 s"));
  EXPECT_EQ(AskWith(kJob), "Admitted ci/runner of job-1");
}

// Forged tokens, where the keys of the cluster can be read and where they cannot.

using TokenVerdict = IssuerKeys::TokenVerdict;

std::string File(const std::string& name) {
  return std::string(base::TrimSpace(tests::TextOf(tests::Testdata() + "/kube/tokens/" + name)));
}

class Api final : public tests::RefusingApi {
 public:
  kube::Answer<std::string> GetTokenKeys(const base::Call& call) override {
    keys_read++;
    Allocate();
    if (call.Stopped()) return kube::Failure{.kind = kube::ApiError::kCancelled, .message = "stopped"};
    if (failure) return *failure;
    return keys;
  }
  kube::Answer<base::TokenReview> ReviewToken(const base::Call&, const base::Secret& token,
                                              const std::string& audience) override {
    reviews++;
    Allocate();
    base::TokenReview review;
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
  bool out_of_memory = false;  // in the next call

 private:
  void Allocate() {
    if (std::exchange(out_of_memory, false)) throw std::bad_alloc();
  }
};

class IssuerKeysTest : public testing::Test {
 protected:
  std::string Ask(const std::string& token) {
    auto read = callers.Read("Bearer " + token, plan::CallerPurpose::kPreflight);
    if (!read) return std::to_string(read.error().status);
    auto who = callers.Identify({}, *read, "10.0.0.1");
    return who ? who->pod : std::to_string(who.error().status);
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
    auto who = callers.Identify({.stop = gone.get_token()}, *read, "10.0.0.1");
    EXPECT_EQ(who.error().status, 401);
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

TEST_F(IssuerKeysTest, AReadingThatRunsOutOfMemoryIsRepeated) {
  api.out_of_memory = true;
  EXPECT_THROW(Ask(Forged(0)), std::bad_alloc);
  EXPECT_EQ(Ask(Forged(0)), "401");
  EXPECT_EQ(api.reviews, 1) << "no keys are known";
  clock.Advance(seconds(30));
  EXPECT_EQ(Ask(Forged(1)), "401");
  EXPECT_EQ(api.keys_read, 2);
  EXPECT_EQ(api.reviews, 1);
}

TEST_F(IssuerKeysTest, AReviewThatRunsOutOfMemoryHoldsUpNoOther) {
  EXPECT_EQ(Ask(Forged(0)), "401");  // the keys are read
  api.out_of_memory = true;
  EXPECT_THROW(Ask(File("rsa.jwt")), std::bad_alloc);
  EXPECT_EQ(Ask(File("rsa.jwt")), "job-1");
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
}  // namespace prefetch::agent::callers_test
