// Answers that take a while, over real sockets.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <stdexcept>

#include "base/mutex.h"
#include "http/server.h"
#include "no_more_threads.h"
#include "raw_socket.h"
#include "rows.h"
#include "serve.h"
#include "temp_dir.h"

namespace prefetch::http::deferred_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::RawClient;

constexpr seconds kPatience{10};  // what a test waits at most for what must happen

// Endpoints whose jobs wait until the test lets them go, or until they are stopped.
class Jobs {
 public:
  Handler handler() {
    return [this](const ServerRequest& request) { return Answer(request); };
  }

  // Everybody who waits, and who will.
  void Open() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool WaitAccepted(int n) { return WaitFor(accepted_, n); }
  bool WaitBegun(int n) { return WaitFor(begun_, n); }
  bool WaitStopped(int n) { return WaitFor(stopped_, n); }
  // Whether it has run or not.
  bool WaitDestroyed(int n) { return WaitFor(destroyed_, n); }
  int begun() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return begun_;
  }
  int stopped() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return stopped_;
  }

 private:
  HandlerResult Answer(const ServerRequest& request) {
    if (request.path == "/now") return ServerResponse{.body = "now\n"};
    Count(accepted_);
    if (request.path == "/throw")
      return Deferred([](const base::Call&) -> ServerResponse { throw std::runtime_error("a bug"); });
    if (request.path == "/null") return Deferred();
    if (request.path == "/large")
      return Deferred([](const base::Call&) { return ServerResponse{.body = std::string(3'000'000, 'x')}; });
    if (request.path == "/deaf") return Deferred([this](const base::Call&) { return Deaf(); });
    if (request.path == "/mask") return Deferred([](const base::Call&) { return Mask(); });
    std::shared_ptr<void> life(this, [this](void*) { Count(destroyed_); });
    return Deferred([this, life, said = request.path + " " + request.body](const base::Call& call) {
      return Wait(call, said);
    });
  }

  ServerResponse Wait(const base::Call& call, const std::string& said) PREFETCH_EXCLUDES(mutex_) {
    Count(begun_);
    std::stop_callback wake(call.stop, [this] {
      base::Lock lock(mutex_);
      changed_.notify_all();
    });
    base::Lock lock(mutex_);
    bool late = false;
    while (!open_ && !call.Stopped() && !late) {
      late = changed_.wait_until(mutex_, call.deadline) == std::cv_status::timeout;
    }
    if (call.Stopped()) {
      stopped_++;
      changed_.notify_all();
      return ErrorResponse(503, "stopped");
    }
    if (!open_) return ErrorResponse(504, "its own deadline");
    return {.body = said + "\n", .headers = {{"X-Job", "yes"}}};
  }

  // Heeds neither its deadline nor a stop.
  ServerResponse Deaf() PREFETCH_EXCLUDES(mutex_) {
    Count(begun_);
    base::Lock lock(mutex_);
    while (!open_) changed_.wait(mutex_);
    return {.body = "at last\n"};
  }

  static ServerResponse Mask() {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    bool all = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
    return {.body = all ? "blocked\n" : "open\n"};
  }

  void Count(int& counter) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    counter++;
    changed_.notify_all();
  }
  bool WaitFor(const int& counter, int n) PREFETCH_EXCLUDES(mutex_) {
    auto end = std::chrono::steady_clock::now() + kPatience;
    base::Lock lock(mutex_);
    while (counter < n) {
      if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return false;
    }
    return true;
  }

  base::Mutex mutex_;
  base::Condition changed_;
  bool open_ = false;
  int accepted_ = 0;
  int begun_ = 0;
  int stopped_ = 0;
  int destroyed_ = 0;
};

std::unique_ptr<Server> Start(Jobs& jobs, const ServerLimits& limits = {}, const std::string& socket = "") {
  auto listener = socket.empty() ? Listener::Tcp("127.0.0.1:0") : Listener::Unix(socket, 0600);
  EXPECT_TRUE(listener);
  auto server = Server::Start(std::move(*listener), limits, jobs.handler());
  EXPECT_TRUE(server);
  return std::move(*server);
}

