// Room on the node.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "rows.h"
#include "scenario/node.h"

namespace prefetch::tests::disk_scenario_test {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

using DiskScenario = NodeTest;

TEST_F(DiskScenario, ANodeAboveTheThresholdPullsNothingAndSaysSo) {
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 15 * kGiB};
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(10));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kDiskPressure);
  EXPECT_TRUE(node.Snapshot()->disk.pressure);
  node.disk.available_bytes = 60 * kGiB;
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
}

TEST_F(DiskScenario, WhatTurnsOutNotToFitIsEndedAndSmallOnesOvertake) {
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 30 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.runtime.Push(MakeImage("r.io/huge:v1", 8 * kGiB));
  node.runtime.Push(MakeImage("r.io/small:v1", 10 * kMB));
  node.List({"r.io/huge:v1", "r.io/small:v1"});
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Image("r.io/small:v1").ready);
  EXPECT_EQ(node.ReasonOf("r.io/huge:v1"), plan::Reason::kDiskPressure);
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);  // no pull-evict loop
  EXPECT_GE(node.Snapshot()->disk.needed_bytes, 8 * kGiB);
  EXPECT_LT(node.runtime.BytesStored(), 20 * kMB);  // its lease is gone, so its bytes are
}

// Bytes on the disk are no longer free, so the figures would not fit together otherwise.
TEST_F(DiskScenario, TheBytesNeededAreThoseThatAreStillToCome) {
  node.disk = {.known = true, .capacity_bytes = 1000 * kGiB, .available_bytes = 900 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.PushAndList("r.io/a:v1", 4'000 * kMB);
  node.RunFor(seconds(30));
  const std::uint64_t needed = node.Snapshot()->disk.needed_bytes;
  EXPECT_LT(needed, 14'000 * kMB);
  EXPECT_GT(needed, 12'000 * kMB);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_EQ(node.Snapshot()->disk.needed_bytes, 0U);
}

// A job's files fill the disk for some seconds while an image is pulled, and that is no need of the image.
TEST_TABLE(FilledForAMoment, LeavesTheImageToBePulled, Persona) {
  Node node({.persona = row});
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 90 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.PushAndList("r.io/a:v1", 2'000 * kMB);
  node.RunFor(seconds(10));
  node.disk.available_bytes = kGiB;
  ASSERT_TRUE(
      node.RunUntil([&] { return node.ReasonOf("r.io/a:v1") == plan::Reason::kDiskPressure; }, seconds(20)));
  node.RunFor(seconds(10));
  node.disk.available_bytes = 90 * kGiB;
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2))) << node.Image("r.io/a:v1").message;
}

TEST_ROWS(Personas, FilledForAMoment, Persona::kContainerd23, Persona::kCrio);

TEST_F(DiskScenario, EnospcStopsNewPulls) {
  std::vector<std::string> names = Numbered("r.io/app", 10);
  for (const std::string& name : names) node.runtime.Push(MakeImage(name, kMB));
  node.runtime.SetDiskFull(true);
  node.List(names);
  node.RunFor(minutes(4));
  EXPECT_LE(node.runtime.counters().pull_calls, 4);
  EXPECT_EQ(node.ReasonOf(names[9]), plan::Reason::kDiskFull);
  node.runtime.SetDiskFull(false);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

TEST_F(DiskScenario, ADiskThatStaysFullIsTriedMoreAndMoreSeldom) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.SetDiskFull(true);
  node.List({"r.io/a:v1"});
  node.RunFor(std::chrono::hours(24));
  EXPECT_LE(node.runtime.counters().pull_calls, 30);
  EXPECT_TRUE(node.Image("r.io/a:v1").settled);
}

// A disk that fills as images come: what fits is pulled, and what does not fit costs one download.

struct SizedImage {
  double gib = 1;     // compressed
  double factor = 3;  // bytes that one of these unpacks to
  int priority = 0;
};

std::uint64_t Bytes(double gib) {
  return static_cast<std::uint64_t>(gib * static_cast<double>(kGiB));
}

std::string NameOf(std::size_t i) {
  return "r.io/image" + std::to_string(i) + ":v1";
}

struct RoomCase {
  std::string name;
  double room_gib = 0;  // that the disk rule leaves to images
  std::vector<SizedImage> images;
};

// A node whose disk rule leaves `room_gib` to images, with all these on its list.
struct RoomNode {
  explicit RoomNode(const RoomCase& row) {
    const std::uint64_t capacity = 1000 * kGiB;
    node.disk = {
        .known = true, .capacity_bytes = capacity, .available_bytes = capacity / 5 + Bytes(row.room_gib)};
    node.disk_fills = true;
    node.runtime.SetBandwidth(kGiB / 4);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < row.images.size(); i++) {
      FakeImage image = MakeImage(NameOf(i), Bytes(row.images[i].gib));
      image.unpack_factor = row.images[i].factor;
      // A fifth of a GiB is written in a second: the agent measures the disk every two.
      image.unpack =
          std::chrono::milliseconds(static_cast<int>(5000 * row.images[i].gib * row.images[i].factor));
      node.runtime.Push(image);
      names.push_back(NameOf(i));
    }
    node.List(names, [&, i = std::size_t{0}](plan::DesiredImage& desired) mutable {
      desired.priority = row.images[i++].priority;
    });
  }

  bool IsReady(std::size_t i) { return node.Image(NameOf(i)).ready; }

  Node node;
};

// Images that have room, taken in order of priority. None: it is too close to tell.
std::optional<std::vector<bool>> Greedy(const RoomCase& row) {
  std::vector<std::size_t> order(row.images.size());
  for (std::size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return row.images[a].priority > row.images[b].priority;
  });
  std::vector<bool> fits(row.images.size(), false);
  double left = row.room_gib;
  for (std::size_t i : order) {
    double need = row.images[i].gib * (1 + row.images[i].factor);
    if (std::abs(need - left) < 1) return std::nullopt;  // what is written between two measurements decides
    if (need > left) continue;
    left -= need;
    fits[i] = true;
  }
  return fits;
}

