#include "credentials/keyring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "base/fs.h"
#include "base/text.h"
#include "credentials/lookup_words.h"
#include "credentials/match.h"
#include "doc/write.h"
#include "no_more_threads.h"
#include "plugin_folder.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::credentials::keyring_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class KeyringTest : public testing::Test {
 protected:
  Keyring& Open() {
    keyring_ = std::make_unique<Keyring>(options_, clock_);
    return *keyring_;
  }
  // "source/name/match/user:password", one each.
  std::string Find(const std::string& image, const std::vector<std::string>& sources = {}) {
    lookup_ = keyring_->Find({}, {Ref(image), sources});
    std::string text;
    for (const Credential& credential : lookup_.credentials) {
      std::string name = credential.source == Source::kDockerConfig ? "file" : credential.name;
      text += (text.empty() ? "" : " ") + std::string(SourceName(credential.source)) + "/" + name + "/" +
              credential.match + "/" + credential.auth.username + ":" +
              std::string(credential.auth.password.Reveal());
    }
    return text;
  }
  // "name=outcome" of all providers.
  std::string Outcomes() const {
    std::string text;
    for (const ProviderReport& of : lookup_.providers)
      text += (text.empty() ? "" : " ") + of.name + "=" + ProviderOutcomeName(of.outcome);
    return text;
  }
  std::string Problems() const { return base::Join(keyring_->problems(), "\n"); }
  void Docker(const std::string& key, const std::string& user) {
    folder_.dir().Write("docker.json",
                        "{\"auths\":{\"" + key + "\":{\"username\":\"" + user + "\",\"password\":\"p\"}}}");
  }
  void Secret() {
    folder_.dir().Write("secret/.dockerconfigjson",
                        R"({"auths":{"r.io":{"username":"team","password":"p"}}})");
    options_.pull_secrets = {{.name = "team-pull",
                              .path = folder_.dir() / "secret",
                              .allow_repositories = {"r.io/team"},
                              .sources = {"team.yaml"}}};
  }

  PluginFolder folder_;
  StepClock clock_;
  KeyringOptions options_ = folder_.Options();
  std::unique_ptr<Keyring> keyring_;
  Lookup lookup_;
};

TEST_F(KeyringTest, NothingConfiguredIsAnonymous) {
  options_ = {};
  options_.docker_configs = {folder_.dir() / "docker.json"};
  Open();
  EXPECT_EQ(Find("nginx"), "");
  EXPECT_EQ(lookup_.repository, "docker.io/library/nginx");
  EXPECT_EQ(Problems(), "");
  EXPECT_EQ(keyring_->provider_config_hash(), "");
}

// A18: pull secrets, node docker config, plugins.
TEST_F(KeyringTest, AllSourcesInOrder) {
  Secret();
  Docker("r.io", "node");
  folder_.AddPlugin("b", PluginFolder::Answer("Registry", "r.io/team", "plugin-b", "p"));
  folder_.AddPlugin("a", PluginFolder::Answer("Registry", "r.io/team/app", "plugin-a", "p"));
  folder_.AddPlugin("c", PluginFolder::Answer("Registry", "r.io/team", "plugin-c", "p"));
  folder_.WriteConfig(PluginFolder::Provider("b", "[r.io]") + PluginFolder::Provider("a", "[r.io]") +
                      PluginFolder::Provider("c", "[\"*.io\"]") + PluginFolder::Provider("a2", "[q.io]"));
  folder_.AddPlugin("a2", "exit 1");
  Open();
  ASSERT_EQ(Problems(), "");
  // In the plugins' keyring the more specific key goes first, then the earlier provider.
  EXPECT_EQ(
      Find("r.io/team/app:v1", {"team.yaml"}),
      "pull-secret/team-pull/r.io/team:p docker-config/file/r.io/node:p "
      "provider/a/r.io/team/app/plugin-a:p provider/b/r.io/team/plugin-b:p provider/c/r.io/team/plugin-c:p");
  EXPECT_EQ(Outcomes(), "b=ok a=ok c=ok a2=skipped");
  EXPECT_TRUE(lookup_.providers[2].matched);
  EXPECT_EQ(lookup_.providers[2].pattern, "*.io");
  EXPECT_FALSE(lookup_.providers[3].matched);
  EXPECT_EQ(Find("r.io/other", {"team.yaml"}), "docker-config/file/r.io/node:p");
  EXPECT_LACKS(Find("r.io/team/x", {"other.yaml"}), "pull-secret");
  EXPECT_LACKS(Find("r.io/team/x"), "pull-secret");
}

