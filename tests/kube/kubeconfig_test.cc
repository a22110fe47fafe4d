#include "kube/kubeconfig.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <thread>

#include "base/text.h"
#include "must.h"
#include "temp_dir.h"

namespace prefetch::kube::kubeconfig_test {
namespace {

using Variables = std::map<std::string, std::string>;

GetEnv Environment(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// A file with one context "c" of cluster "k" and user "u".
std::string File(const std::string& cluster, const std::string& user, const std::string& context = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "clusters:\n- name: k\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user +
         "}\n"
         "contexts:\n- name: c\n  context: {cluster: k, user: u" +
         context + "}\n";
}

const std::string kServer = "server: \"https://api.test:6443\"";

base::Result<Cluster> Read(const tests::TempDir& dir, const std::string& text,
                           KubeconfigOptions options = {}) {
  options.file = dir.Write("config", text);
  return FromKubeconfig(Environment({{"PATH", dir.path()}}), options);
}

// The judge of the family "kubeconfig" (tests/judges) has what a file means.
TEST(Kubeconfig, SaysWhereItIsFrom) {
  tests::TempDir dir;
  auto cluster = tests::Must(Read(dir, File(kServer, "token: t0p")));
  EXPECT_EQ(cluster->source, "context \"c\" of " + dir / "config");
}

// A shell names one for "<(command)".
TEST(Kubeconfig, MayBeAPipe) {
  tests::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(dir / "pipe") << File(kServer, "token: t0p"); });
  auto cluster = FromKubeconfig(Environment({}), {.file = dir / "pipe"});
  writer.join();
  ASSERT_TRUE(cluster.ok()) << cluster.error().message();
  EXPECT_EQ(cluster->token.Reveal(), "t0p");
}

TEST(Kubeconfig, MayBeADevice) {
  tests::TempDir dir;
  const auto nothing = FromKubeconfig(Environment({}), {.file = "/dev/null"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code(), Read(dir, "").error().code()) << nothing.error().message();
}

TEST(Kubeconfig, AUserWithoutAnEntryHasNoCredentials) {
  tests::TempDir dir;
  auto cluster = tests::Must(Read(dir,
                                  "current-context: c\nclusters: [{name: k, cluster: {server: "
                                  "\"https://a\"}}]\ncontexts: [{name: c, context: {cluster: k, user: x}}]\n"
                                  "users: [{name: u, user: {token: t0p}}]\n"));
  EXPECT_EQ(cluster->server, "https://a");
  EXPECT_TRUE(cluster->token.empty());
}

TEST(Kubeconfig, APluginIsFoundInPath) {
  tests::TempDir dir;
  dir.WriteProgram("plugin", "#!/bin/sh\n");
  auto cluster =
      tests::Must(Read(dir, File(kServer,
                                 "exec: {apiVersion: client.authentication.k8s.io/v1, command: plugin, "
                                 "interactiveMode: IfAvailable, env: [{name: A, value: b}]}")));
  ASSERT_TRUE(cluster->exec);
  EXPECT_EQ(cluster->exec->command, dir / "plugin");
  EXPECT_EQ(cluster->exec->environment,
            (std::vector<std::string>{"A=b", "KUBERNETES_EXEC_INFO=" + cluster->exec->info}));
}

struct BadCase {
  std::string name, text;
  std::string problem;  // after the file's path
};
TEST(BadKubeconfigTest, IsExplained) {
  const BadCase rows[] = {
      {"Empty", "", "current-context is not set"},
      {"OnlyComments", "# nothing\n", "current-context is not set"},
      {"NoYaml", "a: [", "F:2:1:"},
      {"List", "[]", "F:1:1: must be a mapping"},
      {"OtherKind", "apiVersion: v1\nkind: Pod\n", "F:2:7: kind: must be"},
      {"NoContext", "apiVersion: v1\n", "current-context is not set"},
      {"UnknownContext", "current-context: x\n", "there is no context \"x\""},
      {"UnknownCluster", "current-context: c\ncontexts: [{name: c, context: {cluster: x}}]",
       "F:2:41: contexts[0].context.cluster: names no entry of clusters"},
      {"NoServer", File("", "token: t0p"), "clusters[0].cluster.server: "},
      {"ServerIsNoUrl", File("server: api.test/t0p", "token: t0p"), "server: must be an http or https URL"},
      {"ServerWithAUser", File("server: \"https://me:t0p@api.test\"", ""),
       "server: must be a URL without user"},
      {"InsecureWithAuthority",
       File(kServer + ", certificate-authority-data: Q0E=, insecure-skip-tls-verify: true", "token: t0p"),
       "insecure-skip-tls-verify: contradicts"},
      {"AuthorityData", File(kServer + ", certificate-authority-data: \"t0p!\"", ""),
       "certificate-authority-data: must be base64"},
      {"Proxy", File(kServer + ", proxy-url: \"ftp://t0p\"", ""), "proxy-url: must be an http"},
      {"DataBesideFile",
       File(kServer + ", certificate-authority: config, certificate-authority-data: Q0E=", ""),
       "certificate-authority: contradicts the certificate-authority-data"},
      {"MissingAuthority", File(kServer + ", certificate-authority: missing", ""),
       "certificate-authority: cannot be read: "},
      {"TokenAndPassword", File(kServer, "username: admin, password: t0p, token: t0p"),
       "users[0].user: has a token and a password"},
      {"TwoOfOneName", File(kServer, "token: t0p") + "- name: c\n", "contexts[1]: has a name"},
      {"TypeInUnusedEntry", File(kServer, "token: t0p") + "- {name: d, context: {cluster: 5}}\n",
       "contexts[1].context.cluster: must be a string"},
      {"AuthProvider", File(kServer, "auth-provider: {name: gcp}"), "auth-provider: is refused"},
      {"ImpersonationOfNobody", File(kServer, "token: t0p, as-groups: [a]"),
       "users[0].user: impersonates without the user's name"},
      {"CertificateAlone", File(kServer, "client-certificate: config"), "without its client-key"},
      {"TokenIsANumber", File(kServer, "token: 17"), "users[0].user.token: must be a string"},
      {"ExecVersion", File(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
       "users[0].user.exec.apiVersion: "},
      {"ExecWithoutMode", File(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}"),
       "exec.interactiveMode: "},
      {"ExecWantsATerminal",
       File(kServer,
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}"),
       "interactiveMode: needs a terminal"},
      {"ExecWithoutCommand", File(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1}"),
       "exec.command: "},
      {"ExecVariable",
       File(kServer,
            "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, env: [{name: a=b}]}"),
       "exec.env[0]: must have the name"},
  };
  for (const BadCase& row : rows) {
    SCOPED_TRACE(row.name);
    tests::TempDir dir;
    const auto error = tests::MustFail(Read(dir, row.text));
    std::string message = base::ReplaceAll(error.message(), dir / "config", "F");
    EXPECT_NE(message.find(row.problem), std::string::npos) << message;
    EXPECT_EQ(message.find("t0p"), std::string::npos) << message;
  }
}

TEST(Kubeconfig, AllMistakesAreSaidAtOnce) {
  tests::TempDir dir;
  const auto error = tests::MustFail(Read(dir, File("server: \"https:///\", proxy-url: y", "as-uid: a")));
  EXPECT_EQ(base::Split(error.message(), '\n').size(), 3U) << error.message();
}

// As kubectl has it: of two entries with the same name the first file's counts, whole.
TEST(Kubeconfig, SeveralFilesAreMergedAsKubectlDoes) {
  tests::TempDir dir;
  std::string first = dir.Write("a/one",
                                "clusters: [{name: k, cluster: {server: \"https://one\"}}]\n"
                                "users: [{name: u, user: {tokenFile: t}}]\n");
  dir.Write("empty", "");
  std::string second =
      dir.Write("b/two", File("server: \"https://two\", tls-server-name: two", "token: two"));
  auto get_env =
      Environment({{"KUBECONFIG", (dir / "missing") + ":" + (dir / "empty") + ":" + first + "::" + second}});
  auto cluster = tests::Must(FromKubeconfig(get_env, {}));
  EXPECT_EQ(cluster->server, "https://one");
  EXPECT_EQ(cluster->tls_server_name, "");
  EXPECT_EQ(cluster->token_file, dir / "a/t");
  EXPECT_TRUE(cluster->token.empty());
}

TEST(Kubeconfig, ContextsCanBeChosen) {
  tests::TempDir dir;
  std::string text = File(kServer, "token: t") + "- name: other\n  context: {cluster: k, namespace: o}\n";
  auto cluster = tests::Must(Read(dir, text, {.context = "other"}));
  EXPECT_EQ(cluster->name_space, "o");
  EXPECT_TRUE(cluster->token.empty());
  const auto error = tests::MustFail(Read(dir, text, {.context = "nope"}));
  EXPECT_EQ(error, base::NotFound("kubeconfig: there is no context \"nope\""));
}

TEST(Kubeconfig, WhereItIsLookedFor) {
  tests::TempDir dir;
  dir.Write(".kube/config", File(kServer, "token: home"));
  auto home = tests::Must(FromKubeconfig(Environment({{"HOME", dir.path()}}), {}));
  EXPECT_EQ(home->token.Reveal(), "home");
  EXPECT_EQ(FromKubeconfig(Environment({}), {}).error().code(), base::Code::kNotFound);
  EXPECT_EQ(FromKubeconfig(Environment({{"HOME", dir / "x"}}), {}).error().code(), base::Code::kNotFound);
  auto missing = Environment({{"HOME", dir.path()}, {"KUBECONFIG", dir / "missing"}});
  EXPECT_EQ(FromKubeconfig(missing, {}).error().code(), base::Code::kNotFound);
  EXPECT_EQ(FromKubeconfig(missing, {.file = dir / "gone"}).error().code(), base::Code::kNotFound);
}

}  // namespace
}  // namespace prefetch::kube::kubeconfig_test
