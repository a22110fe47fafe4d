#include "http/server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include "must.h"
#include "raw_socket.h"
#include "rows.h"
#include "serve.h"
#include "temp_dir.h"

namespace prefetch::http::server_test {
namespace {

using tests::RawClient;

// Tells what it was asked, so that a test sees what came through.
ServerResponse Echo(const ServerRequest& request) {
  if (request.path == "/throw") throw std::runtime_error("a bug");
  if (request.path == "/large") return {.body = std::string(3'000'000, 'x'), .headers = {}};
  if (request.path == "/injected") {
    return {.body = "", .headers = {{"X-Bad", "a\r\nX-Injected: 1"}, {"X-Good", "b"}}};
  }
  std::string said = request.method;
  said += " " + request.path;
  for (const auto& parameter : request.query) said += " " + parameter.first + "=" + parameter.second;
  if (auto agent = request.headers.Get("user-agent")) said += " agent=" + std::string(*agent);
  if (!request.body.empty()) said += " body=" + std::to_string(request.body.size());
  said += request.local ? " local" : " tcp";
  if (request.path == "/peer") said += " " + request.peer;
  return {.body = said + "\n", .headers = {}};
}

std::unique_ptr<Server> StartTcp(const ServerLimits& limits = {}) {
  return tests::Serve(&Echo, limits);
}

std::string Ask(const Server& server, const std::string& text) {
  RawClient client(server.port());
  client.Send(text);
  return client.ReadAll();
}

std::string Get(const Server& server, const std::string& target) {
  return Ask(server, "GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

std::string FirstLine(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}
std::string Body(const std::string& answer) {
  std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

TEST(Server, TellsTheAddressOfThePeer) {
  EXPECT_EQ(Body(Get(*StartTcp(), "/peer")), "GET /peer tcp 127.0.0.1\n");
}

TEST(Server, GivesTheHandlerWhatCame) {
  auto server = StartTcp();
  EXPECT_EQ(Body(Get(*server, "/v1/images/reg%3A5000%2Fa?policy=Never&x")),
            "GET /v1/images/reg:5000/a policy=Never x= tcp\n");
  EXPECT_EQ(Body(Ask(*server,
                     "POST /c HTTP/1.1\r\nHost: x\r\nUser-Agent: me\r\nContent-Length: 5\r\n"
                     "Connection: close\r\n\r\nhello")),
            "POST /c agent=me body=5 tcp\n");
  EXPECT_EQ(Body(Ask(*server,
                     "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                     "Connection: close\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")),
            "POST /c body=5 tcp\n");
}

TEST(Server, HeadIsGetWithoutTheBody) {
  auto server = StartTcp();
  std::string answer = Ask(*server, "HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(FirstLine(answer), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("Content-Length: 11"), std::string::npos) << answer;
  EXPECT_EQ(Body(answer), "");
}

TEST(Server, LargeAnswersComeWhole) {
  auto server = StartTcp();
  EXPECT_EQ(Body(Get(*server, "/large")).size(), 3'000'000U);
}

TEST(Server, AHandlersMistakeIsItsOwn) {
  auto server = StartTcp();
  EXPECT_EQ(FirstLine(Get(*server, "/throw")), "HTTP/1.1 500 Internal Server Error");
  std::string answer = Get(*server, "/injected");
  EXPECT_EQ(answer.find("X-Injected"), std::string::npos);
  EXPECT_NE(answer.find("X-Good: b"), std::string::npos);
}

struct HostileCase {
  std::string name, text;
  std::string status;  // "": closed without a word is fine too
};
TEST_TABLE(HostileTest, IsAnsweredOrCutAndTheServerLives, HostileCase) {
  auto server = StartTcp({.request_time = std::chrono::milliseconds(500)});
  RawClient client(server->port());
  client.Send(row.text);
  client.CloseSending();
  std::string answer = client.ReadAll();
  if (!row.status.empty()) {
    EXPECT_EQ(FirstLine(answer).substr(0, 12), "HTTP/1.1 " + row.status) << answer;
  }
  EXPECT_EQ(answer.find("(timeout)"), std::string::npos);
  EXPECT_EQ(FirstLine(Get(*server, "/")), "HTTP/1.1 200 OK");
}
TEST_ROWS(Server, HostileTest, {"Garbage", std::string("\0\xff\x16\x03\x01 garbage\r\n\r\n", 17), ""},
          {"Nothing", "", ""}, {"OnlyNewlines", "\r\n\r\n\r\n", ""}, {"HalfRequestLine", "GET /", ""},
          {"HalfHeaders", "GET / HTTP/1.1\r\nHost: x\r\n", ""}, {"NoHost", "GET / HTTP/1.1\r\n\r\n", "400"},
          {"BadEscape", "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "400"},
          {"NulEscape", "GET /%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "400"},
          {"UnknownMethod", "BREW / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "501"},
          {"LowerCaseMethod", "get / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "501"},
          {"LongTarget", "GET /" + std::string(60'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", ""},
          {"LongHeader", "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(60'000, 'a') + "\r\n\r\n", ""},
          {"LongBody", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\nabc", "413"},
          {"HugeBody", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
           ""},
          {"NegativeBody", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\nabc", ""},
          {"BadChunk", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", ""},
          {"CutBody", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", ""});

TEST(Server, TooLongHeadersAreSaidSo) {
  auto server = StartTcp();
  std::string fields;
  for (int i = 0; i < 400; i++)
    fields += "X-Field-" + std::to_string(i) + ": " + std::string(100, 'a') + "\r\n";
  std::string answer = Ask(*server, "GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
  EXPECT_EQ(FirstLine(answer).substr(0, 12), "HTTP/1.1 431") << FirstLine(answer);
}

TEST(Server, TooMuchInChunksIs413) {
  auto server = StartTcp();
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; i++) text += "1000\r\n" + std::string(0x1000, 'a') + "\r\n";
  EXPECT_EQ(FirstLine(Ask(*server, text + "0\r\n\r\n")), "HTTP/1.1 413 Content Too Large");
}

TEST(Server, TheLimitItselfFits) {
  auto server = StartTcp({.body_bytes = 100});
  std::string head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ";
  EXPECT_EQ(Body(Ask(*server, head + "100\r\n\r\n" + std::string(100, 'a'))), "POST / body=100 tcp\n");
  EXPECT_EQ(FirstLine(Ask(*server, head + "101\r\n\r\n" + std::string(101, 'a'))).substr(9, 3), "413");
}

TEST(Server, AHalfClosedClientIsAnswered) {
  auto server = StartTcp();
  RawClient client(server->port());
  client.Send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.CloseSending();
  EXPECT_EQ(Body(client.ReadAll()), "GET /a tcp\n");
}

TEST(Server, AnAnswerGrantsNewTime) {
  auto server = StartTcp({.request_time = std::chrono::milliseconds(400)});
  RawClient client(server->port());
  auto begin = std::chrono::steady_clock::now();
  // Lively for longer than one request's time: never cut while requests are whole.
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(900)) {
    ASSERT_TRUE(client.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_NE(client.ReadUntil("GET /a tcp\n").find("200 OK"), std::string::npos);
  }
}

TEST(Server, AFloodThatFillsHalfOfItGetsLessTime) {
  auto server = StartTcp(
      {.request_time = std::chrono::milliseconds(20'000), .connections = 8, .connections_per_address = 8});
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 8; i++) flood.push_back(std::make_unique<RawClient>(server->port()));
  EXPECT_EQ(FirstLine(Get(*server, "/readyz")), "HTTP/1.1 200 OK");  // once the oldest were cut
}

// Kubelet's probes may come from the address of the pods that hold them.
TEST(Server, OneAddressCannotTakeAllConnections) {
  auto server = StartTcp({.connections = 16, .connections_per_address = 2});
  RawClient one(server->port()), two(server->port());
  // Age counts from the newest request.
  one.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(one.ReadUntil("tcp\n"), "");
  two.Send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(two.ReadUntil("tcp\n"), "");
  EXPECT_EQ(FirstLine(Get(*server, "/3")), "HTTP/1.1 200 OK");
  EXPECT_EQ(one.ReadAll(), "") << "the oldest one made room";
  two.Send("GET /4 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(two.ReadUntil("tcp\n"), "");
}

TEST(Server, WhereAddressesFillItTheBusiestMakesRoom) {
  auto server = StartTcp(
      {.request_time = std::chrono::milliseconds(20'000), .connections = 16, .connections_per_address = 16});
  RawClient quiet(server->port(), "127.0.0.2");
  quiet.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(quiet.ReadUntil("tcp\n"), "");
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 40; i++) flood.push_back(std::make_unique<RawClient>(server->port()));
  EXPECT_EQ(FirstLine(Get(*server, "/readyz")), "HTTP/1.1 200 OK");
  quiet.Send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(quiet.ReadUntil("tcp\n"), "") << "it was there first, and is the only one of its address";
}

TEST(Server, PlainTextHasNoControlCharacters) {
  auto server = StartTcp();
  EXPECT_EQ(Body(Get(*server, "/a%1b%5d0;t%07%c2%9b%e2%80%aeb")), "GET /a ]0;t   b tcp\n");
}

TEST(Server, WhereEachAddressHasOneConnectionTheOldestMakesRoom) {
  auto server =
      StartTcp({.request_time = std::chrono::minutes(10), .connections = 16, .connections_per_address = 16});
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 15; i++) {
    flood.push_back(
        std::make_unique<RawClient>(server->port(), ("127.0.3." + std::to_string(i + 1)).c_str()));
  }
  EXPECT_EQ(FirstLine(Get(*server, "/readyz")), "HTTP/1.1 200 OK");
  const std::string ask = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  flood.front()->Send(ask);
  EXPECT_EQ(flood.front()->ReadAll(), "");
  flood.back()->Send(ask);
  EXPECT_NE(flood.back()->ReadAll(), "");
}

TEST(Server, TwoServersOnePerListener) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  auto tcp = StartTcp();
  auto listener = tests::Must(Listener::Unix(path, 0600));
  auto local = tests::Must(Server::Start(std::move(*listener), {}, &Echo));
  EXPECT_EQ((*local)->address(), "unix://" + path);
  RawClient client(path);
  client.Send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(Body(client.ReadAll()), "GET /a local\n");
  EXPECT_EQ(Body(Get(*tcp, "/a")), "GET /a tcp\n");
  (*local).reset();
  EXPECT_FALSE(RawClient(path).connected());
  EXPECT_EQ(Body(Get(*tcp, "/a")), "GET /a tcp\n");
}

TEST(Server, GoesDownWithConnectionsOpen) {
  auto server = StartTcp();
  std::uint16_t port = server->port();
  RawClient idle(port), half(port);
  half.Send("GET /");
  EXPECT_NE(Get(*server, "/"), "");
  server.reset();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(RawClient(port).connected());
}

TEST(Server, CanBeStoppedTheMomentItHasStarted) {
  for (int i = 0; i < 300; i++) StartTcp();  // its thread may not have run at all yet
}

TEST(Server, ItsThreadTakesNoSignal) {
  std::atomic<int> blocked{0};
  const auto server = tests::Serve([&](const ServerRequest&) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) + sigismember(&mask, SIGPIPE) + sigismember(&mask, SIGINT);
    return ServerResponse();
  });
  Get(*server, "/");
  EXPECT_EQ(blocked, 3);
}

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(TcpListener, PortZeroTakesAFreeOne) {
  auto listener = tests::Must(Listener::Tcp("127.0.0.1:0"));
  EXPECT_GT(listener->port(), 0);
  EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));
  EXPECT_FALSE(listener->local());
  EXPECT_TRUE(tests::RawClient(listener->port()).connected());
}

TEST(TcpListener, EveryAddressTakesIpv4Too) {
  auto listener = tests::Must(Listener::Tcp(":0"));
  EXPECT_TRUE(tests::RawClient(listener->port()).connected());
}

TEST(TcpListener, ATakenPortIsSaidClearly) {
  auto first = tests::Must(Listener::Tcp("127.0.0.1:0"));
  const auto error = tests::MustFail(Listener::Tcp(first->address()));
  EXPECT_EQ(error.code(), base::Code::kUnavailable);
  EXPECT_EQ(error.message(),
            "cannot listen on " + first->address() +
                ": the address is in use; is another prefetchd running here? Choose another one");
}

struct BadAddress {
  std::string name, address;
};
TEST_TABLE(BadAddressTest, IsRefused, BadAddress) {
  const auto error = tests::MustFail(Listener::Tcp(row.address));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument) << error.message();
}
TEST_ROWS(Listener, BadAddressTest, {"Empty", ""}, {"NoPort", "127.0.0.1"},
          {"PortTooHigh", "127.0.0.1:65536"}, {"PortIsAName", "127.0.0.1:http"},
          {"HostIsAName", "localhost:80"}, {"BareIpv6", "::1:80"}, {"BracketsAroundIpv4", "[127.0.0.1]:80"},
          {"NotOurs", "192.0.2.1:80"});

TEST(UnixListener, MakesItsFolderAndGoesWithItsFile) {
  tests::TempDir dir;
  std::string path = dir / "a/b/p.sock";
  {
    auto listener = tests::Must(Listener::Unix(path, 0600));
    EXPECT_EQ(ModeOf(path), 0600U);
    EXPECT_EQ(ModeOf(dir / "a/b"), 0755U);
    EXPECT_EQ(listener->address(), "unix://" + path);
    EXPECT_TRUE(listener->local());
    EXPECT_TRUE(tests::RawClient(path).connected());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, TheModeIsExactWhateverTheUmask) {
  tests::TempDir dir;
  mode_t before = ::umask(0777);
  auto listener = Listener::Unix(dir / "p.sock", 0660);
  ::umask(before);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(ModeOf(dir / "p.sock"), 0660U);
}

TEST(UnixListener, ADeadProcessSocketIsReplaced) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  {
    auto dead = tests::Must(Listener::Unix(path, 0600));
    // As if the process had died: the file stays behind, under another name for its destructor.
    std::filesystem::rename(path, dir / "left");
  }
  std::filesystem::rename(dir / "left", path);
  ASSERT_FALSE(tests::RawClient(path).connected());
  auto listener = tests::Must(Listener::Unix(path, 0600));
  EXPECT_TRUE(tests::RawClient(path).connected());
}

TEST(UnixListener, ALiveOneIsLeftAlone) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  auto first = tests::Must(Listener::Unix(path, 0600));
  const auto error = tests::MustFail(Listener::Unix(path, 0600));
  EXPECT_EQ(error.code(), base::Code::kUnavailable);
  EXPECT_EQ(error.message(),
            "cannot listen on " + path +
                ": another process listens there; is another prefetchd running here? Choose another path");
  EXPECT_TRUE(tests::RawClient(path).connected());
}

TEST(UnixListener, AFileThatIsNoSocketIsLeftAlone) {
  tests::TempDir dir;
  std::string path = dir.Write("p.sock", "precious");
  const auto error = tests::MustFail(Listener::Unix(path, 0600));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
  EXPECT_EQ(*base::ReadFile(path, 100), "precious");
}

TEST(UnixListener, AFileThatSomebodyPutThereMeanwhileStays) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  {
    auto listener = tests::Must(Listener::Unix(path, 0600));
    std::filesystem::rename(path, dir / "moved");
    dir.Write("p.sock", "somebody else's");
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UnixListener, PathsThatCannotBe) {
  EXPECT_EQ(Listener::Unix("relative.sock", 0600).error().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(Listener::Unix("/" + std::string(107, 'a'), 0600).error().code(), base::Code::kInvalidArgument);
}

}  // namespace
}  // namespace prefetch::http::server_test
