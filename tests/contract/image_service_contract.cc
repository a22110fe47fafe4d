#include "contract/image_service_contract.h"

#include <thread>

#include "contract/contract_fixture.h"
#include "must.h"
#include "rows.h"

namespace prefetch::tests::image_service_contract {
namespace {

using image::ErrorClass;

TEST_P(ImageServiceContract, ConnectNamesTheRuntime) {
  auto info = tests::Must(world_->images().Connect(Soon()));
  EXPECT_EQ(info->name, world_->runtime_name());
  EXPECT_NE(info->version, "");
}

TEST_P(ImageServiceContract, OldContainerdTellsWhereItsMirrorsAre) {
  auto info = tests::Must(world_->images().Connect(Soon()));
  bool tells = info->name == "containerd" && info->version.starts_with("1.");
  EXPECT_EQ(info->registries.known, tells);
  if (!tells) return;
  EXPECT_EQ(info->registries.config_path.substr(0, 1), "/");
  EXPECT_EQ(info->registries.hosts_in_tables, std::vector<std::string>{});
}

TEST_P(ImageServiceContract, APulledImageIsPresentUnderItsNameOnly) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  EXPECT_FALSE(Present(app.name));
  auto pulled = tests::Must(Pull(app.name));
  EXPECT_NE(*pulled, "");
  EXPECT_TRUE(Present(app.name));
  EXPECT_TRUE(Present(app.repository + "@" + app.digest));
  EXPECT_FALSE(Present(app.repository + ":v2"));
  EXPECT_FALSE(Present("elsewhere.example.test/team/app:v1"));
}

TEST_P(ImageServiceContract, StatusTellsPlatformAndWhetherItIsUnpacked) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}, {2, kMegabyte}}});
  ASSERT_TRUE(Pull(app.name));
  auto status = world_->images().ImageStatus(Soon(), app.name);
  ASSERT_TRUE(status && *status);
  const cri::ImageDetails& details = **status;
  EXPECT_NE(details.image.id, "");
  ASSERT_TRUE(details.platform);
  EXPECT_TRUE(image::CanRun(image::Platform::Host(), *details.platform));
  auto by_id = world_->images().ImageStatus(Soon(), details.image.id);
  ASSERT_TRUE(by_id && *by_id);
  EXPECT_EQ((*by_id)->image.id, details.image.id);
  if (!world_->HasContentApi()) return;
  auto unpacked = tests::Must(world_->content().IsUnpacked(Soon(), details.chain_id));
  EXPECT_TRUE(*unpacked);
  EXPECT_FALSE(*world_->content().IsUnpacked(Soon(), "sha256:" + std::string(64, '0')));
  EXPECT_TRUE(*world_->content().IsRunnable(Soon(), details.image.id, details.chain_id));
  EXPECT_TRUE(*world_->content().IsRunnable(Soon(), details.image.id, "")) << "all of its content is here";
  EXPECT_FALSE(*world_->content().IsRunnable(Soon(), "sha256:" + std::string(64, '0'), ""));
}

TEST_P(ImageServiceContract, ManyStatusesAtOnceAreThoseOfEach) {
  std::vector<std::string> names;
  std::vector<std::string> ids;
  for (std::uint64_t i = 0; i < 40; i++) {
    std::string tag = "v" + std::to_string(i);
    names.push_back("open.example.test/absent:" + tag);
    ids.emplace_back();
    if (i % 8 != 0) continue;
    auto app = world_->Push({"team/many", tag, {{i + 1, 1000}}});
    ASSERT_TRUE(Pull(app.name));
    names.back() = app.name;
    ids.back() = (*world_->images().ImageStatus(Soon(), app.name))->image.id;
  }
  auto all = tests::Must(world_->images().ImageStatuses(Soon(), names));
  ASSERT_EQ(all->size(), names.size());
  for (std::size_t i = 0; i < names.size(); i++) {
    EXPECT_EQ((*all)[i] ? (*all)[i]->image.id : "", ids[i]) << names[i];
  }
  EXPECT_TRUE(world_->images().ImageStatuses(Soon(), {})->empty());
  world_->KillRuntime();
  EXPECT_TRUE(Failed(world_->images().ImageStatuses(Soon(), names), ErrorClass::kRuntimeDown));
  world_->StartRuntime();
  // The first call after a restart may be the one that finds the old connection broken.
  EXPECT_TRUE(world_->Until([&] { return world_->images().ImageStatuses(Soon(), names).ok(); }));
}

