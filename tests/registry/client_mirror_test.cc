// Where the runtime asks: mirrors of hosts.toml in their order, what each may see, and whose word counts
// (R30 to R38).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "rows.h"
#include "temp_dir.h"
#include "world.h"

namespace prefetch::registry::client_mirror_test {
namespace {

using Lines = std::vector<std::string>;

// The registry itself, and two mirrors of it.
class ClientMirrorTest : public tests::RegistryWorld {
 protected:
  void Hosts(const std::string& toml) {
    std::string folder = dir_ / "certs/" + registry_.address();
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/hosts.toml") << toml;
    ClientOptions options = tests::QuickOptions();
    options.hosts.runtime = {.containerd_version = "1.7.32", .config_path = dir_ / "certs"};
    Use(options);
  }
  void Use(ClientOptions options) {
    options_ = options;
    Make(std::move(options));
  }
  void BothMirrors() { Hosts(Table(one_) + Table(two_)); }
  static std::string Table(const FakeRegistry& mirror, const std::string& keys = "") {
    return "[host.\"http://" + mirror.address() + "\"]\n" + keys;
  }

  tests::TempDir dir_;
  FakeRegistry one_, two_;
  ClientOptions options_;
};

TEST_F(ClientMirrorTest, TheFirstThatKnowsTheTagAnswersForAll) {
  registry_.Put("app", "v1", {.body = "{\"new\":1}"});
  std::string old = two_.Put("app", "v1", {.body = "{\"old\":1}"});
  BothMirrors();
  auto answer = AskFake("app:v1");
  EXPECT_EQ(answer.digest, old);
  EXPECT_EQ(answer.answered_by, two_.address());
  EXPECT_EQ(answer.requests, 3);  // 404 and /v2/ of the first one, then the second one
  EXPECT_TRUE(registry_.lines().empty());
  std::string ns = "?ns=127.0.0.1%3A" + std::to_string(registry_.port());
  EXPECT_EQ(two_.lines(), Lines{"HEAD /v2/app/manifests/v1" + ns});
  EXPECT_EQ(one_.lines(), (Lines{"HEAD /v2/app/manifests/v1" + ns, "GET /v2/" + ns}));

  auto upstream = options_;
  upstream.skip_mirrors = true;
  Use(upstream);
  EXPECT_EQ(AskFake("app:v1").answered_by, registry_.address());
  EXPECT_EQ(registry_.lines(), Lines{"HEAD /v2/app/manifests/v1"});
}

struct ChainCase {
  std::string name;
  int mirror;  // status; 0: nobody there
  int own;     // likewise; 200: has the tag
  std::string expect;
};

TEST_TABLE_F(ChainTest, TheRegistrysOwnWordCounts, ClientMirrorTest, ChainCase) {
  std::string mirror = row.mirror == 0 ? "[host.\"http://127.0.0.1:1\"]\n" : Table(one_);
  std::string server = row.own == 0 ? "server = \"http://127.0.0.1:2\"\n" : "";
  Hosts(server + mirror);
  if (row.mirror != 0) one_.Always({.status = row.mirror});
  registry_.Put("app", "v1");
  if (row.own != 200) {
    registry_.AnswerAllBut("/v2/", {.status = row.own});
  }
  EXPECT_EQ(Word(AskFake("app:v1")), row.expect);
}

TEST_ROWS(Chain, ChainTest, {"MirrorMissesUpstreamHas", 404, 200, "Moved"},
          {"MirrorDeniesUpstreamHas", 403, 200, "Moved"}, {"MirrorAsksUpstreamHas", 401, 200, "Moved"},
          {"MirrorBrokenUpstreamHas", 500, 200, "Moved"}, {"MirrorLimitsUpstreamHas", 429, 200, "Moved"},
          {"MirrorDownUpstreamHas", 0, 200, "Moved"},
          {"MirrorMissesUpstreamDown", 404, 0, "Unreachable Connect"},
          {"MirrorDownUpstreamMisses", 0, 404, "TagMissing"},
          {"MirrorBrokenUpstreamMisses", 500, 404, "TagMissing"},
          {"MirrorMissesUpstreamDenies", 404, 403, "AccessDenied Forbidden"},
          {"MirrorMissesUpstreamLimits", 404, 429, "RateLimited"},
          {"MirrorMissesUpstreamBroken", 404, 500, "ServerError Status500"},
          {"BothDown", 0, 0, "Unreachable Connect"});

// containerd asks no other host then, and its pull fails.
TEST_F(ClientMirrorTest, AMirrorsManifestThatContainerdDoesNotTakeEndsThePull) {
  registry_.Put("app", "v1");
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string type = "application/vnd.oci.image.manifest.v1+json";
  Hosts(Table(one_));
  auto mirror = [&](const std::string& of_type, const std::string& named, const std::string& length) {
    one_.Always(
        {.headers = {
             {"Content-Type", of_type}, {"Docker-Content-Digest", named}, {"Content-Length", length}}});
    return Word(AskFake("app:v1"));
  };
  EXPECT_EQ(mirror("application/json", digest, "9"), "Indeterminate NoManifest");
  EXPECT_EQ(mirror("text/html", digest, "9"), "ServerError NotARegistry");
  EXPECT_EQ(mirror(type, "\"" + digest + "\"", "9"), "Indeterminate DigestMismatch");
  EXPECT_EQ(mirror(type, digest, "0"), "Indeterminate NoManifest");
  EXPECT_EQ(mirror(type, digest, "5000000"), "Moved") << "too large: the next one is asked";
  EXPECT_EQ(mirror("application/json", digest, "5000000"), "Moved") << "whatever its type";
}

TEST_F(ClientMirrorTest, OnlyWhoMayResolveIsAskedForATag) {
  registry_.Put("app", "v1");
  std::string digest = one_.Put("app", "v1");
  Hosts(Table(one_, "capabilities = [\"pull\"]\n") + Table(two_, "capabilities = [\"push\"]\n"));
  EXPECT_EQ(AskFake("app:v1").answered_by, registry_.address());
  EXPECT_EQ(AskFake("app@" + digest).answered_by, one_.address());
  EXPECT_TRUE(two_.lines().empty());
  Hosts("server = \"http://" + one_.address() + "\"\ncapabilities = [\"push\"]\n");
  EXPECT_EQ(Word(AskFake("app:v1")), "Indeterminate NoHosts");
}

TEST_F(ClientMirrorTest, MirrorsGetNoPasswordUnlessTheOperatorSaysSo) {
  registry_.Put("app", "v1");
  one_.Put("app", "v1");
  registry_.DemandPassword("me", "secret");
  one_.DemandPassword("me", "secret");
  Hosts(Table(one_));
  auto by_upstream = AskFake("app:v1", {User("me", "secret")});
  EXPECT_EQ(by_upstream.answered_by, registry_.address());
  for (const WireRequest& request : one_.requests()) EXPECT_FALSE(request.headers.Has("Authorization"));

  auto named = options_;
  named.trusted_mirrors = {one_.address()};
  Use(named);
  EXPECT_EQ(AskFake("app:v1", {User("me", "secret")}).answered_by, one_.address());
  Hosts(Table(one_));
  auto as_runtime = options_;
  as_runtime.trust_every_mirror = true;
  Use(as_runtime);
  EXPECT_EQ(AskFake("app:v1", {User("me", "secret")}).answered_by, one_.address());
}

TEST_F(ClientMirrorTest, AMirrorThatAsksForALoginLeavesAPredictionToAPull) {
  registry_.Put("app", "v1");
  one_.Put("app", "v1");
  auto ask = [&](std::vector<image::AuthConfig> credentials) {
    return AskFakeForManifest("app:v1", std::move(credentials));
  };
  for (const char* keys : {"", "capabilities = [\"pull\"]\n"}) {
    one_.Always({.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=\"x\""}}});
    Hosts(Table(one_, keys));
    auto answer = ask({User("me", "secret")});
    EXPECT_EQ(Word(answer), "Indeterminate CredentialsWithheld") << keys;
    EXPECT_TRUE(answer.only_by_pull) << keys;
    EXPECT_EQ(Word(ask({})), "Moved") << keys << ": containerd has none, either";
    // An anonymous token may do, but containerd logs in for its token.
    one_.Answer(nullptr);
    one_.DemandToken("http://" + one_.address() + "/token");
    Hosts(Table(one_, keys));
    EXPECT_EQ(Word(ask({User("me", "secret")})), "Indeterminate CredentialsWithheld") << keys;
    one_.DemandToken("");
    Hosts(Table(one_, keys));
    EXPECT_EQ(Word(ask({User("me", "secret")})), "Moved") << keys;
  }
}