std::string Story(const RoomCase& row) {
  std::string text = "room for " + std::to_string(row.room_gib) + " GiB:";
  for (const SizedImage& image : row.images) {
    text += " " + std::to_string(image.gib) + "x(1+" + std::to_string(image.factor) + ")p" +
            std::to_string(image.priority);
  }
  return text;
}

// Bytes fetched <= 1.1 x bytes that end up usable + one download for each image that does not fit; and what
// fits together, taken in order of priority, is ready. Equals are taken as listed: of those that are due
// together the first one has the first claim to the room. That holds for images that unpack to at most 20
// times their size (plan/disk_budget.cc: kMaxFactor). It cannot hold for all: let two pulls run side by side
// while B bytes are reserved for each, and let the first need a byte more than the room without the second.
// The second must give way. Whether it fits afterwards, and so is fetched twice, depends on what the first
// turns out to need, which nobody knows before. Only one pull at a time is safe then; see BeyondTheBounds for
// what holds side by side. It does not hold for every mixture, either: see AfterFirstBegin in
// plan/disk_budget.cc. False: too close to tell.
bool ExpectProperty(const RoomCase& row) {
  std::optional<std::vector<bool>> fits = Greedy(row);
  if (!fits) return false;
  SCOPED_TRACE(Story(row));
  RoomNode rig(row);
  rig.node.RunFor(hours(3));
  double bound = 1e-3;  // manifests
  for (std::size_t i = 0; i < row.images.size(); i++) {
    if ((*fits)[i]) {
      EXPECT_TRUE(rig.IsReady(i)) << NameOf(i) << ": " << rig.node.Image(NameOf(i)).message;
    }
    bound += row.images[i].gib * (rig.IsReady(i) ? 1.1 : 1);
  }
  EXPECT_LE(static_cast<double>(rig.node.runtime.counters().bytes_served), bound * static_cast<double>(kGiB));
  return true;
}

TEST(DiskRoomScenario, FourImagesWithRoomForOne) {
  RoomCase row{"", 45, {{10, 3}, {10, 3}, {10, 3}, {10, 3}}};
  RoomNode rig(row);
  rig.node.RunFor(hours(2));
  FakeCounters counters = rig.node.runtime.counters();
  RecordProperty("pulls", counters.pull_calls);
  RecordProperty("GiB", static_cast<int>(counters.bytes_served / kGiB));
  EXPECT_TRUE(rig.IsReady(0));
  EXPECT_LE(counters.pull_calls, 8);
  EXPECT_LE(counters.bytes_served, 12 * kGiB);
  for (std::size_t i : {1, 2, 3}) EXPECT_EQ(rig.node.ReasonOf(NameOf(i)), plan::Reason::kDiskPressure);
}

