// `prefetchctl check`, as built, against an agent that is played: by a real server, with answers of the
// test's own.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "doc/problems.h"
#include "doc/yaml.h"
#include "fakes/wire_server.h"
#include "http/server.h"
#include "manifest/read.h"
#include "report/check_document.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::system {
namespace {

using Words = std::vector<std::string>;

// Answers by an image's tag: "good" starts, "closed" is refused, "odd" is not known; Always is a no.
report::CheckAnswer AnswerTo(const report::CheckQuestion& question) {
  report::CheckAnswer answer{.image = question.image,
                             .policy = std::string(image::PullPolicyName(question.policy)),
                             .listed = true,
                             .result = "Refused",
                             .reason = "RecordedForOthers",
                             .rule = "12: no credential matches",
                             .message = "kubelet's record opens it to 2 secrets only."};
  bool has_secret = !question.identity.secrets.empty() || question.identity.service_account;
  if (question.policy == image::PullPolicy::kAlways) {
    answer.result = "Pulls";
    answer.reason = "PolicyAlways";
    answer.message = "contacts the registry: not checked yet";
  } else if (question.image.ends_with(":odd")) {
    answer.result = "Unknown";
    answer.reason = "FactsUnknown";
  } else if (question.image.ends_with(":good") || has_secret) {
    answer.ok = true;
    answer.result = "Starts";
    answer.reason = "OpenToNode";
  }
  return answer;
}

http::ServerResponse AnswerAll(const http::ServerRequest& request) {
  auto questions = report::ParseCheckRequest(request.body);
  if (!questions) return http::ErrorResponse(400, questions.error().message());
  report::CheckResult result{.node = "ci-7", .time = {}, .ok = true, .answers = {}};
  for (const report::CheckQuestion& question : questions->questions) {
    result.answers.push_back(AnswerTo(question));
    result.ok = result.ok && result.answers.back().ok;
  }
  return http::JsonResponse(200, report::CheckResultJson(result));
}

class Check : public testing::Test {
 protected:
  std::unique_ptr<http::Server> Serve(http::Handler handler, const std::string& address = "127.0.0.1:0") {
    auto listener = http::Listener::Tcp(address);
    EXPECT_OK(listener);
    auto server = http::Server::Start(std::move(*listener), {}, std::move(handler));
    EXPECT_OK(server);
    return *std::move(server);
  }
  std::string Url(int port) const { return "http://127.0.0.1:" + std::to_string(port); }

  rig::Command Command(const std::string& agent, const Words& more) {
    const char* program = std::getenv("PREFETCHCTL");
    EXPECT_NE(program, nullptr) << "run the tests by tests/run or meson test";
    rig::Command command{{program == nullptr ? "" : program, "check"}, {{"PREFETCHD_AGENT", agent}}};
    for (const std::string& word : more) command.argv.push_back(base::ReplaceAll(word, "@", scratch_.path()));
    return command;
  }
  rig::Ran Run(const std::string& agent, const Words& more) {
    auto ran = rig::RunProgram(Command(agent, more), std::chrono::seconds(30));
    EXPECT_OK(ran);
    return ran ? *ran : rig::Ran{};
  }

  rig::Scratch scratch_;
};

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
    scratch_.Write("service.yaml", "apiVersion: v1\nkind: Service\n");
    scratch_.Write("bad.yaml", base::ReplaceAll(kJob, "Never", "never"));
    scratch_.Write("worse.yaml", "kind: [\n");
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
  if (GetParam().err.empty()) {
    EXPECT_EQ(err, "");
  }
}

const std::string kClosed =
    "on node ci-7: refused (RecordedForOthers): kubelet's record opens it to 2 secrets only. → let the agent "
    "touch "
    "it (--touch), or exempt it: prefetchctl export kubelet-allowlist\n";
