#include "kubelet/gc_forecast.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::kubelet::gc_forecast_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using Ids = std::vector<std::string>;

constexpr std::uint64_t kGb = 1'000'000'000;

GcImage Image(const std::string& id, std::chrono::nanoseconds age) {
  return {.id = id, .first_seen_age = age};
}

GcImage Pinned(GcImage image) {
  image.pinned = true;
  return image;
}

// 100 GB, so that one is a percent.
ImageDisk Used(std::uint64_t gigabytes) {
  return {.capacity_bytes = 100 * kGb, .available_bytes = (100 - gigabytes) * kGb};
}

struct GcCase {
  std::string name;
  GcRules rules;
  ImageDisk disk;
  std::vector<GcImage> images;
  Ids order;
  std::size_t by_space;
};

TEST_TABLE(GcForecastTest, TakesWhatKubeletTakes, GcCase) {
  GcForecast forecast = ForecastGc(row.rules, row.disk, row.images);
  EXPECT_EQ(forecast.order, row.order);
  EXPECT_EQ(forecast.space ? forecast.space->images : 0, row.by_space);
  for (const std::string& warning : forecast.warnings) EXPECT_TRUE(warning.ends_with(".")) << warning;
}

// K41 to K43, with kubelet's numbers.
const std::vector<GcImage> kThree = {Image("new", hours(1)), Image("old", hours(9)),
                                     Image("middle", hours(5))};
const Ids kOldestFirst = {"old", "middle", "new"};
const GcRules kAges{.maximum_age = hours(24)};
TEST_ROWS(Spec26, GcForecastTest, {"FirstSeenGoesFirst", {}, Used(86), kThree, kOldestFirst, 3},
          {"EqualAgesAsListed", GcRules{}, Used(86),
           std::vector<GcImage>{Image("b", hours(1)), Image("a", hours(1))}, Ids{"b", "a"}, 2U},
          {"NotDueYetStillTold", {}, Used(50), kThree, kOldestFirst, 3},
          {"PinnedIsNoCandidate", kAges, Used(86),
           std::vector<GcImage>{Pinned(Image("pinned", hours(9))), Image("free", hours(1))}, Ids{"free"}, 1U},
          {"TooYoungIsPassedOver", GcRules{}, Used(86),
           std::vector<GcImage>{Image("young", minutes(1)), Image("ripe", minutes(2))}, Ids{"ripe", "young"},
           1U},
          {"AllTooYoung", {}, Used(86), {Image("young", minutes(1))}, {"young"}, 0},
          {"YoungNowIsOldThen", {}, Used(80), {Image("young", minutes(1))}, {"young"}, 1},
          {"NothingToFree", {.high_percent = 50, .low_percent = 90}, Used(60), kThree, kOldestFirst, 0},
          {"AgeTakesThemHoweverNew", kAges, {}, {Image("new", minutes(1))}, {"new"}, 0},
          {"SwitchedOff", {.high_percent = 100}, Used(99), kThree, {}, 0},
          {"AgeAloneCollectsOnAFullDiskToo", GcRules{.high_percent = 100, .maximum_age = hours(1)}, Used(100),
           std::vector<GcImage>{Image("a", hours(1))}, Ids{"a"}, 1U},
          {"DiskNotKnown", {}, {}, kThree, {}, 0}, {"NoImages", {}, Used(99), {}, {}, 0});

// How far it is to the threshold, and how much goes then.
struct BytesCase {
  std::string name;
  GcRules rules;
  ImageDisk disk;
  std::uint64_t bytes_to_high, target_bytes;
};

TEST_TABLE(GcBytesTest, AreKubelets, BytesCase) {
  GcForecast forecast = ForecastGc(row.rules, row.disk, {});
  ASSERT_TRUE(forecast.space);
  EXPECT_EQ(forecast.space->bytes_to_high, row.bytes_to_high);
  EXPECT_EQ(forecast.space->target_bytes, row.target_bytes);
}

// Kubelet's usage is a whole percentage, rounded up: at 84 GB and one byte of 100 GB it is 85.
constexpr std::uint64_t kPassWants = 4 * kGb + 1;
TEST_ROWS(Spec26, GcBytesTest, {"Half", {}, Used(50), 34 * kGb + 1, kPassWants},
          {"OneByteBefore", {}, Used(84), 1, kPassWants},
          {"JustReached", {}, {100 * kGb, 16 * kGb - 1}, 0, kPassWants}, {"Above", {}, Used(90), 0, 10 * kGb},
          {"Full", {}, Used(100), 0, 20 * kGb},
          {"OtherThresholds", {.high_percent = 70, .low_percent = 50}, Used(60), 9 * kGb + 1, 19 * kGb + 1},
          {"MoreAvailableThanThereIs", {}, {100 * kGb, 200 * kGb}, 84 * kGb + 1, kPassWants},
          {"NoRoundNumber", {}, {1001, 1001}, 841, 40}, {"NoRoundNumberReached", {}, {1001, 160}, 0, 40},
          {"LowAboveHigh", {.high_percent = 50, .low_percent = 90}, Used(60), 0, 0},
          {"HugeDisk", {}, {~0ULL, ~0ULL}, 15495265021916023357ULL, 737869762948382065ULL});

TEST(GcForecast, SaysNothingWhileKubeletLeavesTheImagesAlone) {
  EXPECT_EQ(ForecastGc({}, Used(50), kThree).warnings, Ids{});
  EXPECT_EQ(ForecastGc({.high_percent = 100}, Used(99), kThree).warnings, Ids{});
  EXPECT_EQ(ForecastGc(kAges, Used(10), {Pinned(Image("pinned", hours(99)))}).warnings, Ids{});
  EXPECT_EQ(ForecastGc({}, Used(99), {}).warnings, Ids{});
}

TEST(GcForecast, TellsAPersonInSentences) {
  const std::string records =
      "A collection for space also drops kubelet's records of images that stay, in use or not, so that the "
      "verdict on them may change.";
  const std::string one_unknown =
      "Whether a container uses 1 of these images is not known; they are counted as unused.";
  EXPECT_EQ(
      ForecastGc({}, Used(86), kThree).warnings,
      (Ids{"The image disk is over kubelet's high threshold of 85 %: it then removes images that no "
           "container uses, 6.0 GB in all, and 3 of these images may be among the first.",
           records, "Whether a container uses 3 of these images is not known; they are counted as unused."}));
  EXPECT_EQ(
      ForecastGc({}, Used(82), {Image("a", hours(1))}).warnings,
      (Ids{"2.0 GB more bring the image disk to kubelet's high threshold of 85 %: it then removes images "
           "that no container uses, 4.0 GB in all, and 1 of these images may be among the first.",
           records, one_unknown}));
  EXPECT_EQ(ForecastGc(kAges, Used(10), {Image("a", hours(1))}).warnings,
            (Ids{"imageMaximumGCAge is 24h: once kubelet has been up for longer than that it removes 1 of "
                 "these images at every check, even if they were just pulled, unless a container has used "
                 "them within 24h.",
                 one_unknown}));
  EXPECT_EQ(ForecastGc({}, Used(86), {Pinned(Image("pinned", hours(1)))}).warnings, Ids{records});
}

}  // namespace
}  // namespace prefetch::kubelet::gc_forecast_test