TEST(DiskRoomScenario, WithMoreRoomItIsTriedAgainAndALogFileIsNoMoreRoom) {
  RoomNode rig({"", 40, {{8, 6}}});
  rig.node.RunFor(hours(1));
  ASSERT_EQ(rig.node.runtime.counters().pull_calls, 1);
  for (int i = 0; i < 20; i++) {
    rig.node.disk.available_bytes += i % 2 == 0 ? 2 * kGiB : -2 * kGiB;
    rig.node.RunFor(minutes(10));
  }
  EXPECT_EQ(rig.node.runtime.counters().pull_calls, 1);
  rig.node.disk.available_bytes += 20 * kGiB;
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(0); }, hours(1)));
  EXPECT_EQ(rig.node.runtime.counters().pull_calls, 2);
}

// Kubelet removes unused images just when the disk is full, or a person answers the message.
TEST(DiskRoomScenario, RoomThatIsMadeRightAfterATryIsUsed) {
  RoomNode rig({"", 40, {{8, 6}}});
  ASSERT_TRUE(rig.node.RunUntil([&] { return rig.node.ReasonOf(NameOf(0)) == plan::Reason::kDiskPressure; },
                                hours(1)));
  rig.node.RunFor(seconds(3));
  rig.node.disk.available_bytes += 300 * kGiB;
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(0); }, hours(1)));
  EXPECT_EQ(rig.node.runtime.counters().pull_calls, 2);
}

// Bytes of a pull count as its own, also after tries that ended at once.
TEST(DiskRoomScenario, ATryThatEndsAtOnceForgetsNoBytes) {
  RoomNode rig({"", 23, {{10, 1}}});
  ASSERT_TRUE(
      rig.node.RunUntil([&] { return rig.node.runtime.counters().bytes_served > 8 * kGiB; }, hours(1)));
  const std::uint64_t before = rig.node.runtime.counters().bytes_served;
  rig.node.runtime.SetRegistry(RegistryState::kDown);
  rig.node.RunFor(minutes(10));
  EXPECT_NE(rig.node.ReasonOf(NameOf(0)), plan::Reason::kDiskPressure);
  rig.node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(0); }, hours(1)));
  EXPECT_LE(rig.node.runtime.counters().bytes_served - before, 3 * kGiB);
}

// The agent finds bytes under an earlier agent's leases, and gives them up if they are in the way.
TEST(DiskRoomScenario, BytesThatAnAgentBeforeHasLeftAreRemovedForWhatFits) {
  RoomNode rig({"", 23, {{10, 1, 1}, {1, 1, 0}}});
  ASSERT_TRUE(
      rig.node.RunUntil([&] { return rig.node.runtime.counters().bytes_served > 8 * kGiB; }, hours(1)));
  rig.node.disk.available_bytes -= Bytes(15.5);  // 7.5 GiB stay: less than what the first has fetched
  rig.node.RestartAgent();
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(1); }, minutes(5)))
      << rig.node.Image(NameOf(1)).message;
  EXPECT_EQ(rig.node.ReasonOf(NameOf(0)), plan::Reason::kDiskPressure);
}

TEST(DiskRoomScenario, WhatHasNoRoomIsNotWaitedFor) {
  RoomNode rig({"", 40, {{8, 6}, {30, 3}, {1, 3}}});
  EXPECT_TRUE(rig.node.RunUntil(
      [&] {
        plan::SnapshotPtr now = rig.node.Snapshot();
        return std::all_of(now->images.begin(), now->images.end(),
                           [](const plan::ImageState& image) { return image.settled; });
      },
      minutes(30)));
  EXPECT_TRUE(rig.IsReady(2));
  EXPECT_EQ(rig.node.ReasonOf(NameOf(0)), plan::Reason::kDiskPressure);
  EXPECT_EQ(rig.node.ReasonOf(NameOf(1)), plan::Reason::kDiskPressure);
}

// The runtime removes its bytes on demand, and the disk is measured right afterwards.
TEST(DiskRoomScenario, TheNextBeginsAsSoonAsTheBytesOfOneWithoutRoomHaveGone) {
  RoomNode rig({"", 40, {{8, 6, 1}, {10, 2, 0}}});
  ASSERT_TRUE(rig.node.RunUntil([&] { return rig.node.ReasonOf(NameOf(0)) == plan::Reason::kDiskPressure; },
                                hours(1)));
  const int before = rig.node.runtime.counters().pull_calls;
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.node.runtime.counters().pull_calls > before; }, seconds(3)));
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(1); }, hours(1)));
}

