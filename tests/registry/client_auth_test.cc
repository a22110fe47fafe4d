// Challenges, tokens, several credentials, and what well-known registries do in their own ways
// (R14 to R21).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "rows.h"
#include "world.h"

namespace prefetch::registry::client_auth_test {
namespace {

using std::chrono::seconds;

class ClientAuthTest : public tests::RegistryWorld {
 protected:
  // Bearer by the registry's own token service, for "me" with "secret".
  void BearerForMe() {
    registry_.DemandToken(Realm());
    registry_.GiveTokensTo("me", "secret");
  }
  std::string Realm() const { return "http://" + registry_.address() + "/token"; }
  std::vector<image::AuthConfig> Me() const { return {User("me", "secret")}; }
  std::size_t Count(const std::string& beginning) const {
    std::size_t count = 0;
    for (const std::string& line : registry_.lines()) count += line.starts_with(beginning) ? 1 : 0;
    return count;
  }
};

FakeReply Challenge(const std::string& challenge, int status = 401) {
  return {.status = status, .headers = {{"WWW-Authenticate", challenge}}};
}

TEST_F(ClientAuthTest, WhatIsWrongWithAChallenge) {
  const struct {
    FakeReply reply;
    std::string answer;
  } rows[] = {
      {{.status = 401}, "AccessDenied NoChallenge"},
      {Challenge("Negotiate"), "AccessDenied NoChallenge"},
      {Challenge("Bearer"), "Indeterminate BadChallenge"},
      {Challenge("Bearer realm=\"/token\""), "Indeterminate BadChallenge"},
      {Challenge("Bearer realm=\"https://u:p@127.0.0.1/t\""), "Indeterminate BadChallenge"},
      {Challenge("Bearer realm=\"http://auth.example/token\""), "Indeterminate BadChallenge"},
      {Challenge("Bearer realm=\"https://auth.example/t"), "Indeterminate BadChallenge"},
      {Challenge("Basic realm=\"x\""), "AccessDenied BadCredentials"},
      {Challenge("Bearer realm=\"https://auth.invalid/token\""), "Indeterminate UntrustedRealm"},
  };
  for (const auto& row : rows) {
    Make();
    registry_.AnswerAllBut("/token", row.reply);
    image::RegistryAnswer answer = AskFake("app:v1", Me());
    EXPECT_EQ(Word(answer), row.answer) << row.reply.headers.Get("WWW-Authenticate").value_or("");
    // A challenge that the agent does not answer says nothing about the image: a pull decides.
    EXPECT_EQ(answer.only_by_pull, row.answer.starts_with("Indeterminate")) << answer.message;
  }
  EXPECT_EQ(Count("GET /token") + Count("POST /token"), 0U);
}

TEST_F(ClientAuthTest, ATokenAnswerBeyondOurLimitsIsLeftToAPull) {
  const std::string deep = std::string(1200, '[') + std::string(1200, ']');
  const std::string large = std::string((64 << 10) + 1, 'x');
  for (const std::string& body :
       {R"({"token":"t","a":)" + deep + "}", std::string(R"({"token":"t","a":1e999})"),
        R"({"token":")" + large + "\"}"}) {
    Make();
    registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
      if (request.path() == "/token") return FakeReply{.body = body};
      return Challenge("Bearer realm=\"" + Realm() + "\"");
    });
    const image::RegistryAnswer answer = AskFake("app:v1");
    EXPECT_EQ(Word(answer), "Indeterminate TooLong") << answer.message;
    EXPECT_TRUE(answer.only_by_pull);
  }
}

// R19: whatever a registry accepts and whatever it refuses.
TEST_F(ClientAuthTest, AnIdentityCostsFourRequestsAtMost) {
  const std::string digest = registry_.Put("app", "v1");
  std::size_t most = 0;
  for (unsigned refused = 0; refused < 1U << 6; refused++) {
    for (const std::string& challenge :
         {"Bearer realm=\"" + Realm() + "\"", std::string("Basic realm=\"x\"")}) {
      Make();
      registry_.GiveTokensTo("me", "secret");
      unsigned sent = 0;
      auto answer = [&](const WireRequest& request) -> std::optional<FakeReply> {
        if (request.path() == "/token" || request.path() == "/v2/") return std::nullopt;
        if ((refused >> sent++ & 1) != 0) return Challenge(challenge);
        if (request.method != "HEAD") return std::nullopt;
        return FakeReply{.headers = {{"Content-Type", "application/vnd.oci.image.index.v1+json"}}};
      };
      // The second question has the challenge and the token of the first.
      for (int question = 0; question < 2; question++) {
        registry_.Answer(answer);
        registry_.Forget();
        sent = 0;
        AskFakeForManifest("app:v1", Me());
        most = std::max(most, Count("HEAD ") + Count("GET /v2/"));
      }
    }
  }
  EXPECT_EQ(most, 4U);
}