// kubelet would use these credentials for any pod of the node, with or without a plugin's run.
TEST_F(KeyringTest, ForAnyPodNeitherPullSecretsNorAnAccountsTokensCount) {
  Secret();
  Docker("r.io", "node");
  folder_.AddPlugin("plain", PluginFolder::Answer("Registry", "r.io/team", "plugin", "p"));
  folder_.AddPlugin("token", PluginFolder::Answer("Registry", "r.io/team", "account", "p"));
  folder_.WriteConfig(PluginFolder::Provider("token", "[r.io]", "1h",
                                             "  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: "
                                             "ServiceAccount, requireServiceAccount: false}\n") +
                      PluginFolder::Provider("plain", "[r.io]", "1h"));
  Open();
  ASSERT_EQ(Problems(), "");
  ASSERT_NE(Find("r.io/team/app:v1", {"team.yaml"}).find("account"), std::string::npos);
  const auto app = *image::Reference::Parse("r.io/team/app:v1");
  const LookupQuestion question{.reference = app, .sources = {"team.yaml"}, .for_any_pod = true};
  for (const Lookup& lookup : {keyring_->Find({}, question), keyring_->TryFind(question).value()}) {
    ASSERT_EQ(lookup.credentials.size(), 2U);
    EXPECT_EQ(lookup.credentials[0].auth.username + lookup.credentials[1].auth.username, "nodeplugin");
    EXPECT_EQ(lookup.providers.at(0).outcome, ProviderOutcome::kSkipped);
  }
  EXPECT_EQ(keyring_->TokenProviderFor(app) + keyring_->TokenProviderFor(Ref("q.io/team/app:v1")), "token");
}

TEST_F(KeyringTest, Before133NodeConfigAndPluginsAreOneKeyring) {
  Docker("r.io", "node");
  folder_.AddPlugin("b", PluginFolder::Answer("Registry", "r.io/team", "plugin-b", "p"));
  folder_.AddPlugin("a", PluginFolder::Answer("Registry", "r.io", "plugin-a", "p"));
  folder_.WriteConfig(PluginFolder::Provider("b", "[r.io]") + PluginFolder::Provider("a", "[r.io]"));
  options_.kubelet_version = {1, 32};
  Open();
  // The plugin's key is longer than the node's; of equal keys the node's goes first; plugins by name.
  EXPECT_EQ(Find("r.io/team/app"),
            "provider/b/r.io/team/plugin-b:p docker-config/file/r.io/node:p provider/a/r.io/plugin-a:p");
  EXPECT_EQ(Outcomes(), "a=ok b=ok");
  options_.kubelet_version = {1, 33};
  Open();
  EXPECT_EQ(Find("r.io/team/app"),
            "docker-config/file/r.io/node:p provider/b/r.io/team/plugin-b:p provider/a/r.io/plugin-a:p");
}

TEST_F(KeyringTest, HubIsFoundUnderItsOldName) {
  options_.provider_config = options_.provider_bin_dir = "";
  Docker("https://index.docker.io/v1/", "hub");
  Open();
  EXPECT_EQ(Find("nginx"), "docker-config/file/https://index.docker.io/v1//hub:p");
}

