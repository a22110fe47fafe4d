// `credentials`: what is found for an image, and whether the configuration is good.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/said.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::credentials_test {
namespace {

using tests::Flag;
using tests::Flags;

const config::GetEnv kNothing = [](const char*) -> const char* { return nullptr; };
constexpr const char* kLogin = R"({"auths":{"q.io":{"username":"ci","password":"s3cr3t-of-ci"}}})";

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    options_.flags.given["docker-config"] = tests::Flags({folder_.Write("config.json", kLogin)}, "f");
  }

  Ran Find(const std::vector<std::string>& images) {
    options_.images = images;
    return tests::Run(
        [&](auto& out, auto& err) { return FindCredentials({}, options_, kNothing, out, err); });
  }
  Ran Check() {
    options_.images.clear();
    return tests::Run([&](auto& out, auto& err) { return CheckCredentials(options_, kNothing, out, err); });
  }

  tests::TempDir folder_;
  CredentialsOptions options_;
};

// The agent has its own settings, which a person's shell has not.
TEST_F(CredentialsTest, TheAgentOfANodeTellsWhatItFinds) {
  tests::FakeAgent agent;
  const auto ask = [&](const std::string& image) {
    options_.images = {image};
    std::optional<int> told;
    Ran ran = tests::Run([&](auto& out, auto& err) {
      told = FetchAgentCredentials({}, agent.Client(), options_, kNothing, out, err);
      return told.value_or(-1);
    });
    return ran;
  };
  agent.Answers("/v1/images/ecr.io/a:v1", 404,
                R"({"apiVersion":"prefetchd.dev/v1","kind":"ImageStatus","node":"ci-7",)"
                R"("image":"ecr.io/a:v1","listed":false,"credentials":[{"source":"provider",)"
                R"("name":"ecr-login","match":"ecr.io","username":"AWS"}],)"
                R"("providers":[{"name":"ecr-login","matched":true,"outcome":"ok","error":""}]})");
  Ran ran = ask("ecr.io/a:v1");
  EXPECT_TRUE(Prints(ran, kOk, "ecr-login"));
  EXPECT_HAS(ran.out, "as AWS");
  EXPECT_EQ(ran.err, "");
  // A newer agent may have other words.
  agent.Answers("/v1/images/r.io/a:v1", 200,
                R"({"apiVersion":"prefetchd.dev/v1","kind":"ImageStatus","node":"ci-7",)"
                R"("image":"r.io/a:v1","listed":false,"credentials":[{"source":"vault",)"
                R"("name":"team","match":"r.io","username":"ann"}],)"
                R"("providers":[{"name":"login","matched":true,"outcome":"paused","error":"busy"}]})");
  ran = ask("r.io/a:v1");
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find("vault"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("paused"), std::string::npos) << ran;
  agent.Goes(base::NotFound("no such socket"));
  ran = ask("ecr.io/a:v1");
  EXPECT_TRUE(OnlyComplains(ran, -1, "so these settings count: no credential providers, docker config "));
}

// As in a pod of the agent's on a node of CRI-O.
TEST_F(CredentialsTest, ASocketOfCrioWithoutItsSettingsIsToldOf) {
  options_.flags.given["registry-host-root"] = Flag(folder_.path(), "f");
  EXPECT_LACKS(Find({"q.io/a:v1"}).out, "CRI-O");
  folder_.Write("run/crio/crio.sock", "");
  EXPECT_HAS(Find({"q.io/a:v1"}).out,
             "CRI-O may send logins of its own: there is no /etc/crio/crio.conf here");
  options_.json = true;
  EXPECT_HAS(Find({"q.io/a:v1"}).out, "\"unseenFiles\"");
}

TEST_F(CredentialsTest, CheckTellsGoodFilesAndMistakes) {
  Ran ran = Check();
  EXPECT_TRUE(Prints(ran, kOk, "1 login"));
  options_.flags.given["docker-config"] =
      tests::Flags({folder_.Write("broken.json", "{"), folder_ / "none.json"}, "f");
  ran = Check();
  EXPECT_TRUE(Complains(ran, kBadInput, "broken.json"));
  EXPECT_HAS(ran.err, "none.json: there is no such file");
}

