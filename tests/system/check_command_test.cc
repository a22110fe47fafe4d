// `prefetchctl check`, as built: what is asked, how it is answered, and every mistake of a command line.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <semaphore>
#include <string>
#include <vector>

#include "doc/problems.h"
#include "doc/yaml.h"
#include "fakes/wire_server.h"
#include "must.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "rows.h"
#include "system/check_rig.h"
#include "text_of.h"

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
    scratch_.Write("good.yaml", base::ReplaceAll(kJob, ":closed", ":good"));
    scratch_.Write("jobs/worker.yaml",
                   "{apiVersion: v1, kind: Pod, spec: {containers: [{name: worker, image: "
                   "\"reg.io/worker:closed\", imagePullPolicy: Never}]}}\n");
    scratch_.Write("farm.yaml", "{apiVersion: acme.io/v1, kind: Farm, metadata: {name: big}}\n");
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

TEST_ROWS(All, CheckRow,
          {"AnImage", Words{"--image", "reg.io/app:good", "--policy", "Never"}, 0,
           "ok    –  reg.io/app:good  Never (stated)  starts from the node (OpenToNode)\n"
           "the image starts on node ci-7\n",
           ""},
          {"EachPolicyIsForTheImageBeforeIt",
           Words{"--image=a:good", "--policy=Never", "--image=b", "--image=c:good", "--policy=Always"}, 1,
           "ok    –  a:good  Never (stated)                starts from the node (OpenToNode)\nFAIL  – "
           " b       Always (default for :latest)  " +
               kAlways + "FAIL  –  c:good  Always (stated)               " + kAlways +
               "2 of 3 images may not start on node ci-7: 2 contact the registry\n",
           ""},
          {"TheManifestsOfAClusterThatAlwaysPulls",
           Words{"-f", "@/good.yaml", "--assume-always-pull", "-o", "text", "--image", "reg.io/app:good"}, 1,
           "FAIL  setup (init), app  reg.io/app:good     Always (AlwaysPullImages)  " + kAlways +
               "FAIL  worker             reg.io/worker:good  Always (AlwaysPullImages)  " + kAlways +
               "2 of 2 images may not start on node ci-7: 2 contact the registry\n",
           ""},
          {"ACustomResource", Words{"-f", "@/custom.yaml", "--pod-template-path", "spec.task.template"}, 1,
           "FAIL  c  reg.io/c:closed  IfNotPresent (default)  " + kClosed +
               "the image will not start on node ci-7\n",
           ""},
          {"APodWithItsOwnSecret", Words{"--image", "a:closed", "--pod-secret", "team/pull/u1"}, 0,
           "ok    –  a:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
           "the image starts on node ci-7\n",
           ""},
          {"APodWithAPullSecretInItsManifest", Words{"-f", "@/secret.yaml", "-n", "team"}, 0,
           "ok    c  reg.io/c:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
           "the image starts on node ci-7\n",
           ""},
          {"APodWithAServiceAccount", Words{"--image", "a:closed", "--pod-service-account", "team/runner/u1"},
           0,
           "ok    –  a:closed  IfNotPresent (default)  starts from the node (OpenToNode)\n"
           "the image starts on node ci-7\n",
           ""},
          {"UnknownIsANo", Words{"--image", "a:odd"}, 1,
           "FAIL  –  a:odd  IfNotPresent (default)  on node ci-7: not known (FactsUnknown): kubelet's "
           "record opens it to 2 secrets only. → declare kubelet's settings: --kubelet-version, "
           "--kubelet-config; or check with --unknown pass\nthe image may not start on node ci-7: 1 "
           "not known\n",
           ""},
          {"AControllerWithTwoDefaults",
           Words{"--image", "a:good", "--default-policy", "Always", "--default-check-policy", "IfNotPresent"},
           1,
           "FAIL  –  a:good  Always (assumed default; checks have IfNotPresent)  " + kAlways +
               "the image may not start on node ci-7: 1 contacts the registry\n",
           ""},
          {"GithubHasTheFirstLineOfIt", Words{"-f", "@/jobs", "-o", "github"}, 1,
           "::error file=@/jobs/worker.yaml,line=1,col=64,title=prefetchctl check "
           "reg.io/worker%3Aclosed::reg.io/worker:closed, worker, Never (stated): " +
               kClosed + "the image will not start on node ci-7\n",
           ""},
          {"AnObjectThatIsNotUnderstood", Words{"-f", "@/farm.yaml"}, 1, "",
           "@/farm.yaml:1:26: Farm big may run pods, and no image of it was found here (Farm.acme.io)\n"},
          {"BesideAnImageThatStarts",
           Words{"-f", "@/farm.yaml", "--image", "reg.io/app:good", "--policy", "Never"}, 1,
           "ok    –  reg.io/app:good  Never (stated)  starts from the node (OpenToNode)\n"
           "the image starts on node ci-7; 1 object is not read\n",
           "@/farm.yaml:1:26: Farm big"},
          {"AnAcceptedObject", {"-f", "@/farm.yaml", "--allow-unread", "Farm"}, 0, "", "nothing to check"},
          {"AllMistakesAtOnce",
           Words{"-f", "@/bad.yaml", "-f", "@/worse.yaml", "-f", "@/none.yaml", "--image", "A B"}, 2, "",
           "@/bad.yaml:8:"},
          {"AnotherMistakeOfThem", Words{"-f", "@/bad.yaml", "-f", "@/worse.yaml", "-f", "@/none.yaml"}, 2,
           "", "@/worse.yaml:"},
          {"APolicyOfNoImage", {"--policy", "Never", "--image", "a"}, 2, "", "after its --image"},
          {"TwoPoliciesOfOne", Words{"--image", "a", "--policy", "Never", "--policy", "Always"}, 2, "",
           "after its --image"},
          {"ABadAgent", {"--image", "a", "--agent", "ftp://x"}, 2, "", "--agent must be"});

