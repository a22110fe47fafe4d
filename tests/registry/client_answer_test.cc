// Every status, body and broken exchange, and what the client makes of it (R5 to R8, R22 to R29, R39 to
// R41).
#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "base/sha256.h"
#include "rows.h"
#include "world.h"

namespace prefetch::registry::client_answer_test {
namespace {

using Lines = std::vector<std::string>;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct AnswerCase {
  std::string name;
  FakeReply reply;
  std::string expect;
  std::size_t requests = 1;  // "/v2/" and second tries included
};

TEST_TABLE_F(AnswerTest, Table, tests::RegistryWorld, AnswerCase) {
  registry_.AnswerAllBut("/v2/", row.reply);
  auto answer = AskFake("app:v1");
  EXPECT_EQ(Word(answer), row.expect);
  EXPECT_EQ(registry_.lines().size(), row.requests);
  EXPECT_EQ(answer.requests, static_cast<int>(row.requests));
  EXPECT_EQ(answer.message.empty(), answer.kind == image::RegistryAnswerKind::kMoved);
}

TEST_ROWS(Status, AnswerTest, {"S304", {.status = 304}, "ServerError Status304"},
          {"S400", {.status = 400}, "ServerError BadRequest", 2},
          {"S400Name", FakeReply{.status = 400, .body = R"({"errors":[{"code":"NAME_INVALID"}]})"},
           "Indeterminate InvalidReference", 2},
          {"S402", {.status = 402}, "AccessDenied Quota"},
          {"S403", {.status = 403}, "AccessDenied Forbidden", 2},
          {"S403Rate", {.status = 403, .body = "API rate limit exceeded"}, "RateLimited Forbidden", 2},
          {"S404", {.status = 404}, "TagMissing", 2},
          {"S404Page", FakeReply{.status = 404, .headers = {{"Content-Type", "text/html"}}},
           "ServerError NotARegistry"},
          {"S406", {.status = 406}, "Indeterminate NotAcceptable"},
          {"S408", {.status = 408}, "ServerError Timeout"}, {"S410", {.status = 410}, "TagMissing Gone", 2},
          {"S429", {.status = 429}, "RateLimited"}, {"S451", {.status = 451}, "AccessDenied Legal"},
          {"S500", {.status = 500}, "ServerError Status500"},
          {"S502", {.status = 502}, "ServerError Status502", 3},
          {"S503", {.status = 503}, "ServerError Status503", 3},
          {"S503WithATime", {.status = 503, .headers = {{"Retry-After", "30"}}}, "ServerError Status503"},
          {"S504", {.status = 504}, "ServerError Status504", 3});

TEST_ROWS(
    Manifest, AnswerTest,
    {"HtmlPage", FakeReply{.headers = {{"Content-Type", "text/html"}}, .body = "<html>"},
     "ServerError NotARegistry", 2},
    {"Schema1",
     FakeReply{.headers = {{"Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws"},
                           {"Docker-Content-Digest", "sha256:" + std::string(64, 'a')}}},
     "Indeterminate Schema1"},
    {"WrongDigest",
     FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"},
                           {"Docker-Content-Digest", "no digest"}},
               .body = "{}"},
     "Indeterminate DigestMismatch"},
    {"NoDigestAndNothing",
     FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"}}},
     "Indeterminate NoManifest", 2},
    {"NoDigestAndHalf",
     FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"}}, .body = "{\"schema"},
     "Indeterminate NoManifest", 2},
    {"FiveMegabytes",
     FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"}},
               .body = std::string(5 << 20, ' ')},
     "Indeterminate ManifestTooLarge", 2});

