#include "credentials/plugin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/text.h"
#include "credentials/plugin_answers.h"
#include "must.h"
#include "plugin_folder.h"
#include "rig/expect_has.h"
#include "rows.h"

namespace prefetch::credentials::plugin_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Provider Named(const std::string& name) {
  Provider provider;
  provider.name = name;
  provider.api_version = "credentialprovider.kubelet.k8s.io/v1";
  return provider;
}

class RunPluginTest : public testing::Test {
 protected:
  base::Result<PluginResponse> Run(const Provider& provider, milliseconds timeout = seconds(30)) {
    PluginContext context;
    context.bin_dir = folder_.bin_dir();
    context.environment = {{"PATH", "/usr/bin:/bin"}, {"BASE", "base"}, {"BOTH", "base"}};
    context.working_directory = folder_.dir().path();
    context.timeout = timeout;
    return RunPlugin({}, provider, context, "reg.io/team/app");
  }
  base::Result<PluginResponse> Run(const std::string& script, milliseconds timeout = seconds(30)) {
    folder_.AddPlugin("plugin", script);
    return Run(Named("plugin"), timeout);
  }
  std::string Written(const std::string& name) {
    base::Result<std::string> text = base::ReadFile(folder_.dir() / name, 1 << 20);
    return text ? *text : "unwritten";
  }

  PluginFolder folder_;
  const std::string good_ = PluginFolder::Answer("Registry", "reg.io", "user", "hunter2");
};

TEST_F(RunPluginTest, GivesTheAnswer) {
  base::Result<PluginResponse> response = tests::Must(Run(good_));
  EXPECT_EQ(response->cache_key_type, CacheKeyType::kRegistry);
  ASSERT_EQ(response->auth.size(), 1U);
  EXPECT_EQ(response->auth[0].key, "reg.io");
  EXPECT_EQ(response->auth[0].auth.username, "user");
  EXPECT_EQ(response->auth[0].auth.password.Reveal(), "hunter2");
}

TEST_F(RunPluginTest, GetsItsSurroundings) {
  folder_.AddPlugin("plugin", "cat > request; pwd > where; env > env; echo \"$0|$#|$1|$2\" > argv; " + good_);
  Provider provider = Named("plugin");
  provider.args = {"get credentials", "$(x)"};
  provider.env = {{"BOTH", "first"}, {"BOTH", "config"}, {"MINE", "a=b"}};
  ASSERT_TRUE(Run(provider).ok());
  EXPECT_EQ(Written("request"),
            "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
            "\"image\":\"reg.io/team/app\"}\n");
  EXPECT_EQ(Written("where"), folder_.dir().path() + "\n");
  EXPECT_EQ(Written("argv"), folder_.bin_dir() + "/plugin|2|get credentials|$(x)\n");
  std::string env = Written("env");
  for (const char* line : {"BASE=base\n", "BOTH=config\n", "MINE=a=b\n"}) {
    EXPECT_HAS(env, line);
  }
  EXPECT_LACKS(env, "HOME=");
}

TEST_F(RunPluginTest, StdinMayStayUnread) {
  EXPECT_TRUE(Run("exec <&-\n" + good_.substr(good_.find("echo"))).ok());
}

struct Row {
  std::string name;
  std::string script;  // GOOD stands for a valid answer
  std::string error;   // part of it
  base::Code code = base::Code::kUnavailable;
  milliseconds timeout = seconds(30);
};

TEST_TABLE_F(FailureTest, IsSaidWithoutSecrets, RunPluginTest, Row) {
  std::string script = row.script;
  script = base::ReplaceAll(script, "GOOD", good_);
  const auto error = tests::MustFail(Run(script, row.timeout));
  EXPECT_HAS(error.message(), row.error);
  EXPECT_LACKS(error.message(), "hunter2");
  EXPECT_EQ(error.code(), row.code);
}

