#include "kube/kubeconfig.h"

#include <gtest/gtest.h>

#include <map>

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

struct GoodCase {
  std::string name, text;
  std::function<void(const Cluster&, const tests::TempDir&)> check;
};
TEST(KubeconfigTest, IsRead) {
  const GoodCase rows[] = {
      {"Token", File(kServer, "token: t0p"),
       [](const Cluster& c, const tests::TempDir& dir) {
         EXPECT_EQ(c.server, "https://api.test:6443");
         EXPECT_EQ(c.token.Reveal(), "t0p");
         EXPECT_EQ(c.name_space, "default");
         EXPECT_EQ(c.source, "context \"c\" of " + dir / "config");
         EXPECT_TRUE(c.verify);
       }},
      {"Namespace", File(kServer, "token: t", ", namespace: team"),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.name_space, "team"); }},
      {"SlashesAtTheEndGo", File("server: https://api.test/k8s/clusters/c-1//", "token: t"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.server, "https://api.test/k8s/clusters/c-1");
       }},
      {"FilesAreRelativeToTheirFile",
       File(kServer + ", certificate-authority: pki/ca.crt",
            "tokenFile: ./token, client-certificate: /etc/passwd, client-key: x/../pki/c.key"),
       [](const Cluster& c, const tests::TempDir& dir) {
         EXPECT_EQ(c.ca_file, dir / "pki/ca.crt");
         EXPECT_EQ(c.token_file, dir / "token");
         EXPECT_EQ(c.certificate_file, "/etc/passwd");
         EXPECT_EQ(c.key_file, dir / "pki/c.key");
       }},
      {"Data",
       File(kServer + ", certificate-authority-data: Q0E=",
            "client-certificate-data: Q1Q=, client-key-data: \"S0\\nVZ\""),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.ca_pem, "CA");
         EXPECT_EQ(c.ca_file, "");
         EXPECT_EQ(c.certificate_pem, "CT");
         EXPECT_EQ(c.key_pem.Reveal(), "KEY");
         EXPECT_EQ(c.key_file, "");
       }},
      {"Tls", File(kServer + ", tls-server-name: other.test, insecure-skip-tls-verify: true", "token: t"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.tls_server_name, "other.test");
         EXPECT_FALSE(c.verify);
       }},
      {"Proxy", File(kServer + ", proxy-url: \"http://me:pw@proxy:3128\"", "token: t"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.proxy.Reveal(), "http://me:pw@proxy:3128");
       }},
      {"ProxySchemeInCapitals", File(kServer + ", proxy-url: \"SOCKS5://proxy:1080\"", "token: t"),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.proxy.Reveal(), "SOCKS5://proxy:1080"); }},
      {"EmptyFieldsOfOtherWays",
       File(kServer, "token: t, username: \"\", password: \"\", as: \"\", auth-provider: null"),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.token.Reveal(), "t"); }},
      {"KeyAlone", File(kServer, "token: t, client-key-data: dDBw, client-key: k"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_TRUE(c.key_pem.empty());
         EXPECT_EQ(c.key_file, "");
       }},
      {"TheFirstDocumentCounts", File(kServer, "token: t") + "---\nkind: Other\n---\n",
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.token.Reveal(), "t"); }},
      // kubectl sends no credential to a server without https, and takes no other trust from the file.
      {"NoCredentialWithoutHttps",
       File("server: \"http://127.0.0.1:8001\", insecure-skip-tls-verify: true, "
            "certificate-authority-data: Q0E=, tls-server-name: x",
            "tokenFile: t, client-certificate-data: Q1Q=, client-key-data: S0VZ, username: me, as: you, "
            "exec: {apiVersion: x, command: x, interactiveMode: Always}"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.server, "http://127.0.0.1:8001");
         EXPECT_TRUE(c.token_file.empty() && c.certificate_pem.empty() && c.key_pem.empty());
         EXPECT_TRUE(c.username.empty() && c.ca_pem.empty() && c.tls_server_name.empty());
         EXPECT_TRUE(c.verify);
         EXPECT_FALSE(c.exec);
         EXPECT_EQ(c.impersonation, (http::Headers{{"Impersonate-User", "you"}}));
       }},
      {"NoScheme", File("server: \"api.test:6443\"", "token: t"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.server, "http://api.test:6443");
         EXPECT_TRUE(c.token.empty());
       }},
      {"SchemeInCapitals", File("server: \"HTTPS://API.test:6443/x?y\"", "token: t"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.server, "https://api.test:6443/x");
         EXPECT_EQ(c.token.Reveal(), "t");
       }},
      {"Interface", File("server: \"https://[fe80::1%25Eth0]:6443\"", "token: t"),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.server, "https://[fe80::1%25Eth0]:6443"); }},
      {"CertificateAndPassword",
       File(kServer, "client-certificate-data: Q1Q=, client-key-data: S0VZ, username: me, password: p"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.certificate_pem, "CT");
         EXPECT_EQ(c.username, "me");
         EXPECT_EQ(c.password.Reveal(), "p");
       }},
      {"TokenAndMissingFile", File(kServer, "token: t, tokenFile: missing"),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.token.Reveal(), "t"); }},
      {"Impersonation",
       File(kServer, "token: t, as: me, as-uid: \"1\", as-groups: [a, b], as-user-extra: {x/Y: [z]}"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.impersonation, (http::Headers{{"Impersonate-User", "me"},
                                                   {"Impersonate-Uid", "1"},
                                                   {"Impersonate-Group", "a"},
                                                   {"Impersonate-Group", "b"},
                                                   {"Impersonate-Extra-x%2FY", "z"}}));
       }},
      {"ExecBesideToken",
       File(kServer, "token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x}"),
       [](const Cluster& c, const tests::TempDir&) {
         EXPECT_EQ(c.token.Reveal(), "t");
         EXPECT_FALSE(c.exec);
       }},
      {"HttpWithoutCredential", File("server: http://api.test", ""),
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.server, "http://api.test"); }},
      {"UnknownKeysAndOtherEntries",
       File(kServer + ", disable-compression: true, server: \"https://api.test:6443\"", "token: t") +
           "preferences: {colors: true}\nextensions: []\n",
       [](const Cluster& c, const tests::TempDir&) { EXPECT_EQ(c.token.Reveal(), "t"); }},
      {"ExecFoundInPath",
       File(kServer + ", certificate-authority-data: Q0E=, extensions: [{name: "
                      "client.authentication.k8s.io/exec, extension: {audience: a}}]",
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: plugin, args: [get, token], "
            "interactiveMode: IfAvailable, provideClusterInfo: true, env: [{name: A, value: b}]}"),
       [](const Cluster& c, const tests::TempDir& dir) {
         ASSERT_TRUE(c.exec);
         EXPECT_EQ(c.exec->command, dir / "plugin");
         EXPECT_EQ(c.exec->args, (std::vector<std::string>{"get", "token"}));
         EXPECT_EQ(c.exec->info,
                   R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
                   R"("spec":{"cluster":{"server":"https://api.test:6443",)"
                   R"("certificate-authority-data":"Q0E=","config":{"audience":"a"}},"interactive":false}})");
         EXPECT_EQ(c.exec->environment,
                   (std::vector<std::string>{"A=b", "KUBERNETES_EXEC_INFO=" + c.exec->info}));
       }},
      {"ExecBesideItsFile",
       File(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/x}"),
       [](const Cluster& c, const tests::TempDir& dir) {
         ASSERT_TRUE(c.exec);
         EXPECT_EQ(c.exec->command, dir / "bin/x");
         EXPECT_EQ(c.exec->info, R"({"apiVersion":"client.authentication.k8s.io/v1beta1",)"
                                 R"("kind":"ExecCredential","spec":{"interactive":false}})");
       }},
  };
  for (const GoodCase& row : rows) {
    SCOPED_TRACE(row.name);
    tests::TempDir dir;
    dir.Write("plugin", "#!/bin/sh\n");
    dir.Write("pki/ca.crt", "CA");
    dir.Write("pki/c.key", "KEY");
    ::chmod((dir / "plugin").c_str(), 0755);
    auto cluster = tests::Must(Read(dir, row.text));
    row.check(*cluster, dir);
  }
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
      {"UnknownUser",
       "current-context: c\nclusters: [{name: k, cluster: {server: \"https://a\"}}]\n"
       "contexts: [{name: c, context: {cluster: k, user: x}}]",
       "contexts[0].context.user: names no entry of users"},
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
