// Content of images from registries as they are, and from hostile ones (R51, R52).
#include "registry/blob_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/sha256.h"
#include "base/text.h"
#include "must.h"
#include "registry/response.h"
#include "temp_dir.h"
#include "world.h"

namespace prefetch::registry::blob_source_test {
namespace {

using base::Code;
using tests::Patient;

const std::string kBlob = "0123456789";
const std::string kDigest = "sha256:" + base::Sha256Hex(kBlob);
constexpr const char* kManifestType = "application/vnd.oci.image.manifest.v1+json";

class BlobSourceTest : public tests::RegistryWorld {
 protected:
  image::RegistryQuestion App(const std::string& tag = "v1",
                              std::vector<image::AuthConfig> credentials = {}) {
    return {.reference = tests::Ref(registry_.address() + "/team/app:" + tag),
            .platform = {"linux", "amd64", ""},
            .credentials = std::move(credentials)};
  }
  base::Result<image::ImageManifest> Manifest(const image::RegistryQuestion& image) {
    if (!client_) Make();
    return client_->contents().FetchManifest(Patient(), image);
  }
  base::Result<std::string> Bytes(const image::RegistryQuestion& image, std::uint64_t begin = 2,
                                  std::uint64_t end = 5) {
    if (!client_) Make();
    std::string bytes;
    auto got = client_->contents().FetchBytes(Patient(), image, {kDigest, kBlob.size(), begin, end},
                                              [&](std::string_view part) {
                                                bytes += part;
                                                return bytes.size() < enough_;
                                              });
    given_ = bytes;
    if (!got) return got.error();
    return bytes;
  }
  Code CodeOf(const base::Result<std::string>& result) {
    return result ? Code::kInternal : result.error().code();
  }

  static std::string BasicFor(const std::string& user, const std::string& password) {
    return "Basic " + base::Base64Encode(user + ":" + password);
  }

  std::size_t enough_ = 1000;  // it wants no more
  std::string given_;          // by the last Bytes()

  // A server that has the blob and knows ranges.
  static FakeReply Serve(const WireRequest& request) {
    const auto range = request.headers.Get("Range");
    if (!range) return {.body = kBlob};
    const std::string text(range->substr(std::string("bytes=").size()));
    const auto begin = std::stoul(text), end = std::stoul(text.substr(text.find('-') + 1)) + 1;
    return {.status = 206,
            .headers = {{"Content-Range", "bytes " + text + "/" + std::to_string(kBlob.size())}},
            .body = kBlob.substr(begin, end - begin)};
  }
  static bool IsBlob(const WireRequest& request) { return request.path() == "/v2/team/app/blobs/" + kDigest; }
  void HaveBlob() {
    registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
      if (!IsBlob(request)) return std::nullopt;
      return Serve(request);
    });
  }
  void AnswerBlobs(const FakeReply& reply) { registry_.AnswerFor("/v2/team/app/blobs/" + kDigest, reply); }
};

TEST_F(BlobSourceTest, AManifestComesAsItIs) {
  registry_.Put("team/app", "v1", {.content_type = kManifestType, .body = R"({"layers":[]})"});
  auto manifest = tests::Must(Manifest(App()));
  EXPECT_EQ(manifest->manifest, R"({"layers":[]})");
  EXPECT_EQ(manifest->index, "");
  EXPECT_GT(manifest->answer_time.count(), 0);
}

TEST_F(BlobSourceTest, AnIndexComesWithTheManifestOfThisPlatform) {
  const std::string arm =
      registry_.Put("team/app", "arm", {.content_type = kManifestType, .body = R"({"layers":["arm"]})"});
  const std::string amd =
      registry_.Put("team/app", "amd", {.content_type = kManifestType, .body = R"({"layers":["amd"]})"});
  const auto entry = [](const std::string& digest, const std::string& architecture) {
    return R"({"digest":")" + digest + R"(","platform":{"os":"linux","architecture":")" + architecture +
           R"("}})";
  };
  const std::string index = R"({"manifests":[)" + entry(arm, "arm64") + "," + entry(amd, "amd64") + "]}";
  registry_.Put("team/app", "v1", {.body = index});
  auto manifest = tests::Must(Manifest(App()));
  EXPECT_EQ(manifest->manifest, R"({"layers":["amd"]})");
  EXPECT_EQ(manifest->index, index);
  registry_.Put("team/app", "v2", {.body = R"({"manifests":[)" + entry(arm, "arm64") + "]}"});
  EXPECT_EQ(Manifest(App("v2")).error().code(), Code::kInvalidArgument);
  registry_.Put("team/app", "v3", {.body = R"({"manifests":[)" + entry(amd, "386") + "]}"});
  const auto error = tests::MustFail(Manifest(App("v3")));
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_EQ(error.fault(), base::Fault::kImage);
}

