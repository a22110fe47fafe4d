// `prefetchctl credentials`: what it prints and how it ends, on real files and a real plugin.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "base/sha256.h"
#include "base/text.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "rows.h"

namespace prefetch::system::credentials_command_test {
namespace {

constexpr const char* kPassword = "s3cr3t-of-the-command";

struct CommandCase {
  std::string name;
  std::string arguments;  // apart by blanks; @ stands for the folder
  int exit;
  std::string out;  // what stdout has to hold; of JSON all of it, without white space
  std::string err;  // what stderr has to hold
};

void PrintTo(const CommandCase& row, std::ostream* out) {
  *out << row.arguments;
}

class CredentialsCommand : public testing::TestWithParam<CommandCase> {
 protected:
  CredentialsCommand() {
    const std::string password = kPassword;
    scratch_.Write("bin/login",
                   "#!/bin/sh\ncat >/dev/null\nprintf '%s' "
                   R"('{"kind":"CredentialProviderResponse",)"
                   R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1",)"
                   R"("cacheKeyType":"Registry","auth":{"plug.io":{"username":"AWS","password":")" +
                       password + "\"}}}'\n",
                   0700);
    scratch_.Write("bin/broken", "#!/bin/sh\necho 'password=" + password + " no region' >&2\nexit 3\n", 0700);
    const std::string head =
        "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n";
    auto provider = [](const std::string& name, const std::string& match) {
      return "- name: " + name + "\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  matchImages: [" +
             match + "]\n  defaultCacheDuration: 0s\n";
    };
    scratch_.Write("providers.yaml", head + provider("login", "plug.io") + provider("broken", "broken.io"));
    scratch_.Write("bad.yaml", head + "- name: a/b\n  matchImages: []\n");
    scratch_.Write("docker.json", R"({"auths":{"https://u:)" + password +
                                      R"(@docked.io/v1/":{"username":"ann","password":")" + password +
                                      R"("},"plug.io":{"username":"ann","password":")" + password +
                                      R"("}}})");
    scratch_.Write("bad.json", R"({"auths":{"r.io":{"auth":")" + password + R"("}}})");
    scratch_.Write("secret/.dockercfg",
                   R"({"team.io":{"username":"robot","password":")" + password + R"("}})");
    const std::string agent = "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\npullSecrets:\n";
    scratch_.Write("agent.yaml", agent + "- {name: team, path: " + (scratch_ / "secret") +
                                     ", allowRepositories: [team.io/app], sources: [team.yaml]}\n");
    // A node of CRI-O, whose own logins are for the cluster's registries.
    scratch_.Write("host/etc/crio/crio.conf", "[crio.image]\nglobal_auth_file = \"/nowhere.json\"\n");
    scratch_.Write("host/etc/crio/crio.conf.d/10-auth",
                   "[crio.image]\nglobal_auth_file = \"/var/lib/kubelet/config.json\"\n");
    const std::string login = R"({"auth":")" + base::Base64Encode("node:" + password) + R"("})";
    scratch_.Write("host/var/lib/kubelet/config.json",
                   R"({"auths":{"https://docked.io/v1/":)" + login + "}}");
    scratch_.Write("host/etc/containers/registries.conf", "");
    scratch_.Write("host/etc/crio/auth/ci-" + base::Sha256Hex("docked.io/a") + ".json", "{}");
    scratch_.Write("host/etc/crio/auth/ci-" + base::Sha256Hex("docked.io/b") + ".json", "{}");
    scratch_.Write("crio.yaml",
                   "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                   "registryHostRoot: " +
                       (scratch_ / "host") + "\n");
    scratch_.Write("open.yaml", agent + "- {name: team, path: /s, allowRepositories: [team.io/app]}\n");
  }

  rig::Scratch scratch_;
};