// The tag is gone from the registry, and may be there at the mirror.
TEST_F(ClientMirrorTest, AMirrorThatAsksForALoginMayKnowWhatTheRegistryRefuses) {
  one_.DemandPassword("me", "secret");
  Hosts(Table(one_));
  auto answer = AskFake("app:v1", {User("me", "secret")});
  EXPECT_EQ(Word(answer), "Indeterminate CredentialsWithheld");
  EXPECT_TRUE(answer.only_by_pull);
  EXPECT_EQ(Word(AskFake("app:v1")), "TagMissing") << "containerd has no credentials, either";
  registry_.Put("app", "v1");
  EXPECT_EQ(Word(AskFake("app:v1", {User("me", "secret")})), "Moved");
}

TEST_F(ClientMirrorTest, HeadersGoToTheirHostAndItsTokenServiceAndNobodyElse) {
  one_.Put("app", "v1");
  one_.DemandToken("http://" + one_.address() + "/token");
  Hosts(Table(one_,
              "[host.\"http://" + one_.address() + "\".header]\nX-Dragonfly-Registry = \"https://up\"\n"));
  EXPECT_EQ(AskFake("app:v1").answered_by, one_.address());
  ASSERT_EQ(one_.requests().size(), 3U);
  for (const WireRequest& request : one_.requests()) {
    EXPECT_EQ(request.headers.Get("X-Dragonfly-Registry"), "https://up") << request.target;
  }
  // Not across a redirect, and not to the registry itself.
  two_.Put("app", "v1");
  registry_.Put("app", "v2");
  one_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.path() == "/v2/app/manifests/v2") return FakeReply{.status = 404};
    return FakeReply{.status = 307,
                     .headers = {{"Location", "http://" + two_.address() + "/v2/app/manifests/v1"}}};
  });
  EXPECT_EQ(Word(AskFake("app:v1")), "Moved");
  EXPECT_EQ(AskFake("app:v2").answered_by, registry_.address());
  EXPECT_FALSE(two_.requests()[0].headers.Has("X-Dragonfly-Registry"));
  EXPECT_FALSE(registry_.requests()[0].headers.Has("X-Dragonfly-Registry"));
}