const std::string kAlways =
    "on node ci-7: contacts the registry (PolicyAlways): contacts the registry: not checked yet → say "
    "imagePullPolicy "
    "IfNotPresent or Never, and let the list refresh the tag\n";

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
                  "record opens it to 2 secrets only. → tell the agent of kubelet: --kubelet-version, "
                  "--kubelet-config; or check with --unknown pass\nthe image may not start on node ci-7: 1 "
                  "not known\n",
                  ""},
        CheckCase{
            "UnlessItPasses",
            {"--image", "a:odd", "--unknown", "pass"},
            0,
            "ok    –  a:odd  IfNotPresent (default)  on node ci-7: not known (FactsUnknown): kubelet's "
            "record opens it to 2 secrets only. → tell the agent of kubelet: --kubelet-version, "
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
        CheckCase{"APolicyOfNoImage", {"--policy", "Never", "--image", "a"}, 2, "", "behind the --image"},
        CheckCase{"TwoPoliciesOfOne",
                  {"--image", "a", "--policy", "Never", "--policy", "Always"},
                  2,
                  "",
                  "behind the --image"},
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
  auto result = report::ParseCheckResult(ran.out);
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

TEST_F(Check, AnAgentThatIsBusyIsAskedAgain) {
  std::atomic<int> requests = 0;
  auto server = Serve([&](const http::ServerRequest& request) {
    int before = requests++;
    return before == 0   ? http::ErrorResponse(503, "starting")
           : before == 1 ? http::ErrorResponse(429, "too many")
                         : AnswerAll(request);
  });
  rig::Ran ran = Run(Url(server->port()), {"--image", "a:good"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_NE(ran.err.find("waiting for the agent"), std::string::npos) << ran.err;
  EXPECT_EQ(requests, 3);
}

TEST_F(Check, AnAgentThatComesLaterIsWaitedFor) {
  auto port = rig::FreePort();
  ASSERT_OK(port);
  rig::Process check;
  ASSERT_OK(check.Start(Command(Url(*port), {"--image", "a:closed"}), scratch_ / "check.log"));
  auto log = [&] {
    std::ifstream in(scratch_ / "check.log");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  // It says so at once that nobody is there, and then somebody is.
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10),
                              [&] { return log().find("waiting for the agent") != std::string::npos; }));
  auto server = Serve(&AnswerAll, "127.0.0.1:" + std::to_string(*port));
  EXPECT_EQ(check.Wait(std::chrono::seconds(10)), (rig::Exit{1, 0})) << log();
  EXPECT_TRUE(log().ends_with("the image will not start on node ci-7\n")) << log();
}

struct AwayCase {
  std::string name;
  int status;  // of every answer; 0: nobody is there
  int exit;
  std::string says;
};
class AwayRow : public Check, public testing::WithParamInterface<AwayCase> {};

TEST_P(AwayRow, EndsWithinTheTimeout) {
  std::unique_ptr<http::Server> server;
  auto free_port = rig::FreePort();
  ASSERT_OK(free_port);
  int port = *free_port;
  if (GetParam().status != 0) {
    server = Serve([](const http::ServerRequest&) { return http::ErrorResponse(GetParam().status, "no"); });
    port = server->port();
  }
  rig::Ran ran = Run(Url(port), {"--image", "a:good", "--timeout", "1s"});
  EXPECT_EQ(ran.exit, (rig::Exit{GetParam().exit, 0})) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(GetParam().says), std::string::npos) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(All, AwayRow,
                         testing::Values(AwayCase{"Nobody", 0, 4, "is prefetchd running there?"},
                                         AwayCase{"Busy", 503, 3, "it is busy"},
                                         AwayCase{"AskedTooOften", 429, 3, "it is busy"},
                                         AwayCase{"AStranger", 404, 4, "is that a prefetchd"},
                                         AwayCase{"ARefusal", 400, 2, "refuses the question"}),
                         [](const auto& row) { return row.param.name; });

TEST_F(Check, WhatWasDecidedInTimeIsPrinted) {
  auto server = Serve([](const http::ServerRequest& request) {
    bool first = request.body.find("\"a0:closed\"") != std::string::npos;
    return first ? AnswerAll(request) : http::ErrorResponse(503, "going down");
  });
  Words arguments = {"--timeout", "1s"};
  for (int i = 0; i < 300; i++) {
    arguments.insert(arguments.end(), {"--image", "a" + std::to_string(i) + ":closed"});
  }
  rig::Ran ran = Run(Url(server->port()), arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.err;
  EXPECT_NE(ran.out.find("FAIL  –  a0:closed"), std::string::npos);
  EXPECT_NE(ran.out.find("OPEN  –  a299:closed"), std::string::npos);
  EXPECT_TRUE(ran.out.ends_with(
      "64 of 300 images will not start on node ci-7; 236 of 300 images not decided in time\n"))
      << ran.out;
}

// An agent that pulls: what is asked for is on its way the first three times.
TEST_F(Check, APullIsAskedForAndWaitedForAndOnlyThatIsAskedAgain) {
  std::vector<report::CheckRequest> requests;  // written by the server's one thread, read when it is gone
  auto server = Serve([&](const http::ServerRequest& request) {
    requests.push_back(*report::ParseCheckRequest(request.body));
    report::CheckResult result{.node = "ci-7", .time = {}, .ok = false, .answers = {}};
    for (const report::CheckQuestion& question : requests.back().questions) {
      result.answers.push_back(AnswerTo(question));
      if (question.image != "b:good" || requests.size() > 3) continue;
      result.answers.back() = {.image = question.image,
                               .policy = "IfNotPresent",
                               .pending = true,
                               .result = "Unknown",
                               .reason = "Pulling",
                               .message = "it is being pulled: 1 of 2 MB"};
    }
    return http::JsonResponse(200, report::CheckResultJson(result));
  });
  rig::Ran ran = Run(Url(server->port()), {"--pull", "--image", "a:good", "--image", "b:good"});
  server.reset();
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.out << ran.err;
  EXPECT_TRUE(ran.out.ends_with("all 2 images start on node ci-7\n")) << ran.out;
  EXPECT_TRUE(ran.err.starts_with("waiting: an image is not here yet (")) << ran.err;
  EXPECT_TRUE(ran.err.ends_with("more): b:good: it is being pulled: 1 of 2 MB\n")) << ran.err;
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].questions.size(), 2U);
  for (std::size_t i = 0; i < requests.size(); i++) {
    EXPECT_TRUE(requests[i].pull);
    EXPECT_GT(requests[i].wait.count(), 0);
    EXPECT_EQ(requests[i].questions.back().image, "b:good");
    EXPECT_EQ(requests[i].questions.size(), i == 0 ? 2U : 1U);
  }
}

