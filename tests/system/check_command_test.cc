// `prefetchctl check`, as built: what is asked, how it is answered, and every mistake of a command line.

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "system/check_rig.h"

namespace prefetch::system::check_command_test {
namespace {

const std::string kJob = R"(apiVersion: batch/v1
kind: Job
metadata: {name: ci}
spec:
  template:
    spec:
      initContainers:
      - {name: setup, image: "reg.io/app:good", imagePullPolicy: Never}
      containers:
      - {name: app, image: "reg.io/app:good"}
      - {name: worker, image: "reg.io/worker:closed", imagePullPolicy: Never}
)";

struct CheckCase {
  std::string name;
  Words arguments;
  int exit;
  std::string out;  // the whole of stdout
  std::string err;  // what stderr has to hold; empty: it is empty
};

class CheckRow : public Check, public testing::WithParamInterface<CheckCase> {
 protected:
  CheckRow() {
    scratch_.Write("job.yaml", kJob);
    scratch_.Write("good.yaml", base::ReplaceAll(kJob, ":closed", ":good"));
    scratch_.Write(
        "jobs/worker.yaml",
        "{apiVersion: v1, kind: Pod, spec: {containers: [{name: worker, image: \"reg.io/worker:closed\", "
        "imagePullPolicy: Never}]}}\n");
    scratch_.Write(
        "weaker.yaml",
        "apiVersion: v1\nkind: Pod\nspec:\n"
        "  initContainers: [{name: precheck, image: \"reg.io/app:good\", imagePullPolicy: IfNotPresent}]\n"
        "  containers: [{name: app, image: \"reg.io/app:good\", imagePullPolicy: Always}]\n");
    scratch_.Write("farm.yaml", "{apiVersion: acme.io/v1, kind: Farm, metadata: {name: big}}\n");
    scratch_.Write("service.yaml", "apiVersion: v1\nkind: Service\n");
    scratch_.Write("bad.yaml", base::ReplaceAll(kJob, "Never", "never"));
    scratch_.Write("worse.yaml", "kind: [\n");
    scratch_.Write("secret.yaml",
                   "apiVersion: v1\nkind: Pod\nspec:\n  imagePullSecrets: [{name: pull}]\n"
                   "  containers: [{name: c, image: \"reg.io/c:closed\"}]\n");
    scratch_.Write("custom.yaml",
                   "apiVersion: x.io/v1\nkind: Run\nspec:\n  task:\n    template:\n      spec:\n"
                   "        containers:\n        - {name: c, image: \"reg.io/c:closed\"}\n");
  }
};

TEST_P(CheckRow, Answers) {
  auto server = Serve(&AnswerAll);
  rig::Ran ran = Run(Url(server->port()), GetParam().arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{GetParam().exit, 0})) << ran.out << ran.err;
  EXPECT_EQ(base::ReplaceAll(ran.out, scratch_.path(), "@"), GetParam().out);
  std::string err = base::ReplaceAll(ran.err, scratch_.path(), "@");
  EXPECT_NE(err.find(GetParam().err), std::string::npos) << err;
  ExpectPlacesOrName(err);
  if (GetParam().err.empty()) {
    EXPECT_EQ(err, "");
  }
}
const std::string kAlways =
    "on node ci-7: contacts the registry (PolicyAlways): contacts the registry: not checked yet → set "
    "imagePullPolicy: IfNotPresent or Never, and let the list refresh the tag\n";

