// Tests how CRI-O differs from containerd, and its messages, on the model and on a real CRI-O.
#include <algorithm>
#include <regex>
#include <vector>

#include "base/text.h"
#include "contract/contract_fixture.h"
#include "must.h"
#include "rows.h"

namespace prefetch::tests::crio_contract {
namespace {

using image::ErrorClass;
using std::chrono::seconds;
using Asked = std::vector<std::string>;

// Replaces what differs from pull to pull: the registry's address, digests, the files of downloads, ports.
std::string WithoutChance(std::string text, const std::string& host) {
  text = base::ReplaceAll(text, host, "HOST");
  static const std::vector<std::pair<std::regex, std::string>> kChance = {
      {std::regex("sha256:[0-9a-f]{64}"), "DIGEST"},
      {std::regex("blob to file \"[^\"]*\""), "blob to file FILE"},
      {std::regex(R"(\(heuristic tuning data: [^)]*\))"), "(TUNING)"},
      {std::regex(R"(read tcp \S+->\S+:)"), "read tcp:"},
      {std::regex(R"(Get "https?://[^"]*")"), "Get URL"},
      {std::regex(R"(dial tcp \S+:)"), "dial tcp:"},
      {std::regex("defined in \"[^\"]*\""), "defined in FILE"},
  };
  for (const auto& [what, by] : kChance) text = std::regex_replace(text, what, by);
  return text;
}

std::string HostOf(const World::Pushed& pushed) {
  return pushed.repository.substr(0, pushed.repository.find('/'));
}

std::string OfTheManifest(const std::string& source, const std::string& step) {
  return "unable to pull image or OCI artifact: pull image err: initializing source docker://" + source +
         ": " + step + "; artifact err: image reference: get manifest from ref: create image source: " + step;
}

class CrioContract : public ImageServiceContract {
 protected:
  CrioSide& crio() { return *world_->crio(); }

  // Waits for bytes beyond `from`.
  bool Served(std::uint64_t from, std::uint64_t bytes) {
    return world_->Until([&] { return world_->BytesServed() - from > bytes; });
  }
  // Returns the message of a pull that has to fail as `expected`.
  std::string Said(const cri::CallResult<std::string>& pulled, ErrorClass expected, const std::string& host) {
    EXPECT_TRUE(Failed(pulled, expected));
    return pulled ? "" : WithoutChance(pulled.error().message, host);
  }
  // Stops a pull after this number of bytes.
  void PullAndStop(const World::Pushed& image, std::uint64_t bytes) {
    const std::uint64_t before = world_->BytesServed();
    RunningPull pull(*world_, {image.name, std::nullopt, ""});
    ASSERT_TRUE(Served(before, bytes));
    pull.Stop();
    EXPECT_TRUE(Failed(pull.Wait(), ErrorClass::kCancelled));
  }
  // Returns the bytes of a pull that ends well. The first try may share the end of a stopped pull (C32).
  std::uint64_t BytesOfAPull(const World::Pushed& image) {
    const std::uint64_t before = world_->BytesServed();
    EXPECT_TRUE(world_->Until([&] { return Pull(image.name, std::nullopt).ok(); }));
    return world_->BytesServed() - before;
  }
  std::optional<image::LocalImage> Listed(const std::string& id) {
    auto images = world_->images().ListImages(Soon());
    EXPECT_TRUE(images) << images.error().message;
    for (const image::LocalImage& image : *images) {
      if (image.id == id) return image;
    }
    return std::nullopt;
  }
};

TEST_P(CrioContract, APullGivesTheIdOrInOldReleasesTheDigest) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  auto pulled = tests::Must(Pull(app.name));
  auto status = world_->images().ImageStatus(Soon(), app.name);
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->image.id.find(':'), std::string::npos) << "a bare id";
  const bool old = world_->images().Connect(Soon())->version.starts_with("1.34.");
  EXPECT_EQ(*pulled, old ? app.repository + "@" + app.digest : (*status)->image.id);
}

// ---- what registries see

TEST_P(CrioContract, OnlyGetIsUsedAndWhatFailsIsAskedForAgainAsAnArtifact) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  const std::string manifest = "GET /v2/team/app/manifests/", blob = "GET /v2/team/app/blobs/BLOB";
  crio().TakeAsked();
  ASSERT_TRUE(Pull(app.name));
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest + "v1", blob, blob}));
  ASSERT_TRUE(Pull(app.name));
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest + "v1", blob})) << "the configuration alone";
  EXPECT_FALSE(Pull(app.repository + ":v2"));
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest + "v2", "GET /v2/", manifest + "v2"}));
}