TEST_F(ClientMirrorTest, APathThatIsGivenAsItIs) {
  one_.Always({.headers = {{"Docker-Content-Digest", "sha256:" + std::string(64, 'a')}}});
  std::string url = "[host.\"http://" + one_.address() + "/artifactory/api\"]\n";
  Hosts(url);
  (void)AskFake("app:v1");
  Hosts(url + "override_path = true\n");
  (void)AskFake("app:v1");
  EXPECT_TRUE(one_.lines()[0].starts_with("HEAD /artifactory/api/v2/app/manifests/v1?ns="))
      << one_.lines()[0];
  EXPECT_TRUE(one_.lines()[1].starts_with("HEAD /artifactory/api/app/manifests/v1?ns=")) << one_.lines()[1];
}

// containerd pulls nothing from a registry if one of its hosts names a file that it cannot use.
TEST_F(ClientMirrorTest, AnAuthorityThatCannotBeReadLeavesAllToPulls) {
  std::string digest = registry_.Put("app", "v1");
  for (const std::string& toml :
       {Table(one_, "ca = \"absent.pem\"\n"), Table(one_) + Table(two_, "ca = \"absent.pem\"\n"),
        Table(one_, "client = \"absent.pem\"\n"),
        "server = \"http://" + registry_.address() + "\"\nca = \"absent.pem\"\n" + Table(one_)}) {
    Hosts(toml);
    auto answer = AskFake("app:v1", {}, {digest});
    EXPECT_EQ(Word(answer), "Indeterminate") << toml;
    EXPECT_TRUE(answer.only_by_pull);
    EXPECT_NE(answer.message.find("absent.pem"), std::string::npos) << answer.message;
  }
  EXPECT_TRUE(registry_.lines().empty());
  EXPECT_TRUE(one_.lines().empty());
}

// R53: whichever host told the digest, the first of the chain that has a manifest of that name serves it.
TEST_F(ClientMirrorTest, AManifestIsFetchedFromTheFirstHostThatHasIt) {
  auto ask = [&] {
    Hosts(Table(one_, "capabilities = [\"pull\"]\n") + Table(two_));
    return AskFakeForManifest("app:v1");
  };
  const std::string digest = registry_.Put("app", "v1");
  EXPECT_EQ(ask().digest, digest);
  const std::string ns = "?ns=127.0.0.1%3A" + std::to_string(registry_.port());
  EXPECT_EQ(one_.lines().front(), "GET /v2/app/manifests/" + digest + ns) << "it resolves no tags";
  EXPECT_EQ(registry_.lines(), (Lines{"HEAD /v2/app/manifests/v1", "GET /v2/app/manifests/" + digest}));
  one_.Put("app", "v1");
  registry_.Forget();
  EXPECT_EQ(ask().digest, digest);
  EXPECT_EQ(registry_.lines(), Lines{"HEAD /v2/app/manifests/v1"});
  // containerd asks no other host once it has an answer.
  one_.Always({.body = "{\"other\":1}"});
  EXPECT_EQ(Word(ask()), "Indeterminate DigestMismatch");
  one_.Always({.status = 500});
  EXPECT_EQ(ask().digest, digest);
  // The registry tells a digest that no host has.
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.target.find("sha256:") == std::string::npos) return std::nullopt;
    return FakeReply{.status = 404};
  });
  EXPECT_EQ(Word(ask()), "Indeterminate NoManifest");
}