TEST_F(KeyringTest, WhatProvidersMayDo) {
  folder_.AddPlugin("fails", "echo 'no region' >&2; exit 3");
  folder_.AddPlugin("empty",
                    "echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":"
                    "\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"Image\"}'");
  folder_.AddPlugin("token", "exit 1");
  folder_.AddPlugin("good", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.AddPlugin("elsewhere", PluginFolder::Answer("Image", "q.io", "u", "p"));
  folder_.WriteConfig(
      PluginFolder::Provider("fails", "[r.io]") + PluginFolder::Provider("empty", "[r.io]") +
      PluginFolder::Provider("token", "[r.io]", "0s",
                             "  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, "
                             "requireServiceAccount: true}\n") +
      PluginFolder::Provider("good", "[r.io]") + PluginFolder::Provider("elsewhere", "[r.io]"));
  Open();
  ASSERT_EQ(Problems(), "");
  EXPECT_EQ(Find("r.io/app"), "provider/good/r.io/u:p");
  EXPECT_EQ(Outcomes(), "fails=error empty=empty token=skipped good=ok elsewhere=ok");
  EXPECT_EQ(lookup_.providers[0].error, "exited 3: no region");
  EXPECT_HAS(lookup_.providers[2].error, "tokenAttributes");
  EXPECT_TRUE(lookup_.providers[2].matched);
  EXPECT_EQ(folder_.Runs("token"), 0);
  for (const ProviderReport& report : lookup_.providers) {
    EXPECT_EQ(report.ran_for.has_value(), report.name != "token") << report.name;
  }
}

TEST_F(KeyringTest, ABadConfigIsSaidAndReadAgain) {
  Docker("r.io", "node");
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.WriteConfig("- name: a\n");
  Open();
  EXPECT_HAS(Problems(), "config.yaml:4:");
  EXPECT_HAS(keyring_->Health().unusable_provider_config, "config.yaml:4:");
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/node:p");
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/node:p");  // looked at once a second
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/node:p provider/a/r.io/u:p");
  EXPECT_EQ(Problems(), "");
  // Broken again: the plugins that worked stay, and it is said.
  folder_.WriteConfig("x: y\n");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/node:p provider/a/r.io/u:p");
  EXPECT_HAS(Problems(), "the last good configuration stays in force");
  EXPECT_EQ(keyring_->Health().unusable_provider_config, "");
}

// Lookups report matching providers that kubelet has and the agent was not given. The keyring notices when
// these change.
TEST_F(KeyringTest, ProvidersOfKubeletThatWereNotGiven) {
  Docker("q.io", "node");
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  options_.provider_config = options_.provider_bin_dir = "";
  Open();
  Find("r.io/app");
  EXPECT_EQ(Outcomes(), "");
  keyring_->SetKubeletProviders({folder_.config(), folder_.bin_dir()});
  Find("r.io/app");
  EXPECT_EQ(Outcomes(), "a=skipped");
  EXPECT_TRUE(lookup_.providers[0].missing_on_agent);
  EXPECT_EQ(lookup_.providers[0].error,
            "kubelet uses it, from " + folder_.config() + "; the agent was given none");
  EXPECT_EQ(Find("q.io/app"), "docker-config/file/q.io/node:p");
  EXPECT_EQ(Outcomes(), "");
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U);
  EXPECT_EQ(keyring_->Health().unusable_provider_config, "") << "kubelet runs with it";
  EXPECT_HAS(Problems(), "kubelet uses the credential provider \"a\"");
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]") + PluginFolder::Provider("b", "[q.io]"));
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health().missing_on_agent, 2U);
  keyring_->SetKubeletProviders({});
  EXPECT_EQ(keyring_->Health().missing_on_agent, 0U);
  EXPECT_EQ(Problems(), "");
}

TEST_F(KeyringTest, ImagesOfAProviderThatOnlyKubeletsMatches) {
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  Open();
  std::string wider = *base::ReadFile(folder_.config(), 1 << 20);
  wider.replace(wider.find("[r.io]"), 6, "[r.io, q.io]");
  keyring_->SetKubeletProviders({folder_.dir().Write("kubelets.yaml", wider), folder_.bin_dir()});
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U);
  EXPECT_HAS(Problems(), "does not match all of its images: images of q.io may be refused (401)");
  Find("q.io/app");
  ASSERT_EQ(Outcomes(), "a=skipped a=skipped") << "the agent's does not match, and kubelet's was not given";
  EXPECT_TRUE(lookup_.providers[1].missing_on_agent);
}

// Up to 1.32, the configuration may have unknown fields, and the longer key wins over the source (A3, A19).
TEST_F(KeyringTest, TheVersionThatIsLearntDecidesHowFilesAreRead) {
  Docker("r.io", "node");
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io/team", "u", "p"));
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]") + "  someNewField: 1\n");
  Open();
  EXPECT_HAS(Problems(), "someNewField");
  keyring_->SetKubeletVersion({.major = 1, .minor = 31});
  EXPECT_EQ(Find("r.io/team/app"), "provider/a/r.io/team/u:p docker-config/file/r.io/node:p");
  EXPECT_EQ(Problems(), "");
  keyring_->SetKubeletVersion({.major = 1, .minor = 36});
  EXPECT_EQ(Find("r.io/team/app"), "docker-config/file/r.io/node:p") << "it was never good for this kubelet";
  EXPECT_HAS(keyring_->Health().unusable_provider_config, "someNewField");
}

// kubelet does not start with one of the two.
TEST_F(KeyringTest, AConfigWithoutPluginsDirectoryIsAProblem) {
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  options_.provider_bin_dir = "";
  Open();
  EXPECT_EQ(Problems(), "the credential provider bin directory is not set");
}

