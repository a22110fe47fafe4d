#include "credentials/plugin_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "plugin_folder.h"

namespace prefetch::credentials::plugin_answers_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class PluginAnswersTest : public testing::Test {
 protected:
  CachingProvider& Provider(const std::string& script,
                            std::chrono::nanoseconds default_duration = seconds(0)) {
    folder_.AddPlugin("plugin", script);
    credentials::Provider provider;
    provider.name = "plugin";
    provider.api_version = "credentialprovider.kubelet.k8s.io/v1";
    provider.default_cache_duration = default_duration;
    PluginContext context;
    context.bin_dir = folder_.bin_dir();
    context.environment = {{"PATH", "/usr/bin:/bin"}};
    context.timeout = timeout_;
    answers_ = std::make_unique<CachingProvider>(std::move(provider), std::move(context), clock_);
    return *answers_;
  }
  static std::string Answer(const std::string& type, const std::string& more = "") {
    return PluginFolder::Answer(type, "r.io", "u", "p", more);
  }
  long Runs() const { return folder_.Runs("plugin"); }
  bool Ask(const std::string& repository) { return answers_->Get({}, repository).ok(); }
  // How many of the askers, all at once, got an answer.
  int ParallelFor(const std::vector<std::string>& repositories) {
    std::atomic<int> good = 0;
    std::vector<std::jthread> threads;
    for (const std::string& repository : repositories) {
      threads.emplace_back([this, &good, repository] { good += Ask(repository); });
    }
    threads.clear();
    return good;
  }

  PluginFolder folder_;
  StepClock clock_;
  milliseconds timeout_ = seconds(30);
  std::unique_ptr<CachingProvider> answers_;
};

TEST_F(PluginAnswersTest, RegistryAnswerServesTheRegistryUntilItsTime) {
  Provider(Answer("Registry", "\"cacheDuration\":\"1m\","));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_TRUE(Ask("r.io/b"));
  EXPECT_EQ(Runs(), 1);
  EXPECT_TRUE(Ask("r.io:5000/b"));
  EXPECT_EQ(Runs(), 2);
  clock_.Step(minutes(1));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 2);
  clock_.Step(nanoseconds(1));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 3);
}

TEST_F(PluginAnswersTest, TheTimeIsToldToTheCallThatRanThePlugin) {
  Provider(Answer("Registry"), minutes(10));
  std::optional<base::Duration> ran_for;
  EXPECT_TRUE(answers_->Get({}, "r.io/a", &ran_for));
  EXPECT_TRUE(ran_for.has_value());
  ran_for.reset();
  EXPECT_TRUE(answers_->Get({}, "r.io/b", &ran_for));
  EXPECT_FALSE(ran_for.has_value());
}

TEST_F(PluginAnswersTest, AFailureTellsItsTimeToo) {
  Provider("exit 3");
  std::optional<base::Duration> ran_for;
  EXPECT_FALSE(answers_->Get({}, "r.io/a", &ran_for));
  EXPECT_TRUE(ran_for.has_value());
}

TEST_F(PluginAnswersTest, DefaultDurationIfTheAnswerHasNone) {
  Provider(Answer("Image"), minutes(10));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 1);
  EXPECT_TRUE(Ask("r.io/b"));
  EXPECT_EQ(Runs(), 2);
  clock_.Step(minutes(11));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 3);
}

TEST_F(PluginAnswersTest, ZeroOverridesTheDefault) {
  Provider(Answer("Global", "\"cacheDuration\":\"0s\","), minutes(10));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_TRUE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 2);
}

TEST_F(PluginAnswersTest, AnEmptyAnswerIsKept) {
  Provider(
      "echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":"
      "\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"Global\"}'",
      minutes(10));
  for (const char* image : {"r.io/a", "q.io/b"}) {
    base::Result<AnswerCache::Answer> answer = answers_->Get({}, image);
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE((*answer)->empty());
  }
  EXPECT_EQ(Runs(), 1);
}

TEST_F(PluginAnswersTest, AFailureIsNot) {
  Provider("exit 1", minutes(10));
  EXPECT_FALSE(Ask("r.io/a"));
  EXPECT_FALSE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 2);
}

TEST_F(PluginAnswersTest, TwoHundredForOneImageAreOneExecution) {
  // Uncached, so that only the shared flight can make it one; a second one may begin after the first has
  // landed.
  Provider("sleep 0.5; " + Answer("Image"));
  EXPECT_EQ(ParallelFor(std::vector<std::string>(200, "r.io/a")), 200);
  EXPECT_LE(Runs(), 2);
}

