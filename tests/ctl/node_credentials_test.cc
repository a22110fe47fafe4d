#include "ctl/node_credentials.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "config/said.h"
#include "temp_dir.h"

namespace prefetch::ctl::node_credentials_test {
namespace {

using Lines = std::vector<std::string>;
using tests::Flag;
using tests::Flags;

const config::GetEnv kNothing = [](const char*) -> const char* { return nullptr; };

TEST(NodeCredentials, PathsAreAbsoluteForPluginsRunElsewhere) {
  config::RawConfig raw;
  raw.image_credential_provider_config = Flag("c.yaml", "f");
  raw.image_credential_provider_bin_dir = Flag("/bin", "f");
  raw.docker_config = Flags({"config.json", "/d.json"}, "f");
  Lines mistakes;
  credentials::KeyringOptions options = ToKeyringOptions(raw, mistakes);
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(options.provider_config, here + "/c.yaml");
  EXPECT_EQ(options.provider_bin_dir, "/bin");
  EXPECT_EQ(options.docker_configs, (Lines{here + "/config.json", "/d.json"}));
  EXPECT_EQ(mistakes, Lines());
}

TEST(NodeCredentials, OneOfAPairNeedsTheOther) {
  for (auto [member, other] : {std::pair(&config::RawConfig::image_credential_provider_config,
                                         "f: needs --image-credential-provider-bin-dir beside it"),
                               std::pair(&config::RawConfig::image_credential_provider_bin_dir,
                                         "f: needs --image-credential-provider-config beside it")}) {
    config::RawConfig raw;
    raw.*member = Flag("/x", "f");
    Lines mistakes;
    (void)ToKeyringOptions(raw, mistakes);
    EXPECT_EQ(mistakes, Lines{other});
  }
}

TEST(NodeCredentials, AVersionThatIsNoneNamesWhoSaidIt) {
  config::RawConfig raw;
  Lines mistakes;
  EXPECT_EQ(DeclaredKubeletVersion(raw, mistakes), image::KubeletVersion());
  raw.kubelet_version = Flag("v1.35.2", "--kubelet-version");
  EXPECT_EQ(DeclaredKubeletVersion(raw, mistakes), (image::KubeletVersion{1, 35}));
  EXPECT_EQ(mistakes, Lines());
  raw.kubelet_version = Flag("1.2", "--kubelet-version");
  (void)DeclaredKubeletVersion(raw, mistakes);
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_TRUE(mistakes[0].starts_with("--kubelet-version: ")) << mistakes[0];
}

TEST(NodeCredentials, BesideABrokenFileTheFlagsCount) {
  tests::TempDir dir;
  config::RawConfig flags;
  flags.config_file = Flag(dir.Write("agent.yaml", "kind: X\n"), "--config");
  flags.docker_config = Flags({"/d.json"}, "--docker-config");
  Lines mistakes;
  config::RawConfig raw = LoadCredentialConfig(flags, kNothing, mistakes);
  EXPECT_FALSE(mistakes.empty());
  EXPECT_EQ(raw.docker_config->value, Lines{"/d.json"});
}

TEST(NodeCredentials, TheFileFillsInWhatFlagsLeaveOpen) {
  tests::TempDir dir;
  config::RawConfig flags;
  flags.config_file = Flag(dir.Write("agent.yaml",
                                     "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                                     "dockerConfig: [/file.json]\nkubeletVersion: \"1.36\"\n"),
                           "--config");
  Lines mistakes;
  config::RawConfig raw = LoadCredentialConfig(flags, kNothing, mistakes);
  EXPECT_EQ(mistakes, Lines());
  credentials::KeyringOptions options = ToKeyringOptions(raw, mistakes);
  EXPECT_EQ(options.docker_configs, Lines{"/file.json"});
  EXPECT_EQ(options.kubelet_version, (image::KubeletVersion{1, 36}));
}

}  // namespace
}  // namespace prefetch::ctl::node_credentials_test