TEST_ROWS(Broken, AnswerTest, {"NotHttp", {.raw = "SSH-2.0-OpenSSH_9.2\r\n"}, "ServerError NotARegistry"},
          {"HeadersThatGoRefuses", FakeReply{.raw = "HTTP/1.1 200 OK\r\nA(b): x\r\n\r\n"},
           "ServerError NotARegistry"},
          {"CutInStatusLine", {.raw = "HTTP/1.1 2"}, "Unreachable Reset", 3},
          {"CutInHeaders", {.raw = "HTTP/1.1 200 OK\r\nContent-Ty"}, "Unreachable Reset", 3},
          {"HeadersTooLong",
           FakeReply{.raw = "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"},
           "Indeterminate TooLong"},
          {"TooManyHeaders",
           FakeReply{.raw =
                         [] {
                           std::string text = "HTTP/1.1 200 OK\r\n";
                           for (int i = 0; i < 101; i++) text += "X-" + std::to_string(i) + ": y\r\n";
                           return text + "\r\n";
                         }()},
           "Indeterminate TooLong"},
          {"Redirect2Nowhere", {.status = 307}, "ServerError BadRedirect"},
          {"RedirectInACircle", FakeReply{.status = 302, .headers = {{"Location", "../manifests/v1"}}},
           "ServerError BadRedirect", 10},
          {"RedirectWithUserinfo",
           FakeReply{.status = 302, .headers = {{"Location", "https://u:p@cdn.example/"}}},
           "Indeterminate InsecureRedirect"},
          {"RedirectToMetadata",
           FakeReply{.status = 302, .headers = {{"Location", "http://169.254.169.254/latest"}}},
           "Indeterminate Address"});

class ClientAnswerTest : public tests::RegistryWorld {};

TEST_F(ClientAnswerTest, WhereHeadDoesNotWorkGetDoesForADay) {
  std::string digest = registry_.Put("app", "v1");
  registry_.AnswerHead({.status = 405});
  EXPECT_EQ(AskFake("app:v1").digest, digest);
  EXPECT_EQ(AskFake("app:v1").digest, digest);
  EXPECT_EQ(registry_.lines(),
            (Lines{"HEAD /v2/app/manifests/v1", "GET /v2/app/manifests/v1", "GET /v2/app/manifests/v1"}));
  clock_.Advance(std::chrono::hours(24));
  EXPECT_EQ(AskFake("app:v1").requests, 2);
  // containerd does not try GET then.
  registry_.AnswerHead({.status = 501});
  Make();
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status501");
}

TEST_F(ClientAnswerTest, WithoutADigestHeaderTheManifestItselfIsTaken) {
  std::string body = R"({"schemaVersion":2})";
  FakeReply reply{.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"}}, .body = body};
  registry_.AnswerAllBut("/v2/", reply);
  auto answer = AskFake("app:v1");
  EXPECT_EQ(answer.digest, "sha256:" + base::Sha256Hex(body));
  EXPECT_EQ(answer.requests, 2);
  EXPECT_EQ(AskFake("app:v1").requests, 1) << "no HEAD for a day";
}

TEST_F(ClientAnswerTest, AManifestWithAnotherDigestThanItsHeaderSays) {
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.method == "HEAD") return FakeReply{.status = 405};
    return FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"},
                                 {"Docker-Content-Digest", "sha256:" + std::string(64, 'a')}},
                     .body = "{}"};
  });
  EXPECT_EQ(Word(AskFake("app:v1")), "Indeterminate DigestMismatch");
}