TEST_F(Check, APullThatDoesNotEndInTimeIsTold) {
  auto server = Serve([](const http::ServerRequest&) {
    return http::JsonResponse(200, report::CheckResultJson({.node = "ci-7",
                                                            .time = {},
                                                            .ok = false,
                                                            .answers = {{.image = "a:good",
                                                                         .policy = "IfNotPresent",
                                                                         .pending = true,
                                                                         .result = "Unknown",
                                                                         .reason = "Pulling",
                                                                         .message = "it is being pulled"}}}));
  });
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Run(Url(server->port()), {"--pull", "--image", "a:good", "--timeout", "1s"});
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.err;
  EXPECT_EQ(ran.out,
            "OPEN  –  a:good  IfNotPresent (default)  not decided in time: it is being pulled\n"
            "the image not decided in time on node ci-7\n");
  EXPECT_NE(ran.err.find("the time is over, and an image is not here yet"), std::string::npos) << ran.err;
}

TEST_F(Check, AnAgentThatPullsForNobodyIsNoAnswer) {
  auto server = Serve([](const http::ServerRequest&) {
    return http::ErrorResponse(403, "this agent pulls for no check\x1b[2J");
  });
  rig::Ran ran = Run(Url(server->port()), {"--pull", "--image", "a:good"});
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("refuses --pull: this agent pulls for no check"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

// Each of these is somebody on the agent's port who is no agent, or one that is broken. The command ends by
// its timeout with 4, and nobody takes it for a verdict.
struct BadAgentCase {
  std::string name;
  tests::WireServer::Handler handler;
  std::string says;
};
class BadAgent : public Check, public testing::WithParamInterface<BadAgentCase> {};

TEST_P(BadAgent, EndsInTimeWithoutAVerdict) {
  tests::WireServer server(GetParam().handler);
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Run("http://" + server.address(), {"--image", "a:good", "--image", "b", "--timeout", "2s"});
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(GetParam().says), std::string::npos) << ran.err;
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
  EXPECT_GE(server.accepted(), 1);
}

bool WriteHead(int fd, const std::string& more) {
  return tests::WireServer::Write(fd,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + more + "\r\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAgent,
    testing::Values(BadAgentCase{"Hangs",
                                 [](const tests::WireRequest&, int fd) {
                                   tests::WireServer::WaitForClose(fd);
                                   return false;
                                 },
                                 "it does not answer in time"},
                    BadAgentCase{"HangsInTheMiddle",
                                 [](const tests::WireRequest&, int fd) {
                                   WriteHead(fd, "Content-Length: 5000\r\n");
                                   tests::WireServer::Write(fd, "{\"kind\":");
                                   tests::WireServer::WaitForClose(fd);
                                   return false;
                                 },
                                 "it does not answer in time"},
                    BadAgentCase{"DiesInTheMiddle",
                                 [](const tests::WireRequest&, int fd) {
                                   WriteHead(fd, "Content-Length: 5000\r\n");
                                   tests::WireServer::Write(fd, "{\"kind\":");
                                   return false;
                                 },
                                 "cannot ask the agent"},
                    BadAgentCase{"IsNoHttp",
                                 [](const tests::WireRequest&, int fd) {
                                   tests::WireServer::Write(fd, std::string("\x15\x03\x01\0\x02\x02", 6));
                                   return false;
                                 },
                                 "cannot ask the agent"},
                    BadAgentCase{"AnswersGarbage",
                                 [](const tests::WireRequest&, int fd) {
                                   return WriteHead(fd, "Content-Length: 6\r\n") &&
                                          tests::WireServer::Write(fd, "<html>");
                                 },
                                 "did not answer what it was asked"},
                    BadAgentCase{"AnswersAnotherQuestion",
                                 [](const tests::WireRequest&, int fd) {
                                   std::string body = report::CheckResultJson({.node = "n", .ok = true});
                                   return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) +
                                                            "\r\n") &&
                                          tests::WireServer::Write(fd, body);
                                 },
                                 "did not answer what it was asked"},
                    BadAgentCase{"Floods",
                                 [](const tests::WireRequest&, int fd) {
                                   const std::string much(1 << 20, ' ');
                                   bool open = WriteHead(fd, "");
                                   while (open) open = tests::WireServer::Write(fd, much);
                                   return false;
                                 },
                                 "cannot ask the agent"},
                    BadAgentCase{"FloodsHeaders",
                                 [](const tests::WireRequest&, int fd) {
                                   const std::string much = "X-More: " + std::string(4096, 'x') + "\r\n";
                                   bool open = tests::WireServer::Write(fd, "HTTP/1.1 200 OK\r\n");
                                   while (open) open = tests::WireServer::Write(fd, much);
                                   return false;
                                 },
                                 "cannot ask the agent"}),
    [](const auto& row) { return row.param.name; });