TEST_ROWS(Plugin, FailureTest, {"ExitsWithOutput", "GOOD; exit 1", "exited 1"},
          {"ExitsWithReason", "echo 'no region' >&2; exit 3", "exited 3: no region"},
          {"ReasonHoldsThePassword", "GOOD; echo 'user hunter2 refused' >&2; exit 1",
           "exited 1: user [redacted] refused"},
          {"KilledBySignal", "kill -KILL $$", "was killed by signal 9"},
          {"Hangs", "exec sleep 1000", "did not answer within 0.2s", base::Code::kDeadlineExceeded,
           milliseconds(200)},
          {"IgnoresTerm", "trap '' TERM; while :; do sleep 1000; done", "did not answer within",
           base::Code::kDeadlineExceeded, milliseconds(200)},
          {"AnswersAndHangs", "GOOD; exec sleep 1000", "did not answer within", base::Code::kDeadlineExceeded,
           milliseconds(200)},
          {"FloodsStdout", "yes hunter2", "wrote more than 1 MiB", base::Code::kResourceExhausted},
          {"PrintsGarbage", "echo 'hunter2 is no json'", "not JSON", base::Code::kInvalidArgument},
          {"PrintsNothing", "true", "not JSON", base::Code::kInvalidArgument},
          {"PrintsTwo", "GOOD; GOOD", "not JSON", base::Code::kInvalidArgument},
          {"WrongVersion", "echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"hunter2\"}'",
           "apiVersion is not", base::Code::kInvalidArgument},
          {"OlderVersion", "GOOD | sed 's|k8s.io/v1|k8s.io/v1beta1|'", "apiVersion is not",
           base::Code::kInvalidArgument},
          {"WrongKind", "GOOD | sed s/CredentialProviderResponse/Secret/", "kind is not",
           base::Code::kInvalidArgument},
          {"UnknownField", "GOOD | sed 's/\"auth\"/\"hunter2\":1,\"auth\"/'", "unknown",
           base::Code::kInvalidArgument},
          {"SendsTheRequestBack", "exec cat", "kind is not", base::Code::kInvalidArgument});

TEST_F(RunPluginTest, ItsErrorsHaveNoSecret) {
  const std::string key = "wJalrXUtnFEMI/K7MDENG", word = "correct horse";
  folder_.AddPlugin(
      "plugin",
      "{ echo \"$MY_KEY and $WORD\"; echo -n \"$MY_KEY\" | base64; echo -n \"$WORD\" | od -An -tx1 | "
      "tr -d ' '; echo '{\\\"password\\\":\\\"of-another\\\"}'; } >&2; exit 1");
  Provider provider = Named("plugin");
  provider.env = {{"MY_KEY", key}, {"WORD", word}};
  const auto error = tests::MustFail(Run(provider));
  EXPECT_EQ(
      error.message(),
      "exited 1: [redacted] and [redacted] [redacted] [redacted] {\\\"password\\\":\\\"[redacted]\\\"}");
}

TEST_F(RunPluginTest, FloodOnStderrIsNoFailure) {
  EXPECT_TRUE(Run("head -c 3000000 /dev/zero | tr '\\0' x >&2; " + good_).ok());
}

TEST_F(RunPluginTest, AGrandchildOnThePipeCostsASecond) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Run("sleep 1000 & " + good_).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

TEST_F(RunPluginTest, IsGone) {
  EXPECT_EQ(Run(Named("absent")).error().code(), base::Code::kNotFound);
}

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
    base::Result<AnswerCache::Answer> answer = tests::Must(answers_->Get({}, image));
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
  const auto error = tests::MustFail(answers_->Get(base::Call().Within(milliseconds(50)), "r.io/b"));
  EXPECT_EQ(error.code(), base::Code::kDeadlineExceeded);
}

