#include "http/curl_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/redactor.h"
#include "http/server.h"
#include "raw_socket.h"
#include "temp_dir.h"

namespace prefetch::http::curl_client_test {
namespace {

using base::Call;
using base::Code;
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
    std::string said = std::string(MethodName(request.method)) + " " + request.path + " " + request.body +
                       " " + std::string(request.headers.Get("x-a").value_or("-"));
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
  auto got = client.Send(Patient(), {.url = base_url + "/a", .headers = {{"X-A", "v"}}});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "GET /a  v");
  EXPECT_EQ(got->headers.All("X-b"), (std::vector<std::string_view>{"1", "2"}));

  auto put = client.Send(Patient(), {.method = "PUT", .url = base_url + "/a", .body = "data"});
  ASSERT_TRUE(put) << put.error().message();
  EXPECT_EQ(put->body, "PUT /a data -");
  auto missing = client.Send(Patient(), {.url = base_url + "/no"});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
  auto head = client.Send(Patient(), {.method = "HEAD", .url = base_url + "/a"});
  ASSERT_TRUE(head) << head.error().message();
  EXPECT_EQ(head->headers.Get("content-length"), "9");
  EXPECT_EQ(head->body, "");

  auto over = client.Send(
      Patient(), {.method = "POST", .url = "http://local/b", .body = "x", .unix_socket = dir / "p.sock"});
  ASSERT_TRUE(over) << over.error().message();
  EXPECT_EQ(over->body, "POST /b x -");
}

TEST(CurlClient, KeepsItsConnection) {
  ScriptedServer server([](int fd, int) {
    while (ScriptedServer::ReadRequest(fd)) ScriptedServer::Write(fd, kOk);
  });
  {
    CurlClient client;
    for (int i = 0; i < 5; i++) {
      auto got = client.Send(Patient(), {.url = server.Url()});
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(got->body, "ok");
    }
  }
  EXPECT_EQ(server.accepted(), 1);
}

TEST(CurlClient, AConnectionThatDiedMeanwhileIsReplaced) {
  ScriptedServer server(Answers(std::string(kOk)));  // closes after each answer, without saying so
  CurlClient client;
  for (int i = 0; i < 3; i++) {
    auto got = client.Send(Patient(), {.url = server.Url()});
    ASSERT_TRUE(got) << got.error().message();
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
                                        .authorization = BasicAuthorization("u", base::Secret("t0p")),
                                        .body = ""}));
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

TEST(CurlClient, RedirectsAreAnswersLikeOthers) {
  ScriptedServer server(
      Answers("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"));
  CurlClient client;
  auto got = client.Send(Patient(), {.url = server.Url()});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->status, 307);
  EXPECT_EQ(got->headers.Get("location"), "http://elsewhere/");
}