TEST_P(CrioContract, OneWrongPasswordIsTwoRequests) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}, true});
  const std::string manifest = "GET /v2/team/app/manifests/v1 +login",
                    blob = "GET /v2/team/app/blobs/BLOB +login";
  crio().TakeAsked();
  EXPECT_FALSE(Pull(app.name, image::AuthConfig{world_->user(), base::Secret("wrong-password")}));
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest, "GET /v2/", manifest}));
  ASSERT_TRUE(Pull(app.name, Credential()));
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest, blob, blob}));
}

TEST_P(CrioContract, ARegistryThatWelcomesAPingGetsNoPassword) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}, true});
  crio().WelcomeAtPing();
  crio().TakeAsked();
  EXPECT_TRUE(Failed(Pull(app.name, Credential()), ErrorClass::kAccessDenied));
  const std::string manifest = "GET /v2/team/app/manifests/v1";
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", manifest, "GET /v2/", manifest}));
}

TEST_P(CrioContract, ARateLimitIsAskedForAMinute) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  crio().Answer(app, "429 Too Many Requests",
                R"({"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your limit"}]})");
  crio().TakeAsked();
  const base::Duration before = crio().Elapsed();
  const std::string said = Said(Pull(app.name), ErrorClass::kRateLimited, HostOf(app));
  EXPECT_NEAR(std::chrono::duration<double>(crio().Elapsed() - before).count(), 60, 5);
  EXPECT_EQ(said, OfTheManifest(
                      "HOST/team/app:v1",
                      "reading manifest v1 in HOST/team/app: toomanyrequests: You have reached your limit"));
  const Asked asked = crio().TakeAsked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "GET /v2/team/app/manifests/v1"), 10);
}

// ---- words

struct AnswerRow {
  std::string status, body, cause;
  ErrorClass error_class;
};

std::string Oci(const std::string& code, const std::string& message, const std::string& more = "") {
  return R"({"errors":[{"code":")" + code + R"(","message":")" + message + "\"" + more + "}]}";
}