TEST_F(PluginAnswersTest, APluginReplacedWhileInUse) {
  Provider("sleep 0.2; " + Answer("Image"));
  std::jthread asker([&] { EXPECT_TRUE(Ask("r.io/a")); });
  while (Runs() == 0) std::this_thread::yield();
  std::filesystem::rename(folder_.bin_dir() + "/plugin", folder_.bin_dir() + "/old");
  folder_.AddPlugin("plugin", "exit 7");
  asker.join();
  const auto error = tests::MustFail(answers_->Get({}, "r.io/a"));
  EXPECT_EQ(error.message(), "exited 7");
}

// Providers with tokenAttributes: A24 to A27.

const ServiceAccountName kAccount{"apps", "puller"};

TokenAttributes Attributes(TokenCacheType type = TokenCacheType::kServiceAccount) {
  return {.service_account_token_audience = "sts.test",
          .cache_type = type,
          .require_service_account = true,
          .required_annotation_keys = {"example.com/role"},
          .optional_annotation_keys = {"example.com/zone"}};
}

ServiceAccountGrant Grant(const std::string& token = "jwt") {
  return {.uid = "u1",
          .annotations = {{"example.com/role", "reader"}, {"example.com/other", "x"}},
          .token = base::Secret(token)};
}

std::string KeyOf(const TokenAttributes& attributes, const ServiceAccountName& account,
                  const ServiceAccountGrant& grant) {
  auto identity = IdentityFor(attributes, account, grant);
  return identity ? identity->cache_key : identity.error().message();
}

TEST(PluginIdentity, CarriesTheAnnotationsThatTheProviderNames) {
  auto identity = tests::Must(IdentityFor(Attributes(), kAccount, Grant()));
  EXPECT_EQ(identity->annotations, (std::map<std::string, std::string>{{"example.com/role", "reader"}}));
  EXPECT_EQ(identity->token.Reveal(), "jwt");
  ServiceAccountGrant with_zone = Grant();
  with_zone.annotations["example.com/zone"] = "a";
  EXPECT_EQ(IdentityFor(Attributes(), kAccount, with_zone)->annotations.size(), 2U);
}

TEST(PluginIdentity, NeedsTheRequiredAnnotations) {
  ServiceAccountGrant grant = Grant();
  grant.annotations.erase("example.com/role");
  const auto error = tests::MustFail(IdentityFor(Attributes(), kAccount, grant));
  EXPECT_EQ(error.message(),
            "service account apps/puller has no annotation example.com/role, which the provider requires");
}

TEST(PluginIdentity, TheCacheKeyTellsApartWhatTheAnswerDependsOn) {
  const std::string key = KeyOf(Attributes(), kAccount, Grant());
  EXPECT_EQ(KeyOf(Attributes(), kAccount, Grant("renewed")), key);
  EXPECT_NE(KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant()),
            KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant("renewed")));
  EXPECT_NE(KeyOf(Attributes(), {"apps", "other"}, Grant()), key);
  EXPECT_NE(KeyOf(Attributes(), {"other", "puller"}, Grant()), key);
  ServiceAccountGrant made_anew = Grant();
  made_anew.uid = "u2";
  EXPECT_NE(KeyOf(Attributes(), kAccount, made_anew), key);
  ServiceAccountGrant promoted = Grant();
  promoted.annotations["example.com/role"] = "writer";
  EXPECT_NE(KeyOf(Attributes(), kAccount, promoted), key);
  EXPECT_NE(KeyOf(Attributes(), {"apps", ":puller"}, Grant()),
            KeyOf(Attributes(), {"apps:", "puller"}, Grant()));
  // The token itself is in no key.
  EXPECT_LACKS(KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant("jwt-in-full")), "jwt-in-full");
}