std::string WithoutWhiteSpace(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

TEST_P(CredentialsCommand, Row) {
  const CommandCase& row = GetParam();
  rig::Command command{{rig::Prefetchctl(), "credentials"}, {}};
  std::string arguments = base::ReplaceAll(row.arguments, "@", scratch_.path());
  for (std::string_view word : base::Split(arguments, ' ')) {
    if (!word.empty()) command.argv.emplace_back(word);
  }
  const auto ran = tests::Must(rig::RunProgram(command, std::chrono::seconds(20)));
  scratch_.Write("command.log", ran->out + ran->err);
  EXPECT_EQ(ran->exit, (rig::Exit{row.exit, 0})) << ran->out << ran->err;
  std::string out = base::ReplaceAll(ran->out, scratch_.path(), "@");
  std::string err = base::ReplaceAll(ran->err, scratch_.path(), "@");
  if (row.out.starts_with('{') || row.out.starts_with('[')) {
    EXPECT_EQ(WithoutWhiteSpace(out), row.out);
  } else {
    EXPECT_NE(out.find(row.out), std::string::npos) << out;
  }
  EXPECT_NE(err.find(row.err), std::string::npos) << err;
  if (row.err.empty()) {
    EXPECT_EQ(err, "");
  }
  EXPECT_EQ((out + err).find(kPassword), std::string::npos) << out << err;
}

const std::string kPlugins =
    "--image-credential-provider-config @/providers.yaml --image-credential-provider-bin-dir @/bin ";
const std::string kDocker = "--docker-config @/docker.json ";

TEST_ROWS(Credentials, CredentialsCommand,
          {"ObjectForOne", kPlugins + kDocker + "-o json plug.io/app:v1", 0,
           R"({"image":"plug.io/app:v1","repository":"plug.io/app","credentials":[)"
           R"({"source":"docker-config","name":"@/docker.json","match":"plug.io","username":"ann"},)"
           R"({"source":"provider","name":"login","match":"plug.io","username":"AWS"}],"providers":[)"
           R"({"name":"login","matched":true,"outcome":"ok","error":""},)"
           R"({"name":"broken","matched":false,"outcome":"skipped","error":""}]})",
           ""},
          {"ArrayForSeveral", kDocker + "-o json docked.io/a other.io/b", 1,
           R"([{"image":"docked.io/a","repository":"docked.io/a","credentials":[)"
           R"({"source":"docker-config","name":"@/docker.json","match":"https://docked.io/v1/",)"
           R"("username":"ann"}],"providers":[]},)"
           R"({"image":"other.io/b","repository":"other.io/b","credentials":[],"providers":[]}])",
           ""},
          {"FlagsAreRepeatable", "--docker-config @/bad.json --docker-config @/docker.json docked.io/a", 0,
           "@/docker.json  as ann", "warning: @/bad.json"},
          {"AnonymousInText", kDocker + "other.io/b", 1,
           "other.io/b\n  anonymous: no credential of this node matches\n", ""},
          {"AFailedPluginSaysWhy", kPlugins + kDocker + "broken.io/a", 1,
           "provider  broken  error    broken.io matches: ", ""},
          {"APullSecretForItsSource", kDocker + "--config @/agent.yaml --source team.yaml team.io/app", 0,
           "1.  pull-secret  team  as robot  by team.io", ""},
          {"APullSecretWithoutSource", kDocker + "--config @/agent.yaml team.io/app", 1,
           "without --source none applies", ""},
          {"APullSecretForAnotherRepository",
           kDocker + "--config @/agent.yaml --source team.yaml team.io/other", 1, "anonymous", ""},
          {"ABadDockerConfigIsPassedOver", "--docker-config @/bad.json r.io/a", 1, "anonymous",
           "warning: @/bad.json"},
          {"NoDockerConfigWhereItIsSaidToBe", "--docker-config @/none.json --docker-config @/no r.io/a", 1,
           "anonymous",
           "warning: there is no docker config: @/none.json, @/no; mount it, or take it out of "
           "--docker-config\n"},
          {"TheSecondDockerConfigIsThere", "--docker-config @/none.json " + kDocker + "docked.io/a", 0,
           "@/docker.json  as ann",
           "warning: there is no docker config: @/none.json; @/docker.json is used; mount it, or "
           "take it out of --docker-config\n"},
          {"ABadProviderConfig",
           "--image-credential-provider-config @/bad.yaml --image-credential-provider-bin-dir @/bin r.io/a",
           2, "", "providers[0].name: must not contain /"},
          {"APullSecretForAllSources", "--config @/open.yaml r.io/a", 2, "",
           "pullSecrets[0].sources: is required"},
          {"WhatThePullSendsWins", kDocker + "--config @/crio.yaml docked.io/a", 0,
           "  CRI-O to docked.io/a: the credentials above, not its own login https://docked.io/v1/ of "
           "/var/lib/kubelet/config.json\n"
           "  CRI-O for a pod of the file's namespace, once, if kubelet sends none: /etc/crio/auth/ci-",
           ""},
          {"CrioInJson", kDocker + "--config @/crio.yaml -o json other.io/b", 1,
           R"({"image":"other.io/b","repository":"other.io/b","credentials":[],"providers":[],)"
           R"("crio":{"places":[{"place":"other.io/b","sends":"none","file":"","match":""}],)"
           R"("namespacedFiles":[],"unseenFiles":[]}})",
           ""},
          {"CheckGood", "--check " + kPlugins + kDocker + "--config @/agent.yaml", 0,
           "providers.yaml: 2 providers, sha256:", ""},
          {"CheckWithoutBinDir", "--check --image-credential-provider-config @/providers.yaml", 0,
           "2 providers", ""},
          {"CheckBadTellsAll",
           "--check --image-credential-provider-config @/bad.yaml --docker-config @/bad.json", 2, "",
           "@/bad.yaml:4:9: providers[0].name: must not contain /\n"},
          {"CheckABadAgentConfig", "--check --config @/open.yaml", 2, "", "sources: is required"});

}  // namespace
}  // namespace prefetch::system::credentials_command_test