// containerd refuses these by the headers alone (R8), so HEAD is enough. CRI-O reads the type its own way.
TEST_F(ClientAnswerTest, HeadersOfManifestsThatContainerdDoesNotTake) {
  const std::string type = "application/vnd.oci.image.manifest.v1+json";
  const std::string digest = "sha256:" + std::string(64, 'a');
  const struct {
    std::string type, digest, length, expect;
  } rows[] = {
      {type, digest, "9", "Moved"},
      {type + "; charset=utf-8", digest, "9", "Moved"},
      {"Application/vnd.oci.image.manifest.v1+json", digest, "9", "Indeterminate NoManifest"},
      {"application/json", digest, "9", "Indeterminate NoManifest"},
      {"", digest, "9", "Indeterminate NoManifest"},
      {type + ",application/json", digest, "9", "Indeterminate NoManifest"},
      {type, "\"" + digest + "\"", "9", "Indeterminate DigestMismatch"},
      {type, "SHA256:" + std::string(64, 'A'), "9", "Indeterminate DigestMismatch"},
      {type, "sha512:" + std::string(128, 'a'), "9", "Indeterminate DigestMismatch"},
      {type, digest, "0", "Indeterminate NoManifest"},
      {type, digest, "5000000", "Indeterminate ManifestTooLarge"},
  };
  for (const auto& row : rows) {
    Make();
    registry_.AnswerAllBut("/v2/", {.headers = {{"Content-Type", row.type},
                                                {"Docker-Content-Digest", row.digest},
                                                {"Content-Length", row.length}}});
    EXPECT_EQ(Word(AskFake("app:v1")), row.expect) << row.type << " " << row.digest << " " << row.length;
  }
  ClientOptions crio = tests::QuickOptions();
  crio.registries = std::make_shared<const RegistriesConf>(RegistriesConf());
  Make(crio);
  registry_.AnswerAllBut("/v2/", {.headers = {{"Content-Type", "application/json"},
                                              {"Docker-Content-Digest", digest},
                                              {"Content-Length", "9"}}});
  EXPECT_NE(Word(AskFake("app:v1")), "Indeterminate NoManifest");
}

// R53: what a lock and a preflight need to know.
TEST_F(ClientAnswerTest, TheManifestIsFetchedByTheDigestThatHeadTold) {
  const std::string digest = registry_.Put("app", "v1");
  std::optional<FakeReply> by_digest;
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    return request.target.find("sha256:") == std::string::npos ? std::nullopt : by_digest;
  });
  auto ask = [&] {
    Make();
    registry_.Forget();
    return AskFakeForManifest("app:v1");
  };
  EXPECT_EQ(ask().digest, digest);
  EXPECT_EQ(registry_.lines(), (Lines{"HEAD /v2/app/manifests/v1", "GET /v2/app/manifests/" + digest}));
  by_digest = FakeReply{.body = "{ }"};
  EXPECT_EQ(Word(ask()), "Indeterminate DigestMismatch");
  by_digest = FakeReply{.status = 404};
  EXPECT_EQ(Word(ask()), "Indeterminate NoManifest");
  by_digest = FakeReply{.status = 403};
  EXPECT_EQ(Word(ask()), "AccessDenied Forbidden");
  // Where only the runtime can tell, the registry is not blamed.
  FakeReply many{.body = "{}"};
  for (int i = 0; i < 101; i++) many.headers.Add("X-A" + std::to_string(i), "b");
  tests::FakeRegistry other;
  other.DemandPassword("me", "secret");
  for (const FakeReply& reply :
       {many, FakeReply{.headers = {{"Content-Encoding", "zstd"}}, .body = "{}"},
        FakeReply{.status = 307,
        .headers = {{"Location", "http://" + other.address() + "/v2/app/manifests/v1"}}}}) {
    by_digest = reply;
    const auto answer = ask();
    EXPECT_EQ(answer.kind, image::RegistryAnswerKind::kIndeterminate) << Word(answer);
    EXPECT_TRUE(answer.only_by_pull) << Word(answer);
  }
  by_digest.reset();
  registry_.Put("app", "v1", {.body = R"({"config":{}})"});
  EXPECT_EQ(Word(ask()), "Indeterminate NoManifest") << "it is called an index";
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  registry_.Put("app", "v1", {.body = "{\"a\":" + deep + "}"});
  EXPECT_EQ(Word(ask()), "Indeterminate TooLong");
}

// Go reads 10,000 levels, and numbers beyond its own in members that it does not know.
TEST_F(ClientAnswerTest, AManifestBeyondOurLimitsIsLeftToAPull) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  std::string many = "[0";
  for (int i = 0; i < 1 << 17; i++) many += ",0";
  for (const std::string& value : {deep, many + "]", std::string("1e999")}) {
    registry_.AnswerAllBut("/v2/", {.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"}},
                                    .body = "{\"a\":" + value + "}"});
    Make();
    const auto answer = AskFake("app:v1");
    EXPECT_EQ(Word(answer), "Indeterminate TooLong") << answer.message;
    EXPECT_TRUE(answer.only_by_pull);
    EXPECT_FALSE(answer.ends_pull);
    EXPECT_EQ(answer.message, registry_.address() +
                                  " has a manifest that has more levels or values, or a larger number, than "
                                  "is read here: only a pull can tell");
  }
}