// Nothing else is pulled while it may need all the room, so it must not wait there for ever.
TEST(DiskRoomScenario, AnImageOfWhichNoByteComesKeepsItsRoomForTenMinutes) {
  RoomNode rig({"", 77, {{10, 3}, {1, 3}, {1, 3}}});
  FakeImage image = *rig.node.runtime.InRegistry(NameOf(0));
  image.silent = true;
  rig.node.runtime.Push(image);
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(1) && rig.IsReady(2); }, minutes(11)));
  image.silent = false;
  rig.node.runtime.Push(image);
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(0); }, hours(1)));
}

// How long a node takes until all images are there.
base::Duration ColdStart(const RoomCase& row) {
  RoomNode rig(row);
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.node.Ready(); }, hours(1))) << Story(row);
  std::uint64_t content = 0;
  for (const SizedImage& image : row.images) content += Bytes(image.gib);
  EXPECT_LE(rig.node.runtime.counters().bytes_served, content + content / 10);
  return rig.node.Elapsed();
}

// The first pulls show what images of this node unpack to, so the others need not wait for one another.
TEST(DiskRoomScenario, AColdStartIsNotSerialised) {
  RoomCase row{"", 60, std::vector<SizedImage>(14, SizedImage{1, 3})};
  // With a fixed bound of eight times the size it takes 131 s, with one of 21 times 221 s.
  constexpr double kByEightTimes = 131;
  EXPECT_LE(std::chrono::duration<double>(ColdStart(row)).count(), 1.2 * kByEightTimes);
}

// Two of six images of 86 MB fit. Their sizes are not known before their pulls have begun.
TEST(DiskRoomScenario, WhatHasNoRoomDoesNotStartInTheMomentInWhichAnotherEnds) {
  const double mb = 1e6 / static_cast<double>(kGiB);
  RoomNode rig({"", 178 * mb, std::vector<SizedImage>(6, SizedImage{21.5 * mb, 3})});
  rig.node.RunFor(minutes(10));
  EXPECT_TRUE(rig.IsReady(0) && rig.IsReady(1));
  EXPECT_EQ(rig.node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(rig.node.ReasonOf(NameOf(2)), plan::Reason::kDiskPressure);
}

// Those behind it wait for ten minutes, not for as long as it stalls.
TEST(DiskRoomScenario, AnImageOfHighPriorityOfWhichNoByteComesLetsTheOthersGoFirst) {
  RoomNode rig({"", 77, {{10, 3, 9}, {1, 3, 0}, {1, 3, 5}}});
  FakeImage image = *rig.node.runtime.InRegistry(NameOf(0));
  image.silent = true;
  rig.node.runtime.Push(image);
  rig.node.RunFor(minutes(5));
  EXPECT_EQ(rig.node.ReasonOf(NameOf(1)), plan::Reason::kQueued);
  EXPECT_EQ(rig.node.Image(NameOf(1)).message,
            "waits for room on the disk: running pulls may need what is left of it");
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(1) && rig.IsReady(2); }, minutes(6)));
  EXPECT_EQ(rig.node.ReasonOf(NameOf(0)), plan::Reason::kPulling) << "nobody else needs the room";
  const std::string late = "r.io/late:v1";
  rig.node.runtime.Push(MakeImage(late, kGiB));
  rig.node.List({NameOf(0), NameOf(1), NameOf(2), late}, [](plan::DesiredImage& desired) {
    desired.priority = desired.reference.written() == NameOf(0) ? 9 : 0;
  });
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.node.Image(late).ready; }, minutes(1)));
  image.silent = false;
  rig.node.runtime.Push(image);
  EXPECT_TRUE(rig.node.RunUntil([&] { return rig.IsReady(0); }, hours(1)));
}

TEST_TABLE(DiskRoomTable, WhatFitsIsPulledAndNothingTwice, RoomCase) {
  EXPECT_TRUE(ExpectProperty(row));
}