TEST(PluginIdentity, OnlyCacheTypeTokenMayGiveTheTokenBack) {
  PluginResponse response;
  response.auth.push_back({"r.io", {"oauth2", base::Secret("jwt")}});
  PluginIdentity identity{.token = base::Secret("jwt"), .annotations = {}, .cache_key = "k"};
  EXPECT_TRUE(EchoesToken(response, Attributes(), identity));
  EXPECT_FALSE(EchoesToken(response, Attributes(TokenCacheType::kToken), identity));
  EXPECT_FALSE(EchoesToken(response, Attributes(), {}));
  identity.token = base::Secret("another");
  EXPECT_FALSE(EchoesToken(response, Attributes(), identity));
}

// The whole way, with a real plugin.
class TokenProviderTest : public testing::Test {
 protected:
  // A plugin that answers with what it was told as user name, and with the token, or another word, as
  // password.
  void Plugin(const std::string& cache_type, bool requires_account, bool echoes) {
    folder_.AddPlugin(
        "sa",
        "request=$(cat)\n"
        "account=$(echo \"$request\" | sed -n 's/.*\"example.com\\/role\":\"\\([^\"]*\\)\".*/\\1/p')\n"
        "token=$(echo \"$request\" | sed -n 's/.*\"serviceAccountToken\":\"\\([^\"]*\\)\".*/\\1/p')\n" +
            std::string(echoes ? "" : "[ -z \"$token\" ] || token=exchanged\n") +
            "echo '{\"kind\":\"CredentialProviderResponse\","
            "\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"Registry\","
            "\"cacheDuration\":\"1h\",\"auth\":{\"r.io\":{\"username\":\"'$account'\",\"password\":\"'$token'"
            "\"}}}'");
    folder_.WriteConfig(PluginFolder::Provider(
        "sa", "[r.io]", "1h",
        std::string("  tokenAttributes: {serviceAccountTokenAudience: sts.test, cacheType: ") + cache_type +
            ", requireServiceAccount: " + (requires_account ? "true" : "false") +
            (requires_account ? ", requiredServiceAccountAnnotationKeys: [example.com/role]" : "") + "}\n"));
  }
  void Account() {
    options_.service_account = kAccount;
    options_.grants = [this](const base::Call&, const std::string& audience) {
      audiences_ += audience + " ";
      return grant_;
    };
  }
  // "user:password" of the first credential, or what became of the provider.
  std::string Find() {
    if (!keyring_) keyring_ = std::make_unique<Keyring>(options_, clock_);
    Lookup lookup = keyring_->Find({}, {*image::Reference::Parse("r.io/app:v1")});
    EXPECT_TRUE(lookup.providers.at(0).token_attributes);
    if (lookup.credentials.empty()) {
      return ProviderOutcomeName(lookup.providers[0].outcome) + " " + lookup.providers[0].error;
    }
    exposes_ = lookup.credentials[0].exposes;
    const image::AuthConfig& auth = lookup.credentials[0].auth;
    return auth.username + ":" + std::string(auth.password.Reveal());
  }

  PluginFolder folder_;
  StepClock clock_;
  KeyringOptions options_ = folder_.Options();
  base::Result<ServiceAccountGrant> grant_ = Grant();
  std::string audiences_;
  bool exposes_ = false;
  std::unique_ptr<Keyring> keyring_;
};

TEST_F(TokenProviderTest, IsAskedForTheAccountThatWasNamed) {
  Plugin("ServiceAccount", true, false);
  Account();
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_TRUE(exposes_);
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_EQ(folder_.Runs("sa"), 1);
  EXPECT_EQ(audiences_, "sts.test sts.test ");  // as kubelet: the token comes before the cache
  grant_ = Grant("renewed");
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_EQ(folder_.Runs("sa"), 1);
}

TEST_F(TokenProviderTest, WithCacheTypeTokenANewTokenIsANewAnswer) {
  Plugin("Token", true, true);
  Account();
  EXPECT_EQ(Find(), "reader:jwt");
  grant_ = Grant("renewed");
  EXPECT_EQ(Find(), "reader:renewed");
  EXPECT_EQ(folder_.Runs("sa"), 2);
}