TEST_F(BlobSourceTest, AManifestThatDoesNotMatchItsDigestIsRefused) {
  registry_.Always(
      {.headers = {{"Docker-Content-Digest", "sha256:" + std::string(64, 'a')}}, .body = R"({"layers":[]})"});
  EXPECT_EQ(Manifest(App()).error().code(), Code::kInvalidArgument);
  auto by_digest = App();
  by_digest.reference = tests::Ref(registry_.address() + "/team/app@sha256:" + std::string(64, 'b'));
  registry_.Always({.body = R"({"layers":[]})"});
  EXPECT_EQ(Manifest(by_digest).error().code(), Code::kInvalidArgument);
}

TEST_F(BlobSourceTest, AManifestThatIsTooLongIsNotReadToItsEnd) {
  registry_.Put("team/app", "v1", {.content_type = kManifestType, .body = std::string(5'000'000, ' ')});
  EXPECT_EQ(Manifest(App()).error().code(), Code::kInvalidArgument);
}

TEST_F(BlobSourceTest, ARangeIsThatRange) {
  HaveBlob();
  auto bytes = tests::Must(Bytes(App()));
  EXPECT_EQ(*bytes, "234");
  EXPECT_EQ(registry_.requests().back().headers.Get("Range"), "bytes=2-4");
  EXPECT_EQ(*Bytes(App(), 0, kBlob.size()), kBlob);
  EXPECT_FALSE(registry_.requests().back().headers.Has("Range"));
}

TEST_F(BlobSourceTest, AnythingButTheRangeIsRefused) {
  const auto partial = [](const std::string& range, const std::string& body) {
    return FakeReply{.status = 206, .headers = {{"Content-Range", range}}, .body = body};
  };
  const FakeReply rows[] = {
      {.body = kBlob},  // it knows no ranges
      {.body = "234"},
      {.status = 206, .body = "234"},
      partial("bytes 2-5/10", "2345"),
      partial("bytes 3-5/10", "345"),
      partial("bytes 2-4/11", "234"),
      partial("bytes 2-4/10", "23"),
      partial("bytes 2-4/10", "2345"),
      partial("bytes 2-4/10", std::string(1'000'000, 'x')),
      partial("octets 2-4/10", "234"),
  };
  for (const FakeReply& row : rows) {
    AnswerBlobs(row);
    EXPECT_EQ(CodeOf(Bytes(App())), Code::kInvalidArgument)
        << row.status << " " << row.headers.Get("Content-Range").value_or("") << " "
        << row.body.substr(0, 20);
  }
  AnswerBlobs({.body = "012345678"});
  EXPECT_EQ(CodeOf(Bytes(App(), 0, kBlob.size())), Code::kInvalidArgument);
}

TEST_F(BlobSourceTest, ContentRanges) {
  EXPECT_TRUE(IsContentRange("bytes 2-4/10", 2, 5, 10));
  EXPECT_TRUE(IsContentRange(" bytes 2-4/* ", 2, 5, 10));
  for (const char* text :
       {"", "bytes", "bytes 2-4", "bytes 2-4/", "bytes 2-4/101", "bytes 02-4/10", "2-4/10"}) {
    EXPECT_FALSE(IsContentRange(text, 2, 5, 10)) << text;
  }
}

