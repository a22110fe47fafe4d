// `prefetchctl check` and agents that are busy, late, slow, broken or none: it ends in time, and takes
// nothing for a verdict that is none.

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <semaphore>
#include <string>
#include <vector>

#include "fakes/wire_server.h"
#include "rig/port.h"
#include "system/check_rig.h"

namespace prefetch::system::check_agents_test {
namespace {

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
            "the image was not decided in time on node ci-7\n");
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
                                 "gave an unexpected answer"},
                    BadAgentCase{"AnswersAnotherQuestion",
                                 [](const tests::WireRequest&, int fd) {
                                   std::string body = status::CheckResultJson({.node = "n", .ok = true});
                                   return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) +
                                                            "\r\n") &&
                                          tests::WireServer::Write(fd, body);
                                 },
                                 "gave an unexpected answer"},
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
                kClosed +
                "1 of 3 images will not start on node ci-7; 1 of 3 images was not decided in time\n");
}

// Neither do many of them, nor is one registry's silence that of others.
TEST_F(Check, ManyQuestionsToSilentRegistriesHoldUpNothingElse) {
  tests::WireServer server([](const tests::WireRequest& request, int fd) {
    if (request.body.find("dead") != std::string::npos) {
      tests::WireServer::WaitForClose(fd);
      return false;
    }
    http::ServerRequest asked;
    asked.body = request.body;
    std::string body = AnswerAll(asked).body;
    return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) + "\r\n") &&
           tests::WireServer::Write(fd, body);
  });
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
    http::ServerRequest asked;
    asked.body = request.body;
    std::string body = AnswerAll(asked).body;
    return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) + "\r\n") &&
           tests::WireServer::Write(fd, body);
  });
  rig::Process check;
  ASSERT_OK(check.Start(Command("http://" + server.address(), {"--image", "a:good", "--image", "b:good"}),
                        scratch_ / "check.log"));
  auto log = [&] {
    std::ifstream in(scratch_ / "check.log");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_TRUE(rig::Eventually(std::chrono::seconds(20), [&] {
    return log().find("waiting for the answers to 2 of 2 questions (3 s so far") != std::string::npos &&
           log().ends_with("more): a:good and others\n");
  })) << log();
  said.release();
  EXPECT_EQ(check.Wait(std::chrono::seconds(10)), (rig::Exit{0, 0})) << log();
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

// Somebody else's JSON is no agent's word, and scripts must not take it for one.
TEST_F(Check, WhatIsNoDocumentIsNotPassedOn) {
  for (const std::string& body :
       {std::string("{}"), std::string("{\"apiVersion\":\"v1\",\"kind\":\"Status\"}"), std::string("<html>"),
        std::string()}) {
    tests::WireServer server([&](const tests::WireRequest&, int fd) {
      return WriteHead(fd, "Content-Length: " + std::to_string(body.size()) + "\r\n") &&
             tests::WireServer::Write(fd, body);
    });
    for (const Words& words : {Words{"status"}, Words{"status", "-o", "json"}, Words{"status", "-o", "yaml"},
                               Words{"status", "--results", "json"}, Words{"explain", "a:v1"},
                               Words{"explain", "a:v1", "-o", "json"}, Words{"audit"},
                               Words{"audit", "-o", "json"}, Words{"list", "import", "--node"}}) {
      rig::Command command = Command("http://" + server.address(), {});
      command.argv.pop_back();  // "check"
      command.argv.insert(command.argv.end(), words.begin(), words.end());
      auto ran = rig::RunProgram(command, std::chrono::seconds(20));
      ASSERT_OK(ran);
      EXPECT_EQ(ran->exit, (rig::Exit{4, 0})) << base::Join(words, " ") << body << ran->out << ran->err;
      EXPECT_EQ(ran->out, "") << base::Join(words, " ");
    }
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

}  // namespace
}  // namespace prefetch::system::check_agents_test