TEST_P(ImageServiceContract, AnImageForAnotherPlatformIsPulledAllTheSame) {
  image::Platform other{"linux", image::Platform::Host().architecture == "s390x" ? "amd64" : "s390x", ""};
  auto app = world_->Push({"team/other", "v1", {{1, kMegabyte}}, false, other});
  ASSERT_TRUE(Pull(app.name));
  auto status = world_->images().ImageStatus(Soon(), app.name);
  ASSERT_TRUE(status && *status && (*status)->platform);
  EXPECT_FALSE(image::CanRun(image::Platform::Host(), *(*status)->platform));
}

TEST_P(ImageServiceContract, PulledByDigestItHasNoTag) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  auto pulled = tests::Must(Pull(app.repository + "@" + app.digest));
  EXPECT_TRUE(Present(app.repository + "@" + app.digest));
  EXPECT_TRUE(Present(app.repository + ":any@" + app.digest));
  EXPECT_FALSE(Present(app.name));
}

TEST_P(ImageServiceContract, WithTagAndDigestTheTagIsDropped) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(app.repository + ":nonsense@" + app.digest));
  EXPECT_TRUE(Present(app.repository + "@" + app.digest));
  EXPECT_FALSE(Present(app.repository + ":nonsense"));
}

TEST_P(ImageServiceContract, AnotherNameOfThePresentContentIsAbsentUntilItIsPulled) {
  auto one = world_->Push({"team/one", "v1", {{1, kMegabyte}}});
  auto two = world_->Push({"team/two", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(one.name));
  EXPECT_FALSE(Present(two.name));
  ASSERT_TRUE(Pull(two.name));
  EXPECT_TRUE(Present(one.name));
  EXPECT_TRUE(Present(two.name));
}

TEST_P(ImageServiceContract, APrivateImageWantsItsCredential) {
  auto app = world_->Push({"team/private", "v1", {{1, kMegabyte}}, true});
  EXPECT_TRUE(Failed(Pull(app.name), ErrorClass::kAccessDenied));
  auto refused = Pull(app.name, image::AuthConfig{world_->user(), base::Secret("wrong-password")});
  EXPECT_TRUE(Failed(refused, ErrorClass::kAccessDenied));
  EXPECT_EQ(refused.error().message.find("wrong-password"), std::string::npos);
  EXPECT_FALSE(Present(app.name));
  auto pulled = tests::Must(Pull(app.name, Credential()));
  EXPECT_TRUE(Present(app.name));
}

TEST_P(ImageServiceContract, APublicImageMindsNoCredential) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  EXPECT_TRUE(Pull(app.name, image::AuthConfig{"nobody", base::Secret("wrong-password")}));
}

TEST_P(ImageServiceContract, WhatDoesNotExistIsNotFound) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  EXPECT_TRUE(Failed(Pull(app.repository + ":v2"), ErrorClass::kNotFound));
  EXPECT_TRUE(Failed(Pull(app.repository + "-denied:toomanyrequests"), ErrorClass::kNotFound));
  EXPECT_FALSE(Present(app.repository + ":v2"));
}

TEST_P(ImageServiceContract, AbsenceIsNoErrorOfStatus) {
  auto status = tests::Must(world_->images().ImageStatus(Soon(), "open.example.test/team/none:v1"));
  EXPECT_FALSE(*status);
}

TEST_P(ImageServiceContract, OddNamesAreNeverThere) {
  for (const char* name : {"a//b", "UPPER/app", "zz"}) {
    auto status = world_->images().ImageStatus(Soon(), name);
    EXPECT_EQ(status.ok(), !world_->StatusRefusesOddNames()) << name;
    EXPECT_FALSE(status && *status) << name;
  }
}

TEST_P(ImageServiceContract, AMalformedNameIsNotPulled) {
  EXPECT_TRUE(Failed(Pull("open.example.test/UPPER/app:v1"), ErrorClass::kInvalidReference));
}

TEST_P(ImageServiceContract, ARemovedImageIsNotListed) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(app.name));
  world_->Remove(app.name);
  EXPECT_TRUE(world_->Until([&] { return !Present(app.name); }));
  ASSERT_TRUE(Pull(app.name));
  EXPECT_TRUE(Present(app.name));
}