TEST_F(TokenProviderTest, AnEchoedTokenIsRefusedWithoutNamingIt) {
  Plugin("ServiceAccount", true, true);
  Account();
  const std::string outcome = Find();
  EXPECT_TRUE(outcome.starts_with("error the response gives the service account's token back")) << outcome;
  EXPECT_LACKS(outcome, "jwt");
}

TEST_F(TokenProviderTest, WithoutAnAccountItIsSkippedOrAskedWithoutOne) {
  Plugin("ServiceAccount", true, false);
  EXPECT_TRUE(
      Find().starts_with("skipped it wants a service account token (tokenAttributes); name an account"));
  EXPECT_EQ(folder_.Runs("sa"), 0);
  keyring_.reset();
  options_.service_account = kAccount;  // and nobody who asks the API server
  EXPECT_TRUE(Find().ends_with("and only the agent requests one"));
  keyring_.reset();
  Plugin("ServiceAccount", false, false);
  EXPECT_EQ(Find(), ":");
  EXPECT_FALSE(exposes_);
  EXPECT_EQ(folder_.Runs("sa"), 1);
}

TEST_F(TokenProviderTest, WhyThereIsNoTokenIsSaid) {
  Plugin("ServiceAccount", true, false);
  Account();
  grant_ = base::PermissionDenied("create serviceaccounts/token \"puller\": forbidden");
  EXPECT_EQ(
      Find(),
      "error no token of service account apps/puller: create serviceaccounts/token \"puller\": forbidden");
  ServiceAccountGrant bare = Grant();
  bare.annotations.clear();
  grant_ = bare;
  EXPECT_TRUE(Find().starts_with("skipped service account apps/puller has no annotation"));
  EXPECT_EQ(folder_.Runs("sa"), 0);
}

constexpr char kV1[] = "credentialprovider.kubelet.k8s.io/v1";

TEST(EncodeRequest, AsKubeletEmitsIt) {
  EXPECT_EQ(EncodeRequest(kV1, "reg.io/team/app").Reveal(),
            "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
            "\"image\":\"reg.io/team/app\"}\n");
  PluginIdentity identity;
  identity.token = base::Secret("<jwt>");
  identity.annotations = {{"k", "v"}, {"b", "\""}};
  EXPECT_EQ(EncodeRequest(kV1, "reg.io/team/app", identity).Reveal(),
            "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
            "\"image\":\"reg.io/team/app\",\"serviceAccountToken\":\"\\u003cjwt\\u003e\","
            "\"serviceAccountAnnotations\":{\"b\":\"\\\"\",\"k\":\"v\"}}\n");
}

struct PluginProtocolRow {
  std::string name;
  std::string body;    // after kind and apiVersion
  std::string expect;  // "type duration key=user:password;…" or part of the error
  unsigned minor = 36;
};

std::string Show(const PluginResponse& response) {
  std::string text = response.cache_key_type == CacheKeyType::kImage      ? "Image"
                     : response.cache_key_type == CacheKeyType::kRegistry ? "Registry"
                                                                          : "Global";
  text += response.cache_duration ? " " + std::to_string(response.cache_duration->count()) : " default";
  for (const KeyedAuth& auth : response.auth) {
    text += " " + auth.key + "=" + auth.auth.username + ":" + std::string(auth.auth.password.Reveal());
  }
  return text;
}

TEST_TABLE(DecodeResponseTest, InEveryVersion, PluginProtocolRow) {
  for (std::string version : {"v1alpha1", "v1beta1", "v1"}) {
    std::string api_version = "credentialprovider.kubelet.k8s.io/" + version;
    std::string text =
        R"({"kind":"CredentialProviderResponse","apiVersion":")" + api_version + "\"" + row.body + "}";
    base::Result<PluginResponse> response =
        DecodeResponse(text, api_version, image::KubeletVersion{1, row.minor});
    std::string seen = response.ok() ? Show(*response) : response.error().message();
    EXPECT_HAS(seen, row.expect);
    EXPECT_EQ(response.ok(), !row.expect.starts_with("the response")) << seen;
    EXPECT_EQ(response.ok() ? "" : seen.substr(0, seen.find("hunter2")), response.ok() ? "" : seen);
  }
}