TEST_F(ClientAuthTest, ATokenServiceOnAnAddressThatIsNotMeant) {
  // The registry stands on loopback, and so may its token service; not on a link-local address.
  registry_.AnswerAllBut("/token", Challenge("Bearer realm=\"https://169.254.169.254/token\""));
  EXPECT_EQ(Word(AskFake("app:v1")), "Indeterminate UntrustedRealm");
}

// The name that a pod wrote leads to this machine: nobody is asked, and a server that is there looks like
// none.
TEST_F(ClientAuthTest, AStrangersRegistryOnThisMachineIsNotAsked) {
  Make();
  registry_.Put("app", "v1");
  auto ask = [&](const std::string& host, bool untrusted_name) {
    image::RegistryQuestion question{
        .reference = *image::Reference::Parse(host + "/app:v1"),
        .platform = image::Platform::Host(),
        .untrusted_name = untrusted_name,
        .excluded_addresses = std::vector<std::string>{"192.0.2.9", "2001:db8::9"}};
    return client_->Ask({}, question);
  };
  const std::string port = ":" + std::to_string(registry_.port());
  for (const std::string& host :
       std::vector<std::string>{"127.0.0.1" + port, "localhost" + port, "127.0.0.1:1", "localhost:1",
                                "169.254.169.254:80", "10.0.0.1:80", "192.0.2.9:80", "[2001:db8::9]:80"}) {
    const image::RegistryAnswer answer = ask(host, true);
    EXPECT_EQ(answer.kind, image::RegistryAnswerKind::kUnreachable) << host;
    EXPECT_EQ(answer.detail, image::RegistryDetail::kAddress) << host;
  }
  EXPECT_EQ(Count(""), 0U);
  EXPECT_EQ(ask("127.0.0.1" + port, false).kind, image::RegistryAnswerKind::kMoved);
}

// A registry that demands a token of a service on an address that the client refuses, or where nobody is.
class TokensElsewhere final : public http::Client {
 public:
  explicit TokensElsewhere(http::Fault fault) : fault_(fault) {}
  http::ExchangeResult Exchange(const base::Call&, const http::Request& request) override {
    if (request.url.find("token") != std::string::npos) return {base::Unavailable("no"), fault_};
    return {http::Response{.status = 401,
                           .headers = {{"WWW-Authenticate", "Bearer realm=\"https://n1.example/token\""}}},
            http::Fault::kNone};
  }

 private:
  const http::Fault fault_;
};

// A pod must not learn from a token service's address which addresses are this node's.
TEST_F(ClientAuthTest, AStrangersTokenServiceOnThisNodeLooksLikeOneThatIsSilent) {
  auto ask = [&](http::Fault fault, bool untrusted_name) {
    TokensElsewhere elsewhere(fault);
    Client client(elsewhere, clock_, tests::QuickOptions());
    const image::RegistryAnswer answer =
        client.Ask(tests::Patient(), {.reference = tests::Ref("evil.example/app:v1"),
                                      .platform = {"linux", "amd64", ""},
                                      .untrusted_name = untrusted_name});
    return std::pair(answer.kind, answer.only_by_pull);
  };
  EXPECT_EQ(ask(http::Fault::kExcludedAddress, true), ask(http::Fault::kConnect, true));
  EXPECT_EQ(ask(http::Fault::kExcludedAddress, false),
            std::pair(image::RegistryAnswerKind::kIndeterminate, true));
}