TEST_P(ImageServiceContract, AMovedTagIsPulledAgain) {
  auto old_app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(old_app.name));
  auto new_app = world_->Push({"team/app", "v1", {{2, kMegabyte}}});
  ASSERT_NE(old_app.digest, new_app.digest);
  EXPECT_FALSE(Present(new_app.repository + "@" + new_app.digest));
  ASSERT_TRUE(Pull(new_app.name));
  EXPECT_TRUE(Present(new_app.repository + "@" + new_app.digest));
  EXPECT_TRUE(Present(new_app.name));
}

TEST_P(ImageServiceContract, ADigestMayGoWithItsTagUnlessItWasPulled) {
  auto old_app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  const std::string old_digest = old_app.repository + "@" + old_app.digest;
  ASSERT_TRUE(Pull(old_app.name));
  EXPECT_TRUE(Found(old_digest));
  auto new_app = world_->Push({"team/app", "v1", {{2, kMegabyte}}});
  ASSERT_TRUE(Pull(new_app.name));
  EXPECT_EQ(Found(old_digest), world_->DigestsOutliveTheirTag());
  EXPECT_TRUE(Found(new_app.repository + "@" + new_app.digest));
  const std::uint64_t before = world_->BytesServed();
  ASSERT_TRUE(Pull(old_digest)) << "what has no tag is still found by digest";
  EXPECT_TRUE(Found(old_digest));
  EXPECT_LT(world_->BytesServed() - before, kMegabyte / 2) << "its layers are here";
  ASSERT_TRUE(Pull(new_app.repository + "@" + new_app.digest));
  ASSERT_TRUE(Pull(world_->Push({"team/app", "v1", {{3, kMegabyte}}}).name));
  EXPECT_TRUE(Found(new_app.repository + "@" + new_app.digest));
  EXPECT_TRUE(Present(new_app.repository + "@" + new_app.digest));
}

TEST_P(ImageServiceContract, ASharedLayerIsFetchedOnce) {
  auto one = world_->Push({"team/one", "v1", {{1, 4 * kMegabyte}, {2, kMegabyte}}});
  auto two = world_->Push({"team/two", "v1", {{1, 4 * kMegabyte}, {3, kMegabyte}}});
  world_->SetBandwidth(4 * kMegabyte);
  std::uint64_t before = world_->BytesServed();
  RunningPull first(*world_, {one.name, std::nullopt, ""});
  RunningPull second(*world_, {two.name, std::nullopt, ""});
  while (!world_->HasArrived(2)) std::this_thread::yield();
  EXPECT_TRUE(first.Wait());
  EXPECT_TRUE(second.Wait());
  const std::uint64_t shared = (world_->SharesRunningDownloads() ? 6 : 10) * kMegabyte;
  EXPECT_NEAR(static_cast<double>(world_->BytesServed() - before), static_cast<double>(shared), 2e5);
  before = world_->BytesServed();
  EXPECT_TRUE(Pull(world_->Push({"team/three", "v1", {{1, 4 * kMegabyte}, {4, kMegabyte}}}).name));
  EXPECT_LT(world_->BytesServed() - before, 3 * kMegabyte) << "of a layer that is here nothing is fetched";
}

TEST_P(ImageServiceContract, AStopEndsAPullAndLeavesNoImage) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  world_->SetBandwidth(4 * kMegabyte);
  std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  ASSERT_TRUE(world_->Until([&] { return world_->BytesServed() - before > 2 * kMegabyte; }));
  pull.Stop();
  EXPECT_TRUE(Failed(pull.Wait(), ErrorClass::kCancelled));
  EXPECT_FALSE(Present(app.name));
}

TEST_P(ImageServiceContract, AStopEndsTheEqualPullOfAnotherWhereTheyAreShared) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  auto theirs = TheirsWhenOursIsStopped({app.name, std::nullopt, ""});
  if (world_->SharesEqualPulls()) {
    EXPECT_TRUE(Failed(theirs, ErrorClass::kRuntimeProgressTimeout));
  } else {
    EXPECT_TRUE(theirs) << theirs.error().message;
  }
}

