#include "agent/cluster/kubelet_client.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace prefetch::agent::kubelet_asker_test {
namespace {

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
    return std::string(kubelet::VerificationPolicyName(*told->config->policy.value));
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

}  // namespace
}  // namespace prefetch::agent::kubelet_asker_test