std::string GetText(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

std::string Get(const Server& server, const std::string& path) {
  RawClient client(server.port());
  client.Send(GetText(path));
  return client.ReadAll();
}

std::string Status(const std::string& answer) {
  return answer.size() < 12 ? answer : answer.substr(9, 3);
}
std::string Body(const std::string& answer) {
  std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

TEST(Deferred, OthersAreAnsweredWhileOneWaits) {
  Jobs jobs;
  auto server = Start(jobs);
  RawClient slow(server->port());
  slow.Send(GetText("/slow"));
  ASSERT_TRUE(jobs.WaitBegun(1));
  for (int i = 0; i < 50; i++) EXPECT_EQ(Body(Get(*server, "/now")), "now\n");
  jobs.Open();
  std::string answer = slow.ReadAll();
  EXPECT_EQ(Status(answer), "200");
  EXPECT_EQ(Body(answer), "/slow \n");
  EXPECT_NE(answer.find("X-Job: yes"), std::string::npos);
}

struct WireCase {
  std::string name, text;
  std::string status, body;
};
TEST_TABLE(WireTest, IsAnswered, WireCase) {
  Jobs jobs;
  jobs.Open();
  auto server = Start(jobs);
  RawClient client(server->port());
  client.Send(row.text);
  std::string answer = client.ReadAll();
  EXPECT_EQ(Status(answer), row.status) << answer;
  if (!row.body.empty()) {
    EXPECT_EQ(Body(answer), row.body);
  }
  EXPECT_EQ(Body(Get(*server, "/now")), "now\n");
}
TEST_ROWS(Deferred, WireTest, {"Get", GetText("/a"), "200", "/a \n"},
          {"Post", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
           "200", "/a hello\n"},
          {"PostInChunks",
           "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
           "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
           "200", "/a hello\n"},
          {"AJobThatThrows", GetText("/throw"), "500",
           "{\"error\":\"this request could not be answered\"}\n"},
          {"NoJobAtAll", GetText("/null"), "500", ""},
          {"ALargeAnswer", GetText("/large"), "200", std::string(3'000'000, 'x')},
          {"TheThreadTakesNoSignal", GetText("/mask"), "200", "blocked\n"},
          {"TooLongABody", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\nabc", "413", ""});

TEST(Deferred, PipelinedRequestsAreAnsweredInOrder) {
  Jobs jobs;
  auto server = Start(jobs);
  RawClient client(server->port());
  client.Send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /now HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" +
      GetText("/3"));
  ASSERT_TRUE(jobs.WaitBegun(1));
  jobs.Open();
  std::string answer = client.ReadAll();
  std::size_t one = answer.find("\r\n\r\n/1"), now = answer.find("\r\n\r\nnow");
  std::size_t two = answer.find("\r\n\r\n/2 abc"), three = answer.find("\r\n\r\n/3");
  EXPECT_LT(one, now);
  EXPECT_LT(now, two);
  EXPECT_LT(two, three);
  EXPECT_NE(three, std::string::npos) << answer;
}

TEST(Deferred, WhoFindsNoRoomIsToldToComeAgain) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_threads = 2, .deferred_queue = 3});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 5; i++) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->Send(GetText("/" + std::to_string(i)));
    ASSERT_TRUE(jobs.WaitAccepted(i + 1));
  }
  std::string refused = Get(*server, "/6");
  EXPECT_EQ(Status(refused), "503");
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos) << refused;
  EXPECT_EQ(Body(Get(*server, "/now")), "now\n");
  ASSERT_TRUE(jobs.WaitBegun(2));
  EXPECT_EQ(jobs.begun(), 2);  // no more threads than that
  jobs.Open();
  for (int i = 0; i < 5; i++) EXPECT_EQ(Body(clients[i]->ReadAll()), "/" + std::to_string(i) + " \n");
  EXPECT_EQ(Status(Get(*server, "/7")), "200");
}

TEST(Deferred, WithoutThreadsThereIsNoRoom) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_threads = 0});
  EXPECT_EQ(Status(Get(*server, "/a")), "503");
}

