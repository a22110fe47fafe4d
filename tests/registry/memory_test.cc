// State that the client keeps between checks: servers' manners, tokens, its own pace.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "fakes/fake_clock.h"
#include "registry/host_state.h"
#include "registry/token_cache.h"
#include "world.h"

namespace prefetch::registry::memory_test {
namespace {

using Kind = image::RegistryAnswerKind;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(LruMap, ForgetsWhatWasUsedLongestAgo) {
  base::LruMap<int> map(2);
  map.GetOrCreate("a") = 1;
  map.GetOrCreate("b") = 2;
  ASSERT_NE(map.Find("a"), nullptr);
  map.GetOrCreate("c") = 3;
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_EQ(*map.Find("a"), 1);
  EXPECT_EQ(map.size(), 2U);
  map.Erase("a");
  map.Erase("a");
  EXPECT_EQ(map.Find("a"), nullptr);
}

class HostBookTest : public testing::Test {
 protected:
  std::string RefusalReason(const std::string& server = "https://a") {
    auto answer = book_.RefusalReason(server, "x");
    return answer ? Word(*answer) : "";
  }
  void Limited(std::optional<milliseconds> retry_after, const std::string& server = "https://a") {
    book_.Note(server, "x", {.kind = Kind::kRateLimited, .retry_after = retry_after});
  }
  void Fail(int times) {
    for (int i = 0; i < times; i++) {
      ASSERT_EQ(RefusalReason(), "");
      book_.Note("https://a", "x",
                 {.kind = Kind::kUnreachable, .detail = image::RegistryDetail::kDns, .message = "no name"});
    }
  }