// One repository's HEAD without a digest says nothing about another one's.
TEST_F(ClientAnswerTest, APredictionSendsItsHeadThoughAnotherImagesHeadFailed) {
  registry_.Put("app", "v1");
  registry_.Put("other", "v1");
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.method != "HEAD") return std::nullopt;
    return FakeReply{.status = request.path().starts_with("/v2/app/") ? 405 : 404};
  });
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  EXPECT_EQ(Word(AskFakeForManifest("other:v1")), "TagMissing");
}

// The runtime would log in at the other server.
TEST_F(ClientAnswerTest, AServerBehindARedirectThatAsksForCredentials) {
  tests::FakeRegistry other;
  other.DemandPassword("me", "secret");
  registry_.AnswerAllBut(
      "/v2/",
      {.status = 307, .headers = {{"Location", "http://" + other.address() + "/v2/app/manifests/v1"}}});
  auto answer = AskFake("app:v1");
  EXPECT_EQ(Word(answer), "Indeterminate CredentialsWithheld");
  EXPECT_TRUE(answer.only_by_pull);
}

TEST_F(ClientAnswerTest, AnotherDigestThanWasAskedFor) {
  registry_.AnswerAllBut("/v2/", {.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"},
                                              {"Docker-Content-Digest", "sha256:" + std::string(64, 'a')}},
                                  .body = "{}"});
  EXPECT_EQ(Word(AskFake("app@sha256:" + std::string(64, 'b'))), "Indeterminate DigestMismatch");
}

// An answer by GET after HEAD was refused would promise a pull that fails: runtimes do not try GET then.
TEST_F(ClientAnswerTest, WhatOnlyGetWouldGiveIsNoGoodAnswer) {
  registry_.Put("app", "v1");
  for (auto [status, word] :
       {std::pair<int, std::string>{400, "ServerError BadRequest"}, {403, "AccessDenied Forbidden"}}) {
    Make();
    registry_.AnswerHead({.status = status});
    EXPECT_EQ(Word(AskFake("app:v1")), word);
  }
}

TEST_F(ClientAnswerTest, Who404sEverythingIsNoRegistry) {
  registry_.Always({.status = 404});
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError NotARegistry");
  // A host that asks for a password at /v2/ is one. The client does not ask it again within the hour.
  Make();
  registry_.Forget();
  registry_.Answer(
      [](const WireRequest& request) { return FakeReply{.status = request.path() == "/v2/" ? 401 : 404}; });
  EXPECT_EQ(Word(AskFake("app:v1")), "TagMissing");
  EXPECT_EQ(Word(AskFake("app:v1")), "TagMissing");
  EXPECT_EQ(registry_.lines().size(), 3U);
}

TEST_F(ClientAnswerTest, AMomentaryFailureIsTriedAgain) {
  registry_.Put("app", "v1");
  int failures = 2;
  registry_.Answer([&](const WireRequest&) -> std::optional<FakeReply> {
    if (failures-- > 0) return FakeReply{.status = 503};
    return std::nullopt;
  });
  auto answer = AskFake("app:v1");
  EXPECT_EQ(Word(answer), "Moved");
  EXPECT_EQ(answer.requests, 3);
}