TEST_F(ClientMirrorTest, WhatEndsContainerdsPullEndsTheQuestion) {
  const std::string digest = registry_.Put("app", "v1");
  BothMirrors();
  auto no_digest = [](int get) {
    return [get](const WireRequest& request) -> std::optional<FakeReply> {
      if (request.path() == "/v2/") return std::nullopt;
      if (request.method == "HEAD") return FakeReply{.headers = {{"Content-Type", "text/plain"}}};
      return FakeReply{.status = get};
    };
  };
  one_.Answer(no_digest(500));
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status500");
  one_.Answer(no_digest(404));
  EXPECT_EQ(Word(AskFake("app:v1")), "Indeterminate NoManifest") << "a mirror does not know the tag";
  one_.Always({.status = 304});
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status304");
  one_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    return FakeReply{.status = request.method == "HEAD" ? 405 : 304};
  });
  EXPECT_EQ(Word(AskFake("app:v1")), "ServerError Status304");
  EXPECT_TRUE(registry_.lines().empty());
  one_.Always({.status = 500});
  EXPECT_EQ(AskFake("app:v1").digest, digest);
}

// R53: containerd asks the next host for want of an answer, and not for want of its end.
TEST_F(ClientMirrorTest, ABodyThatBreaksOffEndsContainerdsPull) {
  const std::string digest = registry_.Put("app", "v1");
  one_.Put("app", "v1");
  BothMirrors();
  auto ask = [&] { return AskFakeForManifest("app:v1"); };
  auto broken = [](const std::string& status, bool of_tag) {
    return [status, of_tag](const WireRequest& request) -> std::optional<FakeReply> {
      if (of_tag && request.method == "HEAD") return FakeReply{.status = 405};
      if (request.method == "HEAD") return std::nullopt;
      return FakeReply{.raw = "HTTP/1.1 " + status +
                              " x\r\nContent-Type: application/vnd.oci.image.index.v1+json\r\n"
                              "Content-Length: 2\r\n\r\n{"};
    };
  };
  EXPECT_EQ(ask().digest, digest);
  one_.Answer(broken("200", false));
  EXPECT_EQ(Word(ask()), "Unreachable Reset");
  one_.Answer(broken("200", true));
  EXPECT_EQ(Word(ask()), "Unreachable Reset");
  EXPECT_TRUE(registry_.lines().empty());
  // The status says enough; and a connection may end before.
  one_.Answer(broken("500", false));
  EXPECT_EQ(ask().digest, digest);
  one_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (request.method == "HEAD") return std::nullopt;
    return FakeReply{.raw = "HTTP/1.1 200 OK\r\nContent-"};
  });
  EXPECT_EQ(ask().digest, digest);
}

TEST_F(ClientMirrorTest, AServerThatIsNoHostLeavesTheMirrors) {
  std::string digest = one_.Put("app", "v1");
  Hosts("server = \"*\"\n[host.\"https://<mirror-host>:5000\"]\n" + Table(one_));
  auto answer = AskFake("app:v1", {}, {digest});
  EXPECT_EQ(Word(answer), "Same");
  EXPECT_EQ(answer.answered_by, one_.address());
  EXPECT_EQ(client_->HostsFor(tests::Ref(registry_.address() + "/app:v1"))->notes.size(), 2U);
  EXPECT_EQ(Word(AskFake("other:v1")), "Unreachable Tls");  // the last word is that of the server
}

TEST_F(ClientMirrorTest, WhoWouldBeAsked) {
  Hosts("server = \"https://cache.example\"\n" + Table(one_, "capabilities = [\"pull\"]\n"));
  auto chain = client_->HostsFor(tests::Ref(registry_.address() + "/app:v1"));
  ASSERT_EQ(chain->hosts.size(), 2U);
  EXPECT_EQ(chain->source, dir_ / "certs/" + registry_.address());
  EXPECT_EQ(chain->hosts[0].host.server.ToString(), "http://" + one_.address() + "/v2");
  EXPECT_FALSE(CanServe(chain->hosts[0].host, false));
  EXPECT_TRUE(CanServe(chain->hosts[0].host, true));
  EXPECT_EQ(chain->hosts[1].host.server.ToString(), "https://cache.example/v2");
  EXPECT_FALSE(chain->hosts[1].own);
  EXPECT_TRUE(one_.lines().empty());
}

}  // namespace
}  // namespace prefetch::registry::client_mirror_test