TEST(Deferred, ManyAtOnceGetEachTheirOwn) {
  Jobs jobs;
  jobs.Open();
  auto server = Start(jobs);
  for (int round = 0; round < 20; round++) {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 20; i++) {
      clients.push_back(std::make_unique<RawClient>(server->port()));
      clients.back()->Send(GetText("/" + std::to_string(i)));
    }
    for (int i = 0; i < 20; i++) ASSERT_EQ(Body(clients[i]->ReadAll()), "/" + std::to_string(i) + " \n");
  }
}

// The one thread of quick jobs, which one address could keep for itself by many requests.
TEST(Deferred, AddressesTakeTurns) {
  base::Mutex mutex;
  base::Condition changed;
  bool open = false;
  int accepted = 0;
  std::vector<std::string> order;
  const auto server = tests::Serve(
      [&](const ServerRequest& request) -> HandlerResult {
        if (request.path == "/now") return ServerResponse{.body = "now\n"};
        base::Lock lock(mutex);
        accepted++;
        changed.notify_all();
        return {[&, peer = request.peer](const base::Call&) {
                  base::Lock inside(mutex);
                  while (!open) changed.wait(mutex);
                  order.push_back(peer);
                  return ServerResponse{.body = "ok\n"};
                },
                JobKind::kCompute};
      },
      {.deferred_threads = 4, .deferred_per_client = 2});
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto ask = [&](const char* from) {
    clients.push_back(std::make_unique<RawClient>(server->port(), from));
    clients.back()->Send(GetText("/metrics"));
    base::Lock lock(mutex);
    while (accepted < static_cast<int>(clients.size())) changed.wait(mutex);
  };
  for (int i = 0; i < 20; i++) ask("127.0.0.66");
  ask("127.0.0.2");
  ask("127.0.0.3");
  EXPECT_EQ(Body(Get(*server, "/now")), "now\n");  // the others are in the queue then
  {
    base::Lock lock(mutex);
    open = true;
    changed.notify_all();
  }
  for (auto& client : clients) EXPECT_EQ(Status(client->ReadAll()), "200");
  ASSERT_EQ(order.size(), 22U);
  EXPECT_EQ(order[1] + " " + order[2], "127.0.0.2 127.0.0.3");
}

// Two of four threads for one address, but only while two are free.
TEST(Deferred, ABusyServerGivesEachAddressOneThread) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_threads = 4, .deferred_per_client = 2});
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto ask = [&](const char* from, int begun) {
    clients.push_back(std::make_unique<RawClient>(server->port(), from));
    clients.back()->Send(GetText("/a"));
    EXPECT_TRUE(jobs.WaitAccepted(static_cast<int>(clients.size())));
    EXPECT_TRUE(jobs.WaitBegun(begun)) << from;
  };
  ask("127.0.0.66", 1);
  ask("127.0.0.66", 2);
  ask("127.0.0.67", 3);
  ask("127.0.0.67", 3);
  ask("127.0.0.2", 4);
  // The second one of 127.0.0.67 is the one that waits: it goes without having begun.
  clients[3].reset();
  EXPECT_TRUE(jobs.WaitDestroyed(1));
  EXPECT_EQ(jobs.begun(), 4);
  EXPECT_EQ(jobs.stopped(), 0);
  jobs.Open();
  for (auto& client : clients) {
    if (client) {
      EXPECT_EQ(Status(client->ReadAll()), "200");
    }
  }
}

TEST(Deferred, WhatWaitsForAThreadThatCannotBeMadeGoesWithItsClient) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_threads = 4, .deferred_per_client = 2});
  RawClient first(server->port(), "127.0.0.66");
  first.Send(GetText("/a"));
  ASSERT_TRUE(jobs.WaitBegun(1));
  const tests::NoMoreThreads none;
  auto second = std::make_unique<RawClient>(server->port(), "127.0.0.66");
  second->Send(GetText("/b"));
  ASSERT_TRUE(jobs.WaitAccepted(2));
  EXPECT_EQ(Body(Get(*server, "/now")), "now\n");  // the second one is in the queue then
  second.reset();
  EXPECT_TRUE(jobs.WaitDestroyed(1));
  jobs.Open();
  EXPECT_EQ(Status(first.ReadAll()), "200");
  EXPECT_EQ(jobs.begun(), 1);
}