TEST_F(Check, JsonHasTheAnswersAndSaysWhatTheExitCodeSays) {
  auto server = Serve(&AnswerAll);
  rig::Ran ran = Run(Url(server->port()), {"--image", "a:odd", "--unknown", "pass", "-o", "json"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  auto result = tests::Must(status::ParseCheckResult(ran.out));
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
  auto ran = tests::Must(rig::RunProgram(shell, std::chrono::seconds(20)));
  EXPECT_EQ(ran->exit, (rig::Exit{0, 0})) << ran->err;
  EXPECT_TRUE(ran->out.ends_with("all 3 images start on node ci-7\n")) << ran->out;
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

// `prefetchctl check` and agents that are busy, late, slow or none: it ends in time, and takes nothing for a
// verdict that is none.

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
  auto port = tests::Must(rig::FreePort());
  rig::Process check;
  ASSERT_OK(check.Start(Command(Url(*port), {"--image", "a:closed"}), scratch_ / "check.log"));
  auto log = [&] { return tests::TextSoFar(scratch_ / "check.log"); };
  // The command reports at once that nobody is there. Then the agent starts.
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10),
                              [&] { return log().find("waiting for the agent") != std::string::npos; }));
  auto server = Serve(&AnswerAll, {}, "127.0.0.1:" + std::to_string(*port));
  EXPECT_EQ(check.Wait(std::chrono::seconds(10)), (rig::Exit{1, 0})) << log();
  EXPECT_TRUE(log().ends_with("the image will not start on node ci-7\n")) << log();
}

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
      "64 of 300 images will not start on node ci-7; 236 of 300 images were not decided in time\n"))
      << ran.out;
}

