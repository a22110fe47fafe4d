#include "http/handler.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "http/headers.h"
#include "http/server.h"
#include "raw_socket.h"
#include "serve.h"

namespace prefetch::http::handler_test {
namespace {

using tests::RawClient;

TEST(Headers, NamesCompareWithoutCaseAndMayRepeat) {
  Headers headers{{"WWW-Authenticate", "Basic"}, {"Date", "now"}, {"www-authenticate", "Bearer"}};
  EXPECT_EQ(headers.Get("Www-Authenticate"), "Basic");
  EXPECT_EQ(headers.All("WWW-AUTHENTICATE"), (std::vector<std::string_view>{"Basic", "Bearer"}));
  EXPECT_EQ(headers.Get("Dat"), std::nullopt);
}

TEST(Headers, NothingThatBreaksALineIsFit) {
  EXPECT_TRUE(IsFieldName("X-a_1"));
  EXPECT_FALSE(IsFieldName(""));
  EXPECT_FALSE(IsFieldName("a b"));
  EXPECT_FALSE(IsFieldName("a:"));
  EXPECT_TRUE(IsFieldValue("Bearer a=b\t\xC3\xA4"));
  EXPECT_FALSE(IsFieldValue("a\r\nb: c"));
  EXPECT_FALSE(IsFieldValue(std::string_view("a\0b", 3)));
}

TEST(Responses, ErrorsAreJson) {
  ServerResponse response = ErrorResponse(400, "a \"quoted\"\n\xff");
  EXPECT_EQ(response.body, "{\"error\":\"a \\\"quoted\\\"\\n\xEF\xBF\xBD\"}\n");
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(NotFoundResponse("/x").status, 404);
  ServerResponse refused = MethodNotAllowedResponse("GET, HEAD, POST");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.Get("allow"), "GET, HEAD, POST");
}

TEST(ServerRequest, TheFirstParameterOfAName) {
  ServerRequest request{.query = {{"a", "1"}, {"a", "2"}, {"b", ""}}};
  EXPECT_EQ(request.Query("a"), "1");
  EXPECT_EQ(request.Query("b"), "");
  EXPECT_EQ(request.Query("c"), std::nullopt);
}

// Memory of answers that clients do not read.

SharedBody Bytes(std::size_t n) {
  return std::make_shared<const std::string>(n, 'x');
}
std::shared_ptr<BodyBudget> Budget(std::size_t bytes, std::size_t network) {
  return std::make_shared<BodyBudget>(BodyLimits{.bytes = bytes, .network = network});
}

TEST(BodyBudget, ABodyCountsOnceHoweverManySendIt) {
  auto budget = Budget(100, 100);
  SharedBody body = Bytes(80);
  BodyBudget::Reservation one = budget->ReserveBody(body, false), two = budget->ReserveBody(body, false);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(budget->used(), 80U);
  EXPECT_TRUE(budget->IsUnderPressure());
  EXPECT_EQ(budget->ReserveBody(Bytes(80), false), nullptr);
  one.reset();
  EXPECT_EQ(budget->used(), 80U);
  two.reset();
  EXPECT_EQ(budget->used(), 0U);
  EXPECT_TRUE(budget->ReserveBody(Bytes(80), false));
}

TEST(BodyBudget, NeighboursLeaveRoomForTheSocketOfTheNode) {
  auto budget = Budget(100, 60);
  BodyBudget::Reservation neighbour = budget->ReserveBody(Bytes(60), false);
  EXPECT_EQ(budget->ReserveBody(Bytes(30), false), nullptr);
  EXPECT_EQ(budget->Reserve(1, false), nullptr);
  EXPECT_TRUE(budget->ReserveBody(Bytes(30), true));
}

TEST(BodyBudget, WhatIsLargerThanAllOfItGoesAlone) {
  auto budget = Budget(100, 60);
  BodyBudget::Reservation large = budget->ReserveBody(Bytes(500), false);
  EXPECT_TRUE(large);
  EXPECT_EQ(budget->ReserveBody(Bytes(1), false), nullptr);
  large.reset();
  EXPECT_TRUE(budget->ReserveBody(Bytes(60), false));
}

// A server with answers of a megabyte each, and the same shared one at /same.
class Large {
 public:
  explicit Large(ServerLimits limits) {
    server_ = tests::Serve(
        [this](const ServerRequest& request) {
          if (request.path == "/readyz") return ServerResponse{.body = "ready\n"};
          if (request.path == "/size") return ServerResponse{.body = std::to_string(request.body.size())};
          if (request.path == "/same") return SharedJsonResponse(200, same_);
          return ServerResponse{.body = std::string(kSize, 'x')};
        },
        limits);
  }
  static constexpr std::size_t kSize = 1 << 20;
  // The status line of an answer that is read no further.
  std::string Begin(RawClient& client, const std::string& path) {
    client.Send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return client.ReadUntil("\r\n").substr(0, 12);
  }
  std::uint16_t port() const { return server_->port(); }