enum class Leaves { kClosesTcp, kResetsTcp, kClosesUnix };
struct LeaveCase {
  std::string name;
  Leaves how;
};
class LeaveTest : public testing::TestWithParam<LeaveCase> {
 protected:
  std::unique_ptr<RawClient> Connect() {
    if (GetParam().how == Leaves::kClosesUnix) return std::make_unique<RawClient>(socket_);
    return std::make_unique<RawClient>(server_->port());
  }
  void Leave(std::unique_ptr<RawClient> client) {
    if (GetParam().how == Leaves::kResetsTcp) client->ResetOnClose();
  }

  tests::TempDir dir_;
  std::string socket_ = dir_ / "p.sock";
  Jobs jobs_;
  std::unique_ptr<Server> server_ = Start(jobs_, {.deferred_threads = 1, .deferred_queue = 1},
                                          GetParam().how == Leaves::kClosesUnix ? socket_ : "");
};
TEST_P(LeaveTest, StopsItsJobAndMakesRoom) {
  auto one = Connect();
  one->Send(GetText("/1"));
  ASSERT_TRUE(jobs_.WaitBegun(1));
  auto two = Connect();
  two->Send(GetText("/2"));
  ASSERT_TRUE(jobs_.WaitAccepted(2));
  Leave(std::move(two));
  ASSERT_TRUE(jobs_.WaitDestroyed(1));  // its job was waiting, and never begins
  auto three = Connect();
  three->Send(GetText("/3"));
  ASSERT_TRUE(jobs_.WaitAccepted(3));
  Leave(std::move(one));
  EXPECT_TRUE(jobs_.WaitStopped(1));
  EXPECT_TRUE(jobs_.WaitBegun(2));
  jobs_.Open();
  EXPECT_EQ(Body(three->ReadAll()), "/3 \n");
  EXPECT_EQ(jobs_.begun(), 2);  // 1 and 3
}
TEST_ROWS(Deferred, LeaveTest, {"ClosesTcp", Leaves::kClosesTcp}, {"ResetsTcp", Leaves::kResetsTcp},
          {"ClosesUnix", Leaves::kClosesUnix});

TEST(Deferred, AHalfClosedUnixClientIsStillThere) {
  tests::TempDir dir;
  Jobs jobs;
  auto server = Start(jobs, {}, dir / "p.sock");
  RawClient client(dir / "p.sock");
  client.Send(GetText("/a"));
  client.CloseSending();
  ASSERT_TRUE(jobs.WaitBegun(1));
  RawClient other(dir / "p.sock");
  other.Send(GetText("/now"));
  EXPECT_EQ(Body(other.ReadAll()), "now\n");
  jobs.Open();
  EXPECT_EQ(Body(client.ReadAll()), "/a \n");
}

TEST(Deferred, AHalfClosedTcpClientIsTakenForGoneButTold) {
  Jobs jobs;
  auto server = Start(jobs);
  RawClient client(server->port());
  client.Send(GetText("/a"));
  ASSERT_TRUE(jobs.WaitBegun(1));
  client.CloseSending();
  EXPECT_TRUE(jobs.WaitStopped(1));
  EXPECT_EQ(Status(client.ReadAll()), "503");
}

TEST(Deferred, GoesDownWhileJobsRun) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_threads = 2, .deferred_queue = 2});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; i++) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->Send(GetText("/a"));
    ASSERT_TRUE(jobs.WaitAccepted(i + 1));
  }
  ASSERT_TRUE(jobs.WaitBegun(2));
  server.reset();
  EXPECT_TRUE(jobs.WaitStopped(2));
  EXPECT_EQ(jobs.begun(), 2);
  for (auto& client : clients) EXPECT_EQ(client->ReadAll(), "");
}