INSTANTIATE_TEST_SUITE_P(
    All, CheckRow,
    testing::Values(
        CheckCase{"AnImage",
                  {"--image", "reg.io/app:good", "--policy", "Never"},
                  0,
                  "ok    –  reg.io/app:good  Never (stated)  starts from the node (OpenToNode)\n"
                  "the image starts on node ci-7\n",
                  ""},
        CheckCase{"AClosedOne",
                  {"--image", "reg.io/app:closed"},
                  1,
                  "FAIL  –  reg.io/app:closed  IfNotPresent (default)  " + kClosed +
                      "the image will not start on node ci-7\n",
                  ""},
        CheckCase{"EachPolicyIsForTheImageBeforeIt",
                  {"--image=a:good", "--policy=Never", "--image=b", "--image=c:good", "--policy=Always"},
                  1,
                  "ok    –  a:good  Never (stated)                starts from the node (OpenToNode)\nFAIL  – "
                  " b       Always (default for :latest)  " +
                      kAlways + "FAIL  –  c:good  Always (stated)               " + kAlways +
                      "2 of 3 images may not start on node ci-7: 2 contact the registry\n",
                  ""},
        CheckCase{"AManifestOnceAnImage",
                  {"-f", "@/job.yaml"},
                  1,
                  "ok    setup (init), app  reg.io/app:good       IfNotPresent (default by app)  starts from "
                  "the node (OpenToNode)\nFAIL  worker             reg.io/worker:closed  Never (stated)      "
                  "           " +
                      kClosed + "1 of 2 images will not start on node ci-7\n",
                  ""},
        CheckCase{"TheManifestsOfAClusterThatAlwaysPulls",
                  {"-f", "@/good.yaml", "--assume-always-pull", "-o", "text", "--image", "reg.io/app:good"},
                  1,
                  "FAIL  setup (init), app  reg.io/app:good     Always (AlwaysPullImages)  " + kAlways +
                      "FAIL  worker             reg.io/worker:good  Always (AlwaysPullImages)  " + kAlways +
                      "2 of 2 images may not start on node ci-7: 2 contact the registry\n",
                  ""},
        CheckCase{
            "AControllersDefault",
            {"--image", "a", "--default-policy", "Never"},
            1,
            "FAIL  –  a  Never (assumed default)  " + kClosed + "the image will not start on node ci-7\n",
            ""},
        CheckCase{"ACustomResource",
                  {"-f", "@/custom.yaml", "--pod-template-path", "spec.task.template"},
                  1,
                  "FAIL  c  reg.io/c:closed  IfNotPresent (default)  " + kClosed +
                      "the image will not start on node ci-7\n",
                  ""},
        CheckCase{"APodWithItsOwnSecret",
                  {"--image", "a:closed", "--pod-secret", "team/pull/u1"},
                  0,
                  "ok    –  a:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
                  "the image starts on node ci-7\n",
                  ""},
        CheckCase{"APodWithAPullSecretInItsManifest",
                  {"-f", "@/secret.yaml", "-n", "team"},
                  0,
                  "ok    c  reg.io/c:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
                  "the image starts on node ci-7\n",
                  ""},
        CheckCase{"APodWithAServiceAccount",
                  {"--image", "a:closed", "--pod-service-account", "team/runner/u1"},
                  0,
                  "ok    –  a:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
                  "the image starts on node ci-7\n",
                  ""},
        CheckCase{"UnknownIsANo",
                  {"--image", "a:odd"},
                  1,
                  "FAIL  –  a:odd  IfNotPresent (default)  on node ci-7: not known (FactsUnknown): kubelet's "
                  "record opens it to 2 secrets only. → declare kubelet's settings: --kubelet-version, "
                  "--kubelet-config; or check with --unknown pass\nthe image may not start on node ci-7: 1 "
                  "not known\n",
                  ""},
        CheckCase{
            "UnlessItPasses",
            {"--image", "a:odd", "--unknown", "pass"},
            0,
            "ok    –  a:odd  IfNotPresent (default)  on node ci-7: not known (FactsUnknown): kubelet's "
            "record opens it to 2 secrets only. → declare kubelet's settings: --kubelet-version, "
            "--kubelet-config; or check with --unknown pass\nthe image may start on node ci-7: 1 not known\n",
            ""},
        CheckCase{"AFolder",
                  {"-f", "@/jobs"},
                  1,
                  "FAIL  worker  reg.io/worker:closed  Never (stated)  " + kClosed +
                      "the image will not start on node ci-7\n",
                  ""},
        // The preflight passed with IfNotPresent on a stale copy, the job used Always on a tag that was gone.
        CheckCase{"ACheckThatIsWeakerThanThePod",
                  {"-f", "@/weaker.yaml"},
                  1,
                  "FAIL  precheck (init), app  reg.io/app:good  Always (stated by app; precheck (init) has "
                  "IfNotPresent)  " +
                      kAlways + "the image may not start on node ci-7: 1 contacts the registry\n",
                  ""},
        CheckCase{
            "AControllerWithTwoDefaults",
            {"--image", "a:good", "--default-policy", "Always", "--default-check-policy", "IfNotPresent"},
            1,
            "FAIL  –  a:good  Always (assumed default; checks have IfNotPresent)  " + kAlways +
                "the image may not start on node ci-7: 1 contacts the registry\n",
            ""},
        CheckCase{
            "GithubHasTheFirstLineOfIt",
            {"-f", "@/jobs", "-o", "github"},
            1,
            "::error file=@/jobs/worker.yaml,line=1,col=64,title=prefetchctl check reg.io/worker%3Aclosed::"
            "reg.io/worker:closed, worker, Never (stated): " +
                kClosed + "the image will not start on node ci-7\n",
            ""},
        CheckCase{"NothingToCheck", {"-f", "@/service.yaml"}, 0, "", "nothing to check"},
        CheckCase{
            "AnObjectThatIsNotUnderstood",
            {"-f", "@/farm.yaml"},
            1,
            "",
            "@/farm.yaml:1:26: Farm big may run pods, and no image of it was found here (Farm.acme.io)\n"},
        CheckCase{"BesideAnImageThatStarts",
                  {"-f", "@/farm.yaml", "--image", "reg.io/app:good", "--policy", "Never"},
                  1,
                  "ok    –  reg.io/app:good  Never (stated)  starts from the node (OpenToNode)\n"
                  "the image starts on node ci-7\n",
                  "@/farm.yaml:1:26: Farm big"},
        CheckCase{
            "AnAcceptedObject", {"-f", "@/farm.yaml", "--allow-unread", "Farm"}, 0, "", "nothing to check"},
        CheckCase{"AllMistakesAtOnce",
                  {"-f", "@/bad.yaml", "-f", "@/worse.yaml", "-f", "@/none.yaml", "--image", "A B"},
                  2,
                  "",
                  "@/bad.yaml:8:"},
        CheckCase{"AnotherMistakeOfThem",
                  {"-f", "@/bad.yaml", "-f", "@/worse.yaml", "-f", "@/none.yaml"},
                  2,
                  "",
                  "@/worse.yaml:"},
        CheckCase{"AFileThatIsNotThere", {"-f", "@/none.yaml"}, 2, "", "@/none.yaml"},
        CheckCase{"ANameThatIsNone", {"--image", "A"}, 2, "", "--image A: "},
        CheckCase{"NoImageAtAll", {}, 2, "", "name manifests with -f"},
        CheckCase{"APolicyOfNoImage", {"--policy", "Never", "--image", "a"}, 2, "", "after its --image"},
        CheckCase{"TwoPoliciesOfOne",
                  {"--image", "a", "--policy", "Never", "--policy", "Always"},
                  2,
                  "",
                  "after its --image"},
        CheckCase{"ABadPolicy", {"--image", "a", "--policy", "never"}, 2, "", "--policy must be"},
        CheckCase{
            "ABadDefault", {"--image", "a", "--default-policy", "x"}, 2, "", "--default-policy must be"},
        CheckCase{"ABadSecret", {"--image", "a", "--pod-secret", "a/b"}, 2, "", "NAMESPACE/NAME/UID"},
        CheckCase{
            "ABadAccount", {"--image", "a", "--pod-service-account", "a//b"}, 2, "", "NAMESPACE/NAME/UID"},
        CheckCase{"ABadTimeout", {"--image", "a", "--timeout", "soon"}, 2, "", "--timeout must be"},
        CheckCase{"ABadAgent", {"--image", "a", "--agent", "ftp://x"}, 2, "", "--agent must be"}),
    [](const auto& row) { return row.param.name; });