// The operator has a credential for the registry, so it is no stranger's.
TEST_F(ClientAuthTest, WhileTheAddressesAreUnknownOnlyRegistriesOfStrangersAreNotAsked) {
  Make();
  registry_.Put("app", "v1");
  auto ask = [&](std::vector<image::AuthConfig> credentials) {
    image::RegistryQuestion question{.reference = *image::Reference::Parse(registry_.address() + "/app:v1"),
                                     .platform = image::Platform::Host(),
                                     .credentials = std::move(credentials),
                                     .untrusted_name = true,
                                     .excluded_addresses = std::nullopt};
    return client_->Ask({}, question).kind;
  };
  EXPECT_EQ(ask({}), image::RegistryAnswerKind::kUnreachable);
  EXPECT_EQ(Count(""), 0U);
  EXPECT_EQ(ask(Me()), image::RegistryAnswerKind::kMoved);
}

TEST_F(ClientAuthTest, ARealmOfSomebodyElseGetsNoPasswordUnlessTheOperatorSaysSo) {
  registry_.Put("app", "v1");
  registry_.DemandToken("http://localhost:" + std::to_string(registry_.port()) + "/token");
  // Plain http to another host name is refused in any case; so the registry is asked by the realm's name.
  auto ask = [&](registry::ClientOptions options) {
    Make(std::move(options));
    return Word(Ask("localhost:" + std::to_string(registry_.port()) + "/app:v1", Me()));
  };
  EXPECT_EQ(ask(tests::QuickOptions()), "Moved");
  registry_.AnswerAllBut("/token", Challenge("Bearer realm=\"https://auth.invalid/token\""));
  EXPECT_EQ(ask(tests::QuickOptions()), "Indeterminate UntrustedRealm");
  auto named = tests::QuickOptions();
  named.trusted_realms = {"auth.invalid"};
  EXPECT_EQ(ask(named), "Unreachable Dns");
  auto every = tests::QuickOptions();
  every.trust_every_realm = true;
  EXPECT_EQ(ask(every), "Unreachable Dns");
}

TEST_F(ClientAuthTest, TwoChallengesBearerIsAnswered) {
  registry_.Put("app", "v1");
  BearerForMe();
  std::string realm = Realm();
  registry_.Answer([realm](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.path() == "/token" || request.headers.Has("Authorization")) return std::nullopt;
    return FakeReply{.status = 401,
                     .headers = {{"WWW-Authenticate", "Basic realm=\"x\""},
                                 {"www-authenticate", "Bearer realm=\"" + realm + "\""}}};
  });
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved");
  EXPECT_EQ(registry_.requests()[1].body,  // no service was named
            "grant_type=password&client_id=prefetchd&scope=repository%3Aapp%3Apull&service=&username=me&"
            "password=secret");
}

FakeReply Told(const std::string& hex) {
  return {.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"},
                      {"Docker-Content-Digest", "sha256:" + hex},
                      {"Content-Length", "9"}}};
}

TEST_F(ClientAuthTest, ARegistryThatTurnsFromPasswordsToTokensAndBack) {
  registry_.Put("app", "v1");
  registry_.DemandPassword("me", "secret");
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved");
  registry_.GiveTokensTo("me", "secret");
  registry_.Answer([this](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.path() == "/token") return std::nullopt;
    bool bearer = request.headers.Get("Authorization").value_or("").starts_with("Bearer ");
    if (bearer) return Told(std::string(64, 'a'));
    return Challenge("Bearer realm=\"" + Realm() + "\"");
  });
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    bool basic = request.headers.Get("Authorization").value_or("").starts_with("Basic ");
    if (basic) return Told(std::string(64, 'b'));
    return Challenge("Basic realm=\"x\"");
  });
  EXPECT_EQ(AskFake("app:v1", Me()).digest, "sha256:" + std::string(64, 'b'));
}

TEST_F(ClientAuthTest, ATokenEndsAndANewOneIsFetched) {
  registry_.Put("app", "v1");
  BearerForMe();
  registry_.TokenLifetime(std::nullopt);  // 60 s; the client uses 30 of them
  EXPECT_EQ(AskFake("app:v1", Me()).requests, 3);
  clock_.Advance(seconds(29));
  EXPECT_EQ(AskFake("app:v1", Me()).requests, 1);
  clock_.Advance(seconds(1));
  EXPECT_EQ(AskFake("app:v1", Me()).requests, 3);
}