TEST_F(BlobSourceTest, WhatARefusalMeans) {
  const struct {
    int status;
    Code code;
    std::string body;
  } rows[] = {{202, Code::kUnavailable, kBlob},   {401, Code::kPermissionDenied, ""},
              {403, Code::kPermissionDenied, ""}, {403, Code::kResourceExhausted, "API rate limit exceeded"},
              {404, Code::kNotFound, ""},         {416, Code::kInvalidArgument, ""},
              {500, Code::kUnavailable, ""},      {429, Code::kResourceExhausted, ""},
              {503, Code::kResourceExhausted, ""}};
  for (const auto& row : rows) {
    Make();
    AnswerBlobs({.status = row.status, .body = row.body});
    EXPECT_EQ(CodeOf(Bytes(App())), row.code) << row.status << " " << row.body;
  }
  // It named no time, so that the caller may ask again; then it asked for patience.
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::nullopt);
  for (const char* field : {"X-Retry-After", "Retry-After"}) {
    Make();
    registry_.Forget();
    AnswerBlobs({.status = 503, .headers = {{field, "5"}}});
    EXPECT_EQ(CodeOf(Bytes(App())), Code::kResourceExhausted);
    EXPECT_EQ(registry_.requests().size(), 1U) << field;
    EXPECT_EQ(client_->contents().RetryAfter(App()), std::chrono::seconds(5)) << field;
  }
  registry_.Forget();
  HaveBlob();
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kResourceExhausted);
  EXPECT_EQ(registry_.requests().size(), 0U);
}

TEST_F(BlobSourceTest, ATokenIsFetchedOnceForManifestAndBlobs) {
  registry_.Put("team/app", "v1", {.content_type = kManifestType, .body = R"({"layers":[]})"});
  registry_.DemandToken("http://" + registry_.address() + "/token");
  registry_.GiveTokensTo("me", "secret");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (!IsBlob(request) || !request.headers.Get("Authorization").value_or("").starts_with("Bearer "))
      return std::nullopt;
    return Serve(request);
  });
  const auto app = App("v1", {User("me", "secret")});
  EXPECT_TRUE(Manifest(app));
  EXPECT_EQ(*Bytes(app), "234");
  EXPECT_EQ(*Bytes(app, 5, 7), "56");
  const auto lines = registry_.lines();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.starts_with("POST /token"); }),
            1);
}

// Ranges are many, and a registry locks accounts that log in wrongly.
TEST_F(BlobSourceTest, ARefusedCredentialIsSentOnceAndNotWithEachRange) {
  registry_.Put("team/app", "v1", {.content_type = kManifestType, .body = R"({"layers":[]})"});
  registry_.DemandPassword("me", "secret");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (!IsBlob(request) || request.headers.Get("Authorization").value_or("") != BasicFor("me", "secret"))
      return std::nullopt;
    return Serve(request);
  });
  const auto app = App("v1", {User("me", "old"), User("me", "secret")});
  EXPECT_TRUE(Manifest(app));
  for (std::uint64_t begin = 0; begin < 8; begin++) EXPECT_TRUE(Bytes(app, begin, begin + 1));
  const auto requests = registry_.requests();
  EXPECT_EQ(std::count_if(requests.begin(), requests.end(),
                          [](const WireRequest& request) {
                            return request.headers.Get("Authorization").value_or("") == BasicFor("me", "old");
                          }),
            1);
}

TEST_F(BlobSourceTest, LimitsThatComeSideBySideAreOneAndAreToldToPulls) {
  std::atomic<int> came{0};
  registry_.Answer([&](const WireRequest&) -> std::optional<FakeReply> {
    for (came++; came < 8;) std::this_thread::yield();  // all are on their way before the first is answered
    return FakeReply{.status = 429, .headers = {{"Retry-After", "60"}}};
  });
  Make();
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::nullopt);
  {
    std::vector<std::jthread> ranges;
    for (int i = 0; i < 8; i++) {
      ranges.emplace_back([&] {
        auto got = client_->contents().FetchBytes(Patient(), App(), {kDigest, kBlob.size(), 2, 5},
                                                  [](std::string_view) { return true; });
        EXPECT_EQ(got.error().code(), Code::kResourceExhausted);
      });
    }
  }
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::chrono::seconds(60));
  clock_.Advance(std::chrono::seconds(60));
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::nullopt);
  // A success afterwards ends the limit; a 429 without a time begins none.
  HaveBlob();
  EXPECT_TRUE(Bytes(App()));
  AnswerBlobs({.status = 429});
  EXPECT_FALSE(Bytes(App()));
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::nullopt);
}

TEST_F(BlobSourceTest, TheLimitOfATokenServiceIsItsRegistrys) {
  registry_.DemandToken("http://" + registry_.address() + "/token");
  registry_.Answer([](const WireRequest& request) -> std::optional<FakeReply> {
    if (!request.path().starts_with("/token")) return std::nullopt;
    return FakeReply{.status = 429, .headers = {{"Retry-After", "120"}}};
  });
  const auto app = App("v1", {User("me", "secret")});
  EXPECT_EQ(CodeOf(Bytes(app)), Code::kResourceExhausted);
  EXPECT_EQ(client_->contents().RetryAfter(app), std::chrono::seconds(120));
}