TEST_F(PluginAnswersTest, TwoImagesOfOneRegistryAreOneExecution) {
  Provider("sleep 0.2; " + Answer("Registry"), minutes(10));
  EXPECT_EQ(ParallelFor({"r.io/a", "r.io/b", "r.io/c", "r.io/d"}), 4);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(PluginAnswersTest, OneExecutionForAllRegistriesOnceItIsKnownToAnswerForAll) {
  Provider("sleep 0.2; " + Answer("Global"), minutes(10));
  EXPECT_TRUE(Ask("r.io/a"));
  clock_.Step(minutes(11));
  EXPECT_EQ(ParallelFor({"r.io/a", "q.io/b", "p.io/c"}), 3);
  EXPECT_EQ(Runs(), 2);
}

TEST_F(PluginAnswersTest, WhatAnswersByImageIsNotWaitedFor) {
  Provider("sleep 0.3; " + Answer("Image"), minutes(10));
  EXPECT_TRUE(Ask("r.io/first"));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ParallelFor({"r.io/a", "r.io/b", "r.io/c", "r.io/d", "r.io/e", "r.io/f", "r.io/g", "r.io/h"}), 8);
  EXPECT_EQ(Runs(), 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(8 * 300));
}

TEST_F(PluginAnswersTest, AHangingPluginIsWaitedForOnceAndByAllTogether) {
  timeout_ = milliseconds(300);
  Provider("exec sleep 1000");
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ParallelFor({"r.io/a", "r.io/b", "r.io/c", "r.io/d", "r.io/e", "r.io/f", "r.io/g", "r.io/h"}), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(8 * 300));
}

// For the whole registry, and for a minute; other registries, and failures that come soon, are none of it.
TEST_F(PluginAnswersTest, OneThatHangsIsNotAskedForItsRegistryAgainForAMinute) {
  timeout_ = milliseconds(100);
  Provider("exec sleep 1000");
  EXPECT_FALSE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 1);
  base::Result<AnswerCache::Answer> answer = answers_->Get({}, "r.io/b");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message(), "did not answer within 0.1s");
  EXPECT_EQ(Runs(), 1);
  EXPECT_TRUE(answers_->TryGet("r.io/c"));
  EXPECT_FALSE(answers_->TryGet("q.io/c"));
  EXPECT_FALSE(answers_->TryGet("r.io/c", {.cache_key = "account"}));
  EXPECT_FALSE(Ask("q.io/a"));
  EXPECT_EQ(Runs(), 2);
  clock_.Step(kHangBackOff);
  EXPECT_FALSE(answers_->TryGet("r.io/c"));
  EXPECT_FALSE(Ask("r.io/a"));
  EXPECT_EQ(Runs(), 3);
}

// An asker with little time of its own says nothing about the plugin.
TEST_F(PluginAnswersTest, WhoHadNoTimeLeavesNoHangBehind) {
  Provider("exec sleep 1000");
  EXPECT_FALSE(answers_->Get(base::Call().Within(milliseconds(50)), "r.io/a").ok());
  EXPECT_FALSE(answers_->TryGet("r.io/a"));
}

TEST_F(PluginAnswersTest, AnAskerThatGivesUpSpoilsNothingForTheOthers) {
  Provider("sleep 0.4; " + Answer("Registry"), minutes(10));
  std::stop_source stop;
  base::Result<AnswerCache::Answer> first = base::NotFound("not asked");
  std::jthread impatient([&] {
    first = answers_->Get({base::TimePoint::max(), stop.get_token()}, "r.io/a");
  });
  while (Runs() == 0) std::this_thread::yield();
  std::atomic<bool> second = false;
  std::jthread patient([&] { second = Ask("r.io/a"); });
  stop.request_stop();
  impatient.join();
  patient.join();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(first.error().code(), base::Code::kCancelled);
  EXPECT_TRUE(second);
}

TEST_F(PluginAnswersTest, AWaiterKeepsItsOwnDeadline) {
  Provider("sleep 1; " + Answer("Registry"), minutes(10));
  std::jthread leader([&] { Ask("r.io/a"); });
  while (Runs() == 0) std::this_thread::yield();
  base::Result<AnswerCache::Answer> answer = answers_->Get(base::Call().Within(milliseconds(50)), "r.io/b");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), base::Code::kDeadlineExceeded);
}

TEST_F(PluginAnswersTest, APluginReplacedWhileInUse) {
  Provider("sleep 0.2; " + Answer("Image"));
  std::jthread asker([&] { EXPECT_TRUE(Ask("r.io/a")); });
  while (Runs() == 0) std::this_thread::yield();
  std::filesystem::rename(folder_.bin_dir() + "/plugin", folder_.bin_dir() + "/old");
  folder_.AddPlugin("plugin", "exit 7");
  asker.join();
  base::Result<AnswerCache::Answer> answer = answers_->Get({}, "r.io/a");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message(), "exited 7");
}

}  // namespace
}  // namespace prefetch::credentials::plugin_answers_test
