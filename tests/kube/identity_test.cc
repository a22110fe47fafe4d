#include "kube/identity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "fakes/fake_clock.h"
#include "temp_dir.h"

namespace prefetch::kube::identity_test {
namespace {

using std::chrono::seconds;

base::Call Patient() {
  return base::Call{}.Within(seconds(20));
}

std::string TokenOf(Identity& identity) {
  auto auth = identity.Current(Patient());
  return auth ? std::string(auth->authorization.Reveal()) : auth.error().message();
}

class IdentityTest : public testing::Test {
 protected:
  // As kubelet does it: a new file takes the old one's place.
  void Rotate(const std::string& name, const std::string& content) {
    dir_.Write(name + ".new", content);
    std::filesystem::rename(dir_ / (name + ".new"), dir_ / name);
  }
  Cluster FromFiles() {
    return {.server = "https://a",
            .source = "the test",
            .ca_file = dir_ / "ca.crt",
            .token_file = dir_ / "token"};
  }
  // A plugin that gives "token-N" for its Nth run, valid until `expires`.
  Cluster FromPlugin(const std::string& expires) {
    dir_.Write("plugin",
               "#!/bin/sh\necho x >> " + (dir_ / "runs") + "\n" +
                   "printf '{\"apiVersion\":\"v\",\"kind\":\"ExecCredential\",\"status\":{'\n" +
                   (expires.empty() ? "" : "printf '\"expirationTimestamp\":\"" + expires + "\",'\n") +
                   "n=0; while read line; do n=$((n+1)); done < " + (dir_ / "runs") + "\n" +
                   "printf '\"token\":\"token-%s\"}}' $n\n");
    ::chmod((dir_ / "plugin").c_str(), 0755);
    return {.server = "https://a", .exec = ExecPlugin{.api_version = "v", .command = dir_ / "plugin"}};
  }

  tests::TempDir dir_;
  tests::FakeClock clock_;
};

TEST_F(IdentityTest, AStaticTokenIsWhatItIs) {
  Identity identity(
      {.server = "https://a", .tls_server_name = "n", .verify = false, .token = base::Secret("t")}, clock_);
  auto auth = identity.Current(Patient());
  ASSERT_TRUE(auth);
  EXPECT_EQ(auth->authorization.Reveal(), "Bearer t");
  EXPECT_EQ(auth->tls->server_name, "n");
  EXPECT_FALSE(auth->tls->verify);
  EXPECT_FALSE(identity.Replacement(Patient(), *auth));
}

TEST_F(IdentityTest, APasswordIsSentUnlessThereIsAToken) {
  Identity password({.server = "https://a", .username = "me", .password = base::Secret("p:w")}, clock_);
  EXPECT_EQ(TokenOf(password), "Basic bWU6cDp3");
  Identity nobody({.server = "https://a", .password = base::Secret("p")}, clock_);
  EXPECT_EQ(TokenOf(nobody), "");
  Identity both({.server = "https://a", .token = base::Secret("t"), .username = "me"}, clock_);
  EXPECT_EQ(TokenOf(both), "Bearer t");
}

TEST_F(IdentityTest, WithoutACredentialNothingIsSent) {
  Identity identity({.server = "https://a"}, clock_);
  EXPECT_EQ(TokenOf(identity), "");
}

TEST_F(IdentityTest, FilesAreReadAgainWhenTheyChange) {
  dir_.Write("token", "one\n");
  dir_.Write("ca.crt", "CA 1");
  Identity identity(FromFiles(), clock_);
  auto first = identity.Current(Patient());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->authorization.Reveal(), "Bearer one");
  EXPECT_EQ(first->tls->ca_pem, "CA 1");
  EXPECT_EQ(identity.Current(Patient())->generation, first->generation);

  Rotate("token", "two\n");
  EXPECT_EQ(TokenOf(identity), "Bearer two");
  Rotate("ca.crt", "CA 2");
  auto third = identity.Current(Patient());
  EXPECT_EQ(third->tls->ca_pem, "CA 2");
  EXPECT_EQ(third->generation, first->generation + 2);
  EXPECT_EQ(first->tls->ca_pem, "CA 1");  // whoever is in the midst of a request keeps what it has
}

TEST_F(IdentityTest, AMinuteLaterTheyAreReadAnyway) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  // Of the same size, and within the same tick of the file system's clock: a stat may tell no difference.
  std::ofstream(dir_ / "token") << "two";
  clock_.Advance(seconds(60));
  EXPECT_EQ(TokenOf(identity), "Bearer two");
}

