// Credential plugins as the large clouds have them, on a real containerd and real private registries. The
// plugins are shell scripts that check strictly what they are told, and write down how they were called.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "rig/expect_ok.h"
#include "system/node.h"
#include "text_of.h"

namespace prefetch::system::plugins_test {
namespace {

constexpr const char* kEcr = "123456789012.dkr.ecr.eu-west-1.amazonaws.test";
constexpr const char* kGar = "europe-docker.pkg.test";
constexpr const char* kAks = "acme.azurecr.test";

// One plugin of the node's configuration.
struct Plugin {
  std::string name;
  std::string match;
  std::string check = ":";  // shell; runs after the request was read: $image, $@ and the environment
  std::string answer;       // shell; prints the response
  std::string more;         // further lines of its configuration
};

std::string Response(const std::string& cache_key_type, const std::string& key, const rig::User& user) {
  return R"(printf '%s' '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":")" +
         cache_key_type + R"(","auth":{")" + key + R"(":{"username":")" + user.name + R"(","password":")" +
         user.password + R"("}}}')";
}

class Plugins : public testing::Test {
 protected:
  // Writes down image, argv and environment of each run in files of its own, and refuses any request that is
  // not to the letter. The logs are kept, and searched for secrets, after the test.
  void Install(const Plugin& plugin) {
    std::string log = node_.scratch() / plugin.name;
    node_.scratch().Write("plugins/" + plugin.name, R"(#!/bin/sh
set -eu
log=')" + log + R"('
tr '\0' '\n' </proc/$$/cmdline >>"$log-argv.log"
tr '\0' '\n' </proc/$$/environ >>"$log-environ.log"
request=$(cat)
image=${request#'{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"'}
image=${image%'"}'}
case $image in "$request" | *[!a-z0-9./-]*) echo "not a request: $request" >&2; exit 1 ;; esac
echo "$image" >>"$log-runs.log"
)" + plugin.check + "\n" + plugin.answer + "\n",
                          0700);
  }

  void Configure(const std::vector<Plugin>& plugins) {
    std::string text = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n";
    for (const Plugin& plugin : plugins) {
      text += "- name: " + plugin.name + "\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n" +
              "  matchImages: [\"" + plugin.match + "\"]\n  defaultCacheDuration: 1h\n" + plugin.more;
    }
    node_.scratch().Write("provider-config.yaml", text);
  }

  void Has(const std::vector<Plugin>& plugins) {
    for (const Plugin& plugin : plugins) Install(plugin);
    Configure(plugins);
  }

  std::string Written(const std::string& name) const { return tests::TextSoFar(node_.scratch() / name); }
  // "HOST/REPOSITORY", one line a run, sorted.
  std::vector<std::string> Runs(const std::string& plugin) const {
    std::vector<std::string> runs;
    std::string text = Written(plugin + "-runs.log");
    for (std::string_view line : base::Split(text, '\n')) {
      if (!line.empty()) runs.emplace_back(line);
    }
    std::sort(runs.begin(), runs.end());
    return runs;
  }
  void ExpectNotInProcess(const std::string& plugin, const std::string& secret) const {
    std::string argv = Written(plugin + "-argv.log");
    std::string environ = Written(plugin + "-environ.log");
    EXPECT_NE(argv, "");
    EXPECT_EQ(argv.find(secret), std::string::npos) << argv;
    EXPECT_EQ(environ.find(secret), std::string::npos) << environ;
  }

  void ExpectReady() {
    rig::Ran waited = node_.Ctl({"wait", "--timeout", "60s"}, seconds(90));
    EXPECT_EQ(waited.exit, rig::Exit{}) << waited.out << waited.err << node_.AgentLog();
  }

  // One that never answers, does not mind SIGTERM, and has a child.
  void InstallHanging(const std::string& host) {
    Install({.name = "stubborn",
             .match = host,
             .check = "trap '' TERM\nsleep 1000 &\necho $! >'" + (node_.scratch() / "child.pid") + "'",
             .answer = "while :; do sleep 1000; done"});
  }
  bool ChildIsGone(std::chrono::milliseconds limit) {
    pid_t child = std::stoi(Written("child.pid"));
    return rig::Eventually(limit, [&] { return ::kill(child, 0) != 0; });
  }

