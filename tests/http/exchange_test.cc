// Where an exchange broke, and the limits that a request brings with it.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "http/curl_client.h"
#include "raw_socket.h"

namespace prefetch::http::exchange_test {
namespace {

using base::Call;
using tests::ScriptedServer;

Call Patient() {
  return Call{}.Within(std::chrono::seconds(20));
}

ScriptedServer::Script Answers(std::string text) {
  return [text = std::move(text)](int fd, int) {
    if (ScriptedServer::ReadRequest(fd)) ScriptedServer::Write(fd, text);
  };
}

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
  auto response = client.Send(Patient(), {.url = server.Url()});
  ASSERT_TRUE(response) << response.error().message();
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(response->headers.fields(), (Fields{{"B", "z"}}));
}

TEST(Exchange, AFoldedLineIsNoFieldOfItsOwn) {
  ScriptedServer server(Answers("HTTP/1.1 200 OK\r\nA: x\r\n\tB: y\r\nContent-Length: 0\r\n\r\n"));
  CurlClient client;
  auto response = client.Send(Patient(), {.url = server.Url()});
  ASSERT_TRUE(response);
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

TEST(Exchange, ASilentServerAndAStop) {
  ScriptedServer silent([](int fd, int) { ScriptedServer::WaitForClose(fd); });
  CurlClient client;
  EXPECT_EQ(client.Exchange(Call{}.Within(std::chrono::milliseconds(50)), {.url = silent.Url()}).fault,
            Fault::kTimeout);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client.Exchange({.stop = stop.get_token()}, {.url = silent.Url()}).fault, Fault::kStopped);
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
  auto refused = client.Send(Patient(), request);
  ASSERT_TRUE(refused) << refused.error().message();
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, std::string(1000, 'x'));
  auto whole = client.Send(Patient(), request);
  ASSERT_TRUE(whole) << whole.error().message();
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
    EXPECT_EQ(client.Exchange(Patient(), {.url = url, .address_policy = AddressPolicy::kNoLoopback}).fault,
              Fault::kExcludedAddress);
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

}  // namespace
}  // namespace prefetch::http::exchange_test