TEST_F(ClientAuthTest, ATokenThatIsRefusedBeforeItsEndIsReplacedOnce) {
  registry_.Put("app", "v1");
  BearerForMe();
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved");
  registry_.ForgetTokens();
  registry_.Forget();
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved");
  EXPECT_EQ(registry_.lines().size(), 3U);  // refused, token, again
  // A registry that refuses every token is asked twice and no more.
  registry_.Forget();
  registry_.AnswerAllBut("/token", Challenge("Bearer realm=\"" + Realm() + "\",error=\"invalid_token\""));
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "AccessDenied BadCredentials");
  EXPECT_EQ(registry_.lines().size(), 3U);
}

TEST_F(ClientAuthTest, TokensAreForOneRepositoryAndOneIdentity) {
  registry_.Put("app", "v1");
  registry_.Put("app", "v2");
  registry_.Put("other", "v1");
  registry_.DemandToken(Realm());
  EXPECT_EQ(AskFake("app:v1", Me()).requests, 3);
  EXPECT_EQ(AskFake("app:v2", Me()).requests, 1);
  EXPECT_EQ(AskFake("other:v1", Me()).requests, 3);
  EXPECT_EQ(AskFake("app:v1").requests, 3);
  EXPECT_EQ(AskFake("app:v1", {User("you", "x")}).requests, 3);
  EXPECT_EQ(Count("POST /token"), 3U);
  EXPECT_EQ(Count("GET /token"), 1U);
}

TEST_F(ClientAuthTest, ManyChecksThatBeginTogetherFetchOneToken) {
  registry_.Put("app", "v1");
  BearerForMe();
  Make();
  std::atomic<int> moved{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] { moved += Word(AskFake("app:v1", Me())) == "Moved" ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(moved, 8);
  EXPECT_EQ(Count("POST /token"), 1U);
}

TEST_F(ClientAuthTest, CredentialsInOrderTheNextOnlyWhereOneWasRefused) {
  registry_.Put("app", "v1");
  BearerForMe();
  auto answer = AskFake("app:v1", {User("a", "1"), User("me", "secret"), User("c", "3")});
  EXPECT_EQ(Word(answer), "Moved");
  EXPECT_EQ(Count("POST /token"), 2U);
  EXPECT_EQ(Count("GET /token"), 1U);
  // All refused, at most five of them; and none is anonymous where there were credentials.
  registry_.Forget();
  Make();
  std::vector<image::AuthConfig> many(7, User("x", "y"));
  for (std::size_t i = 0; i < many.size(); i++) many[i].username += std::to_string(i);
  EXPECT_EQ(Word(AskFake("app:v1", many)), "AccessDenied BadCredentials");
  EXPECT_EQ(Count("POST /token"), 5U);
  EXPECT_EQ(Count("GET /token"), 5U);
  // An answer that is no refusal ends the tries.
  Make();
  registry_.AnswerAllBut("/token", {.status = 500});
  registry_.Forget();
  EXPECT_EQ(Word(AskFake("app:v1", many)), "ServerError Status500");
  EXPECT_EQ(registry_.lines().size(), 1U);
}

// Some registries hide by a 404 what a credential may not see.
TEST_F(ClientAuthTest, AnImageThatIsHiddenFromOneCredentialIsAskedForWithTheNext) {
  const auto basic = [](const std::string& user) { return "Basic " + base::Base64Encode(user + ":pw"); };
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    const std::string sent(request.headers.Get("Authorization").value_or(""));
    if (sent == basic("me")) return Told(std::string(64, 'a'));
    if (sent == basic("other")) return std::nullopt;  // it has no such image
    return Challenge("Basic realm=\"x\"");
  });
  EXPECT_EQ(Word(AskFake("app:v1", {User("other", "pw"), User("me", "pw")})), "Moved");
  EXPECT_EQ(Word(AskFake("app:v1", {User("other", "pw")})), "TagMissing");
  EXPECT_EQ(Word(AskFake("app:v1", {User("refused", "pw"), User("other", "pw")})),
            "AccessDenied BadCredentials");
}