const char kDoesNot[] = "the response does not decode";
const char kBadType[] = "the response's cacheKeyType";

TEST_ROWS(Body, DecodeResponseTest,
          {"Image", R"(,"cacheKeyType":"Image","auth":{"r.io":{"username":"u","password":"p"}})",
           "Image default r.io=u:p"},
          {"Registry", R"(,"cacheKeyType":"Registry","cacheDuration":"10m")", "Registry 600000000000"},
          {"Global", R"(,"cacheKeyType":"Global","cacheDuration":"0s","auth":{})", "Global 0"},
          {"NegativeDuration", R"(,"cacheKeyType":"Global","cacheDuration":"-1s")", "Global -1000000000"},
          {"NullDuration", R"(,"cacheKeyType":"Global","cacheDuration":null,"auth":null)", "Global default"},
          {"EmptyStrings", R"(,"cacheKeyType":"Image","auth":{"r.io":{"username":"","password":""}})",
           "Image default r.io=:"},
          {"NullEntry", R"(,"cacheKeyType":"Image","auth":{"r.io":null})", "Image default r.io=:"},
          {"NoCacheKeyType", R"(,"auth":{})", kBadType},
          {"UnknownCacheKeyType", R"(,"cacheKeyType":"registry")", kBadType},
          {"NumberForDuration", R"(,"cacheKeyType":"Image","cacheDuration":600)", kDoesNot},
          {"BadDuration", R"(,"cacheKeyType":"Image","cacheDuration":"10")", kDoesNot},
          {"UnknownField", R"(,"cacheKeyType":"Image","hunter2":1)", kDoesNot},
          {"UnknownFieldIn131", R"(,"cacheKeyType":"Image","hunter2":1)", "Image default", 31},
          {"UnknownFieldOfAnEntry", R"(,"cacheKeyType":"Image","auth":{"r.io":{"hunter2":"x"}})", kDoesNot},
          {"DuplicateField", R"(,"cacheKeyType":"Image","cacheKeyType":"Image")", kDoesNot},
          {"DuplicateFieldIn131", R"(,"cacheKeyType":"Image","cacheKeyType":"Global")", "Global", 31},
          {"CaseOfKeys", R"(,"CacheKeyType":"Image")", kDoesNot},
          {"NumberForPassword", R"(,"cacheKeyType":"Image","auth":{"r.io":{"password":5}})", kDoesNot},
          {"AuthIsAList", R"(,"cacheKeyType":"Image","auth":[])", kDoesNot});

TEST(DecodeResponse, ChecksInOrder) {
  auto decode = [](const std::string& text) {
    base::Result<PluginResponse> response = DecodeResponse(text, kV1, {});
    return response.ok() ? "ok" : response.error().message();
  };
  std::string good =
      R"({"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image"})";
  EXPECT_EQ(decode(good), "ok");
  EXPECT_EQ(decode(good + "\n"), "ok");
  EXPECT_EQ(decode(good + "x"), "the response is not JSON");
  EXPECT_EQ(decode(""), "the response is not JSON");
  EXPECT_EQ(decode("kind: CredentialProviderResponse"), "the response is not JSON");
  EXPECT_EQ(decode("{}"), "the response's apiVersion is not credentialprovider.kubelet.k8s.io/v1");
  EXPECT_EQ(
      decode(
          R"({"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1beta1"})"),
      "the response's apiVersion is not credentialprovider.kubelet.k8s.io/v1");
  EXPECT_EQ(
      decode(R"({"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1"})"),
      "the response's kind is not CredentialProviderResponse");
}

}  // namespace
}  // namespace prefetch::credentials::plugin_test