TEST_F(Check, JsonHasTheAnswersAndSaysWhatTheExitCodeSays) {
  auto server = Serve(&AnswerAll);
  rig::Ran ran = Run(Url(server->port()), {"--image", "a:odd", "--unknown", "pass", "-o", "json"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  auto result = status::ParseCheckResult(ran.out);
  ASSERT_OK(result);
  EXPECT_TRUE(result->ok);
  EXPECT_EQ(result->node, "ci-7");
  ASSERT_EQ(result->answers.size(), 1U);
  EXPECT_FALSE(result->answers[0].ok);
  for (const char* part : {"\"policyFrom\": \"default\"", "\"containers\": \"–\"", "\"file\": null"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  }
  EXPECT_EQ(result->answers[0].reason, "FactsUnknown");
}

TEST_F(Check, AManifestOnStandardInput) {
  auto server = Serve(&AnswerAll);
  scratch_.Write("good.yaml", base::ReplaceAll(kJob, ":closed", ":good"));
  rig::Command check = Command(Url(server->port()), {"-f", "-"});
  rig::Command shell{{"sh", "-c", "exec \"$@\" <" + (scratch_ / "good.yaml"), "sh"}, check.env};
  shell.argv.insert(shell.argv.end(), check.argv.begin(), check.argv.end());
  auto ran = rig::RunProgram(shell, std::chrono::seconds(20));
  ASSERT_OK(ran);
  EXPECT_EQ(ran->exit, (rig::Exit{0, 0})) << ran->err;
  EXPECT_TRUE(ran->out.ends_with("all 2 images start on node ci-7\n")) << ran->out;
}

// Longer than one request to the agent may be.
TEST_F(Check, AThousandImages) {
  std::atomic<int> requests = 0;
  auto server = Serve([&](const http::ServerRequest& request) {
    requests++;
    return AnswerAll(request);
  });
  std::string pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n";
  for (int i = 0; i < 1000; i++) {
    pod += "  - {name: c, image: \"reg.io/team/" + std::string(100, 'x') + std::to_string(i) + ":good\"}\n";
  }
  scratch_.Write("many.yaml", pod);
  rig::Ran ran = Run(Url(server->port()), {"-f", "@/many.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_TRUE(ran.out.ends_with("all 1000 images start on node ci-7\n"));
  EXPECT_GE(requests, 4);
}

}  // namespace
}  // namespace prefetch::system::check_command_test