TEST_F(CredentialsTest, CheckOfNothingSaysWhatToName) {
  options_.flags.given.erase("docker-config");
  EXPECT_TRUE(Complains(Check(), kBadInput, "--docker-config"));
}

using Lines = std::vector<std::string>;

TEST(NodeCredentials, PathsAreAbsoluteForPluginsRunElsewhere) {
  config::RawConfig raw;
  raw.given["image-credential-provider-config"] = Flag("c.yaml", "f");
  raw.given["image-credential-provider-bin-dir"] = Flag("/bin", "f");
  raw.given["docker-config"] = Flags({"config.json", "/d.json"}, "f");
  Lines mistakes;
  credentials::KeyringOptions options = ToKeyringOptions(raw, mistakes);
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(options.provider_config, here + "/c.yaml");
  EXPECT_EQ(options.provider_bin_dir, "/bin");
  EXPECT_EQ(options.docker_configs, (Lines{here + "/config.json", "/d.json"}));
  EXPECT_EQ(mistakes, Lines());
}

TEST(NodeCredentials, OneOfAPairNeedsTheOther) {
  for (auto [name, other] : {std::pair("image-credential-provider-config",
                                       "f: needs --image-credential-provider-bin-dir beside it"),
                             std::pair("image-credential-provider-bin-dir",
                                       "f: needs --image-credential-provider-config beside it")}) {
    config::RawConfig raw;
    raw.given[name] = Flag("/x", "f");
    Lines mistakes;
    (void)ToKeyringOptions(raw, mistakes);
    EXPECT_EQ(mistakes, Lines{other});
  }
}

TEST(NodeCredentials, AVersionThatIsNoneNamesWhoSaidIt) {
  config::RawConfig raw;
  Lines mistakes;
  EXPECT_EQ(DeclaredKubeletVersion(raw, mistakes), image::KubeletVersion());
  raw.given["kubelet-version"] = Flag("v1.35.2", "--kubelet-version");
  EXPECT_EQ(DeclaredKubeletVersion(raw, mistakes), (image::KubeletVersion{1, 35}));
  EXPECT_EQ(mistakes, Lines());
  raw.given["kubelet-version"] = Flag("1.2", "--kubelet-version");
  (void)DeclaredKubeletVersion(raw, mistakes);
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_TRUE(mistakes[0].starts_with("--kubelet-version: ")) << mistakes[0];
}

TEST(NodeCredentials, BesideABrokenFileTheFlagsCount) {
  tests::TempDir dir;
  config::RawConfig flags;
  flags.given["config"] = Flag(dir.Write("agent.yaml", "kind: X\n"), "--config");
  flags.given["docker-config"] = Flags({"/d.json"}, "--docker-config");
  Lines mistakes;
  config::RawConfig raw = LoadCredentialConfig(flags, kNothing, mistakes);
  EXPECT_FALSE(mistakes.empty());
  EXPECT_EQ(raw.Texts("docker-config")->value, Lines{"/d.json"});
}

TEST(NodeCredentials, TheFileFillsInWhatFlagsLeaveOpen) {
  tests::TempDir dir;
  config::RawConfig flags;
  flags.given["config"] = Flag(dir.Write("agent.yaml",
                                         "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                                         "dockerConfig: [/file.json]\nkubeletVersion: \"1.36\"\n"
                                         "kubeletRoot: /data/kubelet\n"),
                               "--config");
  Lines mistakes;
  config::RawConfig raw = LoadCredentialConfig(flags, kNothing, mistakes);
  EXPECT_EQ(mistakes, Lines());
  credentials::KeyringOptions options = ToKeyringOptions(raw, mistakes);
  EXPECT_EQ(options.docker_configs, Lines{"/file.json"});
  EXPECT_EQ(options.docker_config_search.kubelet_root, "/data/kubelet");
  EXPECT_EQ(options.kubelet_version, (image::KubeletVersion{1, 36}));
}

}  // namespace
}  // namespace prefetch::ctl::credentials_test
