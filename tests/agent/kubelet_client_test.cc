#include "agent/cluster/kubelet_readers.h"

#include <gtest/gtest.h>

#include "agent/cluster/periodic_thread.h"
#include "agent/one_node.h"
#include "fakes/fake_clock.h"

namespace prefetch::agent::kubelet_asker_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A kubelet's port that can be told to fail, and counts who comes.
class KubeletAskerTest : public testing::Test {
 protected:
  KubeletPort Port() {
    return {.config = [this](const base::Call&) -> kube::Answer<std::string> {
              config_asked_++;
              if (failure_) return *failure_;
              return config_;
            },
            .metrics = [this](const base::Call&) -> kube::Answer<kube::KubeletMetrics> {
              metrics_asked_++;
              if (metrics_failure_) return *metrics_failure_;
              return metrics_;
            },
            .provider_config_hash = [this] { return our_hash_; }};
  }
  // Turns until `by` has passed, whenever the asker wishes.
  void Run(base::Duration by) {
    const base::TimePoint end = clock_.Now() + by;
    while (next_ <= end) {
      clock_.AdvanceTo(next_);
      next_ = asker_.Turn({});
      ASSERT_GT(next_, clock_.Now());
    }
    clock_.AdvanceTo(end);
  }
  std::string Policy() const {
    auto told = word_->Get();
    if (!told || !told->config || !told->config->policy.value) return "nothing";
    return std::string(base::EnumName(*told->config->policy.value));
  }
  static std::string Config(const std::string& policy) {
    return "{\"imagePullCredentialsVerificationPolicy\":\"" + policy + "\"}";
  }
  static kube::Failure Failure(kube::ApiError kind) { return {.kind = kind, .message = "get /configz: no"}; }

  tests::FakeClock clock_;
  std::string config_ = Config("AlwaysVerify");
  kube::KubeletMetrics metrics_{.credential_provider_hash = "sha256:a", .ensure_secret_pulled_images = true};
  std::optional<kube::Failure> failure_, metrics_failure_;
  std::string our_hash_ = "sha256:a";
  int config_asked_ = 0, metrics_asked_ = 0;
  std::shared_ptr<LatestKubeletSettings> word_ = std::make_shared<LatestKubeletSettings>();
  std::shared_ptr<LatestKubeletStart> start_ = std::make_shared<LatestKubeletStart>();
  KubeletClient asker_{Port(), word_, start_, clock_, 1};
  base::TimePoint next_ = clock_.Now();
};

TEST_F(KubeletAskerTest, AsksOnceAMinuteAndTellsWhatChanged) {
  Run(seconds(1));
  EXPECT_EQ(Policy(), "AlwaysVerify");
  EXPECT_EQ(word_->Get()->gate, true);
  EXPECT_TRUE(word_->Get()->remarks.empty());
  auto first = word_->Get();
  Run(minutes(9));
  EXPECT_EQ(word_->Get(), first);  // the same: nothing to be judged anew
  EXPECT_EQ(config_asked_, 10);
  EXPECT_EQ(metrics_asked_, 1);
  config_ = Config("NeverVerify");
  Run(minutes(1));
  EXPECT_EQ(Policy(), "NeverVerify");
  EXPECT_EQ(metrics_asked_, 2);
}

TEST_F(KubeletAskerTest, AKubeletThatFallsSilentHasToldNothingAfterThreeMinutes) {
  Run(seconds(1));
  failure_ = Failure(kube::ApiError::kUnreachable);
  Run(seconds(150));
  EXPECT_EQ(Policy(), "AlwaysVerify");
  Run(minutes(2));
  EXPECT_EQ(Policy(), "nothing");
  EXPECT_EQ(word_->Get(), nullptr);
  failure_.reset();
  Run(minutes(2));
  EXPECT_EQ(Policy(), "AlwaysVerify");
}