// A question that hangs does not take the answers to others with it.
TEST_F(Check, WhatNeedsARegistryHoldsUpNothingElse) {
  tests::WireServer server([](const tests::WireRequest& request, int fd) {
    if (request.body.find("Always") != std::string::npos) {
      tests::WireServer::WaitForClose(fd);
      return false;
    }
    http::ServerRequest asked;
    asked.body = request.body;
    std::string body = AnswerAll(asked).body;
    return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) + "\r\n") &&
           tests::WireServer::Write(fd, body);
  });
  rig::Ran ran = Run("http://" + server.address(),
                     {"--image", "slow", "--image", "a:good", "--image", "b:closed", "--timeout", "2s"});
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.err;
  EXPECT_EQ(ran.out,
            "ok    –  a:good    IfNotPresent (default)        starts from the node (OpenToNode)\n"
            "OPEN  –  slow      Always (default for :latest)  not decided in time\n"
            "FAIL  –  b:closed  IfNotPresent (default)        " +
                kClosed + "1 of 3 images will not start on node ci-7; 1 of 3 images not decided in time\n");
}

TEST_F(Check, ASignalEndsTheWait) {
  auto port = rig::FreePort();
  ASSERT_OK(port);
  rig::Process check;
  ASSERT_OK(check.Start(Command(Url(*port), {"--image", "a:closed"}), scratch_ / "check.log"));
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10), [&] {
    std::ifstream in(scratch_ / "check.log");
    return in.peek() != std::ifstream::traits_type::eof();
  }));
  EXPECT_EQ(check.Stop(std::chrono::seconds(5)), (rig::Exit{130, 0}));
}

// Nothing was printed, so it is no success.
TEST_F(Check, ASignalEndsOtherQuestionsToo) {
  tests::WireServer server([](const tests::WireRequest&, int fd) {
    tests::WireServer::WaitForClose(fd);
    return false;
  });
  int asked = 0;
  for (const Words& words : {Words{"status"}, Words{"explain", "a:v1"}}) {
    rig::Command command = Command("http://" + server.address(), {});
    command.argv.pop_back();  // "check"
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    rig::Process process;
    ASSERT_OK(process.Start(command, scratch_ / "signal.log"));
    asked++;
    ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10), [&] { return server.accepted() >= asked; }));
    EXPECT_EQ(process.Stop(std::chrono::seconds(5)), (rig::Exit{130, 0})) << words[0];
  }
}

// deploy/examples/check-init-container.yaml.
class Example : public Check {
 protected:
  Example() {
    const char* folder = std::getenv("PREFETCH_EXAMPLES");
    EXPECT_NE(folder, nullptr) << "run the tests by tests/run or meson test";
    path_ = std::string(folder == nullptr ? "" : folder) + "/check-init-container.yaml";
    std::ifstream in(path_);
    text_.assign(std::istreambuf_iterator<char>(in), {});
  }