 private:
  SharedBody same_ = Bytes(kSize);
  std::unique_ptr<Server> server_;
};

TEST(BodyBudget, AnAnswerWithoutRoomIs503AndProbesGoOn) {
  Large server({.budget = Budget(3 * Large::kSize, 2 * Large::kSize)});
  RawClient first(server.port()), second(server.port()), probe(server.port());
  ASSERT_EQ(server.Begin(first, "/large"), "HTTP/1.1 200");
  EXPECT_EQ(server.Begin(second, "/large"), "HTTP/1.1 503");
  EXPECT_EQ(server.Begin(probe, "/readyz"), "HTTP/1.1 200");
}

TEST(BodyBudget, OneSharedAnswerIsSentToAll) {
  auto budget = Budget(6 * Large::kSize, 6 * Large::kSize);
  Large server({.budget = budget});
  RawClient clients[] = {RawClient(server.port()), RawClient(server.port()), RawClient(server.port()),
                         RawClient(server.port()), RawClient(server.port()), RawClient(server.port())};
  for (RawClient& client : clients) EXPECT_EQ(server.Begin(client, "/same"), "HTTP/1.1 200");
  EXPECT_LE(budget->used(), 5 * Large::kSize) << "one body, and a buffer for each";
  EXPECT_EQ(clients[0].ReadUntil("never", 1).size() > Large::kSize / 2, true);
}

// Returns the send buffer sizes of a server's connections in this process, as the kernel counts them, in
// ascending order.
std::vector<int> SendBuffers(std::uint16_t port) {
  std::vector<int> sizes;
  for (int fd = 0; fd < 1024; fd++) {
    sockaddr_in own{}, peer{};
    socklen_t length = sizeof own, peer_length = sizeof peer;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) != 0 || own.sin_family != AF_INET ||
        ntohs(own.sin_port) != port ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0)
      continue;
    int size = 0;
    socklen_t size_length = sizeof size;
    EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &size_length), 0);
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Unsent bytes count as the container's memory, and grow to megabytes if nobody bounds them.
TEST(BodyBudget, TheSocketsOfNeighboursHoldLittleAndLessWhileItIsCrowded) {
  Large server({.budget = Budget(3 * Large::kSize, 3 * Large::kSize)});
  RawClient probe(server.port());
  EXPECT_EQ(server.Begin(probe, "/readyz"), "HTTP/1.1 200");
  EXPECT_EQ(SendBuffers(server.port()), std::vector<int>{32 << 10});
  RawClient clients[] = {RawClient(server.port()), RawClient(server.port()), RawClient(server.port()),
                         RawClient(server.port())};
  for (RawClient& client : clients) EXPECT_EQ(server.Begin(client, "/same"), "HTTP/1.1 200");
  const std::vector<int> sizes = SendBuffers(server.port());
  ASSERT_EQ(sizes.size(), 5U);
  EXPECT_EQ(sizes[1], 64 << 10) << "the last one, for which it was crowded";
  EXPECT_GT(sizes[2], 64 << 10) << "a distant client is served quickly";
  EXPECT_LE(sizes[4], 512 << 10);
}

TEST(BodyBudget, SlowReadersGoSoonerWhileItIsCrowded) {
  auto budget = Budget(Large::kSize / 4 * 7, Large::kSize / 4 * 7);
  Large server({.request_time = std::chrono::milliseconds(3000), .budget = budget});
  RawClient slow(server.port());
  ASSERT_EQ(server.Begin(slow, "/large"), "HTTP/1.1 200");
  RawClient other(server.port());
  ASSERT_EQ(server.Begin(other, "/large"), "HTTP/1.1 503");
  auto start = std::chrono::steady_clock::now();
  while (budget->used() >= Large::kSize) {
    RawClient next(server.port());
    server.Begin(next, "/readyz");
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2500));
  }
  RawClient third(server.port());
  EXPECT_EQ(server.Begin(third, "/large"), "HTTP/1.1 200");
}