// R16, as containerd does it.
TEST_F(ClientAuthTest, APasswordGoesByPostAndFallsBackToGet) {
  registry_.Put("app", "v1");
  registry_.DemandToken(Realm());
  registry_.GiveTokensTo("me", "pass&me");
  auto ask = [&] { return AskFake("app:v1", {User("me", "pass&me")}); };
  EXPECT_EQ(Word(ask()), "Moved");
  WireRequest post = registry_.requests()[1];
  EXPECT_EQ(post.method + " " + post.target, "POST /token");
  EXPECT_EQ(post.headers.Get("Content-Type"), "application/x-www-form-urlencoded; charset=utf-8");
  EXPECT_EQ(post.body,
            "grant_type=password&client_id=prefetchd&scope=repository%3Aapp%3Apull&service=fake&"
            "username=me&password=pass%26me");
  EXPECT_FALSE(post.headers.Has("Authorization"));
  auto post_gets = [&](const FakeReply& reply) {
    Make();
    registry_.Forget();
    registry_.Answer([reply](const WireRequest& request) -> std::optional<FakeReply> {
      if (request.method != "POST") return std::nullopt;
      return reply;
    });
  };
  for (int status : {400, 401, 404, 405}) {
    post_gets({.status = status});
    auto answer = ask();
    EXPECT_EQ(Word(answer), "Moved") << status;
    EXPECT_EQ(answer.requests, 4) << status;
    // The service is known, for this identity and for an hour.
    clock_.Advance(std::chrono::minutes(30));
    EXPECT_EQ(ask().requests, 3) << status;
    clock_.Advance(std::chrono::minutes(31));
    EXPECT_EQ(ask().requests, 4) << status;
  }
  // With any other answer, containerd's pull fails, whatever GET would give.
  const std::pair<FakeReply, std::string> rows[] = {
      {{.status = 403}, "AccessDenied BadCredentials"},
      {{.status = 429}, "RateLimited TokenService"},
      {{.status = 500}, "ServerError Status500"},
      {{.status = 501}, "ServerError Status501"},
      {{.body = R"({"token":"abc"})"}, "ServerError NoToken"},
      {{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"to"}, "Unreachable Reset"}};
  for (const auto& [reply, word] : rows) {
    post_gets(reply);
    EXPECT_EQ(Word(ask()), word);
    EXPECT_EQ(Count("GET /token"), 0U) << word;
  }
  // CRI-O asks by GET.
  registry::ClientOptions crio = tests::QuickOptions();
  crio.for_crio = true;
  Make(crio);
  registry_.Forget();
  EXPECT_EQ(Word(ask()), "Moved");
  EXPECT_EQ(Count("POST /token"), 0U);
}

TEST_F(ClientAuthTest, ACredentialWithoutAUserOrAPasswordIsNone) {
  registry_.Put("app", "v1");
  registry_.DemandToken(Realm());
  const std::vector<image::AuthConfig> halves = {User("", "secret"), User("me", "")};
  for (const image::AuthConfig& half : halves) {
    Make();
    registry_.Forget();
    EXPECT_EQ(Word(AskFake("app:v1", {half})), "Moved");
    ASSERT_EQ(Count("GET /token"), 1U);
    EXPECT_FALSE(registry_.requests()[1].headers.Has("Authorization"));
  }
}

TEST_F(ClientAuthTest, APasswordIsNotSentWhereTheTokenServiceRedirects) {
  registry_.Put("app", "v1");
  BearerForMe();
  tests::FakeRegistry elsewhere;
  int status = 0;
  std::string target;
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.method != "POST" || request.path() == "/moved") return std::nullopt;
    return FakeReply{.status = status, .headers = {{"Location", target}}};
  });
  for (int each : {301, 302, 303, 307, 308}) {
    Make();
    status = each;
    target = "http://" + elsewhere.address() + "/token";
    EXPECT_EQ(Word(AskFake("app:v1", Me())), "Indeterminate InsecureRedirect") << each;
    EXPECT_EQ(elsewhere.requests().size(), 0U) << each;
    // Its own server may have it at another place. Go's client goes there by GET after some statuses.
    Make();
    registry_.Forget();
    target = "/moved";
    EXPECT_EQ(Word(AskFake("app:v1", Me())), "Moved") << each << ": 404 there, then GET";
    EXPECT_EQ(Count("POST /moved"), each < 307 ? 0U : 1U) << each;
    EXPECT_EQ(Count("GET /moved"), each < 307 ? 1U : 0U) << each;
  }
}

