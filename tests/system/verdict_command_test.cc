// prefetchctl verdict, as built, from files alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/subprocess.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "kubelet/probe.h"
#include "rig/binary.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::verdict_command_test {
namespace {

using Arguments = std::vector<std::string>;

base::ProcessResult AskVerdict(Arguments arguments) {
  arguments.insert(arguments.begin(), {rig::Prefetchctl(), "verdict"});
  auto result = base::RunProcess({}, {.argv = std::move(arguments), .environment = {}}, "");
  EXPECT_TRUE(result.ok());
  return result ? *std::move(result) : base::ProcessResult{};
}

// One member of one verdict of the JSON that was printed; empty if it is not there.
std::string Field(const base::ProcessResult& result, const std::string& policy, const std::string& name) {
  doc::Problems problems("stdout");
  auto root = doc::ParseJson(result.output.Reveal(), problems);
  if (!root) return "";
  const doc::Node* verdicts = root->Find("verdicts");
  const doc::Node* verdict = verdicts == nullptr ? nullptr : verdicts->Find(policy);
  const doc::Node* field = verdict == nullptr ? nullptr : verdict->Find(name);
  return field == nullptr ? "" : field->text;
}

Arguments ArgumentsFor(const tests::Probe& probe, const std::string& root) {
  Arguments out = {"--image",
                   probe.question.image,
                   "--image-id",
                   probe.question.image_id,
                   "--kubelet-root",
                   root,
                   "--verification",
                   probe.verification,
                   "--kubelet-version",
                   probe.version,
                   "-o",
                   "json"};
  for (const std::string& pattern : probe.allowlist) out.insert(out.end(), {"--allowlist", pattern});
  for (const kubelet::HashedSecret& secret : probe.question.pod.secrets) {
    out.insert(out.end(), {"--pod-secret", secret.secret.namespace_name + "/" + secret.secret.name + "/" +
                                               secret.secret.uid + "/" + std::string(secret.hash.Reveal())});
  }
  if (const auto& account = probe.question.pod.service_account) {
    out.insert(out.end(),
               {"--pod-service-account", account->namespace_name + "/" + account->name + "/" + account->uid});
  }
  return out;
}

// Every probe: kubelet/probes_test.cc.
TEST(VerdictCommand, AnswersOfARealKubeletAreComputed) {
  std::vector<tests::Probe> probes = tests::ReadProbes();
  const auto first = [&](auto with) { return std::find_if(probes.begin(), probes.end(), with); };
  for (const auto& probe :
       {first([](const tests::Probe& one) { return !one.question.pod.secrets.empty(); }),
        first([](const tests::Probe& one) { return one.question.pod.service_account.has_value(); }),
        first([](const tests::Probe& one) { return !one.allowlist.empty(); })}) {
    ASSERT_NE(probe, probes.end());
    tests::TempDir root;
    for (const auto& [path, content] : probe->files) {
      root.Write("image_manager/" + path, content.empty() ? "" : content + "\n");
    }
    base::ProcessResult result = AskVerdict(ArgumentsFor(*probe, root.path()));
    EXPECT_EQ(result.code, 0) << probe->id << result.errors;
    EXPECT_EQ(Field(result, probe->pull_policy, "result"), probe->observed)
        << probe->id << Field(result, probe->pull_policy, "message");
  }
}

struct CommandCase {
  std::string name;
  Arguments arguments;  // beside --image a/b:v1 --kubelet-root ROOT
  int code = 0;
  std::string never;  // result/reason
  std::string says;   // on stderr
};

TEST_TABLE(VerdictCommandTest, Answers, CommandCase) {
  tests::TempDir root;
  root.Write("config.yaml",
             "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 250\n"
             "imagePullCredentialsVerificationPolicy: AlwaysVerify\n");
  root.Write("broken.yaml", "apiVersion: v1\nkind: KubeletConfiguration\n");
  root.Write("image_manager/pulled/x", "");
  Arguments arguments = {"--image", "a/b:v1", "--kubelet-root", root.path(), "-o", "json"};
  for (std::string argument : row.arguments) {
    if (argument.starts_with("ROOT")) argument.replace(0, 4, root.path());
    arguments.push_back(argument);
  }
  base::ProcessResult result = AskVerdict(arguments);
  EXPECT_EQ(result.code, row.code) << result.errors;
  EXPECT_NE(result.errors.find(row.says), std::string::npos) << result.errors;
  if (row.code != 0) return;
  EXPECT_EQ(Field(result, "Never", "result") + "/" + Field(result, "Never", "reason"), row.never);
}

const Arguments kId = {"--image-id", "sha256:aaa"};

Arguments With(Arguments more) {
  more.insert(more.end(), kId.begin(), kId.end());
  return more;
}

TEST_ROWS(All, VerdictCommandTest, {"EmptyIdIsAbsent", {"--image-id", ""}, 0, "Refused/ImageAbsent", ""},
          {"EmptyIdWithEquals", {"--image-id=", "--kubelet-version", "1.36"}, 0, "Refused/ImageAbsent", ""},
          {"NothingKnownIsUnknown", kId, 0, "Unknown/FactsUnknown", ""},
          {"Preloaded", With({"--verification", "NeverVerifyPreloadedImages", "--kubelet-rules", "1.37"}), 0,
           "Starts/Preloaded", ""},
          {"NewerKubeletByOtherRules",
           With({"--verification", "NeverVerifyPreloadedImages", "--kubelet-version", "1.99",
                 "--kubelet-rules", "1.37"}),
           0, "Starts/Preloaded", ""},
          {"RulesThatAreNotKnown", With({"--kubelet-rules", "1.99"}), 2, "",
           "--kubelet-rules must be from 1.31 to "},
          {"SettingsOfTheFile", With({"--kubelet-config", "ROOT/config.yaml", "--kubelet-version", "1.36"}),
           0, "Refused/VerificationAlways", ""},
          {"BrokenConfig", With({"--kubelet-config", "ROOT/broken.yaml"}), 2, "", "apiVersion"},
          {"ConfigThatKubeletRefuses",
           With({"--kubelet-config", "ROOT/config.yaml", "--kubelet-version", "1.34"}), 2, "",
           "feature gate"},
          {"BadAllowlist", With({"--verification", "NeverVerifyAllowlistedImages", "--allowlist", "a*"}), 2,
           "", "allowlist pattern"},
          {"AllowlistOfAnotherPolicy", With({"--verification", "AlwaysVerify", "--allowlist", "a/b"}), 2, "",
           "allowlist"},
          {"NoImageId", {}, 2, "", "--image-id"});

TEST(VerdictCommand, TextIsForPeopleAndTheDigestOfAPasswordStaysOut) {
  tests::TempDir root;
  base::ProcessResult result =
      AskVerdict({"--image", "a/b:v1", "--image-id", "sha256:aaa", "--kubelet-root", root.path(),
                  "--verification", "AlwaysVerify", "--kubelet-version", "1.36", "--pull-policy", "Never",
                  "--pod-secret", "team/pull/u-1/c0ffee"});
  EXPECT_EQ(result.output.Reveal(),
            "Never: Refused (VerificationAlways, rule 4: record)\n"
            "  kubelet verifies every image (AlwaysVerify) and has no record of pulling this one, so kubelet "
            "refuses the container (ErrImageNeverPull); a pull by kubelet with the node's own credentials "
            "would open it to every pod.\n");
  EXPECT_EQ(AskVerdict({"--image", "a", "--image-id", "", "--pod-secret", "c0ffee"}).errors.find("c0ffee"),
            std::string::npos);
}

}  // namespace
}  // namespace prefetch::ctl::verdict_command_test