TEST_F(ClientAnswerTest, RetryAfterInItsForms) {
  for (const std::string& wait :
       {std::string("90"), std::string("Fri, 20 Nov 2026 08:01:30 GMT"),
        std::string("Friday, 20-Nov-26 08:01:30 GMT"), std::string("Fri Nov 20 08:01:30 2026")}) {
    Make();
    registry_.Always(
        {.status = 429, .headers = {{"Date", "Fri, 20 Nov 2026 08:00:00 GMT"}, {"Retry-After", wait}}});
    auto answer = AskFake("app:v1");
    EXPECT_EQ(Word(answer), "RateLimited");
    EXPECT_EQ(answer.retry_after, milliseconds(90'000)) << wait;
    registry_.Forget();
    auto held = AskFake("other:v1");
    EXPECT_EQ(Word(held), "RateLimited OnHold");
    EXPECT_EQ(held.retry_after, milliseconds(90'000));
    EXPECT_TRUE(registry_.lines().empty());
  }
  clock_.Advance(seconds(90));
  registry_.Put("app", "v1");
  registry_.Answer(nullptr);
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
}

TEST_F(ClientAnswerTest, WhatDockerHubSaysOfPullsComesWithItsAnswer) {
  const std::string digest = registry_.Put("app", "v1");
  auto ask = [&](int status, const std::string& limit, const std::string& remaining) {
    Make();
    registry_.Answer([&](const WireRequest&) {
      FakeReply reply{.status = status,
                      .headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"},
                                  {"Docker-Content-Digest", digest}}};
      if (!limit.empty()) reply.headers.Add("RateLimit-Limit", limit);
      if (!remaining.empty()) reply.headers.Add("RateLimit-Remaining", remaining);
      return reply;
    });
    return AskFake("app:v1").allowance;
  };
  EXPECT_EQ(ask(200, "100;w=21600", "76;w=21600"), (image::PullAllowance{100, 76, seconds(21'600)}));
  EXPECT_EQ(ask(429, "10;w=3600", "0;w=3600"), (image::PullAllowance{10, 0, seconds(3'600)}));
  EXPECT_EQ(ask(200, "", ""), std::nullopt);
  EXPECT_EQ(ask(200, "100;w=21600", "many"), std::nullopt);
}

TEST_F(ClientAnswerTest, AfterFiveFailuresAServerIsLeftAlone) {
  registry_.Always({.status = 500});
  for (int i = 0; i < 5; i++) EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status500");
  EXPECT_EQ(Word(AskFake("app:v1")), "Unreachable CircuitOpen");
  EXPECT_EQ(registry_.lines().size(), 5U);
  registry_.Put("app", "v1");
  registry_.Answer(nullptr);
  clock_.Advance(seconds(60));
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
}

// For whoever keeps a circuit above it: a registry that is back is seen at once.
TEST_F(ClientAnswerTest, WithoutTheCircuitItIsAskedEachTime) {
  auto options = tests::QuickOptions();
  options.circuit = false;
  Make(options);
  registry_.Always({.status = 500});
  for (int i = 0; i < 9; i++) EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status500");
  registry_.Put("app", "v1");
  registry_.Answer(nullptr);
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
}

TEST_F(ClientAnswerTest, NobodyThere) {
  EXPECT_EQ(Word(Ask("127.0.0.1:1/app:v1")), "Unreachable Connect");
  EXPECT_EQ(Word(Ask("no-such-registry.invalid/app:v1")), "Unreachable Dns");
}

TEST_F(ClientAnswerTest, SilenceAndDripping) {
  auto options = tests::QuickOptions();
  options.times.retries.clear();
  options.times.request = milliseconds(200);
  Make(options);
  registry_.Always({.never = true});
  EXPECT_EQ(Word(AskFake("app:v1")), "Unreachable Timeout");

  options.times.request = seconds(15);
  options.times.stall = seconds(1);
  Make(options);
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Word(AskFake("app:v1")), "Unreachable Timeout");
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(10));
}

TEST_F(ClientAnswerTest, AStopAndADeadline) {
  registry_.Always({.never = true});
  Make();
  std::stop_source stop;
  std::thread stopper([&] {
    while (registry_.lines().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  image::RegistryQuestion question{.reference = tests::Ref(registry_.address() + "/app:v1")};
  auto stopped = client_->Ask({.stop = stop.get_token()}, question);
  stopper.join();
  EXPECT_EQ(Word(stopped), "Unreachable Stopped");
  EXPECT_EQ(Word(client_->Ask({.stop = stop.get_token()}, question)), "Unreachable Stopped");
  EXPECT_EQ(Word(client_->Ask(base::Call{}.Within(milliseconds(100)), question)), "Unreachable Timeout");
}

TEST_F(ClientAnswerTest, ATurnThatDoesNotComeIsNotTheRegistrysFault) {
  registry_.Put("app", "v1");
  auto options = tests::QuickOptions();
  options.throttle = {.checks = 8, .requests_per_host = 8, .rate = {.per_second = 0.01, .burst = 1}};
  Make(options);
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  image::RegistryQuestion question{.reference = tests::Ref(registry_.address() + "/app:v1")};
  for (int i = 0; i < 6; i++) {
    auto answer = client_->Ask(base::Call{}.Within(milliseconds(10)), question);
    EXPECT_EQ(Word(answer), "RateLimited OwnLimit");
    EXPECT_EQ(answer.requests, 0);
  }
}

TEST_F(ClientAnswerTest, RedirectsTakeNoPasswordAlong) {
  tests::FakeRegistry cdn;
  registry_.DemandPassword("me", "secret");
  std::string digest = cdn.Put("app", "v1");
  int status = 0;
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (!request.headers.Has("Authorization")) return std::nullopt;
    return FakeReply{.status = status,
                     .headers = {{"Location", "http://" + cdn.address() + "/v2/app/manifests/v1?sig=1"}}};
  });
  for (int each : {301, 302, 303, 307, 308}) {
    status = each;
    cdn.Forget();
    auto answer = AskFake("app:v1", {User("me", "secret")});
    EXPECT_EQ(answer.digest, digest) << each;
    ASSERT_EQ(cdn.requests().size(), 1U);
    EXPECT_EQ(cdn.requests()[0].method, "HEAD");
    EXPECT_FALSE(cdn.requests()[0].headers.Has("Authorization"));
  }
  // Not even when the other one asks for it.
  cdn.DemandPassword("me", "secret");
  EXPECT_EQ(Word(AskFake("app:v1", {User("me", "secret")})), "Indeterminate CredentialsWithheld");
  for (const WireRequest& request : cdn.requests()) EXPECT_FALSE(request.headers.Has("Authorization"));
}

TEST_F(ClientAnswerTest, RedirectsWithinTheServerKeepThePassword) {
  std::string digest = registry_.Put("app", "v1");
  registry_.DemandPassword("me", "secret");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (!request.headers.Has("Authorization") || request.path() != "/v2/old/manifests/v1")
      return std::nullopt;
    return FakeReply{.status = 301, .headers = {{"Location", "/v2/app/manifests/v1"}}};
  });
  EXPECT_EQ(AskFake("old:v1", {User("me", "secret")}).digest, digest);
}

TEST_F(ClientAnswerTest, TenRedirectsAreOneTooMany) {
  registry_.Put("app", "vj");
  registry_.Put("app", "vk");
  int last = 9;
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.path() == "/v2/") return std::nullopt;
    int n = request.target.back() - 'a';
    if (n == last) return std::nullopt;
    return FakeReply{.status = 307,
                     .headers = {{"Location", "v" + std::string(1, static_cast<char>('b' + n))}}};
  });
  EXPECT_EQ(Word(AskFake("app:va")), "Moved");
  last = 10;
  EXPECT_EQ(Word(AskFake("app:va")), "ServerError BadRedirect");
}

TEST_F(ClientAnswerTest, CookiesAreNotKept) {
  registry_.Put("app", "v1");
  registry_.Always({.status = 500, .headers = {{"Set-Cookie", "a=b"}}});
  (void)AskFake("app:v1");
  registry_.Answer(nullptr);
  (void)AskFake("app:v1");
  EXPECT_FALSE(registry_.requests().back().headers.Has("Cookie"));
}

}  // namespace
}  // namespace prefetch::registry::client_answer_test