TEST_F(BlobSourceTest, TheLimitOfAStoreIsNotTheRegistrys) {
  tests::FakeRegistry store;
  store.Always({.status = 429, .headers = {{"Retry-After", "3600"}}});
  AnswerBlobs({.status = 307, .headers = {{"Location", "http://" + store.address() + "/signed"}}});
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kResourceExhausted);
  EXPECT_EQ(client_->contents().RetryAfter(App()), std::nullopt);
}

TEST_F(BlobSourceTest, AStoreThatItRedirectsToGetsNoLoginAndIsAskedAtOnceTheNextTime) {
  tests::FakeRegistry store;
  store.Answer(Serve);
  registry_.DemandPassword("me", "secret");
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    if (!IsBlob(request) || !request.headers.Has("Authorization")) return std::nullopt;
    // The body of the redirect is longer than the range.
    return FakeReply{.status = 307,
                     .headers = {{"Location", "http://" + store.address() + "/signed?key=1"}},
                     .body = std::string(30'000, 'x')};
  });
  const auto app = App("v1", {User("me", "secret")});
  EXPECT_EQ(*Bytes(app), "234");
  EXPECT_EQ(*Bytes(app, 5, 7), "56");
  EXPECT_EQ(registry_.requests().size(), 2U);  // with and without the password
  ASSERT_EQ(store.requests().size(), 2U);
  for (const WireRequest& request : store.requests()) {
    EXPECT_FALSE(request.headers.Has("Authorization"));
    EXPECT_EQ(request.path(), "/signed");
  }
  // The signature expires: the registry is asked for a new one.
  store.Always({.status = 403});
  HaveBlob();
  EXPECT_EQ(*Bytes(app, 5, 7), "56");
  store.Forget();
  registry_.Forget();
  EXPECT_EQ(*Bytes(app, 5, 7), "56");
  EXPECT_EQ(store.requests().size(), 0U);
}

// The caller has that piece, so a request to the registry would bring it twice.
TEST_F(BlobSourceTest, ADeclinedPieceOfAStoreDoesNotComeAgain) {
  tests::FakeRegistry store;
  store.Answer(Serve);
  AnswerBlobs({.status = 307, .headers = {{"Location", "http://" + store.address() + "/signed"}}});
  EXPECT_EQ(*Bytes(App()), "234");
  enough_ = 1;
  registry_.Forget();
  store.Forget();
  EXPECT_EQ(CodeOf(Bytes(App(), 5, 8)), Code::kCancelled);
  EXPECT_EQ(given_, "567");
  EXPECT_EQ(store.requests().size(), 1U);
  EXPECT_EQ(registry_.requests().size(), 0U);
}