TEST_P(CrioContract, AnAnswerOfTheRegistryHasItsWords) {
  const std::string long_body(70, 'x');
  const AnswerRow rows[] = {
      {"400 Bad Request", "bad", "StatusCode: 400, \"bad\"", ErrorClass::kServerError},
      {"401 Unauthorized", "<html>", "authentication required", ErrorClass::kAccessDenied},
      {"401 Unauthorized", Oci("UNAUTHORIZED", "authentication required"), "unauthorized",
       ErrorClass::kAccessDenied},
      {"401 Unauthorized", Oci("UNAUTHORIZED", "authentication required", R"(,"detail":[1])"),
       "authentication required", ErrorClass::kAccessDenied},
      {"401 Unauthorized", Oci("UNAUTHORIZED", "who are you"), "unauthorized: who are you",
       ErrorClass::kAccessDenied},
      {"402 Payment Required", "pay", "StatusCode: 402, \"pay\"", ErrorClass::kAccessDenied},
      {"403 Forbidden", "<html>no</html>", "StatusCode: 403, \"<html>no</html>\"", ErrorClass::kAccessDenied},
      {"403 Forbidden", Oci("DENIED", "requested access to the resource is denied"), "denied",
       ErrorClass::kAccessDenied},
      {"403 Forbidden", Oci("DENIED", "go away"), "denied: go away", ErrorClass::kAccessDenied},
      {"404 Not Found", "", "StatusCode: 404, \"\"", ErrorClass::kNotFound},
      {"404 Not Found", Oci("MANIFEST_UNKNOWN", "manifest unknown"), "manifest unknown",
       ErrorClass::kNotFound},
      {"404 Not Found", Oci("NAME_UNKNOWN", "x"), "name unknown: x", ErrorClass::kNotFound},
      {"404 Not Found", Oci("NOT_FOUND", "artifact x:v1 not found"), "unknown: artifact x:v1 not found",
       ErrorClass::kNotFound},
      {"408 Request Timeout", "slow", "StatusCode: 408, \"slow\"", ErrorClass::kServerError},
      {"410 Gone", "gone", "StatusCode: 410, \"gone\"", ErrorClass::kNotFound},
      {"418 Teapot", "teapot", "StatusCode: 418, \"teapot\"", ErrorClass::kServerError},
      {"451 Unavailable For Legal Reasons", long_body,
       "StatusCode: 451, \"" + long_body.substr(0, 50) + "...\"", ErrorClass::kAccessDenied},
      {"500 Internal Server Error", "x", "received unexpected HTTP status: 500 Internal Server Error",
       ErrorClass::kServerError},
      {"502 Bad Gateway", "", "received unexpected HTTP status: 502 Bad Gateway", ErrorClass::kServerError},
      {"503 Service Unavailable", Oci("UNAVAILABLE", "later"),
       "received unexpected HTTP status: 503 Service Unavailable", ErrorClass::kServerError},
      {"504 Gateway Timeout", "", "received unexpected HTTP status: 504 Gateway Timeout",
       ErrorClass::kServerError},
  };
  int count = 0;
  for (const AnswerRow& row : rows) {
    const std::string repository = "team/app" + std::to_string(count++);
    auto app = world_->Push({repository, "v1", {{1, 10'000}}});
    crio().Answer(app, row.status, row.body);
    EXPECT_EQ(Said(Pull(app.name), row.error_class, HostOf(app)),
              OfTheManifest("HOST/" + repository + ":v1",
                            "reading manifest v1 in HOST/" + repository + ": " + row.cause));
  }
}

TEST_P(CrioContract, ARefusedConnectionIsTheOneThatIsCalledUnavailable) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  const std::string writing =
      "unable to pull image: writing blob: storing blob to file FILE: happened during read: ";
  world_->SetBandwidth(4 * kMegabyte);
  const std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  ASSERT_TRUE(Served(before, 2 * kMegabyte));
  world_->SetRegistriesUp(false);
  EXPECT_EQ(Said(pull.Wait(), ErrorClass::kUnreachable, HostOf(app)),
            writing +
                "read tcp: read: connection reset by peer (while reconnecting: Get URL: dial tcp: connect: "
                "connection refused)");
  EXPECT_EQ(Said(Pull(app.name), ErrorClass::kUnreachable, HostOf(app)),
            "RegistryUnavailable: unable to pull image: initializing source docker://HOST/team/app:v1: "
            "pinging container registry HOST: Get URL: dial tcp: connect: connection refused");
}

TEST_P(CrioContract, NamesAreTheRewrittenOnesWhereTheManifestIsRead) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  crio().Rewrite("named.example.test/x", HostOf(app) + "/team");
  EXPECT_EQ(Said(Pull("named.example.test/x/none:v1"), ErrorClass::kNotFound, HostOf(app)),
            OfTheManifest("named.example.test/x/none:v1",
                          "reading manifest v1 in HOST/team/none: manifest unknown"));
  ASSERT_TRUE(Pull("named.example.test/x/app:v1"));
  EXPECT_TRUE(Present("named.example.test/x/app:v1"));
  EXPECT_TRUE(Found("named.example.test/x/app@" + app.digest));
  EXPECT_FALSE(Found(app.name)) << "it is kept by the name that was asked for";
}

TEST_P(CrioContract, ASilentPullIsCancelledByTheProgressTimeoutAlone) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  crio().GiveUpOnSilenceAfter(seconds(2));
  world_->SetBandwidth(4 * kMegabyte);
  const std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  ASSERT_TRUE(Served(before, 2 * kMegabyte));
  crio().Freeze(true);
  EXPECT_EQ(Said(pull.Wait(), ErrorClass::kRuntimeProgressTimeout, HostOf(app)),
            "unable to pull image: writing blob: storing blob to file FILE: happened during read: context "
            "canceled");
}

TEST_P(CrioContract, StatusOfWhatIsNoNameIsAnError) {
  const std::string no_alias =
      " did not resolve to an alias and no unqualified-search registries are defined in FILE";
  const std::pair<const char*, std::string> rows[] = {
      {"a//b", "cannot parse input: \"a//b\": invalid reference format"},
      {"localhost/UPPER:v1", "cannot parse input: \"localhost/UPPER:v1\": repository name must be lowercase"},
      {"UPPER/app", "short-name \"UPPER/app\"" + no_alias},
      {"team/app", "short-name \"team/app\"" + no_alias},
      {"zz", "short-name \"zz\"" + no_alias},
      {"", "no image specified"},
  };
  for (const auto& [name, expected] : rows) {
    const auto error = tests::MustFail(world_->images().ImageStatus(Soon(), name));
    EXPECT_EQ(WithoutChance(error.message, "HOST"), expected);
    EXPECT_EQ(error.error_class, *name == '\0' ? ErrorClass::kUnknown : ErrorClass::kInvalidReference);
  }
  EXPECT_TRUE(Failed(Pull("team/app:v1"), ErrorClass::kInvalidReference)) << "nor is it pulled";
  for (const std::string& id : {std::string("abcdef"), std::string(64, '1')}) EXPECT_FALSE(Found(id));
}

// ---- what stays

TEST_P(CrioContract, AStopLosesLayersThatAreNotStoredYet) {
  world_->SetBandwidth(4 * kMegabyte);
  auto first = world_->Push({"team/first", "v1", {{1, kMegabyte}, {2, 8 * kMegabyte}}});
  PullAndStop(first, 5 * kMegabyte);
  EXPECT_NEAR(static_cast<double>(BytesOfAPull(first)), 8e6, 2e5) << "the first is stored";
  auto last = world_->Push({"team/last", "v1", {{3, 8 * kMegabyte}, {4, kMegabyte}}});
  PullAndStop(last, 5 * kMegabyte);
  EXPECT_NEAR(static_cast<double>(BytesOfAPull(last)), 9e6, 2e5) << "the last waits for the first";
}

TEST_P(CrioContract, ACutBlobGoesOnInsideItsPull) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  world_->SetBandwidth(4 * kMegabyte);
  crio().TakeAsked();
  const std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  for (std::uint64_t megabytes : {2, 5}) {
    ASSERT_TRUE(Served(before, megabytes * kMegabyte));
    crio().CutConnections();
  }
  auto pulled = pull.Wait();
  EXPECT_TRUE(pulled) << pulled.error().message;
  EXPECT_LT(world_->BytesServed() - before, 8 * kMegabyte + kMegabyte / 2);
  const std::string blob = "GET /v2/team/app/blobs/BLOB";
  EXPECT_EQ(crio().TakeAsked(), (Asked{"GET /v2/", "GET /v2/team/app/manifests/v1", blob, blob,
                                       blob + " +range", blob + " +range"}));
}