// Nothing new can be sent: what was denied is not tried again.
TEST_F(KeyringTest, ProvidersThatWereNotGivenAreNoChangeOfTheFiles) {
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  options_.provider_config = options_.provider_bin_dir = "";
  Open();
  keyring_->SetKubeletProviders({folder_.config(), folder_.bin_dir()});
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U);
  EXPECT_EQ(keyring_->Health().changes, 0U) << "learnt";
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]") + PluginFolder::Provider("b", "[q.io]"));
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health().missing_on_agent, 2U);
  EXPECT_EQ(keyring_->Health().changes, 0U) << "edited";
  Docker("q.io", "node");
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health().changes, 1U) << "the agent's own";
}

// As on every cloud whose overlay names kubelet's own file.
// Images are then pulled without credentials, and that is said.
TEST_F(KeyringTest, FilesThatNoThreadCouldReadAreAProblemUntilTheyAreRead) {
  {
    const tests::NoMoreThreads none;
    EXPECT_HAS(base::Join(Open().Health().problems, "\n"), "none was read since the start");
  }
  clock_.Step(seconds(1));
  EXPECT_LACKS(base::Join(keyring_->Health().problems, "\n"), "none was read since the start");
}

TEST_F(KeyringTest, KubeletsOwnConfigurationChangesNothing) {
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  Open();
  keyring_->SetKubeletProviders({folder_.config(), folder_.bin_dir()});
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health(), KeyringHealth{});
}

// kubelet's folder is seen here, and ours is another: a program that is not there, or another one, was not
// given.
TEST_F(KeyringTest, ProgramsOfKubeletThatWereNotGiven) {
  const std::string kubelets = folder_.dir() / "kubelets";
  auto kubelet_has = [&](const std::string& text) {
    folder_.dir().Write("kubelets/new", text);
    std::filesystem::rename(kubelets + "/new", kubelets + "/a");
    clock_.Step(seconds(1));
  };
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  Open();
  keyring_->SetKubeletProviders({folder_.config(), kubelets});
  EXPECT_EQ(keyring_->Health(), KeyringHealth{}) << "its folder is not seen";
  const std::string ours = *base::ReadFile(folder_.bin_dir() + "/a", 1 << 20);
  kubelet_has(ours);
  EXPECT_EQ(keyring_->Health(), KeyringHealth{}) << "a copy";
  kubelet_has(ours + "# newer\n");
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U);
  EXPECT_HAS(Problems(), "the agent runs " + folder_.bin_dir() + "/a, which is another program than " +
                             kubelets + "/a: images of r.io may be refused");
  kubelet_has(std::string(ours.size(), '#'));
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U) << "of the same size";
  kubelet_has(ours);
  EXPECT_EQ(keyring_->Health(), KeyringHealth{});
  std::filesystem::remove(folder_.bin_dir() + "/a");
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health().missing_on_agent, 1U);
  EXPECT_HAS(Problems(),
             "the agent has no program " + folder_.bin_dir() + "/a: images of r.io will be refused");
  Find("r.io/app");
  EXPECT_EQ(lookup_.providers.back().error, "kubelet uses it, from " + folder_.config() +
                                                "; the agent has no program " + folder_.bin_dir() + "/a");
}

TEST_F(KeyringTest, HealthLooksAtTheFilesByItself) {
  folder_.AddPlugin("a", PluginFolder::Answer("Image", "r.io", "u", "p"));
  folder_.WriteConfig("x: y\n");
  Open();
  EXPECT_NE(keyring_->Health().unusable_provider_config, "");
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]"));
  clock_.Step(seconds(1));
  EXPECT_EQ(keyring_->Health(), KeyringHealth{.changes = 1});
  clock_.Step(minutes(10));
  EXPECT_EQ(keyring_->Health().changes, 1U);  // read anew, and the same
  // A docker config that cannot be read is a problem, but kubelet starts all the same.
  folder_.dir().Write("docker.json", "{");
  clock_.Step(seconds(1));
  ASSERT_EQ(keyring_->Health().problems.size(), 1U);
  EXPECT_TRUE(Problems().ends_with("; the file is left out, as kubelet does, until it is mended"))
      << Problems();
  EXPECT_EQ(keyring_->Health().unusable_provider_config, "");
}

TEST_F(KeyringTest, AMissingPluginIsSeenOnceItComes) {
  folder_.WriteConfig(PluginFolder::Provider("late", "[r.io]"));
  Open();
  EXPECT_HAS(Problems(), "bin/late");
  EXPECT_EQ(Find("r.io/app"), "");
  folder_.AddPlugin("late", PluginFolder::Answer("Image", "r.io", "u", "p"));
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "provider/late/r.io/u:p");
  EXPECT_EQ(Problems(), "");
  EXPECT_EQ(keyring_->Health().changes, 1U) << "though no file of the configuration is another";
}

