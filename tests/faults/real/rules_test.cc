// The rules of faults on real parts notice what breaks them: each is told something untrue of a fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "faults/real/play.h"
#include "system/fetch_parts.h"

namespace prefetch::tests::real_faults {
namespace {

TEST(RealFaultWorld, AFarOneHasAnAgentThatDownloads) {
  RealWorld world(Distance::kFar);
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(60), [&] { return world.NodeLabel() == "ready"; }))
      << world.node().AgentLog();
  const double fetched = system::FetchedBytes(world.node().Get("/metrics").body);
  if (world.agent_downloads()) {
    EXPECT_GE(fetched, static_cast<double>(world.BytesOfAll())) << world.node().AgentLog();
  } else {
    EXPECT_EQ(fetched, 0);
  }
}

// Rules that are told something untrue of a fault notice it.
testing::AssertionResult Notice(std::string_view notice, const std::vector<FaultKind>& kinds,
                                const PlannedFault& fault) {
  std::string all;
  for (const std::string& violation : Violations({.seed = 0, .faults = {fault}}, kinds, notice).violations)
    all += violation + "\n";
  if (all.find(notice) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << notice << "\" in:\n" << all;
}

template <typename Is>
std::size_t Find(const std::vector<FaultKind>& kinds, Is is) {
  const auto kind = std::find_if(kinds.begin(), kinds.end(), is);
  if (kind == kinds.end()) throw std::logic_error("no such kind of fault");
  return static_cast<std::size_t>(kind - kinds.begin());
}

testing::AssertionResult Notice(std::string_view notice, std::string_view manner,
                                const std::function<void(FaultKind&)>& change,
                                std::chrono::milliseconds to = std::chrono::seconds(5)) {
  std::vector<FaultKind> kinds = FaultKinds();
  const std::size_t kind = Find(kinds, [&](const FaultKind& one) { return one.manner == manner; });
  change(kinds[kind]);
  return Notice(notice, kinds, {.kind = kind, .image = 2, .from = std::chrono::milliseconds(500), .to = to});
}

TEST(RealFaultRules, NoticeAFailureWithoutACause) {
  EXPECT_TRUE(Notice("fails for Unreachable, which nothing has caused", "absent",
                     [](FaultKind& kind) { kind.reasons.clear(); }));
}

TEST(RealFaultRules, NoticeARecordThatClosesAnImage) {
  EXPECT_TRUE(Notice("fails for RecordedForOthers, which nothing has caused", "close an image",
                     [](FaultKind& kind) { kind.reasons.clear(); }));
}

// The world is said to be worse than it is, for long enough.
std::function<void(FaultKind&)> Pretend(const std::function<void(RealWorld&, const std::string&)>& pretend) {
  return [=](FaultKind& kind) {
    kind.begin = pretend;
    kind.end = [](RealWorld&, const std::string&) {};
    kind.recovers = std::chrono::seconds(12);
  };
}

TEST(RealFaultRules, NoticeAnAgentThatIsReadyWhileKubeletRefuses) {
  EXPECT_TRUE(
      Notice("ready, and kubelet refuses", "close an image",
             Pretend([](RealWorld& world, const std::string& image) { world.PretendRefused(image); })));
}

TEST(RealFaultRules, NoticeAnAgentThatIsReadyWithoutAnImage) {
  EXPECT_TRUE(Notice("ready, and open.example.test/of-nobody:v1 is not there", "close an image",
                     Pretend([](RealWorld& world, const std::string&) {
                       world.PretendListed("open.example.test/of-nobody:v1");
                     })));
}

TEST(RealFaultRules, NoticeANodeThatIsNotReadyAnyMore) {
  const auto close_once_ready = [](RealWorld& world, const std::string& image) {
    if (world.node().Get("/readyz").status == 200) world.CloseRecord(image);
  };
  const auto change = [&](FaultKind& kind) {
    kind.begin = [](RealWorld&, const std::string&) {};
    kind.period = std::chrono::milliseconds(500);
    kind.tick = close_once_ready;
    kind.leaves_ready = true;
  };
  EXPECT_TRUE(Notice("ready no more", "close an image", change, std::chrono::seconds(12)));
}

TEST(RealFaultRules, NoticeANodeWhoseLabelStaysWrong) {
  EXPECT_TRUE(Notice("the Node does not say that it is ready", "is absent",
                     [](FaultKind& kind) { kind.end = [](RealWorld&, const std::string&) {}; }));
}

// Root without a capability may open what its owner allows, and no more.
TEST(RealFaultRules, NoticeWhatTheAgentMayNotOpen) {
  struct Denial {
    const char* part;
    const char* notice;
  };
  for (const auto& [part, notice] :
       {Denial{"runtime", "does not come, and its reason is "},
        Denial{"records", "fails for RecordUnreadable, which nothing has caused"},
        Denial{"plugin", "fails for AccessDenied, which nothing has caused"}}) {
    std::vector<FaultKind> kinds = FaultKinds();
    const std::size_t index = Find(kinds, [of = std::string_view(part)](const FaultKind& one) {
      return one.manner == std::string_view("permission denied") && one.part == of;
    });
    FaultKind& kind = kinds[index];
    kind.reasons.clear();
    kind.shows = std::chrono::seconds(2);
    // An agent that has opened nothing pulls it again.
    kind.begin = [begin = kind.begin](RealWorld& world, const std::string& image) {
      begin(world, image);
      world.Remove(image);
      world.KillAgent();
    };
    EXPECT_TRUE(Notice(notice, kinds,
                       {.kind = index, .from = std::chrono::seconds(4), .to = std::chrono::minutes(1)}));
  }
}

TEST(RealFaultRules, NoticeBytesThatAreFetchedTwice) {
  const auto remove = [](RealWorld& world, const std::string&) {
    EXPECT_TRUE(world.node().BecomesReady(std::chrono::seconds(30)));
    world.RemoveEveryName();
  };
  EXPECT_TRUE(Notice(" would do", "loses an image", [&](FaultKind& kind) { kind.end = remove; }));
}

}  // namespace
}  // namespace prefetch::tests::real_faults