TEST_P(CrioContract, ABlobThatIsCutAgainTooSoonEndsItsPull) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  world_->SetBandwidth(2 * kMegabyte);
  const std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  for (std::uint64_t kilobytes : {500, 700}) {
    ASSERT_TRUE(Served(before, kilobytes * 1000));
    crio().CutConnections();
  }
  EXPECT_EQ(Said(pull.Wait(), ErrorClass::kUnreachable, HostOf(app)),
            "unable to pull image: writing blob: storing blob to file FILE: happened during read: (TUNING): "
            "read tcp: read: connection reset by peer");
}

TEST_P(CrioContract, SixLayersAreFetchedAtATime) {
  std::vector<WorldLayer> layers;
  for (std::uint64_t i = 1; i <= 9; i++) layers.push_back({i, kMegabyte});
  auto app = world_->Push({"team/app", "v1", layers});
  world_->SetBandwidth(2 * kMegabyte);
  crio().TakeAsked();
  const std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  ASSERT_TRUE(Served(before, kMegabyte));
  const Asked asked = crio().TakeAsked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "GET /v2/team/app/blobs/BLOB"), 7)
      << "and the configuration";
  world_->SetBandwidth(0);
  EXPECT_TRUE(pull.Wait());
}

TEST_P(CrioContract, ANameThatIsRemovedLeavesTheOthers) {
  auto one = world_->Push({"team/one", "v1", {{1, kMegabyte}}});
  auto two = world_->Push({"team/one", "v2", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(one.name));
  ASSERT_TRUE(Pull(one.repository + "@" + one.digest));
  ASSERT_TRUE(Pull(two.name));
  crio().RemoveName(one.name);
  EXPECT_FALSE(Present(one.name));
  EXPECT_TRUE(Present(two.name));
  EXPECT_TRUE(Found(one.repository + "@" + one.digest));
}

TEST_P(CrioContract, WhatLosesItsTagIsListedByANameThatIsCut) {
  auto old_app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(old_app.name));
  const std::string id = (*world_->images().ImageStatus(Soon(), old_app.name))->image.id;
  ASSERT_TRUE(Pull(world_->Push({"team/app", "v1", {{2, kMegabyte}}}).name));
  auto left = tests::Must(Listed(id));
  EXPECT_EQ(left->repo_tags, Asked{});
  const std::string cut = old_app.name.substr(0, old_app.name.find(':'));
  EXPECT_EQ(left->repo_digests, Asked{cut + "@" + old_app.digest});
  EXPECT_EQ(cut.find('/'), std::string::npos) << "at the port's colon";
  EXPECT_FALSE(Found(cut + "/team/app@" + old_app.digest));
}