TEST_F(KeyringTest, AnswersOutliveAChangeElsewhere) {
  folder_.AddPlugin("a", PluginFolder::Answer("Registry", "r.io", "u", "p"));
  folder_.AddPlugin("b", PluginFolder::Answer("Registry", "q.io", "u", "p"));
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]", "1h"));
  Open();
  Find("r.io/app");
  std::string hash = keyring_->provider_config_hash();
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]", "1h") + PluginFolder::Provider("b", "[q.io]"));
  clock_.Step(seconds(1));
  Find("r.io/app");
  EXPECT_EQ(Outcomes(), "a=ok b=skipped");
  EXPECT_EQ(folder_.Runs("a"), 1);
  EXPECT_NE(keyring_->provider_config_hash(), hash);
  folder_.WriteConfig(PluginFolder::Provider("a", "[r.io]", "2h"));
  clock_.Step(seconds(1));
  Find("r.io/app");
  EXPECT_EQ(folder_.Runs("a"), 2);
}

TEST_F(KeyringTest, DockerConfigIsReadAgainWhenItChanges) {
  options_.provider_config = options_.provider_bin_dir = "";
  Open();
  EXPECT_EQ(Find("r.io/app"), "");
  Docker("r.io", "first");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/first:p");
  Docker("r.io", "another");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/another:p");
  // Each has the size of the one before and, within a tick of the kernel's clock, its stamp.
  for (const std::string user : {"anothes", "anothet", "anotheu"}) {
    Docker("r.io", user);
    clock_.Step(seconds(1));
    EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/" + user + ":p");
  }
  folder_.dir().Write("docker.json", "{");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "");
  EXPECT_HAS(Problems(), "docker.json");
}

TEST_F(KeyringTest, EachDockerConfigThatIsNamedHasToBeThere) {
  const std::string one = folder_.dir() / "one.json", other = folder_.dir() / "other.json";
  const std::string kMount = "; mount it, or take it out of --docker-config";
  options_ = {.docker_configs = {one, other}};
  Open();
  EXPECT_EQ(Problems(), "there is no docker config: " + one + ", " + other + kMount);
  EXPECT_EQ(keyring_->Health().unusable_provider_config, "") << "kubelet starts without";
  folder_.dir().Write("other.json", R"({"auths":{"r.io":{"username":"ann"}}})");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/ann:");
  EXPECT_EQ(Problems(), "there is no docker config: " + one + "; " + other + " is used" + kMount);
  folder_.dir().Write("one.json", R"({"auths":{"r.io":{"username":"bob"}}})");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/bob:");
  EXPECT_EQ(Problems(), "");
  std::filesystem::remove(other);
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/bob:");
  EXPECT_EQ(Problems(), "there is no docker config: " + other + "; " + one + " is used" + kMount);
}

TEST_F(KeyringTest, WhereKubeletLooksByItselfThereNeedNotBeAny) {
  options_ = {};
  options_.docker_config_search = {.kubelet_root = folder_.dir() / "kubelet",
                                   .working_directory = folder_.dir() / "cwd",
                                   .home = folder_.dir() / "home"};
  Open();
  EXPECT_EQ(Problems(), "");
}

TEST_F(KeyringTest, SearchesWhereKubeletDoes) {
  options_ = {};
  options_.docker_config_search = {.kubelet_root = folder_.dir() / "kubelet",
                                   .working_directory = folder_.dir() / "cwd",
                                   .home = folder_.dir() / "home"};
  folder_.dir().Write("home/.docker/config.json", R"({"auths":{"r.io":{"username":"home"}}})");
  Open();
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/home:");
  folder_.dir().Write("kubelet/config.json", R"({"auths":{"r.io":{"username":"kubelet"}}})");
  clock_.Step(seconds(1));
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/kubelet:");
}

// kubelet's root is learnt after the start, from its command line.
TEST_F(KeyringTest, SearchesWhereALearntRootIs) {
  options_ = {};
  options_.docker_config_search = {.kubelet_root = folder_.dir() / "none",
                                   .working_directory = folder_.dir() / "cwd",
                                   .home = folder_.dir() / "home"};
  folder_.dir().Write("learnt/config.json", R"({"auths":{"r.io":{"username":"learnt"}}})");
  Open();
  EXPECT_EQ(Find("r.io/app"), "");
  keyring_->SetKubeletRoot(folder_.dir() / "learnt");
  EXPECT_EQ(Find("r.io/app"), "docker-config/file/r.io/learnt:");
  const std::uint64_t changes = keyring_->Health().changes;
  keyring_->SetKubeletRoot(folder_.dir() / "learnt");
  EXPECT_EQ(keyring_->Health().changes, changes);
}