  // The pod's only init container; a mistake fails the test.
  doc::Node InitContainer() {
    doc::Problems problems("example");
    auto root = doc::ParseYaml(text_, problems);
    EXPECT_TRUE(root && problems.empty());
    const doc::Node* spec = root ? root->Find("spec") : nullptr;
    const doc::Node* containers = spec == nullptr ? nullptr : spec->Find("initContainers");
    EXPECT_TRUE(containers != nullptr && containers->items.size() == 1);
    return containers == nullptr || containers->items.empty() ? doc::Node::Mapping() : containers->items[0];
  }
  Words WordsOf(const doc::Node& container, const std::string& name) {
    Words words;
    if (const doc::Node* list = container.Find(name)) {
      for (const doc::Node& item : list->items) words.push_back(item.text);
    }
    return words;
  }

  std::string path_;
  std::string text_;
};

TEST_F(Example, ChecksTheImagesOfItsOwnPodAsStronglyAsTheyAreAskedFor) {
  doc::Problems problems("example");
  manifest::Manifests manifests = manifest::ReadManifests(text_, problems);
  EXPECT_TRUE(problems.empty());
  doc::Node init = InitContainer();
  EXPECT_EQ(WordsOf(init, "command"), Words{"/usr/bin/prefetchctl"});
  Words arguments = WordsOf(init, "args");
  ASSERT_FALSE(arguments.empty());
  EXPECT_EQ(arguments[0], "check");
  std::size_t checked = 0;
  for (const manifest::ImageUse& use : manifests.uses) {
    if (use.kind == manifest::UseKind::kInitContainer) continue;
    auto at = std::find(arguments.begin(), arguments.end(), "--image=" + use.image);
    ASSERT_NE(at, arguments.end()) << use.image;
    bool stated = at + 1 != arguments.end() && (at + 1)->starts_with("--policy=");
    std::string policy(image::PullPolicyName(stated ? use.policy : image::DefaultPullPolicy(*use.reference)));
    EXPECT_EQ(policy, image::PullPolicyName(use.policy)) << use.image;
    if (stated) {
      EXPECT_EQ(*(at + 1), "--policy=" + policy);
    }
    checked++;
  }
  EXPECT_EQ(checked, 2U);
}

TEST_F(Example, ItsArgumentsAreUnderstoodAndItsLastWordsTellImageNodeAndReason) {
  auto server = Serve([](const http::ServerRequest& request) {
    http::ServerRequest closed = request;
    closed.body = base::ReplaceAll(request.body, "worker:v1", "worker:closed");
    return AnswerAll(closed);
  });
  Words arguments = WordsOf(InitContainer(), "args");
  ASSERT_FALSE(arguments.empty());
  arguments.erase(arguments.begin());
  for (std::string& argument : arguments) {
    argument = base::ReplaceAll(argument, "$(NODE_IP):9477", "127.0.0.1:" + std::to_string(server->port()));
  }
  rig::Ran ran = Run("", arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.err;
  std::string last = ran.out.size() <= 2048 ? ran.out : ran.out.substr(ran.out.size() - 2048);
  for (const char* part : {"quay.io/acme/worker:v1", "ci-7", "RecordedForOthers", "2 secrets only"}) {
    EXPECT_NE(last.find(part), std::string::npos) << part << "\n" << ran.out;
  }
}

TEST_F(Example, AsksForNoRightAndIsRestricted) {
  doc::Problems problems("example");
  auto root = doc::ParseYaml(text_, problems);
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->Find("spec")->Find("automountServiceAccountToken")->boolean);
  doc::Node init = InitContainer();
  EXPECT_EQ(init.Find("terminationMessagePolicy")->text, "FallbackToLogsOnError");
  const doc::Node* security = init.Find("securityContext");
  ASSERT_NE(security, nullptr);
  // What the Pod Security Standard "restricted" asks for.
  EXPECT_FALSE(security->Find("allowPrivilegeEscalation")->boolean);
  EXPECT_TRUE(security->Find("runAsNonRoot")->boolean);
  EXPECT_EQ(security->Find("capabilities")->Find("drop")->items.at(0).text, "ALL");
  EXPECT_EQ(security->Find("seccompProfile")->Find("type")->text, "RuntimeDefault");
}

}  // namespace
}  // namespace prefetch::system