  tests::FakeClock clock_;
  HostState book_{clock_};
};

TEST_F(HostBookTest, WithoutATimeAMinuteDoublingToAnHour) {
  for (minutes wait :
       {minutes(1), minutes(2), minutes(4), minutes(8), minutes(16), minutes(32), minutes(60), minutes(60)}) {
    Limited(std::nullopt);
    clock_.Advance(wait - seconds(1));
    EXPECT_EQ(RefusalReason(), "RateLimited OnHold") << wait.count();
    clock_.Advance(seconds(1));
    EXPECT_EQ(RefusalReason(), "") << wait.count();
  }
  book_.Note("https://a", "x", {.kind = Kind::kSame});
  Limited(std::nullopt);
  clock_.Advance(minutes(1));
  EXPECT_EQ(RefusalReason(), "");
  for (const char* hub :
       {"https://registry-1.docker.io", "http://registry-1.docker.io", "https://index.docker.io"})
    Limited(std::nullopt, hub);
  clock_.Advance(minutes(14));
  for (const char* hub :
       {"https://registry-1.docker.io", "http://registry-1.docker.io", "https://index.docker.io"})
    EXPECT_EQ(RefusalReason(hub), "RateLimited OnHold") << hub;
}

TEST_F(HostBookTest, FiveFailuresOpenTheCircuitAndOneProbeMayGo) {
  Fail(4);
  EXPECT_EQ(RefusalReason(), "");
  book_.Note("https://a", "x", {.kind = Kind::kTagMissing});
  Fail(5);
  EXPECT_EQ(RefusalReason(), "Unreachable CircuitOpen");
  EXPECT_NE(book_.RefusalReason("https://a", "x")->message.find("no name"), std::string::npos);
  clock_.Advance(seconds(60));
  EXPECT_EQ(RefusalReason(), "");                         // the probe
  EXPECT_EQ(RefusalReason(), "Unreachable CircuitOpen");  // nobody else meanwhile
  book_.Note("https://a", "x", {.kind = Kind::kServerError});
  clock_.Advance(seconds(119));
  EXPECT_EQ(RefusalReason(), "Unreachable CircuitOpen");
  clock_.Advance(seconds(1));
  EXPECT_EQ(RefusalReason(), "");
  book_.Note("https://a", "x", {.kind = Kind::kMoved});
  EXPECT_EQ(RefusalReason(), "");
  EXPECT_EQ(RefusalReason(), "");
}

TEST_F(HostBookTest, WhoAsksOnlyForHoldsIsNoProbe) {
  Fail(5);
  clock_.Advance(seconds(60));
  EXPECT_EQ(book_.HoldReason("https://a", "x"), std::nullopt);
  EXPECT_EQ(RefusalReason(), "");  // the probe
  book_.Note("https://a", "x", {.kind = Kind::kMoved});
  Limited(seconds(30));
  EXPECT_EQ(book_.HoldReason("https://a", "x")->retry_after, milliseconds(30'000));
  EXPECT_EQ(book_.HoldReason("https://a", "another identity"), std::nullopt);
  EXPECT_EQ(book_.HoldReason("https://b", "x"), std::nullopt);
}

TEST_F(HostBookTest, WhatSaysNothingAboutTheServer) {
  for (int i = 0; i < 10; i++) {
    book_.Note("https://a", "x", {.kind = Kind::kUnreachable, .detail = image::RegistryDetail::kStopped});
    book_.Note("https://a", "x", {.kind = Kind::kRateLimited, .detail = image::RegistryDetail::kOwnLimit});
  }
  EXPECT_EQ(RefusalReason(), "");
}

TEST_F(HostBookTest, WhatIsKnownAgesAway) {
  using Fact = HostState::Fact;
  book_.Learn(Fact::kHeadFails, "https://a");
  book_.Learn(Fact::kIsRegistry, "https://a");
  book_.Learn(Fact::kSpeaksHttp, "http://a:5000");
  book_.Learn(Fact::kPostFails, "https://a", "x");
  EXPECT_TRUE(book_.Knows(Fact::kHeadFails, "https://a"));
  EXPECT_FALSE(book_.Knows(Fact::kHeadFails, "https://b"));
  EXPECT_FALSE(book_.Knows(Fact::kSpeaksHttps, "http://a:5000"));
  EXPECT_TRUE(book_.Knows(Fact::kPostFails, "https://a", "x"));
  EXPECT_FALSE(book_.Knows(Fact::kPostFails, "https://a", "y"));
  clock_.Advance(hours(1) - seconds(1));
  EXPECT_TRUE(book_.Knows(Fact::kIsRegistry, "https://a"));
  EXPECT_TRUE(book_.Knows(Fact::kSpeaksHttp, "http://a:5000"));
  clock_.Advance(seconds(1));
  EXPECT_FALSE(book_.Knows(Fact::kIsRegistry, "https://a"));
  EXPECT_FALSE(book_.Knows(Fact::kSpeaksHttp, "http://a:5000"));
  EXPECT_FALSE(book_.Knows(Fact::kPostFails, "https://a", "x"));
  EXPECT_TRUE(book_.Knows(Fact::kHeadFails, "https://a"));
  clock_.Advance(hours(23));
  EXPECT_FALSE(book_.Knows(Fact::kHeadFails, "https://a"));
}

TokenOutcome Given(const std::string& text, seconds lifetime = seconds(300)) {
  return {.token = Token{.text = base::Secret(text), .lifetime = lifetime}, .refusal = {}};
}

TEST(TokenCache, KeepsATokenUntilShortBeforeItsEnd) {
  tests::FakeClock clock;
  TokenCache cache(clock);
  EXPECT_FALSE(cache.Find("k"));
  (void)cache.Fetch(tests::Patient(), "k", [] { return Given("t"); });
  clock.Advance(seconds(100));
  ASSERT_TRUE(cache.Find("k"));
  EXPECT_EQ(cache.Find("k")->text.Reveal(), "t");
  EXPECT_EQ(cache.Find("k")->age, seconds(100));
  EXPECT_FALSE(cache.Find("another"));
  clock.Advance(seconds(169));
  EXPECT_TRUE(cache.Find("k"));
  clock.Advance(seconds(1));
  EXPECT_FALSE(cache.Find("k"));
  (void)cache.Fetch(tests::Patient(), "k", [] { return Given("u"); });
  cache.Drop("k", base::Secret("t"));  // an older one, which somebody else has replaced
  EXPECT_TRUE(cache.Find("k"));
  cache.Drop("k", base::Secret("u"));
  EXPECT_FALSE(cache.Find("k"));
}

TEST(TokenCache, OneFlightForManyPassengers) {
  tests::FakeClock clock;
  TokenCache cache(clock);
  std::atomic<int> fetched{0}, boarding{0};
  std::vector<std::string> got(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); i++) {
    threads.emplace_back([&, i] {
      boarding++;
      auto outcome = cache.Fetch(tests::Patient(), "k", [&] {
        fetched++;
        while (boarding < 8) std::this_thread::yield();
        return Given("t");
      });
      got[i] = outcome.token ? outcome.token->text.Reveal() : "none";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, std::vector<std::string>(8, "t"));
  EXPECT_EQ(fetched, 1);
}

TEST(TokenCache, AFailureIsSharedAndAStopIsNot) {
  tests::FakeClock clock;
  TokenCache cache(clock);
  std::stop_source stop;
  std::atomic<bool> flying{false};
  std::thread first([&] {
    (void)cache.Fetch({.stop = stop.get_token()}, "k", [&]() -> TokenOutcome {
      flying = true;
      while (!stop.stop_requested()) std::this_thread::yield();
      return {.token = std::nullopt,
              .refusal = {.kind = Kind::kUnreachable, .detail = image::RegistryDetail::kStopped}};
    });
  });
  while (!flying) std::this_thread::yield();
  std::thread second([&] {
    auto outcome = cache.Fetch(tests::Patient(), "k", [] { return Given("t"); });
    EXPECT_TRUE(outcome.token);
  });
  stop.request_stop();
  first.join();
  second.join();

  auto late = cache.Fetch(base::Call{.deadline = {}}, "other", []() -> TokenOutcome {
    return {.token = {}, .refusal = {.kind = Kind::kServerError}};
  });
  EXPECT_EQ(Word(late.refusal), "ServerError");
}

// A fetch throws where memory has run out.
TEST(TokenCache, AFetchThatThrowsLeavesNothingUnderWay) {
  tests::FakeClock clock;
  TokenCache cache(clock);
  EXPECT_THROW((void)cache.Fetch({}, "k", []() -> TokenOutcome { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(cache.Fetch(tests::Patient(), "k", [] { return Given("t"); }).token);
}

TEST(Throttle, SoManyAtOnce) {
  Throttle throttle({.checks = 2, .requests_per_host = 1, .rate = {}});
  auto a = throttle.AcquireHost(tests::Patient(), "https://a");
  EXPECT_NE(a, nullptr);
  EXPECT_NE(throttle.AcquireHost(tests::Patient(), "https://b"), nullptr);
  base::Call short_call = base::Call{}.Within(milliseconds(20));
  EXPECT_EQ(throttle.AcquireHost(short_call, "https://a"), nullptr);
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(throttle.AcquireHost({.stop = stop.get_token()}, "https://a"), nullptr);
  stopper.join();

  auto one = throttle.AcquireCheck(tests::Patient());
  {
    auto two = throttle.AcquireCheck(tests::Patient());
    EXPECT_EQ(throttle.AcquireCheck(base::Call{}.Within(milliseconds(20))), nullptr);
  }
  EXPECT_NE(throttle.AcquireCheck(tests::Patient()), nullptr);
}

TEST(Throttle, WhoWaitsIsLetInWhenAnotherLeaves) {
  Throttle throttle({.checks = 1, .requests_per_host = 1, .rate = {}});
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; n++) {
        auto pass = throttle.AcquireHost(tests::Patient(), "https://a");
        EXPECT_NE(pass, nullptr);
        most = std::max(most.load(), ++inside);
        inside--;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(Throttle, SoManyASecond) {
  Throttle throttle({.checks = 8, .requests_per_host = 8, .rate = {.per_second = 100, .burst = 3}});
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; i++) EXPECT_NE(throttle.AcquireHost(tests::Patient(), "https://a"), nullptr);
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(49));  // five of them waited for 10 ms
}

}  // namespace
}  // namespace prefetch::registry::memory_test