TEST_P(ImageServiceContract, AStopEndsNoPullOfAnotherWhereOursIsOurOwn) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  auto theirs = TheirsWhenOursIsStopped({app.name, std::nullopt, "", cri::kOwnPullCgroup});
  EXPECT_TRUE(theirs) << theirs.error().message;
  EXPECT_TRUE(Present(app.name));
}

TEST_P(ImageServiceContract, RegistriesThatAreDownAreUnreachable) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  world_->SetRegistriesUp(false);
  EXPECT_TRUE(Failed(Pull(app.name), ErrorClass::kUnreachable));
  world_->SetRegistriesUp(true);
  EXPECT_TRUE(Pull(app.name));
}

TEST_P(ImageServiceContract, WhatTheRegistrySaysHasItsClass) {
  for (ErrorClass error_class : {ErrorClass::kRateLimited, ErrorClass::kServerError,
                                 ErrorClass::kAccessDenied, ErrorClass::kNotFound}) {
    std::string tag = "v" + std::to_string(static_cast<int>(error_class));
    auto app = world_->Push({"team/fails" + tag, tag, {{1, kMegabyte}}});
    world_->Fail(app, error_class);
    EXPECT_TRUE(Failed(Pull(app.name), error_class));
  }
}

TEST_P(ImageServiceContract, OneFilesystemHoldsTheImages) {
  auto filesystems = tests::Must(world_->images().ImageFsInfo(Soon()));
  ASSERT_FALSE(filesystems->empty());
  EXPECT_EQ(filesystems->front().mountpoint[0], '/');
}

TEST_P(ImageServiceContract, AKilledRuntimeIsDownUntilItIsBack) {
  auto app = world_->Push({"team/app", "v1", {{1, 8 * kMegabyte}}});
  auto kept = world_->Push({"team/kept", "v1", {{2, kMegabyte}}});
  ASSERT_TRUE(Pull(kept.name));
  world_->SetBandwidth(4 * kMegabyte);
  std::uint64_t before = world_->BytesServed();
  RunningPull pull(*world_, {app.name, std::nullopt, ""});
  ASSERT_TRUE(world_->Until([&] { return world_->BytesServed() - before > 4 * kMegabyte; }));
  world_->KillRuntime();
  EXPECT_TRUE(Failed(pull.Wait(), ErrorClass::kRuntimeDown));
  // The socket is there and nobody listens: told at once, with a long deadline in hand.
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Failed(world_->images().ListImages(Soon()), ErrorClass::kRuntimeDown));
  EXPECT_TRUE(Failed(Pull(app.name), ErrorClass::kRuntimeDown));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  world_->StartRuntime();
  EXPECT_TRUE(Present(kept.name));
  EXPECT_FALSE(Present(app.name));
  world_->SetBandwidth(0);
  before = world_->BytesServed();
  ASSERT_TRUE(Pull(app.name));
  if (world_->HasContentApi()) {
    EXPECT_LT(world_->BytesServed() - before, 6 * kMegabyte);  // the rest, by a Range request
  } else {
    EXPECT_GE(world_->BytesServed() - before, 8 * kMegabyte) << "a layer that was begun is lost";
  }
}

// However short it was away, and though calls that may be repeated are.
TEST_P(ImageServiceContract, ARestartChangesTheGenerationAndNothingElseDoes) {
  ASSERT_TRUE(world_->images().Connect(Soon()));
  ASSERT_TRUE(world_->images().ListImages(Soon()));
  const std::uint64_t before = world_->images().Generation();
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(world_->images().PullImage(Soon(), {app.name, std::nullopt, ""}));
  ASSERT_TRUE(world_->images().ListImages(Soon()));
  EXPECT_EQ(world_->images().Generation(), before);
  world_->KillRuntime();
  world_->StartRuntime();
  EXPECT_NE(world_->images().Generation(), before);
  ASSERT_TRUE(world_->images().ListImages(Soon()));
  ASSERT_TRUE(world_->images().Connect(Soon()));
  const std::uint64_t after = world_->images().Generation();
  ASSERT_TRUE(world_->images().ListImages(Soon()));
  EXPECT_EQ(world_->images().Generation(), after);
}

INSTANTIATE_TEST_SUITE_P(Contract, ImageServiceContract, testing::ValuesIn(Worlds()), tests::kRowName);

}  // namespace
}  // namespace prefetch::tests::image_service_contract