TEST(BodyBudget, LongRequestsNeedRoomToo) {
  Large server({.budget = Budget(100'000, 100'000)});
  const std::string head =
      "POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n";
  RawClient first(server.port()), second(server.port()), small(server.port());
  first.Send(head + std::string(39'000, 'x'));
  // The first has been read once the next request of the same client's address is answered.
  EXPECT_EQ(server.Begin(small, "/readyz"), "HTTP/1.1 200");
  second.Send(head + std::string(40'000, 'x'));
  EXPECT_EQ(second.ReadUntil("\r\n").substr(0, 12), "HTTP/1.1 503");
  first.Send(std::string(1'000, 'x'));
  EXPECT_TRUE(first.ReadAll().ends_with("\r\n\r\n40000"));
}

const std::vector<std::string_view> kOwn = {"Node7.dc1.example.com"};

TEST(HostNames, NamesThatNoStrangerOwns) {
  for (const char* ours :
       {"", "10.0.0.1", "10.0.0.1:9477", "[fd00::1]", "[::1]:9477", "localhost", "localhost:8001",
        "LOCALHOST.", "a.localhost", "prefetchd", "n1:9477", "prefetchd.prefetchd.svc",
        "prefetchd.prefetchd:9477", "x.prefetchd.svc.cluster.local:9477",
        "ip-10-0-0-1.eu-west-1.compute.internal", "node7.dc1.example.com", "NODE7.DC1.EXAMPLE.COM.:9477"}) {
    EXPECT_TRUE(IsTrustedHostName(ours, kOwn)) << ours;
  }
  for (const char* foreign :
       {"evil.example", "evil.example:9477", "10.0.0.1.evil.example", "10.0.0.1.nip.io", "svc.evil.example",
        "prefetchd.prefetchd.svc.evil.example", "localhost.evil.example",
        "node7.dc1.example.com.evil.example", "xnode7.dc1.example.com", "evil.example@10.0.0.1",
        "10.0.0.1:80@evil.example", "[::1", "[::1]x", "10.0.0.1:x", "evil.example\t", " ", "a b", ".",
        "evil.example."}) {
    EXPECT_FALSE(IsTrustedHostName(foreign, kOwn)) << foreign;
  }
}

TEST(HostNames, APageIsToldByHeadersThatItCannotSet) {
  struct Case {
    Headers headers;
    bool page;
  };
  for (const Case& each :
       {Case{{}, false}, Case{{{"Host", "10.0.0.1"}}, false}, Case{{{"Host", "evil.example"}}, true},
        Case{{{"Host", "10.0.0.1"}, {"Host", "evil.example"}}, true},
        Case{{{"Host", "api.example.com:6443"}, {"Accept-Encoding", "gzip"}}, false},
        Case{{{"Host", "api.example.com:6443"}, {"Sec-Prefetchd", "1"}}, false},
        Case{{{"Host", "evil.example"}, {"Accept-Encoding", "gzip, deflate"}}, true},
        Case{{{"Host", "evil.example"}, {"X-Forwarded-Host", "10.0.0.1"}}, true},
        Case{{{"Host", "evil.example"}, {"Accept-Encoding", ""}}, true}}) {
    EXPECT_EQ(MayComeFromBrowserPage({.headers = each.headers}, kOwn), each.page)
        << each.headers.Get("Host").value_or("") << " " << each.headers.Get("Accept-Encoding").value_or("");
  }
}

TEST(ParseDate, ThreeSpellings) {
  auto meant = ParseDate("Fri, 20 Nov 2026 08:00:00 GMT");
  ASSERT_TRUE(meant);
  EXPECT_EQ(base::Rfc3339(*meant), "2026-11-20T08:00:00Z");
  EXPECT_EQ(ParseDate("Friday, 20-Nov-26 08:00:00 GMT"), meant);
  EXPECT_EQ(ParseDate("Fri Nov 20 08:00:00 2026"), meant);
  EXPECT_EQ(ParseDate("Sun Nov  1 08:00:00 2026"), ParseDate("Sun, 01 Nov 2026 08:00:00 GMT"));
  EXPECT_EQ(base::Rfc3339(*ParseDate("Friday, 20-Nov-70 08:00:00 GMT")), "1970-11-20T08:00:00Z");
  EXPECT_EQ(base::Rfc3339(*ParseDate("Wednesday, 20-Nov-69 08:00:00 GMT")), "2069-11-20T08:00:00Z");
  for (std::string_view wrong :
       {"", "Fri, 20 Nov 2026 08:00:00", "Fri, 20 Nov 2026 08:00:00 CET", "Fri, 31 Feb 2026 08:00:00 GMT",
        "Fri, 20 Now 2026 08:00:00 GMT", "Fri, 20 Nov 2026 24:00:00 GMT", "Fri, 20 Nov 2026 08:00 GMT",
        "2026-11-20T08:00:00Z", "Fri, 20 Nov 99999999999999999999 08:00:00 GMT",
        "Fri, 20 Nov 0026 08:00:00 GMT", "Thu, 20 Nov 1969 08:00:00 GMT", "Fri, 20 Nov 9999 08:00:00 GMT",
        "a b c d e f", "a b c d e", "Fri, 20 Nov 4294969322 08:00:00 GMT",
        "Fri, 4294967316 Nov 2026 08:00:00 GMT"}) {
    EXPECT_FALSE(ParseDate(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace prefetch::http::handler_test