// Its port listens some seconds after the start of its process, however long the agent has waited before.
TEST_F(KubeletAskerTest, AKubeletThatStartsIsAskedEachSecond) {
  failure_ = Failure(kube::ApiError::kUnreachable);
  Run(minutes(30));
  EXPECT_EQ(Policy(), "nothing");
  const int before = config_asked_;
  start_->Set(plan::KubeletStart{clock_.Now(), base::WallTime()});
  next_ = clock_.Now();  // the thread is woken
  Run(seconds(10));
  EXPECT_EQ(config_asked_ - before, 11);
  failure_.reset();
  Run(seconds(1));
  EXPECT_EQ(Policy(), "AlwaysVerify");
}

TEST_F(KubeletAskerTest, ARestartedKubeletIsAskedAtOnce) {
  Run(seconds(1));
  start_->Set(plan::KubeletStart{clock_.Now(), base::WallTime()});
  next_ = clock_.Now();
  config_ = Config("NeverVerify");
  metrics_.ensure_secret_pulled_images = false;
  Run(seconds(0));
  EXPECT_EQ(Policy(), "NeverVerify");
  EXPECT_EQ(word_->Get()->gate, false);
}

// A process of kubelet's that never listens costs a minute of questions.
TEST_F(KubeletAskerTest, TheHurryEnds) {
  failure_ = Failure(kube::ApiError::kUnreachable);
  Run(minutes(30));
  start_->Set(plan::KubeletStart{clock_.Now(), base::WallTime()});
  next_ = clock_.Now();
  Run(minutes(2));
  const int before = config_asked_;
  Run(minutes(10));
  EXPECT_LT(config_asked_ - before, 60);
}

TEST_F(KubeletAskerTest, WithoutTheRightItComesBackSeldom) {
  failure_ = Failure(kube::ApiError::kForbidden);
  Run(seconds(1));
  EXPECT_FALSE(word_->Pending()) << "the agent does not wait for it";
  Run(std::chrono::hours(1));
  EXPECT_EQ(Policy(), "nothing");
  EXPECT_GE(config_asked_, 11);
  EXPECT_LE(config_asked_, 26);
  EXPECT_EQ(metrics_asked_, 0);
}

TEST_F(KubeletAskerTest, MetricsOnlyAddToIt) {
  metrics_failure_ = Failure(kube::ApiError::kForbidden);
  Run(seconds(1));
  EXPECT_EQ(Policy(), "AlwaysVerify");
  EXPECT_EQ(word_->Get()->gate, std::nullopt);
}

TEST_F(KubeletAskerTest, AnotherProviderConfigurationIsARemark) {
  our_hash_ = "sha256:b";
  Run(seconds(1));
  ASSERT_EQ(word_->Get()->remarks.size(), 1U);
  EXPECT_NE(word_->Get()->remarks[0].find("another credential provider configuration"), std::string::npos);
  our_hash_ = "sha256:a";
  Run(minutes(1));
  EXPECT_TRUE(word_->Get()->remarks.empty());
  our_hash_ = "";  // this agent reads none
  Run(minutes(1));
  EXPECT_TRUE(word_->Get()->remarks.empty());
}

TEST_F(KubeletAskerTest, WhatCannotBeReadIsNothing) {
  config_ = "{\"imagePullCredentialsVerificationPolicy\":7}";
  Run(seconds(1));
  EXPECT_EQ(Policy(), "nothing");
}

class VersionReaderTest : public testing::Test {
 protected:
  VersionReaderTest() {
    Heartbeat();
    api_.node.labels = {{"pool", "ci"}};
    api_.node.addresses = {"192.0.2.7", "2001:db8::7"};
  }

  void Heartbeat() {
    api_.node.conditions = {{.type = "Ready", .status = "True", .last_heartbeat = clock_.Wall()}};
  }
  void RunFor(base::Duration time) {
    const base::TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end) clock_.AdvanceTo(std::min(end, reader_.Turn({})));
  }
  void KubeletStarts() {
    start_->Set(plan::KubeletStart{.seen_at = clock_.Now(), .began_at = clock_.Wall()});
  }

  tests::FakeClock clock_;
  OneNode api_;
  std::shared_ptr<LatestNodeReport> word_ = std::make_shared<LatestNodeReport>();
  std::shared_ptr<LatestKubeletStart> start_ = std::make_shared<LatestKubeletStart>();
  VersionReader reader_{"n1", word_, start_, api_, clock_, 1};
};