struct TokenServiceCase {
  std::string name;
  FakeReply reply;
  std::string anonymous, with_password;
};

TEST_TABLE_F(TokenServiceTest, Table, ClientAuthTest, TokenServiceCase) {
  registry_.Put("app", "v1");
  registry_.DemandToken(Realm());
  registry_.AnswerFor("/token", row.reply);
  EXPECT_EQ(Word(AskFake("app:v1")), row.anonymous);
  Make();
  auto answer = AskFake("app:v1", Me());
  EXPECT_EQ(Word(answer), row.with_password);
  EXPECT_EQ(answer.message.find("secret"), std::string::npos) << answer.message;
}

TEST_ROWS(TokenService, TokenServiceTest,
          {"BadRequest", {.status = 400}, "AccessDenied BadRequest", "AccessDenied BadRequest"},
          {"Unauthorized", {.status = 401}, "AccessDenied Unauthenticated", "AccessDenied BadCredentials"},
          {"GhcrDenied",
           FakeReply{
               .status = 403,
               .body = R"({"errors":[{"code":"DENIED","message":"requested access me:secret denied"}]})"},
           "AccessDenied Unauthenticated", "AccessDenied BadCredentials"},
          {"NowhereToGo", FakeReply{.status = 302, .body = R"({"token":"t","access_token":"t"})"},
           "AccessDenied Unauthenticated", "AccessDenied BadCredentials"},
          {"UnknownEncoding", FakeReply{.headers = {{"Content-Encoding", "br"}}, .body = R"({"token":"t"})"},
           "Indeterminate NotAcceptable", "Indeterminate NotAcceptable"},
          {"NotFound", {.status = 404}, "ServerError BadRealm", "ServerError BadRealm"},
          {"TooMany", {.status = 429}, "RateLimited TokenService", "RateLimited TokenService"},
          {"Broken", {.status = 500}, "ServerError Status500", "ServerError Status500"},
          {"NoToken", {.body = "{}"}, "ServerError NoToken", "ServerError NoToken"},
          {"HeaderInjection", FakeReply{.body = R"({"token":"a\r\nX-Evil: 1"})"}, "ServerError NoToken",
           "ServerError NoToken"},
          {"TwoMegabytes", FakeReply{.body = R"({"token":")" + std::string(2 << 20, 'x') + "\"}"},
           "Indeterminate TooLong", "Indeterminate TooLong"},
          {"Html", FakeReply{.headers = {{"Content-Type", "text/html"}}, .body = "<html>log in</html>"},
           "ServerError NoToken", "ServerError NoToken"},
          {"Cut", FakeReply{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"to"}, "Unreachable Reset",
           "Unreachable Reset"},
          {"Garbage", FakeReply{.raw = "\x01\x02\x03\x04 what\r\n\r\n"}, "ServerError NotARegistry",
           "ServerError NotARegistry"});

TEST_F(ClientAuthTest, RateLimitedTokensAreNotAskedForAgainBeforeTheirTime) {
  registry_.Put("app", "v1");
  registry_.DemandToken(Realm());
  registry_.AnswerFor("/token", {.status = 429, .headers = {{"Retry-After", "120"}}});
  EXPECT_EQ(AskFake("app:v1").retry_after, std::chrono::milliseconds(120'000));
  registry_.Forget();
  auto held = AskFake("app:v1");
  EXPECT_EQ(Word(held), "RateLimited OnHold");
  EXPECT_EQ(held.requests, 0);
  EXPECT_EQ(held.answered_by, "");
  EXPECT_TRUE(registry_.lines().empty());
}

// Docker Hub: a missing or private repository is 401 even after a valid anonymous token.
TEST_F(ClientAuthTest, DockerHubInsufficientScope) {
  registry_.DemandToken(Realm());
  registry_.Answer([this](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.path() == "/token") return std::nullopt;
    std::string error = request.headers.Has("Authorization") ? ",error=\"insufficient_scope\"" : "";
    return Challenge("Bearer realm=\"" + Realm() + "\",service=\"registry.docker.io\"" + error);
  });
  EXPECT_EQ(Word(AskFake("app:v1")), "AccessDenied InsufficientScope");
  EXPECT_EQ(registry_.lines().size(), 3U);
  EXPECT_EQ(Word(AskFake("app:v1")), "AccessDenied InsufficientScope");
  EXPECT_EQ(registry_.lines().size(), 4U);  // the token in the cache would not be a better one anew
}

// ECR: Basic, and an expired password is a 403 without a challenge.
TEST_F(ClientAuthTest, EcrExpiredPassword) {
  registry_.Put("app", "v1");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (!request.headers.Has("Authorization")) return Challenge("Basic realm=\"ecr\"");
    return FakeReply{
        .status = 403,
        .body = R"({"errors":[{"code":"DENIED","message":"Your authorization token has expired"}]})"};
  });
  auto answer = AskFake("app:v1", {User("AWS", "old-password")});
  EXPECT_EQ(Word(answer), "AccessDenied Forbidden");
  EXPECT_EQ(answer.message, registry_.address() + " answered 403: Your authorization token has expired");
}