TEST_P(CrioContract, AnArtifactIsPulledAndListedAndHasNoDetails) {
  auto chart = world_->Push({"team/chart", "v1", {{1, 10'000}}, false, std::nullopt, true});
  auto pulled = tests::Must(Pull(chart.name));
  const std::string id = chart.digest.substr(chart.digest.find(':') + 1);
  auto listed = tests::Must(Listed(id));
  EXPECT_EQ(listed->repo_tags, Asked{chart.name});
  EXPECT_EQ(listed->repo_digests, Asked{chart.repository + "@" + chart.digest});
  auto status = world_->images().ImageStatus(Soon(), chart.name);
  ASSERT_TRUE(status && *status);
  EXPECT_TRUE((*status)->artifact);
  EXPECT_FALSE((*status)->platform);
}

TEST_P(CrioContract, ImagesAreInItsStorage) {
  auto filesystems = world_->images().ImageFsInfo(Soon());
  ASSERT_TRUE(filesystems && !filesystems->empty());
  EXPECT_TRUE(filesystems->front().mountpoint.ends_with("/overlay-images"))
      << filesystems->front().mountpoint;
}

TEST_P(CrioContract, ContainerdsOwnApiIsNotThere) {
  cri::ContentService& content = world_->content();
  const ErrorClass none = ErrorClass::kRuntimeUnsupported;
  EXPECT_TRUE(Failed(content.EnsureLease(Soon(), "prefetchd-1", std::chrono::hours(1)), none));
  EXPECT_TRUE(Failed(content.ListLeases(Soon()), none));
  EXPECT_TRUE(Failed(content.OpenBlob(Soon(), "prefetchd-1", {}), none));
  EXPECT_TRUE(Failed(content.ListPins(Soon(), "ours"), none));
  EXPECT_TRUE(Failed(content.Pin(Soon(), "r.io/a:v1", "ours"), none));
  EXPECT_TRUE(Failed(content.FinishIngests(Soon(), "prefetchd-1", cri::PartialIngests::kAbort), none));
  EXPECT_EQ(content.WatchImages(Soon(), [] {}).error_class, none);
}

INSTANTIATE_TEST_SUITE_P(Contract, CrioContract, testing::ValuesIn(Worlds(Runtime::kCrio)), tests::kRowName);

}  // namespace
}  // namespace prefetch::tests::crio_contract