TEST_F(VersionReaderTest, ReadsAtTheStartAndOnceAMinute) {
  EXPECT_TRUE(word_->Pending());
  reader_.Turn({});
  EXPECT_EQ(word_->Get().version_text, "1.36.2");
  EXPECT_EQ(word_->Get().labels, (image::NodeLabels{{"pool", "ci"}}));
  EXPECT_EQ(word_->Get().addresses, (std::vector<std::string>{"192.0.2.7", "2001:db8::7"}));
  EXPECT_EQ(word_->Get().heartbeat, clock_.Wall());
  RunFor(hours(1));
  EXPECT_GE(api_.gets, 54);
  EXPECT_LE(api_.gets, 68);
  api_.node.kubelet_version = "v1.37.0";
  RunFor(seconds(66));
  EXPECT_EQ(word_->Get().version_text, "1.37.0");
}

TEST_F(VersionReaderTest, OnlyTheConditionReadyTellsOfKubeletsHeartbeat) {
  const base::WallTime beat = clock_.Wall();
  clock_.Advance(minutes(2));
  api_.node.conditions.push_back(
      {.type = "NetworkUnavailable", .status = "False", .last_heartbeat = clock_.Wall()});
  reader_.Turn({});
  EXPECT_EQ(word_->Get().heartbeat, beat);
}

TEST_F(VersionReaderTest, AsksUntilTheNewKubeletHasWrittenItsNode) {
  RunFor(seconds(10));
  clock_.Advance(seconds(5));
  const int before = api_.gets;
  KubeletStarts();
  RunFor(seconds(10));
  EXPECT_EQ(api_.gets - before, 6) << "at once, each second, and after three of them every 3 s";
  clock_.Advance(seconds(1));
  Heartbeat();
  RunFor(seconds(3));
  const int confirmed = api_.gets;
  RunFor(seconds(50));
  EXPECT_EQ(api_.gets, confirmed) << "once a minute again";
}

// Each agent finds a kubelet that has run for long.
TEST_F(VersionReaderTest, AKubeletThatTheNodeHasConfirmedCostsNoQuestion) {
  RunFor(seconds(10));
  const int before = api_.gets;
  start_->Set(plan::KubeletStart{.seen_at = clock_.Now(), .began_at = clock_.Wall() - minutes(5)});
  RunFor(seconds(20));
  EXPECT_EQ(api_.gets, before);
}

// A server that loses packets is not waited for as long as one that is slow.
TEST_F(VersionReaderTest, TheFirstQuestionAfterAnAnswerIsShort) {
  RunFor(seconds(70));
  EXPECT_LE(api_.patience, seconds(2));
  api_.failing = kube::ApiError::kTimeout;
  RunFor(minutes(3));
  EXPECT_GT(api_.patience, seconds(5)) << "it may be slow";
  KubeletStarts();
  reader_.Turn({});
  EXPECT_LE(api_.patience, seconds(2));
}

TEST_F(VersionReaderTest, AnAnswerWithinASecondIsFast) {
  api_.clock = &clock_;
  api_.latency = seconds(1);
  RunFor(seconds(130));
  EXPECT_LE(api_.patience, seconds(2));
  api_.latency += std::chrono::milliseconds(1);
  RunFor(seconds(130));
  EXPECT_GT(api_.patience, seconds(5));
}

// Each question that ends too early would make the last known version count, also just after an answer.
class SlowServerTest : public VersionReaderTest, public testing::WithParamInterface<int> {
 protected:
  SlowServerTest() {
    api_.clock = &clock_;
    api_.latency = seconds(GetParam());
    RunFor(minutes(2));  // the first question may be too short
  }
};