// ECR Public: an expired token is a 400 without a challenge.
TEST_F(ClientAuthTest, EcrPublicExpiredToken) {
  registry_.Put("app", "v1");
  std::string realm = Realm();
  registry_.DemandToken(realm);
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  auto refuses_old = [](int status) {
    return [status](const WireRequest& request) -> std::optional<FakeReply> {
      if (request.headers.Get("Authorization") != "Bearer token-1") return std::nullopt;
      return FakeReply{.status = status};
    };
  };
  registry_.Answer(refuses_old(400));
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError BadRequest");  // a young token is not to blame
  clock_.Advance(seconds(60));
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError BadRequest");
  clock_.Advance(seconds(1));
  registry_.Forget();
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  EXPECT_EQ(registry_.lines().size(), 3U);
}

// Artifactory, Harbor and GitLab hide by a 404 what one may not see, and ask for no password.
TEST_F(ClientAuthTest, AMissingTagThatNobodyAskedAPasswordFor) {
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "TagMissing LowConfidence");
  EXPECT_EQ(Word(AskFake("app:v1")), "TagMissing");
  registry_.DemandPassword("me", "secret");
  EXPECT_EQ(Word(AskFake("app:v1", Me())), "TagMissing");
}

// A registry that repeats the credential, in each answer and in many encodings.
TEST_F(ClientAuthTest, NoEchoOfACredentialIsSaid) {
  const std::string password = "p4ss/W0rd+long-enough", pair = base::Base64Encode("me:" + password);
  auto hex = [](const std::string& text) {
    std::string out;
    for (char c : text) {
      const char* digits = "0123456789ABCDEF";
      out += digits[static_cast<unsigned char>(c) / 16];
      out += digits[static_cast<unsigned char>(c) % 16];
    }
    return out;
  };
  const std::string spellings[] = {password,
                                   "basic " + pair,
                                   "Basic:" + pair,
                                   pair.substr(0, 20),
                                   password.substr(5),
                                   base::Base64Encode(password),
                                   base::Base64Encode("Basic " + pair),
                                   base::ReplaceAll(base::ReplaceAll(password, "/", "%2F"), "+", "%2b"),
                                   base::ReplaceAll(password, "/", "\\/"),
                                   hex(password),
                                   hex(pair)};
  for (int status : {401, 403, 404, 429, 500}) {
    for (const std::string& spelling : spellings) {
      registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
        if (!request.headers.Has("Authorization")) return Challenge("Basic realm=\"x\"");
        FakeReply reply = status == 401 ? Challenge("Basic realm=\"x\"") : FakeReply{.status = status};
        reply.body = R"({"errors":[{"code":"E","message":"you sent )" +
                     base::ReplaceAll(spelling, "\\", "\\\\") + R"( here"}]})";
        return reply;
      });
      auto answer = AskFake("app:v1", {User("me", password)});
      for (std::size_t at = 0; at + 12 <= spelling.size(); at++) {
        const std::string run = spelling.substr(at, 12);
        if (run.find(' ') != std::string::npos || run.find(':') != std::string::npos) continue;
        EXPECT_EQ(answer.message.find(run), std::string::npos) << status << ": " << answer.message;
      }
    }
  }
}

}  // namespace
}  // namespace prefetch::registry::client_auth_test