TEST_F(KeyringTest, APullSecretThatIsBrokenIsSaid) {
  Secret();
  folder_.dir().Write("secret/.dockerconfigjson", "{");
  options_.provider_config = options_.provider_bin_dir = "";
  Open();
  EXPECT_HAS(Problems(), "pull secret \"team-pull\"");
  EXPECT_EQ(Find("r.io/team/app", {"team.yaml"}), "");
}

// 1,000 images, 10 providers of 15 patterns each, all answers at hand. bench/credentials_bench.cc says how
// long it takes.
TEST_F(KeyringTest, WarmLookupsRunNoPlugin) {
  std::string providers;
  for (int i = 0; i < 10; i++) {
    std::string name = "p" + std::to_string(i);
    std::string patterns;
    for (int k = 0; k < 14; k++) {
      patterns += "\"*.region" + std::to_string(k) + ".registry" + std::to_string(i) + ".example.com\",";
    }
    folder_.AddPlugin(
        name, PluginFolder::Answer("Registry", "registry" + std::to_string(i) + ".example.com", "u", "p"));
    providers += PluginFolder::Provider(
        name, "[" + patterns + "\"registry" + std::to_string(i) + ".example.com\"]", "12h");
  }
  folder_.WriteConfig(providers);
  Open();
  ASSERT_EQ(Problems(), "");
  std::vector<image::Reference> images;
  for (int i = 0; i < 1000; i++) {
    images.push_back(
        Ref("registry" + std::to_string(i % 10) + ".example.com/team/app-" + std::to_string(i) + ":v1"));
  }
  for (int i = 0; i < 10; i++) keyring_->Find({}, {images[static_cast<std::size_t>(i)]});
  std::size_t found = 0;
  for (const image::Reference& image : images) found += keyring_->Find({}, {image}).credentials.size();
  EXPECT_EQ(found, 1000U);
  for (int i = 0; i < 10; i++) EXPECT_EQ(folder_.Runs("p" + std::to_string(i)), 1);
}

TEST_F(KeyringTest, WhatNeedsNoPluginIsFoundNow) {
  Docker("r.io", "file");
  folder_.AddPlugin("plugin",
                    PluginFolder::Answer("Registry", "r.io", "u", "p", "\"cacheDuration\":\"1m\","));
  folder_.WriteConfig(PluginFolder::Provider("plugin", "[r.io]"));
  Open();
  EXPECT_FALSE(keyring_->TryFind({Ref("r.io/a")}));
  EXPECT_EQ(folder_.Runs("plugin"), 0);
  auto other = keyring_->TryFind({Ref("q.io/a")});
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->credentials.empty());
  Find("r.io/a");
  auto now = keyring_->TryFind({Ref("r.io/b")});
  ASSERT_TRUE(now);
  EXPECT_EQ(now->credentials.size(), lookup_.credentials.size());
  EXPECT_EQ(now->credentials.size(), 2U);
  EXPECT_EQ(folder_.Runs("plugin"), 1);
}

// A Keyring that is made while its files do not answer.

// The first reading begins by asking for the time, and gets no further: as one of files that do not answer.
class StuckClock final : public base::Clock {
 public:
  base::TimePoint Now() const override {
    if (!asked_.exchange(true)) goes_on_.get_future().wait();
    return base::TimePoint(std::chrono::hours(1));
  }
  base::WallTime Wall() const override { return {}; }
  void GoOn() { goes_on_.set_value(); }

 private:
  mutable std::atomic<bool> asked_ = false;
  mutable std::promise<void> goes_on_;
};

TEST(KeyringStart, WithoutFilesThatAnswerHasNoCredentialsUntilTheyDo) {
  tests::TempDir dir;
  StuckClock clock;
  const image::Reference app = *image::Reference::Parse("r.io/app:v1");
  Keyring keyring(
      {.docker_configs = {dir.Write("config.json", R"({"auths":{"r.io":{"username":"u","password":"p"}}})")}},
      clock);
  KeyringHealth health = keyring.Health();
  ASSERT_EQ(health.problems.size(), 1U);
  EXPECT_HAS(health.problems[0], "none was read since the start");
  EXPECT_TRUE(keyring.Find({}, {app}).credentials.empty());
  clock.GoOn();
  while (!(health = keyring.Health()).problems.empty()) std::this_thread::yield();
  EXPECT_EQ(keyring.Find({}, {app}).credentials.size(), 1U);
  EXPECT_EQ(health.changes, 1U) << "what was denied meanwhile is worth another try";
}

Credential Login(Source source, const std::string& name, const std::string& match, const std::string& user) {
  return {{user, base::Secret("hunter2")}, source, name, match};
}

