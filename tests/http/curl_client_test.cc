#include "http/curl_client.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "base/redactor.h"
#include "base/text.h"
#include "fakes/certificates.h"
#include "fakes/front.h"
#include "must.h"
#include "raw_socket.h"
#include "rows.h"
#include "serve.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::http::curl_client_test {
namespace {

using base::Call;
using base::Code;
using tests::CertificateAuthority;
using tests::Front;
using tests::ScriptedServer;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

Call Patient() {
  return Call{}.Within(std::chrono::seconds(20));
}

// A server that gives the same bytes to every connection, whatever is asked, and closes.
ScriptedServer::Script Answers(std::string text) {
  return [text = std::move(text)](int fd, int) {
    if (ScriptedServer::ReadRequest(fd)) ScriptedServer::Write(fd, text);
  };
}

TEST(CurlClient, SpeaksToOurServerOverTcpAndSocketFile) {
  tests::TempDir dir;
  Handler echo = [](const ServerRequest& request) -> ServerResponse {
    std::string said = request.method + " " + request.path + " " + request.body + " " +
                       std::string(request.headers.Get("x-a").value_or("-"));
    return {
        .status = request.path == "/no" ? 404 : 200, .body = said, .headers = {{"X-B", "1"}, {"x-b", "2"}}};
  };
  auto tcp_listener = Listener::Tcp("127.0.0.1:0");
  auto unix_listener = Listener::Unix(dir / "p.sock", 0600);
  ASSERT_TRUE(tcp_listener && unix_listener);
  auto tcp = Server::Start(std::move(*tcp_listener), {}, echo);
  auto local = Server::Start(std::move(*unix_listener), {}, echo);
  ASSERT_TRUE(tcp && local);
  CurlClient client;

  std::string base_url = "http://" + (*tcp)->address();
  auto got = tests::Must(client.Send(Patient(), {.url = base_url + "/a", .headers = {{"X-A", "v"}}}));
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "GET /a  v");
  EXPECT_EQ(got->headers.All("X-b"), (std::vector<std::string_view>{"1", "2"}));

  auto put = tests::Must(client.Send(Patient(), {.method = "PUT", .url = base_url + "/a", .body = "data"}));
  EXPECT_EQ(put->body, "PUT /a data -");
  auto missing = tests::Must(client.Send(Patient(), {.url = base_url + "/no"}));
  EXPECT_EQ(missing->status, 404);
  auto head = tests::Must(client.Send(Patient(), {.method = "HEAD", .url = base_url + "/a"}));
  EXPECT_EQ(head->headers.Get("content-length"), "9");
  EXPECT_EQ(head->body, "");

  auto over = tests::Must(client.Send(
      Patient(), {.method = "POST", .url = "http://local/b", .body = "x", .unix_socket = dir / "p.sock"}));
  EXPECT_EQ(over->body, "POST /b x -");
}

TEST(CurlClient, KeepsItsConnection) {
  ScriptedServer server([](int fd, int) {
    while (ScriptedServer::ReadRequest(fd)) ScriptedServer::Write(fd, kOk);
  });
  {
    CurlClient client;
    for (int i = 0; i < 5; i++) {
      auto got = tests::Must(client.Send(Patient(), {.url = server.Url()}));
      EXPECT_EQ(got->body, "ok");
    }
  }
  EXPECT_EQ(server.accepted(), 1);
}

TEST(CurlClient, AConnectionThatDiedMeanwhileIsReplaced) {
  ScriptedServer server(Answers(std::string(kOk)));  // closes after each answer, without saying so
  CurlClient client;
  for (int i = 0; i < 3; i++) {
    auto got = tests::Must(client.Send(Patient(), {.url = server.Url()}));
  }
  EXPECT_EQ(server.accepted(), 3);
}