TEST_P(SlowServerTest, KeepsItsTimeUntilItIsFast) {
  for (int minute = 0; minute < 5; minute++) {
    KubeletStarts();
    const base::TimePoint end = clock_.Now() + minutes(1);
    while (clock_.Now() < end) {
      clock_.AdvanceTo(std::min(end, reader_.Turn({})));
      ASSERT_FALSE(word_->Get().silent_since) << "minute " << minute;
    }
  }
  api_.latency = base::Duration{0};
  RunFor(seconds(130));
  EXPECT_LE(api_.patience, seconds(2));
}

TEST_P(SlowServerTest, LosesItOnceItDoesNotAnswerAtAll) {
  api_.latency = seconds(30);
  RunFor(seconds(90));
  KubeletStarts();
  reader_.Turn({});
  EXPECT_LE(api_.patience, seconds(2));
}

INSTANTIATE_TEST_SUITE_P(Latency, SlowServerTest, testing::Values(2, 3, 5, 9),
                         testing::PrintToStringParamName());

TEST_F(VersionReaderTest, DoesNotHurryForEver) {
  RunFor(seconds(10));
  KubeletStarts();
  const int before = api_.gets;
  RunFor(minutes(1));
  EXPECT_LE(api_.gets - before, 24);
  RunFor(minutes(2));
  EXPECT_LE(api_.gets - before, 27);
}

TEST_F(VersionReaderTest, ARefusalIsTheEndOfLearning) {
  api_.failing = kube::ApiError::kForbidden;
  reader_.Turn({});
  EXPECT_FALSE(word_->Pending());
  EXPECT_TRUE(word_->Get().refused);
  EXPECT_EQ(word_->Get().trouble, "told so");
  EXPECT_FALSE(word_->Get().version);
  RunFor(hours(1));
  EXPECT_LE(api_.gets, 30);
  api_.failing.reset();
  RunFor(minutes(6));
  EXPECT_EQ(word_->Get().version_text, "1.36.2");
}

TEST_F(VersionReaderTest, AnApiServerThatIsAwayAtTheStartIsWaitedForForAMinute) {
  api_.failing = kube::ApiError::kUnreachable;
  RunFor(seconds(59));
  EXPECT_TRUE(word_->Pending());
  EXPECT_LE(api_.gets, 12);
  RunFor(seconds(2));
  EXPECT_FALSE(word_->Pending());
  EXPECT_TRUE(word_->Get().silent_since);
  EXPECT_FALSE(word_->Get().refused);
}

TEST_F(VersionReaderTest, ANodeThatSaysNoVersionIsNotWaitedFor) {
  api_.node.kubelet_version = "";
  reader_.Turn({});
  EXPECT_FALSE(word_->Pending());
  EXPECT_FALSE(word_->Get().version);
}

TEST_F(VersionReaderTest, ANewProcessWakesTheThread) {
  base::SystemClock clock;
  VersionReader reader("n1", word_, start_, api_, clock, 1);
  base::Channel<std::string> told;
  word_->OnChange([&] { told.Push(word_->Get().version_text); });
  std::optional<PeriodicThread> thread(std::in_place,
                                       [&](const base::Call& call) { return reader.Turn(call); });
  start_->OnChange(thread->Waker());
  const auto deadline = [] { return std::chrono::steady_clock::now() + seconds(20); };
  EXPECT_EQ(told.PopUntil(deadline()), "1.36.2");
  api_.node.kubelet_version = "v1.37.0";  // the thread sleeps for most of a minute
  start_->Set(plan::KubeletStart{.seen_at = clock.Now(), .began_at = clock.Wall()});
  EXPECT_EQ(told.PopUntil(deadline()), "1.37.0");
  thread.reset();
  start_->Set(std::nullopt);  // nobody is there to be woken any more
}

}  // namespace
}  // namespace prefetch::agent::kubelet_asker_test