// Free space x sizes x unpack factor x order.
std::vector<RoomCase> Family() {
  const std::vector<std::pair<std::string, std::vector<double>>> kSizes = {
      {"One", {8}}, {"Equal", {10, 10, 10, 10}}, {"Mixed", {12, 3, 6, 1, 9, 2}}};
  std::vector<RoomCase> rows;
  for (int room : {7, 21, 45, 77, 130, 300}) {
    for (const auto& [sizes_name, sizes] : kSizes) {
      for (int factor : {1, 3, 6, 8, 12, 20}) {
        for (const char* order : {"Listed", "Reversed"}) {
          RoomCase row{sizes_name + std::to_string(room) + "x" + std::to_string(factor) + order,
                       static_cast<double>(room) + 0.5,
                       {}};
          for (double gib : sizes) {
            int rank = static_cast<int>(row.images.size());
            row.images.push_back({gib, static_cast<double>(factor), *order == 'R' ? rank : 0});
          }
          if (Greedy(row)) rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(DiskRoom, DiskRoomTable, testing::ValuesIn(Family()), tests::kRowName);

TEST(DiskRoomScenario, MostOfTheFamilyIsJudged) {
  EXPECT_GE(Family().size(), 200U) << "of 216";
}

// Images that need more than is reserved for each: one that ran beside others is fetched once more, alone.
TEST(DiskRoomScenario, BeyondTheBoundsEachImageCostsTwoDownloadsAtMost) {
  for (double factor : {30.0, 60.0, 120.0}) {
    for (int first : {0, 1}) {
      RoomCase row{"", 100, {}};
      for (int i = 0; i < 4; i++) row.images.push_back({1, factor, i * first});
      SCOPED_TRACE(Story(row));
      RoomNode rig(row);
      rig.node.RunFor(hours(3));
      EXPECT_LE(rig.node.runtime.counters().bytes_served, 8 * kGiB + 10'000);
      int ready = 0;
      for (std::size_t i = 0; i < row.images.size(); i++) ready += rig.IsReady(i) ? 1 : 0;
      EXPECT_EQ(ready, static_cast<int>(100 / (1 + factor)));
    }
  }
}

TEST(DiskRoomScenario, TheSameForImagesOfEveryKind) {
  std::mt19937 random(1);
  auto between = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  int judged = 0;
  while (judged < 60) {
    RoomCase row{"", between(4, 200) + 0.37, {}};
    for (int n = between(1, 8); n > 0; n--) {
      row.images.push_back({between(2, 60) / 4.0, between(2, 40) / 2.0, between(0, 2)});
    }
    judged += ExpectProperty(row) ? 1 : 0;
  }
}

// The runtime says that the disk is full. Only of a pull that ran alone is that the image's own need. The
// first image shows that images take little here, so that the large one may run beside another.
TEST(DiskRoomScenario, OfAPullThatRanAloneTheRuntimesWordIsEnough) {
  for (bool alone : {true, false}) {
    SCOPED_TRACE(alone);
    std::vector<SizedImage> images = {{1, 2, 2}, {24, 2, 1}};
    if (!alone) images.push_back({0.25, 200, 0});  // unpacks for four minutes
    RoomNode rig({"", 250, images});
    auto& runtime = rig.node.runtime;
    ASSERT_TRUE(rig.node.RunUntil([&] { return runtime.counters().bytes_served > Bytes(8); }, minutes(10)));
    const int before = runtime.counters().pull_calls;
    runtime.SetDiskFull(true);
    runtime.SetDiskFull(false);
    rig.node.RunFor(hours(1));
    EXPECT_EQ(rig.IsReady(1), !alone);
    EXPECT_EQ(runtime.counters().pull_calls > before, !alone);
  }
}

// The runtime reports the full disk while bytes that other pulls have left are on their way out. They were
// few: what the image had is known nearly as well as if it had been alone.
TEST(DiskRoomScenario, AFewBytesOfOthersDoNotMakeADiskThatReallyFillsCostASecondDownload) {
  RoomNode one({"", 26, {{0.5, 60}, {4, 1}, {4, 1}}});
  bool full = false;
  std::size_t most = 0;
  EXPECT_TRUE(one.node.RunUntil(
      [&] {
        const std::size_t leases = one.node.runtime.ListLeases({})->size();
        most = std::max(most, leases);
        if (!full &&
            leases < most) {  // what the others had left is dropped, and the agent waits for its room
          full = true;
          one.node.runtime.SetDiskFull(true);
          one.node.RunFor(std::chrono::milliseconds(10));
          one.node.runtime.SetDiskFull(false);
        }
        return one.IsReady(1) && one.IsReady(2);
      },
      minutes(10)));
  EXPECT_TRUE(full);
  one.node.RunFor(hours(2));
  EXPECT_FALSE(one.IsReady(0));
  EXPECT_LE(one.node.runtime.counters().bytes_served, Bytes(8.7)) << "0.5 + 4 + 4, and what was dropped";
}

}  // namespace
}  // namespace prefetch::tests::disk_scenario_test
