#include "plan/pins.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/unlisted.h"
#include "rows.h"

namespace prefetch::plan::pins_test {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;
// The disk rule leaves 80.0 GB to images.
const DiskSpace kDisk{.known = true, .capacity_bytes = 100 * kGB, .available_bytes = 50 * kGB};
const Limits kLimits{.disk_min_free_bytes = 0, .disk_high_percent = 80};
using Names = std::vector<std::string>;

DesiredPin Wish(const std::string& name, const std::string& id, std::uint64_t size = kGB,
                bool reported = false) {
  return {.name = name, .id = id, .size_bytes = size, .reported = reported};
}

TEST(DecidePins, UnpinsItsOwnThatNothingAsksFor) {
  // b is being pulled again: its label stays.
  PinDecision decision =
      DecidePins({Wish("a", "1", kGB, true), Wish("b", "")}, {"a", "b", "gone"}, kDisk, kLimits);
  EXPECT_EQ(decision.pin, Names{});
  EXPECT_EQ(decision.unpin, Names{"gone"});
  EXPECT_EQ(DecidePins({}, {"a", "b"}, kDisk, kLimits).unpin, (Names{"a", "b"}));
}

TEST(DecidePins, StaysWithinTheDiskRule) {
  const std::vector<DesiredPin> wishes = {Wish("first", "1", 30 * kGB), Wish("large", "2", 15 * kGB),
                                          Wish("small", "3", 10 * kGB), Wish("again", "1", 30 * kGB)};
  PinDecision decision = DecidePins(wishes, {"large"}, kDisk, kLimits);
  EXPECT_EQ(decision.pin, (Names{"first", "small", "again"}));
  EXPECT_EQ(decision.unpin, Names{"large"}) << "the disk shrank, or the list has grown before it";
  ASSERT_EQ(decision.refused.size(), 1U);
  EXPECT_EQ(decision.refused["large"],
            "the images of the list that are pinned before it take at least 60.0 GB, it takes 30.0 GB, and "
            "the disk "
            "rule leaves 80.0 GB to images: kubelet's garbage collection could not free enough room");
  EXPECT_EQ(DecidePins(wishes, {}, {}, kLimits).pin.size(), 4U) << "the disk cannot be measured";
}

TEST(MayUnpin, NotWhileASourceHasNoVersionInForce) {
  ImageList list;
  EXPECT_FALSE(MayUnpin(list)) << "the folder of lists is empty";
  list.sources.push_back({.name = "a.yaml", .path = "", .hash = "sha256:1"});
  EXPECT_TRUE(MayUnpin(list));
  list.sources.back().error = "line 3";
  EXPECT_TRUE(MayUnpin(list)) << "the version before is in force";
  list.sources.back().hash.clear();
  EXPECT_FALSE(MayUnpin(list));
}

TEST(ReportsPins, FromTheReleasesThatFollowLabels) {
  for (const char* version :
       {"1.6.25", "1.6.36", "v1.7.10", "1.7.24~ds1", "2.0.0", "2.1.9", "v2.4.0-beta.0"}) {
    EXPECT_TRUE(ReportsPins(version)) << version;
  }
  for (const char* version : {"1.6.20", "1.6.24~ds1-2", "1.7.9", "1.5.18", "", "unknown", "1.7"}) {
    EXPECT_FALSE(ReportsPins(version)) << version;
  }
}

using Strings = std::vector<std::string>;
base::WallTime At(int seconds) {
  return base::WallTime(std::chrono::seconds(1'785'578'400 + seconds));
}

image::LocalImage Image(const std::string& id, std::vector<std::string> tags,
                        std::vector<std::string> digests = {}) {
  return {.id = id, .repo_tags = std::move(tags), .repo_digests = std::move(digests), .size_bytes = 7};
}

ImageList List(const std::vector<std::string>& names) {
  ImageList list;
  for (const std::string& name : names) {
    DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    list.images.push_back(std::move(desired));
  }
  return list;
}

using Images = std::vector<image::LocalImage>;

std::vector<std::string> NamesIn(const Arrivals& arrivals) {
  std::vector<std::string> names;
  for (const UnlistedImage& image : arrivals.unlisted->images) names.push_back(image.image);
  return names;
}

// Images at the first look; images at a later one, with the list; images that have come unlisted.
struct ComesCase {
  std::string name;
  Images first, then;
  std::vector<std::string> list;
  std::vector<std::string> ignore;
  std::vector<std::string> unlisted;
};
TEST_TABLE(ComesTest, AfterTheFirstLook, ComesCase) {
  Arrivals arrivals = AfterPoll({}, row.first, List(row.list), row.ignore, At(0));
  EXPECT_EQ(NamesIn(arrivals), std::vector<std::string>{});
  EXPECT_EQ(arrivals.unlisted->since, At(0));
  arrivals = AfterPoll(std::move(arrivals), row.then, List(row.list), row.ignore, At(8));
  EXPECT_EQ(NamesIn(arrivals), row.unlisted);
  for (const UnlistedImage& image : arrivals.unlisted->images) {
    EXPECT_EQ(image.first_seen, At(8));
    EXPECT_TRUE(image.present);
    EXPECT_EQ(image.size_bytes, 7U);
  }
}

image::LocalImage Pinned(image::LocalImage image) {
  image.pinned = true;
  return image;
}

const std::string kA = "r.io/a:v1", kADigest = "r.io/a@sha256:" + std::string(64, 'a');
const std::string kB = "r.io/b:v1", kBDigest = "r.io/b@sha256:" + std::string(64, 'b');

TEST_ROWS(Rows, ComesTest, {"WasThereAtTheStart", {Image("1", {kA})}, {Image("1", {kA})}, {}, {}, {}},
          {"Comes", {}, {Image("1", {kA}, {kADigest})}, {}, {}, {kA}},
          {"ComesListed", {}, {Image("1", {kA}, {kADigest})}, {kA}, {}, {}},
          {"ComesByDigest", {}, {Image("1", {}, {kADigest})}, {}, {}, {kADigest}},
          {"ComesByAListedDigest", {}, {Image("1", {}, {kADigest})}, {kADigest}, {}, {}},
          {"ListedByTagAndDigest", Images{}, Images{Image("1", {}, {kADigest})},
           Strings{"r.io/a:v1@sha256:" + std::string(64, 'a')}, Strings{}, Strings{}},
          {"AnotherNameOfAListedImage", Images{Image("1", {kA}, {kADigest})},
           Images{Image("1", {kA, kB}, {kADigest, kBDigest})}, Strings{kA}, Strings{}, Strings{kB}},
          {"TheTagOfAnotherRepositoryIsNoneOfThisOne", Images{},
           Images{Image("1", {kA}, {kADigest, kBDigest})}, Strings{kA}, Strings{}, Strings{kBDigest}},
          // A tag moved: the old content stays behind under its digest, which was there before.
          {"AMovedTag", Images{Image("1", {kA}, {kADigest})},
           Images{Image("1", {}, {kADigest}), Image("2", {kA}, {"r.io/a@sha256:" + std::string(64, 'c')})},
           Strings{kA}, Strings{}, Strings{}},
          // CRI-O's name for it, where the registry has a port.
          {"AMovedTagOfARegistryWithAPort",
           Images{Image("1", {"r.io:5000/a:v1"}, {"r.io:5000/a@sha256:" + std::string(64, 'a')})},
           Images{Image("1", {}, {"r.io@sha256:" + std::string(64, 'a')})}, Strings{}, Strings{}, Strings{}},
          {"ATagOfARepositoryWhoseNameIsLonger", Images{}, Images{Image("1", {"r.io/ab:v1"}, {kADigest})},
           Strings{}, Strings{}, Strings{"r.io/ab:v1", kADigest}},
          {"Pinned", {}, {Pinned(Image("1", {"registry.k8s.io/pause:3.10"}))}, {}, {}, {}},
          {"Ignored", {}, {Image("1", {kA}), Image("2", {kB})}, {}, {"r.io/a"}, {kB}},
          {"NamesAreNormalised", {}, {Image("1", {"docker.io/library/nginx:latest"})}, {"nginx"}, {}, {}});

TEST(Unlisted, WhatGoesIsKeptAndSaidToBeGone) {
  Arrivals arrivals = AfterPoll({}, {}, {}, {}, At(0));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, {}, {}, At(8));
  arrivals = AfterPoll(std::move(arrivals), {}, {}, {}, At(16));
  ASSERT_EQ(NamesIn(arrivals), std::vector<std::string>{kA});
  EXPECT_FALSE(arrivals.unlisted->images[0].present);
  image::LocalImage larger = Image("2", {kA});
  larger.size_bytes = 8;
  arrivals = AfterPoll(std::move(arrivals), {larger}, {}, {}, At(24));
  ASSERT_EQ(NamesIn(arrivals), std::vector<std::string>{kA});
  const UnlistedImage& again = arrivals.unlisted->images[0];
  EXPECT_TRUE(again.present);
  EXPECT_EQ(again.first_seen, At(8));
  EXPECT_EQ(again.arrived_at, At(24));
  EXPECT_EQ(again.image_id, "2");
  EXPECT_EQ(again.size_bytes, 8U);
}

TEST(Unlisted, WhatCameListedIsNoFindingWhenTheListDropsIt) {
  Arrivals arrivals = AfterPoll({}, {}, List({kA, kB}), {}, At(0));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, List({kA, kB}), {}, At(8));
  // B's pull ended between the looks, and the list is another one by now.
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA}), Image("2", {kB})}, List({}), {}, At(16));
  EXPECT_TRUE(arrivals.unlisted->images.empty());
}

TEST(Unlisted, IsBounded) {
  Arrivals arrivals = AfterPoll({}, {}, {}, {}, At(0));
  Images images;
  for (std::size_t i = 0; i < kMostUnlisted + 5; i++)
    images.push_back(Image(std::to_string(i), {"r.io/" + std::to_string(i) + ":v1"}));
  arrivals = AfterPoll(std::move(arrivals), images, {}, {}, At(8));
  EXPECT_EQ(arrivals.unlisted->images.size(), kMostUnlisted);
  EXPECT_EQ(arrivals.unlisted->left_out, 5U);
  EXPECT_EQ(arrivals.known.size(), kMostUnlisted + 5);
  Arrivals same = AfterPoll(arrivals, images, {}, {}, At(16));
  EXPECT_EQ(same.unlisted, arrivals.unlisted);
}

}  // namespace
}  // namespace prefetch::plan::pins_test