TEST_F(IdentityTest, WhatWasReadLastGoesOnWhileAFileIsGone) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  std::filesystem::remove(dir_ / "token");
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  dir_.Write("token", "\n");  // half written
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  dir_.Write("token", "three");
  EXPECT_EQ(TokenOf(identity), "Bearer three");
}

TEST_F(IdentityTest, AtTheStartTheFilesMustBeThere) {
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  auto auth = identity.Current(Patient());
  ASSERT_FALSE(auth);
  EXPECT_EQ(auth.error().code(), base::Code::kNotFound);
  EXPECT_TRUE(auth.error().message().starts_with("credential of the test: ")) << auth.error().message();
  dir_.Write("token", "late");
  EXPECT_EQ(TokenOf(identity), "Bearer late");
}

TEST_F(IdentityTest, TheTokenBesideAFileServesUntilTheFileIsThere) {
  dir_.Write("ca.crt", "CA");
  Cluster cluster = FromFiles();
  cluster.token = base::Secret("beside");
  Identity identity(std::move(cluster), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer beside");
  dir_.Write("token", "file");
  EXPECT_EQ(TokenOf(identity), "Bearer file");
}

TEST_F(IdentityTest, ARefusedTokenIsReplacedIfThereIsAnother) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  auto first = identity.Current(Patient());
  ASSERT_TRUE(first);
  EXPECT_FALSE(identity.Replacement(Patient(), *first));
  Rotate("token", "two");
  auto second = identity.Replacement(Patient(), *first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->authorization.Reveal(), "Bearer two");
  // A second thread that was refused with the first one gets what is there by now.
  EXPECT_EQ(identity.Replacement(Patient(), *first)->generation, second->generation);
}

TEST_F(IdentityTest, APluginsCredentialLastsUntilItExpires) {
  Identity identity(FromPlugin("2026-08-01T10:05:00Z"), clock_);  // the clock begins at 10:00
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  clock_.Advance(seconds(299));
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  clock_.Advance(seconds(1));
  EXPECT_EQ(TokenOf(identity), "Bearer token-2");
}

TEST_F(IdentityTest, APluginsCredentialWithoutAnEndLastsUntilItIsRefused) {
  Identity identity(FromPlugin(""), clock_);
  auto first = identity.Current(Patient());
  ASSERT_TRUE(first) << first.error().message();
  clock_.Advance(std::chrono::hours(1000));
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  EXPECT_EQ(identity.Replacement(Patient(), *first)->authorization.Reveal(), "Bearer token-2");
}

TEST_F(IdentityTest, ManyThreadsRunAPluginOnce) {
  Identity identity(FromPlugin(""), clock_);
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([&] { good += TokenOf(identity) == "Bearer token-1"; });
    }
  }
  EXPECT_EQ(good, 8);
}

TEST_F(IdentityTest, WhoWaitsForAPluginCanBeStopped) {
  dir_.Write("plugin", "#!/bin/sh\ntouch " + (dir_ / "began") + "\nread never < " + (dir_ / "fifo") + "\n");
  ::chmod((dir_ / "plugin").c_str(), 0755);
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  Identity identity(
      {.server = "https://a", .exec = ExecPlugin{.api_version = "v", .command = dir_ / "plugin"}}, clock_);
  std::stop_source stop;
  std::jthread runs([&] {
    EXPECT_EQ(identity.Current({.stop = stop.get_token()}).error().code(), base::Code::kCancelled);
  });
  while (!std::filesystem::exists(dir_ / "began")) std::this_thread::yield();
  auto late = identity.Current(base::Call{}.Within(std::chrono::milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), base::Code::kDeadlineExceeded);
  std::jthread waits([&] {
    EXPECT_EQ(identity.Current({.stop = stop.get_token()}).error().code(), base::Code::kCancelled);
  });
  stop.request_stop();
}

}  // namespace
}  // namespace prefetch::kube::identity_test