TEST(CurlClient, OfSeveralHeaderBlocksTheLastCounts) {
  ScriptedServer server(Answers("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + std::string(kOk)));
  CurlClient client;
  auto got = client.Send(Patient(), {.url = server.Url()});
  ASSERT_TRUE(got) << got.error().message();
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
class AnswerTest : public testing::TestWithParam<AnswerCase> {};
TEST_P(AnswerTest, IsTakenOrExplained) {
  ScriptedServer server(Answers(GetParam().answer));
  CurlClient client;
  auto got = client.Send(Patient(), {.url = server.Url("/p?t0ken"), .max_body_bytes = 10});
  std::string status = got ? std::to_string(got->status) : std::string(base::CodeName(got.error().code()));
  EXPECT_EQ(status, GetParam().status) << (got ? got->body : got.error().message());
  if (got) {
    EXPECT_EQ(got->body, GetParam().body);
  } else {
    EXPECT_NE(got.error().message().find(GetParam().says), std::string::npos) << got.error().message();
    EXPECT_TRUE(got.error().message().starts_with("GET " + server.Url("/p") + ": ")) << got.error().message();
    EXPECT_EQ(got.error().message().find("t0ken"), std::string::npos);
  }
}
INSTANTIATE_TEST_SUITE_P(
    CurlClient, AnswerTest,
    testing::Values(
        AnswerCase{"Chunked",
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
                   "abc", "200", ""},
        AnswerCase{"UntilClose", "HTTP/1.1 200 OK\r\n\r\nabc", "abc", "200", ""},
        AnswerCase{"ExactlyTheLimit", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", "0123456789",
                   "200", ""},
        AnswerCase{"OneTooMany", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a", "",
                   "ResourceExhausted", "longer body than allowed"},
        AnswerCase{"CutInMidBody", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "", "Unavailable",
                   "broke before the answer was complete"},
        AnswerCase{"CutInMidChunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", "",
                   "Unavailable", "broke before the answer was complete"},
        AnswerCase{"Nothing", "", "", "Unavailable", "closed the connection without an answer"},
        AnswerCase{"NotHttp", "220 smtp ready\r\n", "", "Unavailable", "not HTTP"},
        AnswerCase{"ManyFields", ManyFields(100), "", "200", ""},
        AnswerCase{"TooManyFields", ManyFields(101), "", "ResourceExhausted", "longer headers than allowed"},
        AnswerCase{"LongField", "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", "",
                   "ResourceExhausted", "longer headers than allowed"},
        AnswerCase{"FieldBeyondTheLimitOfLibcurl",
                   "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n", "", "ResourceExhausted",
                   "longer headers than allowed"}),
    [](const auto& row) { return row.param.name; });

struct BadRequest {
  std::string name;
  Request request;
};
class BadRequestTest : public testing::TestWithParam<BadRequest> {};
TEST_P(BadRequestTest, IsNotSent) {
  CurlClient client;
  auto got = client.Send(Patient(), GetParam().request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), Code::kInvalidArgument) << got.error().message();
  EXPECT_EQ(got.error().message().find("t0p"), std::string::npos) << got.error().message();
}
INSTANTIATE_TEST_SUITE_P(
    CurlClient, BadRequestTest,
    testing::Values(
        BadRequest{"Empty", {.url = ""}}, BadRequest{"File", {.url = "file:///etc/passwd"}},
        BadRequest{"NoScheme", {.url = "host/"}}, BadRequest{"NoHost", {.url = "http:///a"}},
        BadRequest{"Userinfo", {.url = "http://u:t0p@127.0.0.1:1/"}},
        BadRequest{"LineBreak", {.url = "http://127.0.0.1:1/a\r\nX: t0p"}},
        BadRequest{"Blank", {.url = "http://127.0.0.1:1/a b"}},
        BadRequest{"ControlCharacter", {.url = "http://127.0.0.1:1/a\x01"}},
        BadRequest{"Delete", {.url = "http://127.0.0.1:1/a\x7f"}},
        BadRequest{"HeaderInjection", {.url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nC: t0p"}}}},
        BadRequest{"HeaderName", {.url = "http://127.0.0.1:1/", .headers = {{"A b", "c"}}}},
        BadRequest{"Credential",
                   {.url = "http://127.0.0.1:1/",
                    .headers = {},
                    .authorization = base::Secret("Bearer t0p\n"),
                    .body = {}}},
        BadRequest{"Method", {.method = "G T", .url = "http://127.0.0.1:1/"}},
        BadRequest{"LongSocket", {.url = "http://x/", .unix_socket = "/" + std::string(200, 'a')}}),
    [](const auto& row) { return row.param.name; });

TEST(CurlClient, WhatCannotBeReachedIsSaid) {
  tests::TempDir dir;
  CurlClient client;
  auto refused = client.Send(Patient(), {.url = "http://127.0.0.1:1/v2/?t0p"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_EQ(refused.error().message(),
            "GET http://127.0.0.1:1/v2/: cannot connect to 127.0.0.1:1: Connection refused");
  auto absent = client.Send(Patient(), {.url = "http://x/", .unix_socket = dir / "no.sock"});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Code::kNotFound) << absent.error().message();
  auto dead = Listener::Unix(dir / "dead.sock", 0600);
  ASSERT_TRUE(dead);
  std::filesystem::rename(dir / "dead.sock", dir / "left.sock");
  { Listener gone = std::move(*dead); }
  auto left = client.Send(Patient(), {.url = "http://x/", .unix_socket = dir / "left.sock"});
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code(), Code::kUnavailable) << left.error().message();
}

TEST(CurlClient, SpeakingTlsToAServerWithoutIsSaid) {
  ScriptedServer server([](int fd, int) {
    char byte;
    if (::recv(fd, &byte, 1, 0) == 1) ScriptedServer::Write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  CurlClient client;
  auto got = client.Send(Patient(), {.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/"});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), Code::kUnavailable);
  EXPECT_NE(got.error().message().find("TLS with 127.0.0.1:"), std::string::npos) << got.error().message();
}

TEST(CurlClient, ADeadlineEndsIt) {
  ScriptedServer server([](int fd, int) { ScriptedServer::WaitForClose(fd); });
  CurlClient client;
  auto got = client.Send(Call{}.Within(std::chrono::milliseconds(100)), {.url = server.Url("/?t0p")});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(got.error().message(), "GET " + server.Url() + ": 127.0.0.1:" + std::to_string(server.port()) +
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
  auto got = client.Send(Call{.stop = stop.get_token()}, {.url = server.Url()});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), Code::kCancelled);
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
  auto got = client.Send(Patient(), sink.To(server.Url()));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->status, 206);
  EXPECT_EQ(got->body, "");
  EXPECT_EQ(sink.got, "0123456789");
  EXPECT_EQ(sink.status, 206);
  EXPECT_EQ(sink.field, "y");
}

TEST(CurlClient, ABodyThatIsNoContentDoesNotGoThere) {
  ScriptedServer server(Answers("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"));
  CurlClient client;
  Sink sink;
  EXPECT_EQ(client.Send(Patient(), sink.To(server.Url()))->body, "no");
  EXPECT_EQ(sink.got, "");
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
  auto listener = Listener::Tcp("127.0.0.1:0");
  ASSERT_TRUE(listener);
  auto server = Server::Start(std::move(*listener), {}, [](const ServerRequest& request) -> ServerResponse {
    return {.body = request.path};
  });
  ASSERT_TRUE(server);
  CurlClient client;
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 12; t++) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; i++) {
          std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
          auto got = client.Send(Patient(), {.url = "http://" + (*server)->address() + path});
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

}  // namespace
}  // namespace prefetch::http::curl_client_test
