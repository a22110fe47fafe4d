#include "credentials/plugin.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "plugin_folder.h"

namespace prefetch::credentials::plugin_test {
namespace {

using std::chrono::milliseconds;
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
  base::Result<PluginResponse> response = Run(good_);
  ASSERT_TRUE(response.ok()) << response.error().message();
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
    EXPECT_NE(env.find(line), std::string::npos) << env;
  }
  EXPECT_EQ(env.find("HOME="), std::string::npos) << env;
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

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class FailureTest : public RunPluginTest, public testing::WithParamInterface<Row> {};

TEST_P(FailureTest, IsSaidWithoutSecrets) {
  std::string script = GetParam().script;
  script = base::ReplaceAll(script, "GOOD", good_);
  base::Result<PluginResponse> response = Run(script, GetParam().timeout);
  ASSERT_FALSE(response.ok());
  EXPECT_NE(response.error().message().find(GetParam().error), std::string::npos)
      << response.error().message();
  EXPECT_EQ(response.error().message().find("hunter2"), std::string::npos) << response.error().message();
  EXPECT_EQ(response.error().code(), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Plugin, FailureTest,
    testing::Values(
        Row{"ExitsWithOutput", "GOOD; exit 1", "exited 1"},
        Row{"ExitsWithReason", "echo 'no region' >&2; exit 3", "exited 3: no region"},
        Row{"ReasonHoldsThePassword", "GOOD; echo 'user hunter2 refused' >&2; exit 1",
            "exited 1: user [redacted] refused"},
        Row{"KilledBySignal", "kill -KILL $$", "was killed by signal 9"},
        Row{"Hangs", "exec sleep 1000", "did not answer within 0.2s", base::Code::kDeadlineExceeded,
            milliseconds(200)},
        Row{"IgnoresTerm", "trap '' TERM; while :; do sleep 1000; done", "did not answer within",
            base::Code::kDeadlineExceeded, milliseconds(200)},
        Row{"AnswersAndHangs", "GOOD; exec sleep 1000", "did not answer within",
            base::Code::kDeadlineExceeded, milliseconds(200)},
        Row{"FloodsStdout", "yes hunter2", "wrote more than 1 MiB", base::Code::kResourceExhausted},
        Row{"PrintsGarbage", "echo 'hunter2 is no json'", "not JSON", base::Code::kInvalidArgument},
        Row{"PrintsNothing", "true", "not JSON", base::Code::kInvalidArgument},
        Row{"PrintsTwo", "GOOD; GOOD", "not JSON", base::Code::kInvalidArgument},
        Row{"WrongVersion", "echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"hunter2\"}'",
            "apiVersion is not", base::Code::kInvalidArgument},
        Row{"OlderVersion", "GOOD | sed 's|k8s.io/v1|k8s.io/v1beta1|'", "apiVersion is not",
            base::Code::kInvalidArgument},
        Row{"WrongKind", "GOOD | sed s/CredentialProviderResponse/Secret/", "kind is not",
            base::Code::kInvalidArgument},
        Row{"UnknownField", "GOOD | sed 's/\"auth\"/\"hunter2\":1,\"auth\"/'", "unknown",
            base::Code::kInvalidArgument},
        Row{"SendsTheRequestBack", "exec cat", "kind is not", base::Code::kInvalidArgument}),
    [](const auto& row) { return row.param.name; });

TEST_F(RunPluginTest, ItsErrorsHaveNoSecret) {
  const std::string key = "wJalrXUtnFEMI/K7MDENG", word = "correct horse";
  folder_.AddPlugin(
      "plugin",
      "{ echo \"$MY_KEY and $WORD\"; echo -n \"$MY_KEY\" | base64; echo -n \"$WORD\" | od -An -tx1 | "
      "tr -d ' '; echo '{\\\"password\\\":\\\"of-another\\\"}'; } >&2; exit 1");
  Provider provider = Named("plugin");
  provider.env = {{"MY_KEY", key}, {"WORD", word}};
  base::Result<PluginResponse> response = Run(provider);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(
      response.error().message(),
      "exited 1: [redacted] and [redacted] [redacted] [redacted] {\\\"password\\\":\\\"[redacted]\\\"}");
}

TEST_F(RunPluginTest, ASecretThatTheLimitCutsIsNotShown) {
  const std::string secret = "abc-def-ghi-jkl";
  for (std::size_t shown : {5, 8, 14}) {
    folder_.AddPlugin("plugin",
                      "printf '%" + std::to_string(4096 - shown) + "s%s' '' \"$MY_KEY\" >&2; exit 1");
    Provider provider = Named("plugin");
    provider.env = {{"MY_KEY", secret}};
    base::Result<PluginResponse> response = Run(provider);
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().message(), "exited 1: [redacted]");
  }
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

}  // namespace
}  // namespace prefetch::credentials::plugin_test
