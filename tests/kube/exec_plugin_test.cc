#include "kube/exec_plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "temp_dir.h"

namespace prefetch::kube::exec_plugin_test {
namespace {

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string Credential(const std::string& status) {
  return std::string(R"({"apiVersion":")") + kV1 + R"(","kind":"ExecCredential","status":)" + status + "}";
}

struct OutputCase {
  std::string name, output;
  std::string problem;  // part of the error; empty: it is good
};
class OutputTest : public testing::TestWithParam<OutputCase> {};
TEST_P(OutputTest, IsReadOrExplained) {
  auto credential = DecodeExecCredential(GetParam().output, kV1);
  ASSERT_EQ(credential.ok(), GetParam().problem.empty()) << (credential ? "" : credential.error().message());
  if (credential) return;
  EXPECT_NE(credential.error().message().find(GetParam().problem), std::string::npos)
      << credential.error().message();
  EXPECT_EQ(credential.error().message().find("t0p"), std::string::npos) << credential.error().message();
}
INSTANTIATE_TEST_SUITE_P(
    ExecCredential, OutputTest,
    testing::Values(
        OutputCase{"Token", Credential(R"({"token":"t0p"})"), ""},
        OutputCase{"Expiring", Credential(R"({"token":"t0p","expirationTimestamp":"2026-08-01T10:00:00Z"})"),
                   ""},
        OutputCase{"Certificate", Credential(R"({"clientCertificateData":"c","clientKeyData":"t0p"})"), ""},
        OutputCase{"UnknownKeys", Credential(R"({"token":"t0p","new":1})"), ""},
        OutputCase{
            "Yaml",
            "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: t0p\n", ""},
        OutputCase{"WithoutKind",
                   R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t0p"}})", ""},
        OutputCase{"AnotherKindInCapitals",
                   R"({"KIND":"Status",)" + Credential(R"({"token":"t0p"})").substr(1), ""},
        OutputCase{"TypeOfARepeatedKey", R"({"status":5,)" + Credential(R"({"token":"t0p"})").substr(1),
                   "status: must be a mapping"},
        OutputCase{"TypeInSpec",
                   R"({"spec":{"interactive":"no"},)" + Credential(R"({"token":"t0p"})").substr(1),
                   "spec.interactive: must be true or false"},
        OutputCase{"TextBehind", Credential(R"({"token":"t0p"})") + "\nUpdate available\n",
                   "the plugin's output:2:1"},
        OutputCase{"NoJson", "t0p", "the plugin's output:1:1"},
        OutputCase{"Nothing", "", "the plugin's output"},
        OutputCase{"NoStatus", R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})",
                   "status"},
        OutputCase{
            "OtherVersion",
            R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t0p"}})",
            "apiVersion: must be"},
        OutputCase{"EmptyStatus", Credential("{}"), "has neither a token nor a certificate"},
        OutputCase{"CertificateAlone", Credential(R"({"token":"t0p","clientCertificateData":"c"})"),
                   "without the other"},
        OutputCase{"BadTime", Credential(R"({"token":"t0p","expirationTimestamp":"tomorrow"})"),
                   "expirationTimestamp"},
        OutputCase{"TokenIsANumber", Credential(R"({"token":17})"), "status.token: must be a string"}),
    [](const auto& row) { return row.param.name; });

struct RunCase {
  std::string name, script;
  base::Code code;
  std::string problem;
};
class RunTest : public testing::TestWithParam<RunCase> {};
TEST_P(RunTest, FailsWithASentence) {
  tests::TempDir dir;
  ExecPlugin plugin{.api_version = kV1, .command = dir / "plugin", .install_hint = "get it from your cloud"};
  plugin.environment = {"PATH=/usr/bin:/bin", "WORD=correct horse"};
  plugin.secrets.emplace_back("correct horse");
  if (!GetParam().script.empty()) {
    dir.Write("plugin", "#!/bin/sh\n" + GetParam().script);
    ::chmod((dir / "plugin").c_str(), 0755);
  }
  auto credential = RunExecPlugin(base::Call{}.Within(std::chrono::seconds(2)), plugin);
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().code(), GetParam().code) << credential.error().message();
  EXPECT_TRUE(credential.error().message().starts_with("credential plugin " + dir / "plugin"));
  EXPECT_NE(credential.error().message().find(GetParam().problem), std::string::npos)
      << credential.error().message();
}
INSTANTIATE_TEST_SUITE_P(
    ExecPlugin, RunTest,
    testing::Values(
        RunCase{"Absent", "", base::Code::kNotFound, "(get it from your cloud)"},
        RunCase{"Exits", "printf 'not\\nlogged in' >&2; exit 3\n", base::Code::kUnavailable,
                "exited 3: not logged in"},
        RunCase{"EchoesItsOutput",
                "echo '{\"status\":{\"token\":\"hunter2\"}}'; echo no hunter2 >&2; exit 1\n",
                base::Code::kUnavailable, "exited 1: no [redacted]"},
        RunCase{"EchoesItsVariable", "echo no $WORD >&2; exit 1\n", base::Code::kUnavailable,
                "exited 1: no [redacted]"},
        RunCase{"Killed", "kill -9 $$\n", base::Code::kUnavailable, "killed by signal 9"},
        RunCase{"Hangs", "read never < /dev/zero\n", base::Code::kDeadlineExceeded, "did not answer in time"},
        RunCase{"Garbage", "echo hello\n", base::Code::kInvalidArgument, "the plugin's output:1:1"}),
    [](const auto& row) { return row.param.name; });

TEST(ExecPlugin, GetsWhatItNeedsAndGivesACredential) {
  tests::TempDir dir;
  dir.Write("plugin",
            "#!/bin/sh\n"
            "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",'\n"
            "printf '\"status\":{\"token\":\"%s/%s/%s\"}}' \"$1\" \"$A\" \"${#KUBERNETES_EXEC_INFO}\"\n");
  ::chmod((dir / "plugin").c_str(), 0755);
  ExecPlugin plugin{.api_version = kV1,
                    .command = dir / "plugin",
                    .args = {"arg"},
                    .environment = {"A=b", "KUBERNETES_EXEC_INFO={}"}};
  auto credential = RunExecPlugin(base::Call{}.Within(std::chrono::seconds(20)), plugin);
  ASSERT_TRUE(credential) << credential.error().message();
  EXPECT_EQ(credential->token.Reveal(), "arg/b/2");
  EXPECT_FALSE(credential->expires);
}

}  // namespace
}  // namespace prefetch::kube::exec_plugin_test