TEST(CurlClient, SendsTheCredentialAndOnlyWhatWasGiven) {
  std::string seen;
  {
    ScriptedServer server([&](int fd, int) {
      ScriptedServer::ReadRequest(fd, &seen);
      ScriptedServer::Write(fd, kOk);
    });
    CurlClient client;
    ASSERT_TRUE(client.Send(Patient(), {.method = "POST",
                                        .url = server.Url("/x?y=1"),
                                        .headers = {{"Accept", "a/b"}},
                                        .authorization = BasicAuthorization("u", base::Secret("t0p"))}));
  }
  EXPECT_TRUE(seen.starts_with("POST /x?y=1 HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("\r\nAuthorization: Basic dTp0MHA=\r\n"), std::string::npos);
  EXPECT_NE(seen.find("\r\nAccept: a/b\r\n"), std::string::npos);
  EXPECT_NE(seen.find("\r\nUser-Agent: prefetchd/"), std::string::npos);
  EXPECT_EQ(seen.find("Content-Type"), std::string::npos);
  EXPECT_EQ(seen.find("Expect"), std::string::npos);
}

TEST(CurlClient, ProxyOfTheEnvironmentIsNotUsed) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ScriptedServer server(Answers(std::string(kOk)));
  CurlClient client;
  EXPECT_TRUE(client.Send(Patient(), {.url = server.Url()}));
  ::unsetenv("http_proxy");
}

TEST(CurlClient, OfSeveralHeaderBlocksTheLastCounts) {
  ScriptedServer server(Answers("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + std::string(kOk)));
  CurlClient client;
  auto got = tests::Must(client.Send(Patient(), {.url = server.Url()}));
  EXPECT_FALSE(got->headers.Has("Link"));
}

struct AnswerCase {
  std::string name, answer;
  std::string body;    // of a good answer
  std::string status;  // "200", or the error's code
  std::string says;    // part of the error's message
};
std::string ManyFields(int count) {
  std::string text = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < count; i++) text += "X-F: y\r\n";
  return text + "\r\n";
}
TEST_TABLE(AnswerTest, IsTakenOrExplained, AnswerCase) {
  ScriptedServer server(Answers(row.answer));
  CurlClient client;
  auto got = client.Send(Patient(), {.url = server.Url("/p?t0ken"), .max_body_bytes = 10});
  std::string status = got ? std::to_string(got->status) : std::string(base::EnumName(got.error().code()));
  EXPECT_EQ(status, row.status) << (got ? got->body : got.error().message());
  if (got) {
    EXPECT_EQ(got->body, row.body);
  } else {
    EXPECT_NE(got.error().message().find(row.says), std::string::npos) << got.error().message();
    EXPECT_TRUE(got.error().message().starts_with("GET " + server.Url("/p") + ": ")) << got.error().message();
    EXPECT_EQ(got.error().message().find("t0ken"), std::string::npos);
  }
}
TEST_ROWS(CurlClient, AnswerTest,
          {"Chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
           "abc", "200", ""},
          {"UntilClose", "HTTP/1.1 200 OK\r\n\r\nabc", "abc", "200", ""},
          {"ExactlyTheLimit", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", "0123456789", "200",
           ""},
          {"OneTooMany", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a", "", "ResourceExhausted",
           "longer body than allowed"},
          {"CutInMidBody", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "", "Unavailable",
           "broke before the answer was complete"},
          {"CutInMidChunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", "",
           "Unavailable", "broke before the answer was complete"},
          {"Nothing", "", "", "Unavailable", "closed the connection without an answer"},
          {"NotHttp", "220 smtp ready\r\n", "", "Unavailable", "not HTTP"},
          {"ManyFields", ManyFields(100), "", "200", ""},
          {"TooManyFields", ManyFields(101), "", "ResourceExhausted", "longer headers than allowed"},
          {"LongField", "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", "",
           "ResourceExhausted", "longer headers than allowed"},
          {"FieldBeyondTheLimitOfLibcurl", "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n",
           "", "ResourceExhausted", "longer headers than allowed"});

struct BadRequest {
  std::string name;
  Request request;
};
TEST_TABLE(BadRequestTest, IsNotSent, BadRequest) {
  CurlClient client;
  const auto error = tests::MustFail(client.Send(Patient(), row.request));
  EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.message();
  EXPECT_EQ(error.message().find("t0p"), std::string::npos) << error.message();
}
TEST_ROWS(CurlClient, BadRequestTest, {"Empty", {.url = ""}}, {"File", {.url = "file:///etc/passwd"}},
          {"NoScheme", {.url = "host/"}}, {"NoHost", {.url = "http:///a"}},
          {"PortZero", {.url = "http://127.0.0.1:0/"}}, {"NoPort", {.url = "http://127.0.0.1:99999/"}},
          {"EscapedHost", {.url = "http://127%2e0.0.1:1/"}},
          {"TooLong", {.url = "http://127.0.0.1:1/" + std::string(1024 * 1024, 'a')}},
          {"Userinfo", {.url = "http://u:t0p@127.0.0.1:1/"}},
          {"LineBreak", {.url = "http://127.0.0.1:1/a\r\nX: t0p"}},
          {"Blank", {.url = "http://127.0.0.1:1/a b"}},
          {"ControlCharacter", {.url = "http://127.0.0.1:1/a\x01"}},
          {"Delete", {.url = "http://127.0.0.1:1/a\x7f"}},
          {"HeaderInjection", {.url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nC: t0p"}}}},
          {"HeaderName", {.url = "http://127.0.0.1:1/", .headers = {{"A b", "c"}}}},
          {"Credential", {.url = "http://127.0.0.1:1/", .authorization = base::Secret("Bearer t0p\n")}},
          {"Method", {.method = "G T", .url = "http://127.0.0.1:1/"}},
          {"LongSocket", {.url = "http://x/", .unix_socket = "/" + std::string(200, 'a')}});

// libcurl alone would take what is before the "@" for a password, and connect to what is behind it. The first
// URL is longer than a registry may write: it names the Nodes of a cluster.
TEST(CurlClient, AUrlIsSentAsItIsUnderstood) {
  std::mutex mutex;
  std::string request;
  ScriptedServer server([&](int fd, int) {
    std::lock_guard lock(mutex);
    request.clear();
    if (ScriptedServer::ReadRequest(fd, &request)) ScriptedServer::Write(fd, kOk);
  });
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  CurlClient client;
  for (const auto& [url, line] :
       {std::pair{"http://" + address + "/?" + std::string(100'000, 'n'),
                  "GET /?" + std::string(100'000, 'n')},
        std::pair{"http://" + address + "\\x:t0p@127.0.0.1:1/", std::string("GET /\\x:t0p@127.0.0.1:1/")},
        std::pair{"HTTP://" + address + "?a#b", std::string("GET /?a")}}) {
    auto got = tests::Must(client.Send(Patient(), {.url = url}));
    std::lock_guard lock(mutex);
    EXPECT_TRUE(request.starts_with(line + " HTTP/1.1\r\n")) << request.substr(0, 200);
    EXPECT_EQ(request.find("Authorization"), std::string::npos) << request;
  }
}

TEST(CurlClient, WhatCannotBeReachedIsSaid) {
  tests::TempDir dir;
  CurlClient client;
  auto refused = client.Send(Patient(), {.url = "http://127.0.0.1:1/v2/?t0p"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_EQ(refused.error().message(),
            "GET http://127.0.0.1:1/v2/: cannot connect to 127.0.0.1:1: Connection refused");
  const auto error =
      tests::MustFail(client.Send(Patient(), {.url = "http://x/", .unix_socket = dir / "no.sock"}));
  EXPECT_EQ(error.code(), Code::kNotFound) << error.message();
  auto dead = tests::Must(Listener::Unix(dir / "dead.sock", 0600));
  std::filesystem::rename(dir / "dead.sock", dir / "left.sock");
  { Listener gone = std::move(*dead); }
  const auto left =
      tests::MustFail(client.Send(Patient(), {.url = "http://x/", .unix_socket = dir / "left.sock"}));
  EXPECT_EQ(left.code(), Code::kUnavailable) << left.message();
}

TEST(CurlClient, SpeakingTlsToAServerWithoutIsSaid) {
  ScriptedServer server([](int fd, int) {
    char byte;
    if (::recv(fd, &byte, 1, 0) == 1) ScriptedServer::Write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  CurlClient client;
  const auto error = tests::MustFail(
      client.Send(Patient(), {.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/"}));
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_NE(error.message().find("TLS with 127.0.0.1:"), std::string::npos) << error.message();
}

TEST(CurlClient, ADeadlineEndsIt) {
  ScriptedServer server([](int fd, int) { ScriptedServer::WaitForClose(fd); });
  CurlClient client;
  const auto error = tests::MustFail(
      client.Send(Call{}.Within(std::chrono::milliseconds(100)), {.url = server.Url("/?t0p")}));
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(error.message(), "GET " + server.Url() + ": 127.0.0.1:" + std::to_string(server.port()) +
                                 " did not answer in time");
}

TEST(CurlClient, AStopEndsItAtOnce) {
  std::stop_source stop;
  ScriptedServer server([&](int fd, int) {
    ScriptedServer::ReadRequest(fd);
    stop.request_stop();  // while the client waits for its answer
    ScriptedServer::WaitForClose(fd);
  });
  CurlClient client;
  auto begin = std::chrono::steady_clock::now();
  const auto error = tests::MustFail(client.Send(Call{.stop = stop.get_token()}, {.url = server.Url()}));
  EXPECT_EQ(error.code(), Code::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  auto before = client.Send(Call{.stop = stop.get_token()}, {.url = server.Url()});
  EXPECT_EQ(before.error().code(), Code::kCancelled);
}

struct Sink {
  Request To(const std::string& url) {
    return {.url = url, .max_body_bytes = 10, .sink = [this](const Response& head, std::string_view part) {
              status = head.status;
              field = head.headers.Get("X-F").value_or("");
              got += part;
              return got.size() < enough;
            }};
  }
  std::size_t enough = 100;
  int status = 0;
  std::string field, got;
};

TEST(CurlClient, ABodyGoesToItsSink) {
  ScriptedServer server(
      Answers("HTTP/1.1 206 Partial Content\r\nX-F: y\r\nContent-Length: 10\r\n\r\n0123456789"));
  CurlClient client;
  Sink sink;
  auto got = tests::Must(client.Send(Patient(), sink.To(server.Url())));
  EXPECT_EQ(got->status, 206);
  EXPECT_EQ(got->body, "");
  EXPECT_EQ(sink.got, "0123456789");
  EXPECT_EQ(sink.status, 206);
  EXPECT_EQ(sink.field, "y");
}

// The limit of a body for a sink is the size of a layer.
TEST(CurlClient, OfABodyThatIsNoContentOnlyTheBeginningIsKept) {
  for (const char* status :
       {"203 Non-Authoritative Information", "202 Accepted", "404 Not Found", "500 Internal Server Error"}) {
    ScriptedServer server(
        Answers("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 10\r\n\r\n0123456789"));
    CurlClient client;
    Sink sink;
    Request request = sink.To(server.Url());
    request.max_error_body_bytes = 4;
    auto got = tests::Must(client.Send(Patient(), request));
    EXPECT_EQ(got->body, "0123") << status;
    EXPECT_EQ(sink.got, "");
  }
}

TEST(CurlClient, ASinkEndsIt) {
  ScriptedServer server([](int fd, int) {
    ScriptedServer::ReadRequest(fd);
    ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab");
    ScriptedServer::WaitForClose(fd);
  });
  CurlClient client;
  Sink sink{.enough = 2};
  ExchangeResult got = client.Exchange(Patient(), sink.To(server.Url()));
  EXPECT_EQ(got.fault, Fault::kStopped);
  ASSERT_FALSE(got.response);
  EXPECT_EQ(got.response.error().code(), Code::kCancelled);
}

TEST(CurlClient, ASinkGetsNoMoreThanIsAllowed) {
  ScriptedServer server(Answers("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a"));
  CurlClient client;
  Sink sink;
  EXPECT_EQ(client.Send(Patient(), sink.To(server.Url())).error().code(), Code::kResourceExhausted);
  EXPECT_LE(sink.got.size(), 10U);
}

TEST(CurlClient, ManyThreadsShareIt) {
  const auto server =
      tests::Serve([](const ServerRequest& request) { return ServerResponse{.body = request.path}; });
  CurlClient client;
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 12; t++) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; i++) {
          std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
          auto got = client.Send(Patient(), {.url = "http://" + server->address() + path});
          good += got && got->body == path;
        }
      });
    }
  }
  EXPECT_EQ(good, 240);
}

TEST(Authorization, BasicAndBearer) {
  EXPECT_EQ(BasicAuthorization("Aladdin", base::Secret("open sesame")).Reveal(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  EXPECT_EQ(BearerAuthorization(base::Secret("abc")).Reveal(), "Bearer abc");
}

// A proxy, or the registry behind it, may repeat it.
TEST(CurlClient, AProxysPasswordIsNeverRepeated) {
  const CurlClient plain({.http_proxy = "http://bob:pr0xy-pa55-one@proxy.test:3128",
                          .https_proxy = "socks5://bob:pr0xy%2Fpa55-two@proxy.test"});
  const CurlClient every({.proxy = "bob:pr0xy-pa55-three@proxy.test"});
  for (const char* text :
       {"407 pr0xy-pa55-one", "407 pr0xy/pa55-two", "407 pr0xy%2Fpa55-two", "407 pr0xy-pa55-three"}) {
    EXPECT_EQ(base::Redact(text).find("pa55"), std::string::npos) << base::Redact(text);
  }
}

// Which connections a client keeps between requests.

constexpr int kStreams = 16;

// Answers once that many requests are under way, so that each of them has a connection of its own.
class BusyServer {
 public:
  void AnswerTogether(int requests) {
    std::lock_guard lock(mutex_);
    together_ = requests;
  }
  // Runs `act` when all requests have arrived, before the first answer.
  void BeforeAnswers(std::function<void()> act) { before_answers_ = std::move(act); }
  std::string Url() const { return server_.Url(); }
  int accepted() const { return server_.accepted(); }
  // False: for 20 seconds there were more or fewer.
  bool AwaitOpen(int connections) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ == connections; });
  }
  bool AwaitAtMost(int connections) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ <= connections; });
  }

 private:
  void Serve(int fd) {
    while (ScriptedServer::ReadRequest(fd)) {
      {
        std::unique_lock lock(mutex_);
        const int all = (arrived_++ / together_ + 1) * together_;
        if (arrived_ == all && before_answers_) before_answers_();
        changed_.notify_all();
        changed_.wait(lock, [&] { return arrived_ >= all; });
      }
      ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    std::lock_guard lock(mutex_);
    open_--;
    changed_.notify_all();
  }
  void Add(int fd) {
    std::lock_guard lock(mutex_);
    open_++;
    connections_.emplace_back([this, own = base::Fd(::dup(fd))] { Serve(own.get()); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int together_ = 1, arrived_ = 0, open_ = 0;
  std::function<void()> before_answers_;
  std::list<std::jthread> connections_;
  ScriptedServer server_{[this](int fd, int) { Add(fd); }};
};

int AskTogether(CurlClient& client, const std::string& url, int count) {
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; i++) {
      threads.emplace_back(
          [&] { good += client.Send(base::Call{}.Within(std::chrono::seconds(20)), {.url = url}) ? 1 : 0; });
    }
  }
  return good;
}

TEST(CurlPool, EachStreamKeepsItsConnection) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  CurlClient client;
  for (int round = 0; round < 3; round++) EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  EXPECT_EQ(server.accepted(), kStreams);
  EXPECT_TRUE(server.AwaitOpen(kStreams));
}

TEST(CurlPool, WhatNobodyUsesAnyMoreIsClosed) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  CurlClient client({.idle_timeout = std::chrono::milliseconds(0)});
  EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  server.AnswerTogether(1);
  EXPECT_EQ(AskTogether(client, server.Url(), 1), 1);
  EXPECT_TRUE(server.AwaitOpen(1));
}

TEST(CurlPool, AClientThatRestsKeepsFew) {
  // Three end in time, too: they are one more than stay.
  for (const int streams : {kStreams, 3}) {
    BusyServer server;
    server.AnswerTogether(streams);
    CurlClient client({.idle_timeout = std::chrono::milliseconds(100)});
    for (int round = 0; round < 2; round++) {
      EXPECT_EQ(AskTogether(client, server.Url(), streams), streams);
      EXPECT_TRUE(server.AwaitAtMost(2)) << streams;
    }
  }
}

// Without memory or threads, nobody could close idle connections later.
TEST(CurlPool, AClientThatCannotStartAThreadKeepsFew) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  pthread_attr_t usual;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  // A stack of this size fits no address space.
  server.BeforeAnswers([attributes = usual]() mutable {
    ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 47);
    ::pthread_setattr_default_np(&attributes);
  });
  CurlClient client({.idle_timeout = std::chrono::hours(1)});
  EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  EXPECT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(server.AwaitAtMost(2));
}

TEST(CurlPool, AClientThatEndsDoesNotWait) {
  BusyServer server;
  server.AnswerTogether(kStreams);
  {
    CurlClient client({.idle_timeout = std::chrono::hours(1)});
    EXPECT_EQ(AskTogether(client, server.Url(), kStreams), kStreams);
  }
  EXPECT_TRUE(server.AwaitOpen(0));
}

TEST(CurlPool, ItHasABound) {
  BusyServer server;
  server.AnswerTogether(2 * kStreams);
  CurlClient client;
  EXPECT_EQ(AskTogether(client, server.Url(), 2 * kStreams), 2 * kStreams);
  EXPECT_TRUE(server.AwaitOpen(24));
}

// Where an exchange broke, and the limits that a request brings with it.

Fault FaultOf(const std::string& answer, const std::string& method = "GET", bool headers_as_go = true) {
  ScriptedServer server(Answers(answer));
  CurlClient client;
  return client.Exchange(Patient(), {.method = method, .url = server.Url(), .headers_as_go = headers_as_go})
      .fault;
}

TEST(Exchange, SaysWhereItBroke) {
  CurlClient client;
  EXPECT_EQ(FaultOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Fault::kNone);
  EXPECT_EQ(FaultOf("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), Fault::kNone);
  EXPECT_EQ(FaultOf("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), Fault::kReset);
  EXPECT_EQ(FaultOf(""), Fault::kReset);
  EXPECT_EQ(FaultOf("HTTP/1.1 200 OK\r\nContent-Len"), Fault::kReset);
  EXPECT_EQ(FaultOf("HTTP/1.1 200 OK\r\nContent-Len", "HEAD"), Fault::kReset);
  EXPECT_EQ(FaultOf("SSH-2.0-OpenSSH_9.2\r\n"), Fault::kNotHttp);
  EXPECT_EQ(FaultOf("HTTP/1.1 200 OK\r\n" + std::string(70000, 'x') + ": y\r\n\r\n"), Fault::kLongHeaders);
  EXPECT_EQ(client.Exchange(Patient(), {.url = "ftp://x/"}).fault, Fault::kRequest);
  EXPECT_EQ(client.Exchange(Patient(), {.url = "http://no-such-host.invalid/"}).fault, Fault::kDns);
  EXPECT_EQ(client.Exchange(Patient(), {.url = "http://127.0.0.1:1/"}).fault, Fault::kConnect);

  ScriptedServer plain([](int fd, int) {
    ScriptedServer::Write(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  std::string https = "https" + plain.Url().substr(4);
  EXPECT_EQ(client.Exchange(Patient(), {.url = https}).fault, Fault::kTls);
}

// Go's client refuses such headers, and libcurl passes over them.
TEST(Exchange, HeadersThatGoRefuses) {
  auto fault_of = [](const std::string& fields) {
    return FaultOf("HTTP/1.1 200 OK\r\n" + fields + "\r\n", "HEAD");
  };
  for (const char* fields :
       {"garbage\r\n", ": x\r\n", "A(b): x\r\n", "A: x\x01y\r\n", "Content-Length: abc\r\n",
        "Content-Length: +5\r\n", "Content-Length: -5\r\n", "Content-Length:\r\n",
        "Content-Length: 5\r\n 6\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 9223372036854775808\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    const Fault fault = fault_of(fields);
    // libcurl refuses some of them by itself.
    EXPECT_TRUE(fault == Fault::kMalformed || fault == Fault::kNotHttp) << fields;
  }
  for (const char* fields :
       {"", "A: x\r\n", "A B: x\r\n", "A:\r\n", "A: caf\xe9\r\n", "A: x\r\n y\r\n \r\n",
        "Content-Length: 5\r\ncontent-length: 5 \r\n", "Transfer-Encoding: Chunked\r\n"}) {
    EXPECT_EQ(fault_of(fields), Fault::kNone) << fields;
  }
}

// Webhooks and other clients than a registry's predict no program in Go.
TEST(Exchange, OtherRequestsPassOverHeadersThatGoRefuses) {
  const std::string odd = ": x\r\nA(b): x\r\nA: x\x01y\r\nB: z\r\n";
  EXPECT_EQ(FaultOf("HTTP/1.1 204 No Content\r\n" + odd + "\r\n"), Fault::kMalformed);
  EXPECT_EQ(FaultOf("HTTP/1.1 204 No Content\r\n" + odd + "\r\n", "GET", false), Fault::kNone);
  ScriptedServer server(Answers("HTTP/1.1 204 No Content\r\n" + odd + "\r\n"));
  CurlClient client;
  auto response = tests::Must(client.Send(Patient(), {.url = server.Url()}));
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(response->headers.fields(), (Fields{{"B", "z"}}));
}

TEST(Exchange, AFoldedLineIsNoFieldOfItsOwn) {
  ScriptedServer server(Answers("HTTP/1.1 200 OK\r\nA: x\r\n\tB: y\r\nContent-Length: 0\r\n\r\n"));
  CurlClient client;
  auto response = tests::Must(client.Send(Patient(), {.url = server.Url()}));
  EXPECT_EQ(response->headers.Get("A"), "x B: y");
  EXPECT_FALSE(response->headers.Has("B"));
}

TEST(Exchange, ACompressedAnswerIsReadWhereTheRequestAcceptsIt) {
  // "ok" by gzip.
  const std::string body(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\xcf\x06\x00\x47\xdd\xdc\x79\x02\x00\x00\x00", 22);
  std::string seen;
  ScriptedServer server([&](int fd, int) {
    seen.clear();
    ScriptedServer::ReadRequest(fd, &seen);
    ScriptedServer::Write(fd,
                          "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + body);
  });
  CurlClient client;
  EXPECT_EQ(client.Send(Patient(), {.url = server.Url(), .gzip = true})->body, "ok");
  EXPECT_NE(seen.find("Accept-Encoding: gzip\r\n"), std::string::npos) << seen;
  EXPECT_EQ(client.Exchange(Patient(), {.url = server.Url(), .max_body_bytes = 1, .gzip = true}).fault,
            Fault::kTooLong);
  EXPECT_EQ(client.Send(Patient(), {.url = server.Url()})->body, body);
  EXPECT_EQ(seen.find("Accept-Encoding"), std::string::npos) << seen;
}

// libcurl decodes one member only, and Go all of them.
TEST(Exchange, GzipInSeveralMembersIsAnEncodingThatIsNotUndone) {
  const std::string member(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\xcf\x06\x00\x47\xdd\xdc\x79\x02\x00\x00\x00", 22);
  ScriptedServer server(
      Answers("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 44\r\n\r\n" + member + member));
  CurlClient client;
  EXPECT_EQ(client.Exchange(Patient(), {.url = server.Url(), .gzip = true}).fault, Fault::kEncoding);
}

TEST(Exchange, AStallEndsItLongBeforeTheDeadline) {
  ScriptedServer dripping([](int fd, int) {
    if (!ScriptedServer::ReadRequest(fd)) return;
    ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow");
    ScriptedServer::WaitForClose(fd);
  });
  CurlClient client;
  auto began = std::chrono::steady_clock::now();
  auto got = client.Exchange(Patient(), {.url = dripping.Url(), .stall_timeout = std::chrono::seconds(1)});
  EXPECT_EQ(got.fault, Fault::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(8));
}

TEST(Exchange, OfALongErrorOnlyTheBeginningIsRead) {
  std::string body(100'000, 'x');
  std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  ScriptedServer server([&](int fd, int nth) {
    if (!ScriptedServer::ReadRequest(fd)) return;
    ScriptedServer::Write(fd,
                          (nth == 0 ? "HTTP/1.1 403 Forbidden\r\n" : "HTTP/1.1 200 OK\r\n") + length + body);
  });
  CurlClient client;
  Request request{.url = server.Url(), .max_error_body_bytes = 1000};
  auto refused = tests::Must(client.Send(Patient(), request));
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, std::string(1000, 'x'));
  auto whole = tests::Must(client.Send(Patient(), request));
  EXPECT_EQ(whole->body.size(), body.size());
}

// A connection that stands was judged for another request, or not at all.
TEST(Exchange, AddressesThatAreNotMeantHaveNoConnectionThatStands) {
  ScriptedServer server([](int fd, int) {
    while (ScriptedServer::ReadRequest(fd))
      ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  CurlClient client;
  ASSERT_TRUE(client.Send(Patient(), {.url = server.Url()}));
  ASSERT_TRUE(client.Send(Patient(), {.url = server.Url()}));
  ASSERT_EQ(server.accepted(), 1);
  EXPECT_EQ(
      client.Exchange(Patient(), {.url = server.Url(), .address_policy = AddressPolicy::kNoLoopback}).fault,
      Fault::kExcludedAddress);
}

TEST(Exchange, AddressesThatAreNotMeant) {
  ScriptedServer server(Answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  std::string by_name = "http://localhost:" + std::to_string(server.port()) + "/";
  CurlClient client;
  for (const std::string& url : {server.Url(), by_name}) {
    const auto refused =
        client.Exchange(Patient(), {.url = url, .address_policy = AddressPolicy::kNoLoopback});
    EXPECT_EQ(refused.fault, Fault::kExcludedAddress);
    EXPECT_NE(refused.response.error().message().find("not connected to (link-local, loopback, multicast)"),
              std::string::npos)
        << refused.response.error().message();
  }
  EXPECT_EQ(server.accepted(), 0);
  EXPECT_EQ(client.Exchange(Patient(), {.url = server.Url(), .address_policy = AddressPolicy::kAllowLoopback})
                .fault,
            Fault::kNone);
  Request metadata{.url = "http://169.254.169.254/latest", .address_policy = AddressPolicy::kAllowLoopback};
  EXPECT_EQ(client.Exchange(Patient(), metadata).fault, Fault::kExcludedAddress);
}

TEST(Exchange, TellsTheRoundTripOfADirectConnection) {
  constexpr std::chrono::milliseconds kServersTime{20};
  ScriptedServer server([&](int fd, int) {
    while (ScriptedServer::ReadRequest(fd)) {
      std::this_thread::sleep_for(kServersTime);
      ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  {
    CurlClient client;
    for (const bool fresh : {true, false}) {
      const ExchangeResult got = client.Exchange(Patient(), {.url = server.Url()});
      ASSERT_TRUE(got.response) << got.response.error().message();
      ASSERT_TRUE(got.round_trip) << "connection is fresh: " << fresh;
      EXPECT_GT(got.round_trip->count(), 0);
      EXPECT_LT(*got.round_trip, kServersTime) << "the server's time is no part of it";
    }
  }
  CurlClient by_proxy({.proxy = server.Url()});
  const ExchangeResult got = by_proxy.Exchange(Patient(), {.url = "http://far.invalid/"});
  ASSERT_TRUE(got.response) << got.response.error().message();
  EXPECT_FALSE(got.round_trip) << "that would be the proxy's";
}

// A proxy that answers CONNECT and everything else in one way.
TEST(Exchange, TheProxyIsChosenByScheme) {
  std::string asked;
  ScriptedServer proxy([&](int fd, int) {
    if (!ScriptedServer::ReadRequest(fd, &asked)) return;
    ScriptedServer::Write(fd, asked.starts_with("CONNECT")
                                  ? "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
                                  : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
  CurlClient by_proxy({.http_proxy = url, .https_proxy = url, .no_proxy = "direct.invalid:443"});
  EXPECT_EQ(by_proxy.Exchange(Patient(), {.url = "http://a.invalid/x"}).fault, Fault::kNone);
  EXPECT_TRUE(asked.starts_with("GET http://a.invalid/x HTTP/1.1")) << asked;
  // The proxy is the operator's: it may stand on loopback whatever the request says.
  auto refused = by_proxy.Exchange(
      Patient(), {.url = "https://a.invalid/x", .address_policy = AddressPolicy::kNoLoopback});
  EXPECT_EQ(refused.fault, Fault::kProxyAuth);
  EXPECT_TRUE(asked.starts_with("CONNECT a.invalid:443 HTTP/1.1")) << asked;
  EXPECT_EQ(by_proxy.Exchange(Patient(), {.url = "https://direct.invalid/x"}).fault, Fault::kDns);

  CurlClient https_only({.https_proxy = url});
  EXPECT_EQ(https_only.Exchange(Patient(), {.url = "http://a.invalid/x"}).fault, Fault::kDns);
  CurlClient for_both({.proxy = url});
  EXPECT_EQ(for_both.Exchange(Patient(), {.url = "https://b.invalid/x"}).fault, Fault::kProxyAuth);
  EXPECT_EQ(for_both.Exchange(Patient(), {.url = "http://b.invalid/x"}).fault, Fault::kNone);
  // A proxy for every URL reaches another machine's localhost: a bypass would send the request to this one's.
  for (const char* here : {"http://localhost:1/x", "http://127.0.0.1:1/x", "http://127.3.2.1:1/x"}) {
    EXPECT_EQ(for_both.Exchange(Patient(), {.url = here}).fault, Fault::kNone) << here;
  }
  EXPECT_EQ(by_proxy.Exchange(Patient(), {.url = "http://localhost:1/x"}).fault, Fault::kConnect);
}

// Behind the proxy's answer, these connections break: it is no tunnel.
TEST(Exchange, HeadersOfAProxyAreNotTheServers) {
  auto fault_of = [](const std::string& fields, bool headers_as_go) {
    ScriptedServer proxy(Answers("HTTP/1.1 200 Connection established\r\n" + fields + "\r\n"));
    CurlClient client({.https_proxy = "http://127.0.0.1:" + std::to_string(proxy.port())});
    const ExchangeResult got =
        client.Exchange(Patient(), {.url = "https://a.invalid/x", .headers_as_go = headers_as_go});
    return std::pair(got.fault, got.response ? "" : got.response.error().message());
  };
  const auto [fault, message] = fault_of("Via(x): y\r\n", true);
  EXPECT_EQ(fault, Fault::kProxy);
  EXPECT_EQ(message,
            "GET https://a.invalid/x: the proxy answered for a.invalid with headers that are not HTTP");
  EXPECT_EQ(fault_of("Via: y\r\n", true).first, Fault::kTls);
  EXPECT_EQ(fault_of("Via(x): y\r\n", false).first, Fault::kTls);
}

TEST(Exchange, ASocks5ProxyResolvesTheName) {
  std::string asked;
  ScriptedServer proxy([&](int fd, int) {
    auto read = [&](std::size_t bytes) {
      std::string got(bytes, '\0');
      return ::recv(fd, got.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes) ? got : std::string();
    };
    const std::string greeting = read(2);
    if (greeting.size() != 2) return;
    read(static_cast<unsigned char>(greeting[1]));
    ScriptedServer::Write(fd, std::string("\x05\x00", 2));
    if (read(4) != std::string("\x05\x01\x00\x03", 4)) return;  // a name, and no address
    asked = read(static_cast<unsigned char>(read(1)[0]));
    read(2);
    ScriptedServer::Write(fd, std::string("\x05\x00\x00\x01\0\0\0\0\0\0", 10));
    if (!ScriptedServer::ReadRequest(fd)) return;
    ScriptedServer::Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  CurlClient client({.proxy = "SOCKS5://127.0.0.1:" + std::to_string(proxy.port())});
  EXPECT_EQ(client.Exchange(Patient(), {.url = "http://api.invalid/x"}).fault, Fault::kNone);
  EXPECT_EQ(asked, "api.invalid");
}

// Two authorities, a server that one of them vouches for, and what a client may bring.
class ClientTlsTest : public testing::Test {
 protected:
  ClientTlsTest() : ca_(dir_.path(), "right"), other_ca_(dir_.path(), "wrong") {
    server_ = tests::Serve([](const ServerRequest& request) {
      return ServerResponse{.body = std::string(request.headers.Get("Host").value_or("-"))};
    });
  }

  void Serve(const tests::KeyPair& pair, const std::string& client_ca_file = "") {
    front_.emplace(tests::FrontOptions{pair.certificate_file, pair.key_file, client_ca_file});
    front_->ForwardTo(server_->port());
  }
  std::string Host() const { return "127.0.0.1:" + std::to_string(front_->port()); }
  // The body, or the name of the error's code.
  std::string Ask(Tls tls) {
    Request request{.url = "https://" + Host() + "/"};
    request.tls = std::make_shared<const Tls>(std::move(tls));
    auto got = client_.Send(base::Call{}.Within(std::chrono::seconds(20)), request);
    return got ? got->body : std::string(base::EnumName(got.error().code()));
  }

  tests::TempDir dir_;
  CertificateAuthority ca_, other_ca_;
  std::unique_ptr<Server> server_;
  std::optional<Front> front_;
  CurlClient client_;
};

TEST_F(ClientTlsTest, OnlyTheGivenAuthorityIsTrusted) {
  Serve(ca_.Server("server"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), Host());
  // Also over a connection that is open already, and back again.
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate() + ca_.certificate()}), Host());
  EXPECT_EQ(Ask({.ca_pem = "no certificate"}), "PermissionDenied");
  // Blocks that are no certificate, which Go passes over.
  for (const std::string no_certificate : {"<paste it here>", "AAAA", "MAA=", "MIIDAzCCAeug", ""}) {
    const std::string block =
        "-----BEGIN CERTIFICATE-----\n" + no_certificate + "\n-----END CERTIFICATE-----\n";
    EXPECT_EQ(Ask({.ca_pem = block + ca_.certificate() + block}), Host()) << no_certificate;
    EXPECT_EQ(Ask({.ca_pem = block}), "PermissionDenied") << no_certificate;
  }
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate() + "-----BEGIN CERTIFICATE-----\nAAAA\n"}), Host());
  EXPECT_EQ(Ask({.ca_pem = base::ReplaceAll(ca_.certificate(), "\n", "\n \n")}), Host());
  EXPECT_EQ(Ask({.verify = false}), Host());
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), "PermissionDenied");
}

TEST_F(ClientTlsTest, TheNameIsVerified) {
  Serve(ca_.Server("server", "DNS:api.test,IP:192.0.2.7"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "api.test"}), Host());
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "192.0.2.7"}), Host());
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "other.test"}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate(), .server_name = "a/b"}), "InvalidArgument");
}

// As Go has it: OpenSSL alone would take the name of the subject.
TEST_F(ClientTlsTest, ANameInTheSubjectAloneIsNone) {
  auto ask = [&](const tests::KeyPair& pair, Tls tls) -> std::string {
    Serve(pair);
    Request request{.url = "https://localhost:" + std::to_string(front_->port()) + "/"};
    request.tls = std::make_shared<const Tls>(std::move(tls));
    ExchangeResult got = client_.Exchange(base::Call{}.Within(std::chrono::seconds(20)), request);
    if (got.response) return "answered";
    EXPECT_EQ(got.fault, Fault::kUntrustedCertificate);
    return got.response.error().message();
  };
  EXPECT_EQ(ask(ca_.Server("named", "DNS:localhost"), {.ca_pem = ca_.certificate()}), "answered");
  std::string refusal = ask(ca_.Server("localhost", ""), {.ca_pem = ca_.certificate()});
  EXPECT_NE(refusal.find("no subject alternative name"), std::string::npos) << refusal;
  EXPECT_EQ(ask(ca_.Server("localhost", ""), {.verify = false}), "answered");
}

TEST_F(ClientTlsTest, ANewServerCertificateIsVerifiedAnew) {
  Serve(ca_.Server("server"));
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), Host());
  tests::KeyPair renewed = other_ca_.Server("renewed");
  front_->SetCertificate(renewed.certificate_file, renewed.key_file);
  front_->CutAll();
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "PermissionDenied");
  EXPECT_EQ(Ask({.ca_pem = other_ca_.certificate()}), Host());
}

TEST_F(ClientTlsTest, ClientCertificates) {
  Serve(ca_.Server("server"), ca_.certificate_file());
  tests::KeyPair mine = ca_.Client("me"), stranger = other_ca_.Client("stranger");
  auto with = [&](const tests::KeyPair& pair, const std::string& key_file) {
    return Tls{.ca_pem = ca_.certificate(),
               .certificate_pem = tests::TextSoFar(pair.certificate_file),
               .key_pem = base::Secret(tests::TextSoFar(key_file))};
  };
  EXPECT_EQ(Ask(with(mine, mine.key_file)), Host());
  // The server's refusal comes after the handshake: it looks like a broken connection.
  EXPECT_EQ(Ask({.ca_pem = ca_.certificate()}), "Unavailable");
  EXPECT_EQ(Ask(with(stranger, stranger.key_file)), "Unavailable");
  // libcurl reuses an open connection of the same certificate. Since its fix of CVE-2026-8932, the key must
  // be the same, too.
  const std::string reused = Ask(with(mine, stranger.key_file));
  EXPECT_TRUE(reused == Host() || reused == "PermissionDenied") << reused;
  front_->CutAll();
  EXPECT_EQ(Ask(with(mine, stranger.key_file)), "PermissionDenied");
  EXPECT_EQ(Ask(with(mine, mine.certificate_file)), "PermissionDenied");
  EXPECT_EQ(Ask(with(mine, mine.key_file)), Host());
}

}  // namespace
}  // namespace prefetch::http::curl_client_test