  Node node_;
};

// ECR's: one token for the whole registry, user AWS.
TEST_F(Plugins, OneTokenForTheRegistryIsAskedForOnce) {
  const rig::User aws{"AWS", "s3cr3t-ecr-token"};
  auto ecr = node_.AddRegistry(kEcr, aws);
  std::string app = ecr->Push("team/app", "v1", {{1, 100'000}});
  std::string other = ecr->Push("team/other", "v1", {{2, 100'000}});
  Has({{.name = "ecr-credential-provider",
        .match = "*.dkr.ecr.*.amazonaws.test",
        .answer = Response("Registry", "*.dkr.ecr.*.amazonaws.test", aws)}});
  node_.HasList({app, other});
  node_.StartAgent();
  ExpectReady();
  EXPECT_EQ(Runs("ecr-credential-provider").size(), 1U);
  EXPECT_EQ(node_.StatusOf(app).pulled_with.text(), "Provider");
  EXPECT_EQ(node_.StatusOf(app).origin.credential, "ecr-credential-provider");
  EXPECT_FALSE(node_.StatusOf(app).origin.exposed);
  ExpectNotInProcess("ecr-credential-provider", aws.password);
}

// GAR's: an answer for the one image, another token for each repository.
TEST_F(Plugins, ATokenForEachRepositoryIsAskedForOncePerRepository) {
  const rig::User app_token{"_token_app", "s3cr3t-gar-app"};
  const rig::User db_token{"_token_db", "s3cr3t-gar-db"};
  rig::Registry registry(node_.scratch(), kGar, {app_token, db_token});
  ASSERT_OK(registry.Start());
  rig::Proxy proxy(registry.port());
  ASSERT_OK(proxy.Start());
  ASSERT_OK(node_.containerd().Route(kGar, proxy.port()));
  rig::Pusher pusher(registry.address(), app_token.name, base::Secret(app_token.password));
  const std::string host = kGar;
  for (const char* tag : {"v1", "v2"}) ASSERT_OK(pusher.Push({"acme/app", tag, {{3, 50'000}}}));
  ASSERT_OK(pusher.Push({"acme/db", "v1", {{4, 50'000}}}));
  Has({{.name = "auth-provider-gcp",
        .match = "*-docker.pkg.test",
        .answer = "case $image in\n" + host + "/acme/app) " +
                  Response("Image", host + "/acme/app", app_token) + " ;;\n" + host + "/acme/db) " +
                  Response("Image", host + "/acme/db", db_token) + " ;;\n*) exit 1 ;;\nesac"}});
  node_.HasList({host + "/acme/app:v1", host + "/acme/app:v2", host + "/acme/db:v1"});
  node_.StartAgent();
  ExpectReady();
  EXPECT_EQ(Runs("auth-provider-gcp"), (std::vector<std::string>{host + "/acme/app", host + "/acme/db"}));
  // No repository was shown the other one's token.
  auto header = [](const rig::User& user) {
    return "Basic " + base::Base64Encode(user.name + ":" + user.password);
  };
  for (const rig::Passed& request : proxy.Requests()) {
    if (request.authorization.empty()) continue;
    bool of_app = request.path.find("/acme/app/") != std::string::npos;
    EXPECT_EQ(request.authorization, header(of_app ? app_token : db_token)) << request.path;
  }
  ExpectNotInProcess("auth-provider-gcp", app_token.password);
}

// AKS's: a file as an argument, an environment from the configuration; nothing of the agent's own.
TEST_F(Plugins, ArgumentsAndEnvironmentAreThoseOfTheConfiguration) {
  const rig::User azure{"00000000-0000-0000-0000-000000000000", "s3cr3t-acr-refresh-token"};
  auto acr = node_.AddRegistry(kAks, azure);
  std::string app = acr->Push("app", "v1", {{5, 100'000}});
  std::string cloud = node_.scratch().Write("azure.json", R"({"tenantId":"t1"})");
  Has({{.name = "acr-credential-provider",
        .match = "*.azurecr.test",
        .check = "[ $# = 1 ] && [ \"$1\" = '" + cloud +
                 "' ] && grep -q tenantId \"$1\" && [ \"$AZURE_ENVIRONMENT\" = 'public cloud' ] && [ -z "
                 "\"${PREFETCHD_LOG_LEVEL:-}${HOME:-}\" ]",
        .answer = Response("Registry", kAks, azure),
        .more = "  args: [" + cloud + "]\n  env:\n  - name: AZURE_ENVIRONMENT\n    value: public cloud\n"}});
  node_.HasList({app});
  node_.StartAgent();
  ExpectReady();
  EXPECT_EQ(Runs("acr-credential-provider"), (std::vector<std::string>{std::string(kAks) + "/app"}));
  ExpectNotInProcess("acr-credential-provider", azure.password);
}

TEST_F(Plugins, SigtermDoesNotWaitForOneThatHangs) {
  const rig::User ann{"ann", "s3cr3t-hangs"};
  auto hangs = node_.AddRegistry("hangs.example.test", ann);
  InstallHanging(hangs->host());
  Configure({{.name = "stubborn", .match = hangs->host()}});
  std::vector<std::string> stuck;
  for (unsigned i = 0; i < 6; i++) {
    stuck.push_back(hangs->Push("stuck" + std::to_string(i), "v1", {{12 + i, 50'000}}));
  }
  node_.HasList(stuck);
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !Written("child.pid").empty(); }));
  node_.agent().Signal(SIGTERM);
  EXPECT_TRUE(node_.agent().Wait(seconds(5))) << node_.AgentLog();
  EXPECT_TRUE(ChildIsGone(seconds(5)));
}

// Counts the dead children of `parent` that nobody has reaped.
int Zombies(const std::string& parent) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (!base::ParseUint(entry.path().filename().string())) continue;
    std::string text = tests::TextSoFar(entry.path() / "stat");
    // "PID (NAME) STATE PARENT …"
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    found += text.compare(name_end, 5 + parent.size(), ") Z " + parent + " ") == 0 ? 1 : 0;
  }
  return found;
}

// Zombies among them; /proc/PID/task/TID/children names those of one thread, and any thread can inherit.
std::vector<std::string> ChildrenOf(const std::string& parent) {
  std::vector<std::string> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + parent + "/task")) {
    std::ifstream in(task.path() / "children");
    for (std::string child; in >> child;) children.push_back(child);
  }
  return children;
}

// In its container the agent is PID 1, and inherits what a plugin leaves behind.
TEST_F(Plugins, AsPid1TheAgentEndsAndReapsWhatPluginsLeaveBehind) {
  const rig::User user{"u", "s3cr3t-pid-1"};
  auto host = node_.AddRegistry("one.example.test", user);
  std::vector<std::string> images;
  for (const char* name : {"a", "b", "c"}) images.push_back(host->Push(name, "v1", {{1, 1'000}}));
  const std::string daemons = node_.scratch() / "daemons";
  // An image a run: the answer is for the image alone. One background process of each has ended before it
  // does; the other one is a daemon, in a session of its own, that would never end by itself.
  Has({{.name = "leaving",
        .match = "one.example.test",
        .check = "(sleep 0.05 >&- 2>&- <&- &)\nsetsid sh -c 'echo >>" + daemons +
                 "; while :; do sleep 0.05; done' >&- 2>&- <&- &\nsleep 0.5",
        .answer = Response("Image", "one.example.test", user)}});
  node_.HasList(images);
  node_.RunsAgentBy({"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"});
  node_.StartAgent();
  ExpectReady();
  EXPECT_EQ(Runs("leaving").size(), 3U);
  const std::vector<std::string> agents = ChildrenOf(std::to_string(node_.agent().pid()));
  ASSERT_EQ(agents.size(), 1U);
  const std::string& agent = agents.front();
  EXPECT_NE(tests::TextOf("/proc/" + agent + "/status").find("NSpid:\t" + agent + "\t1\n"),
            std::string::npos);
  const std::string started = tests::TextOf(daemons);
  EXPECT_EQ(std::count(started.begin(), started.end(), '\n'), 3);
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return ChildrenOf(agent).empty(); }))
      << ChildrenOf(agent).size() << " children, " << Zombies(agent) << " of them zombies";
}

}  // namespace
}  // namespace prefetch::system::plugins_test
