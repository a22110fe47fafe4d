#include "kube/exec_plugin.h"

#include <gtest/gtest.h>

#include "rig/expect_has.h"
#include "temp_dir.h"

namespace prefetch::kube::exec_plugin_test {
namespace {

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string Credential(const std::string& status) {
  return std::string(R"({"apiVersion":")") + kV1 + R"(","kind":"ExecCredential","status":)" + status + "}";
}

struct OutputCase {
  std::string name, output;
  std::string problem;  // part of the error
};
// The judge of the family "exec-answer" (tests/judges) has what is read.
TEST(OutputTest, IsExplained) {
  const OutputCase rows[] = {
      {"TypeOfARepeatedKey", R"({"status":5,)" + Credential(R"({"token":"t0p"})").substr(1),
       "status: must be a mapping"},
      {"TypeInSpec", R"({"spec":{"interactive":"no"},)" + Credential(R"({"token":"t0p"})").substr(1),
       "spec.interactive: must be true or false"},
      {"TextBehind", Credential(R"({"token":"t0p"})") + "\nUpdate available\n", "the plugin's output:2:1"},
      {"NoJson", "t0p", "the plugin's output:1:1"},
      {"Nothing", "", "the plugin's output"},
      {"NoStatus", R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})", "status"},
      {"OtherVersion",
       R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t0p"}})",
       "apiVersion: must be"},
      {"EmptyStatus", Credential("{}"), "has neither a token nor a certificate"},
      {"CertificateAlone", Credential(R"({"token":"t0p","clientCertificateData":"c"})"), "without the other"},
      {"BadTime", Credential(R"({"token":"t0p","expirationTimestamp":"tomorrow"})"), "expirationTimestamp"},
      {"TokenIsANumber", Credential(R"({"token":17})"), "status.token: must be a string"},
  };
  for (const OutputCase& row : rows) {
    SCOPED_TRACE(row.name);
    auto credential = DecodeExecCredential(row.output, kV1);
    ASSERT_FALSE(credential);
    EXPECT_HAS(credential.error().message(), row.problem);
    EXPECT_LACKS(credential.error().message(), "t0p");
  }
}

struct RunCase {
  std::string name, script;
  base::Code code;
  std::string problem;
};
TEST(RunTest, FailsWithASentence) {
  const RunCase rows[] = {
      {"Absent", "", base::Code::kNotFound, "(get it from your cloud)"},
      {"Exits", "printf 'not\\nlogged in' >&2; exit 3\n", base::Code::kUnavailable,
       "exited 3: not logged in"},
      {"EchoesItsOutput", "echo '{\"status\":{\"token\":\"hunter2\"}}'; echo no hunter2 >&2; exit 1\n",
       base::Code::kUnavailable, "exited 1: no [redacted]"},
      {"EchoesItsVariable", "echo no $WORD >&2; exit 1\n", base::Code::kUnavailable,
       "exited 1: no [redacted]"},
      {"Killed", "kill -9 $$\n", base::Code::kUnavailable, "killed by signal 9"},
      {"Hangs", "read never < /dev/zero\n", base::Code::kDeadlineExceeded, "did not answer in time"},
      {"Garbage", "echo hello\n", base::Code::kInvalidArgument, "the plugin's output:1:1"},
  };
  for (const RunCase& row : rows) {
    SCOPED_TRACE(row.name);
    tests::TempDir dir;
    ExecPlugin plugin{
        .api_version = kV1, .command = dir / "plugin", .install_hint = "get it from your cloud"};
    plugin.environment = {"PATH=/usr/bin:/bin", "WORD=correct horse"};
    plugin.secrets.emplace_back("correct horse");
    if (!row.script.empty()) dir.WriteProgram("plugin", "#!/bin/sh\n" + row.script);
    auto credential = RunExecPlugin(base::Call{}.Within(std::chrono::seconds(2)), plugin);
    ASSERT_FALSE(credential);
    EXPECT_EQ(credential.error().code(), row.code) << credential.error().message();
    EXPECT_TRUE(credential.error().message().starts_with("credential plugin " + dir / "plugin"));
    EXPECT_HAS(credential.error().message(), row.problem);
  }
}

TEST(ExecPlugin, GetsWhatItNeedsAndGivesACredential) {
  tests::TempDir dir;
  dir.WriteProgram(
      "plugin",
      "#!/bin/sh\n"
      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",'\n"
      "printf '\"status\":{\"token\":\"%s/%s/%s\"}}' \"$1\" \"$A\" \"${#KUBERNETES_EXEC_INFO}\"\n");
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