struct LookupCase {
  std::string name;
  Lookup lookup;
  std::string json;
  std::string text;
};

TEST_TABLE(LookupTest, Row, LookupCase) {
  std::string json = doc::WriteJson(LookupJson("r.io/app:v1", WordsOf(row.lookup)));
  std::string text = LookupText("r.io/app:v1", WordsOf(row.lookup));
  EXPECT_EQ(json, row.json);
  EXPECT_EQ(text, row.text);
  EXPECT_LACKS(json + text, "hunter2");
}

TEST_ROWS(Lookup, LookupTest,
          {"Anonymous",
           {.repository = "r.io/app"},
           R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[],"providers":[]})",
           "r.io/app:v1\n  anonymous: no credential of this node matches\n"},
          {"InTheOrderOfAttempts",
           {.repository = "r.io/app",
            .credentials = {Login(Source::kPullSecret, "team", "r.io", "team"),
                            Login(Source::kDockerConfig, "/root/config.json", "https://r.io/v1/", "ann"),
                            Login(Source::kProvider, "ecr", "r.io/app", "")},
            .providers = {{"ecr", true, "*.io", ProviderOutcome::kOk, ""}}},
           R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[)"
           R"({"source":"pull-secret","name":"team","match":"r.io","username":"team"},)"
           R"({"source":"docker-config","name":"/root/config.json","match":"https://r.io/v1/",)"
           R"("username":"ann"},)"
           R"({"source":"provider","name":"ecr","match":"r.io/app","username":""}],)"
           R"("providers":[{"name":"ecr","matched":true,"outcome":"ok","error":""}]})",
           "r.io/app:v1\n"
           "  1.  pull-secret    team               as team       by r.io\n"
           "  2.  docker-config  /root/config.json  as ann        by https://r.io/v1/\n"
           "  3.  provider       ecr                no user name  by r.io/app\n"
           "  provider  ecr  ok  *.io matches\n"},
          {"APluginsWordsMakeNoLines",
           {.repository = "r.io/app",
            .credentials = {Login(Source::kProvider, "ecr", "r.io", "ann\n  2.  \x1b[2J")}},
           R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[)"
           R"({"source":"provider","name":"ecr","match":"r.io","username":"ann\n  2.  \u001b[2J"}],)"
           R"("providers":[]})",
           "r.io/app:v1\n  1.  provider  ecr  as ann   2.   [2J  by r.io\n"},
          {"WhyAProviderGivesNothing",
           {.repository = "r.io/app",
            .providers = {{"a", false, "", ProviderOutcome::kSkipped, ""},
                          {"broken", true, "r.io", ProviderOutcome::kError, "exited 1: no region"},
                          {"c", true, "r.io", ProviderOutcome::kEmpty, ""},
                          {"d", true, "r.io", ProviderOutcome::kSkipped, "it wants a token"}}},
           R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[],"providers":[)"
           R"({"name":"a","matched":false,"outcome":"skipped","error":""},)"
           R"({"name":"broken","matched":true,"outcome":"error","error":"exited 1: no region"},)"
           R"({"name":"c","matched":true,"outcome":"empty","error":""},)"
           R"({"name":"d","matched":true,"outcome":"skipped","error":"it wants a token"}]})",
           "r.io/app:v1\n"
           "  anonymous: no credential of this node matches\n"
           "  provider  a       skipped  no entry of matchImages matches\n"
           "  provider  broken  error    r.io matches: exited 1: no region\n"
           "  provider  c       empty    r.io matches, it has no credentials for this image\n"
           "  provider  d       skipped  r.io matches: it wants a token\n"});

TEST(ShownKey, HoldsNoSecret) {
  EXPECT_EQ(DisplayKey("quay.io"), "quay.io");
  EXPECT_EQ(DisplayKey("https://index.docker.io/v1/"), "https://index.docker.io/v1/");
  EXPECT_EQ(DisplayKey("https://ann:hunter2@quay.io/v1/"), "https://quay.io/v1/");
  EXPECT_EQ(DisplayKey("ann:hunter2@quay.io:5000/team"), "quay.io:5000/team");
  EXPECT_EQ(DisplayKey("ann:hun/ter2@quay.io"), "quay.io");
  EXPECT_EQ(DisplayKey("quay.io/v1?token=hunter2#hunter2"), "quay.io/v1");
}

using Strings = std::vector<std::string>;
struct Row {
  std::string name;
  std::vector<std::string> keys;  // the credential under each has its key for a user name
  std::string repository;
  std::vector<std::string> found;
};