// An agent that pulls: what is asked for is on its way the first three times.
TEST_F(Check, APullIsAskedForAndWaitedForAndOnlyThatIsAskedAgain) {
  std::vector<status::CheckRequest> requests;  // written by the server's one thread, read when it is gone
  auto server = Serve([&](const http::ServerRequest& request) {
    requests.push_back(*status::ParseCheckRequest(request.body));
    status::CheckResult result{.node = "ci-7", .time = {}, .ok = false, .answers = {}};
    for (const status::CheckQuestion& question : requests.back().questions) {
      result.answers.push_back(AnswerTo(question));
      if (question.image != "b:good" || requests.size() > 3) continue;
      result.answers.back() = {.image = question.image,
                               .policy = "IfNotPresent",
                               .pending = true,
                               .result = "Unknown",
                               .reason = "Pulling",
                               .message = "it is being pulled: 1 of 2 MB"};
    }
    return http::JsonResponse(200, status::CheckResultJson(result));
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
    return http::JsonResponse(200, status::CheckResultJson({.node = "ci-7",
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
            "the image was not decided in time on node ci-7\n");
  EXPECT_NE(ran.err.find("the time is over, and an image is not here yet"), std::string::npos) << ran.err;
}

// Answers as AnswerAll does.
bool WriteAnswer(const tests::WireRequest& request, int fd) {
  http::ServerRequest asked;
  asked.body = request.body;
  const std::string body = AnswerAll(asked).body;
  return tests::WireServer::Write(fd,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                                      std::to_string(body.size()) + "\r\n\r\n" + body);
}

// The same, but lets a question with this part wait until its client goes.
tests::WireServer::Handler AllBut(const std::string& part) {
  return [part](const tests::WireRequest& request, int fd) {
    if (request.body.find(part) != std::string::npos) {
      tests::WireServer::WaitForClose(fd);
      return false;
    }
    return WriteAnswer(request, fd);
  };
}

// A question that hangs does not take the answers to others with it.
TEST_F(Check, WhatNeedsARegistryHoldsUpNothingElse) {
  tests::WireServer server(AllBut("Always"));
  rig::Ran ran = Run("http://" + server.address(),
                     {"--image", "slow", "--image", "a:good", "--image", "b:closed", "--timeout", "2s"});
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.err;
  EXPECT_EQ(ran.out,
            "ok    –  a:good    IfNotPresent (default)        starts from the node (OpenToNode)\n"
            "OPEN  –  slow      Always (default for :latest)  not decided in time\n"
            "FAIL  –  b:closed  IfNotPresent (default)        " +
                kClosed +
                "1 of 3 images will not start on node ci-7; 1 of 3 images was not decided in time\n");
}

// Many silent registries hold up nothing else, and one registry's silence does not count for others.
TEST_F(Check, ManyQuestionsToSilentRegistriesHoldUpNothingElse) {
  tests::WireServer server(AllBut("dead"));
  Words arguments = {"--timeout", "2s"};
  for (int i = 0; i < 20; i++) arguments.push_back("--image=dead" + std::to_string(i) + ".io/a");
  arguments.insert(arguments.end(),
                   {"--image=dead.io/a:good", "--image=reg.io/a:good", "--image=other.io/a:good",
                    "--image=dead.io/b:good", "--image=never.io/a:good", "--policy=Never"});
  rig::Ran ran = Run("http://" + server.address(), arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.err;
  for (const char* line : {"OPEN  –  dead0.io/a ", "OPEN  –  dead.io/a:good ", "ok    –  reg.io/a:good ",
                           "ok    –  other.io/a:good ", "ok    –  never.io/a:good "}) {
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  }
  EXPECT_TRUE(ran.out.ends_with("22 of 25 images were not decided in time on node ci-7\n")) << ran.out;
}

// So that what needs none of them is answered by the end.
TEST_F(Check, TheAgentIsToldHowLongRegistriesMayTake) {
  std::vector<status::CheckRequest> requests;  // written by the server's one thread, read when it is gone
  auto server = Serve([&](const http::ServerRequest& request) {
    requests.push_back(*status::ParseCheckRequest(request.body));
    return AnswerAll(request);
  });
  Run(Url(server->port()), {"--image", "a:good", "--timeout", "20s"});
  Run(Url(server->port()), {"--image", "a:good", "--timeout", "10m"});
  server.reset();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_GT(requests[0].within, std::chrono::seconds(10));
  EXPECT_LE(requests[0].within, std::chrono::milliseconds(19'250));
  EXPECT_EQ(requests[1].within, status::kMostRegistryTime);
}

TEST_F(Check, WhoWaitsForAnswersIsToldForWhich) {
  std::binary_semaphore said(0);
  tests::WireServer server([&](const tests::WireRequest& request, int fd) {
    EXPECT_TRUE(said.try_acquire_for(std::chrono::seconds(30)));
    return WriteAnswer(request, fd);
  });
  rig::Process check;
  ASSERT_OK(check.Start(Command("http://" + server.address(), {"--image", "a:good", "--image", "b:good"}),
                        scratch_ / "check.log"));
  auto log = [&] { return tests::TextSoFar(scratch_ / "check.log"); };
  EXPECT_TRUE(rig::Eventually(std::chrono::seconds(20), [&] {
    return log().find("waiting for the answers to 2 of 2 questions (3 s so far") != std::string::npos &&
           log().ends_with("more): a:good and others\n");
  })) << log();
  said.release();
  EXPECT_EQ(check.Wait(std::chrono::seconds(10)), (rig::Exit{0, 0})) << log();
}

TEST_F(Check, ASignalEndsTheWait) {
  auto port = tests::Must(rig::FreePort());
  rig::Process check;
  ASSERT_OK(check.Start(Command(Url(*port), {"--image", "a:closed"}), scratch_ / "check.log"));
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10), [&] {
    std::ifstream in(scratch_ / "check.log");
    return in.peek() != std::ifstream::traits_type::eof();
  }));
  EXPECT_EQ(check.Stop(std::chrono::seconds(5)), (rig::Exit{130, 0}));
}

// Somebody else's JSON is no agent's word, and scripts must not take it for one.
TEST_F(Check, WhatIsNoDocumentIsNotPassedOn) {
  auto server = Serve([](const http::ServerRequest&) {
    return http::JsonResponse(200, R"({"apiVersion":"v1","kind":"Status"})");
  });
  for (const Words& words : {Words{"status"}, Words{"status", "-o", "json"}, Words{"status", "-o", "yaml"},
                             Words{"status", "-o", "html"}, Words{"status", "--results", "json"},
                             Words{"explain", "a:v1"}, Words{"explain", "a:v1", "-o", "json"}, Words{"audit"},
                             Words{"audit", "-o", "json"}, Words{"list", "import", "--node"}}) {
    auto ran =
        tests::Must(rig::RunProgram(Prefetchctl(Url(server->port()), words), std::chrono::seconds(20)));
    EXPECT_EQ(ran->exit, (rig::Exit{4, 0})) << base::Join(words, " ") << ran->out << ran->err;
    EXPECT_EQ(ran->out, "") << base::Join(words, " ");
  }
}

// Nothing was printed, so it is no success.
TEST_F(Check, ASignalEndsOtherQuestionsToo) {
  tests::WireServer server([](const tests::WireRequest&, int fd) {
    tests::WireServer::WaitForClose(fd);
    return false;
  });
  int asked = 0;
  for (const Words& words : {Words{"status"}, Words{"explain", "a:v1"}}) {
    rig::Process process;
    ASSERT_OK(process.Start(Prefetchctl("http://" + server.address(), words), scratch_ / "signal.log"));
    asked++;
    ASSERT_TRUE(rig::Eventually(std::chrono::seconds(10), [&] { return server.accepted() >= asked; }));
    EXPECT_EQ(process.Stop(std::chrono::seconds(5)), (rig::Exit{130, 0})) << words[0];
  }
}

// deploy/examples/check-init-container.yaml.

class Example : public Check {
 protected:
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

  const std::string text_ = tests::TextOf(tests::SourceRoot() / "deploy/examples/check-init-container.yaml");
};

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
    argument = base::ReplaceAll(argument, "[$(NODE_IP)]:9477", "127.0.0.1:" + std::to_string(server->port()));
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
  auto root = tests::Must(doc::ParseYaml(text_, problems));
  EXPECT_FALSE(root->Find("spec")->Find("automountServiceAccountToken")->boolean);
  doc::Node init = InitContainer();
  EXPECT_EQ(init.Find("terminationMessagePolicy")->text, "FallbackToLogsOnError");
  const doc::Node* security = init.Find("securityContext");
  ASSERT_NE(security, nullptr);
  // The Pod Security Standard "restricted" asks for these fields.
  EXPECT_FALSE(security->Find("allowPrivilegeEscalation")->boolean);
  EXPECT_TRUE(security->Find("runAsNonRoot")->boolean);
  EXPECT_EQ(security->Find("capabilities")->Find("drop")->items.at(0).text, "ALL");
  EXPECT_EQ(security->Find("seccompProfile")->Find("type")->text, "RuntimeDefault");
}

}  // namespace
}  // namespace prefetch::system::check_command_test