TEST(Deferred, GoesDownTheMomentThatAJobIsDone) {
  for (int i = 0; i < 200; i++) {
    Jobs jobs;
    auto server = Start(jobs);
    RawClient client(server->port());
    client.Send(GetText("/a"));
    ASSERT_TRUE(jobs.WaitBegun(1));
    jobs.Open();
  }
}

TEST(Deferred, OutlastsSlowClientsThatAreCutMeanwhile) {
  Jobs jobs;
  auto server = Start(jobs, {.request_time = milliseconds(1000)});
  RawClient patient(server->port());
  patient.Send(GetText("/a"));
  ASSERT_TRUE(jobs.WaitBegun(1));
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 200; i++) {
    slow.push_back(std::make_unique<RawClient>(server->port()));
    ASSERT_TRUE(slow.back()->Send("GET /readyz HTTP/1.1\r\nHost: x\r\nX-"));
  }
  int answered = 0;
  for (int i = 0; i < 20; i++) {
    for (auto& client : slow) client->Send("a");
    answered += Body(Get(*server, "/now")) == "now\n";
  }
  EXPECT_EQ(answered, 20);
  // All of them have come after the patient one, and are cut before it.
  for (auto& client : slow) EXPECT_EQ(client->ReadAll(10).find("(timeout)"), std::string::npos);
  jobs.Open();
  EXPECT_EQ(Body(patient.ReadAll()), "/a \n");
}

TEST(Deferred, ItsConnectionIsCutWhenItIdlesAfterwards) {
  Jobs jobs;
  auto server = Start(jobs, {.request_time = milliseconds(300)});
  RawClient client(server->port());
  client.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(jobs.WaitBegun(1));
  RawClient idle(server->port());
  EXPECT_EQ(idle.ReadAll(), "");  // cut: so more than request_time has passed
  jobs.Open();
  EXPECT_NE(client.ReadUntil("/a \n").find("200 OK"), std::string::npos);
  ASSERT_TRUE(client.Send("GET /now HTTP/1.1\r\nHost: x\r\n\r\n"));  // its time has begun anew
  EXPECT_NE(client.ReadUntil("now\n").find("200 OK"), std::string::npos);
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(Deferred, AJobKnowsItsDeadline) {
  Jobs jobs;
  auto server = Start(jobs, {.deferred_time = milliseconds(200), .deferred_grace = seconds(60)});
  EXPECT_EQ(Body(Get(*server, "/a")), "{\"error\":\"its own deadline\"}\n");
}

TEST(Deferred, WhatHeedsNoDeadlineIsLeftAlone) {
  Jobs jobs;
  auto server = Start(
      jobs, {.deferred_time = milliseconds(100), .deferred_grace = milliseconds(100), .deferred_threads = 1});
  RawClient queued(server->port());
  EXPECT_EQ(Body(Get(*server, "/deaf")), "{\"error\":\"this took too long\"}\n");
  queued.Send(GetText("/b"));  // its turn does not come
  EXPECT_EQ(Status(queued.ReadAll()), "504");
  EXPECT_EQ(jobs.begun(), 1);
  jobs.Open();
  // Room again, once the deaf one has ended: its answer goes to nobody.
  RawClient client(server->port());
  client.Send(GetText("/c"));
  ASSERT_TRUE(jobs.WaitBegun(2));
  EXPECT_EQ(Body(client.ReadAll()), "/c \n");
}

TEST(ServerAnswer, WaitsForAJobAndHasAResponseAtOnce) {
  auto now = HandlerResult(ServerResponse{.body = "now"});
  EXPECT_FALSE(now.deferred());
  EXPECT_EQ(std::move(now).Wait({}).body, "now");
  auto later = HandlerResult(Deferred(
      [](const base::Call& call) { return ServerResponse{.body = call.Stopped() ? "stopped" : "later"}; }));
  EXPECT_TRUE(later.deferred());
  EXPECT_EQ(std::move(later).Wait({}).body, "later");
}

}  // namespace
}  // namespace prefetch::http::deferred_test