class MirroredBlobTest : public BlobSourceTest {
 protected:
  MirroredBlobTest() {
    MirrorIs(mirror_.address());
    HaveBlob();
  }
  void MirrorIs(const std::string& address) {
    std::string folder = dir_ / "certs/" + registry_.address();
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/hosts.toml") << "[host.\"http://" + address + "\"]\n";
    ClientOptions options = tests::QuickOptions();
    options.hosts.runtime = {.containerd_version = "2.1.0", .config_path = dir_ / "certs"};
    Make(std::move(options));
  }
  tests::TempDir dir_;
  tests::FakeRegistry mirror_;
};

TEST_F(MirroredBlobTest, TheMirrorComesFirstAndTheRegistryAfterIt) {
  EXPECT_EQ(*Bytes(App()), "234");
  EXPECT_EQ(mirror_.requests().size(), 1U);
  EXPECT_EQ(registry_.requests().size(), 1U);
  // The next range is asked for where the first one was found.
  EXPECT_EQ(*Bytes(App(), 5, 7), "56");
  EXPECT_EQ(mirror_.requests().size(), 1U);
  MirrorIs(mirror_.address());
  mirror_.Answer(Serve);
  registry_.Forget();
  EXPECT_EQ(*Bytes(App()), "234");
  EXPECT_EQ(registry_.requests().size(), 0U);
}

TEST_F(MirroredBlobTest, TheNextServerGoesOnWhereTheFirstBrokeOff) {
  mirror_.Always({.raw = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-6/10\r\n"
                         "Content-Length: 5\r\n\r\n23"});
  EXPECT_EQ(*Bytes(App(), 2, 7), "23456");
  ASSERT_EQ(registry_.requests().size(), 1U);
  EXPECT_EQ(registry_.requests().back().headers.Get("Range"), "bytes=4-6");
}

TEST_F(MirroredBlobTest, WhatCameBeforeTheEndIsGood) {
  for (tests::FakeRegistry* server : {&mirror_, &registry_}) {
    server->Answer([](const WireRequest& request) {
      const std::string range(request.headers.Get("Range").value_or(""));
      const std::string from = range.substr(6, 1);
      return FakeReply{.raw = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + from +
                              "-6/10\r\nContent-Length: 5\r\n\r\n" + from};
    });
  }
  EXPECT_EQ(CodeOf(Bytes(App(), 2, 7)), Code::kUnavailable);
  EXPECT_EQ(given_, "23");
}

// containerd would show it the node's credentials, and take its bytes.
TEST_F(MirroredBlobTest, AMirrorThatAsksForALoginLeavesItToTheRuntime) {
  mirror_.DemandPassword("me", "secret");
  EXPECT_EQ(CodeOf(Bytes(App("v1", {User("me", "secret")}))), Code::kPermissionDenied);
  for (const WireRequest& request : mirror_.requests()) EXPECT_FALSE(request.headers.Has("Authorization"));
  EXPECT_EQ(registry_.requests().size(), 0U);
}

// It may be for the node alone: then the runtime takes the bytes from it, and the registry is spared.
TEST_F(MirroredBlobTest, AMirrorThatCannotBeReachedLeavesItToTheRuntime) {
  MirrorIs("127.0.0.1:1");
  EXPECT_EQ(Manifest(App()).error().code(), Code::kUnavailable);
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kUnavailable);
  EXPECT_EQ(registry_.requests().size(), 0U);
}

TEST_F(BlobSourceTest, ARedirectIntoThisMachinesOwnNetworkIsNotFollowed) {
  AnswerBlobs({.status = 307, .headers = {{"Location", "http://169.254.169.254/latest/"}}});
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kPermissionDenied);
}

// Unavailable would be asked again, and the answer would be the same.
TEST_F(BlobSourceTest, ARedirectThatTheRuntimeAloneFollowsIsNotUnavailable) {
  for (const std::string& target :
       {"http://user:pass@" + registry_.address() + "/store/1", std::string("//[")}) {
    AnswerBlobs({.status = 307, .headers = {{"Location", target}}});
    EXPECT_EQ(CodeOf(Bytes(App())), Code::kPermissionDenied) << target;
  }
}

TEST_F(BlobSourceTest, ABodyInAnEncodingThatWasNotAskedForIsNotUnavailable) {
  AnswerBlobs({.headers = {{"Content-Encoding", "gzip"}}, .body = kBlob});
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kInvalidArgument);
}

TEST_F(BlobSourceTest, AServerThatIsBusyForAMomentIsAskedOnceMore) {
  std::atomic<bool> busy = true;
  registry_.Answer([&](const WireRequest& request) -> std::optional<FakeReply> {
    return busy.exchange(false) ? FakeReply{.status = 503} : Serve(request);
  });
  auto bytes = tests::Must(Bytes(App()));
  EXPECT_EQ(*bytes, "234");
  AnswerBlobs({.status = 503});
  registry_.Forget();
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kResourceExhausted);
  EXPECT_EQ(registry_.requests().size(), 2U);
}

TEST_F(BlobSourceTest, AStopEndsIt) {
  registry_.Always({.never = true});
  std::stop_source stop;
  stop.request_stop();
  Make();
  const auto error = tests::MustFail(client_->contents().FetchBytes({.stop = stop.get_token()}, App(),
                                                                    {kDigest, kBlob.size(), 0, 3},
                                                                    [](std::string_view) { return true; }));
  EXPECT_EQ(error.code(), Code::kCancelled);
}

TEST_F(BlobSourceTest, ACallerThatWantsNoMoreEndsIt) {
  HaveBlob();
  enough_ = 1;
  EXPECT_EQ(CodeOf(Bytes(App())), Code::kCancelled);
  EXPECT_EQ(registry_.requests().size(), 1U);
}

}  // namespace
}  // namespace prefetch::registry::blob_source_test