std::vector<KeyedAuth> Auths(const std::vector<std::string>& keys) {
  std::vector<KeyedAuth> auths;
  for (const std::string& key : keys) auths.push_back({key, {key, base::Secret("p")}});
  return auths;
}

std::vector<std::string> Names(const std::vector<KeyedMatch>& matches) {
  std::vector<std::string> names;
  for (const KeyedMatch& match : matches) names.push_back(match.entry->auth.username);
  return names;
}

TEST_TABLE(LookUpTest, Finds, Row) {
  KeyIndex index(Auths(row.keys));
  EXPECT_EQ(Names(MatchAll({&index}, Target(row.repository))), row.found);
}

// A16 and A17.
TEST_ROWS(Spec, LookUpTest,
          {"LongerFirst", Strings{"bar.example.com", "bar.example.com/pong"}, "bar.example.com/pongz",
           Strings{"bar.example.com/pong", "bar.example.com"}},
          {"VersionPath", {"https://quay.io/v1/"}, "quay.io/foo/bar", {"https://quay.io/v1/"}},
          {"DefaultRegistry", Strings{"https://index.docker.io/v1/"}, "docker.io/library/nginx",
           Strings{"https://index.docker.io/v1/"}},
          {"FallbackOnlyIfNothingMatched", Strings{"docker.io", "index.docker.io"}, "docker.io/library/nginx",
           Strings{"docker.io"}},
          {"Registry1IsNotFolded", {"registry-1.docker.io"}, "docker.io/library/nginx", {}},
          {"ColonInThePath", Strings{"https://*.docker.io/path:1111"}, "prefix.docker.io/path:1111/x",
           Strings{"https://*.docker.io/path:1111"}});

TEST_ROWS(Text, LookUpTest,
          {"LiteralBeforeWildcard", {"*.foo.io", "a.foo.io"}, "a.foo.io/x", {"a.foo.io", "*.foo.io"}},
          {"V2", {"quay.io/v2/team"}, "quay.io/team/x", {"quay.io/v2/team"}},
          {"V2OfAnother", {"quay.io/v2/team"}, "quay.io/other", {}},
          {"V1WithoutSlashStays", {"quay.io/v1"}, "quay.io/foo", {}},
          {"Http", {"http://reg:5000"}, "reg:5000/x", {"http://reg:5000"}},
          {"TwoSchemes", {"https://http://reg:5000"}, "reg:5000/x", {}},
          {"PortStays", {"reg.io"}, "reg.io:5000/x", {}},
          {"EqualKeysKeepOrder", Strings{"reg.io", "https://reg.io", "http://reg.io/"}, "reg.io/x",
           Strings{"reg.io", "https://reg.io", "http://reg.io/"}},
          {"UnusableKeyIsSkipped", {"reg io", "reg.io"}, "reg.io/x", {"reg.io"}},
          {"FallbackForLocalhost", {"index.docker.io"}, "localhost/x", {"index.docker.io"}},
          {"NoFallbackForOthers", {"index.docker.io"}, "quay.io/x", {}},
          {"FallbackNeedsExactlyTheKey", {"index.docker.io/library"}, "docker.io/library/nginx", {}});

TEST(LookUp, SeveralIndexesAreOneKeyring) {
  KeyIndex first(Auths({"*.foo.io", "a.foo.io"}));
  KeyIndex second(Auths({"a.foo.io/x", "a.foo.io"}));
  std::vector<KeyedMatch> matches = MatchAll({&first, &second}, Target("a.foo.io/x"));
  EXPECT_EQ(Names(matches), (std::vector<std::string>{"a.foo.io/x", "a.foo.io", "a.foo.io", "*.foo.io"}));
  EXPECT_EQ(matches[1].from, 0U);
  EXPECT_EQ(matches[2].from, 1U);
}

TEST(KeyIndex, SaysWhichKeysAreUnusable) {
  EXPECT_EQ(KeyIndex(Auths({"reg io", "reg.io", "[x"})).unusable_keys(),
            (std::vector<std::string>{"reg io", "[x"}));
}

TEST(IsDefaultRegistry, AsKubelet) {
  for (const char* name : {"docker.io/library/x", "index.docker.io/x", "localhost/x", "team/x", "x"}) {
    EXPECT_TRUE(IsDefaultRegistry(name)) << name;
  }
  for (const char* name : {"", "/x", "quay.io/x", "reg:5000/x", "registry-1.docker.io/x"}) {
    EXPECT_FALSE(IsDefaultRegistry(name)) << name;
  }
}

}  // namespace
}  // namespace prefetch::credentials::keyring_test
