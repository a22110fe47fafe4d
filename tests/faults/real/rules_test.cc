// The rules of faults on real parts notice what breaks them: each is told something untrue of a fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

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
std::string AllViolations(std::string_view manner, const std::function<void(FaultKind&)>& change,
                          std::chrono::milliseconds to = std::chrono::seconds(5)) {
  std::vector<FaultKind> kinds = FaultKinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const FaultKind& one) { return one.manner == manner; });
  EXPECT_NE(kind, kinds.end());
  change(*kind);
  const PlannedFault fault{.kind = static_cast<std::size_t>(kind - kinds.begin()),
                           .image = 2,
                           .from = std::chrono::milliseconds(500),
                           .to = to};
  std::string all;
  for (const std::string& violation : Violations({.seed = 0, .faults = {fault}}, kinds).violations)
    all += violation + "\n";
  return all;
}

TEST(RealFaultRules, NoticeAFailureWithoutACause) {
  EXPECT_NE(AllViolations("absent", [](FaultKind& kind) { kind.reasons.clear(); })
                .find("fails for Unreachable, which nothing has caused"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeARecordThatClosesAnImage) {
  EXPECT_NE(AllViolations("close an image", [](FaultKind& kind) { kind.reasons.clear(); })
                .find("fails for RecordedForOthers, which nothing has caused"),
            std::string::npos);
}

// The world is said to be worse than it is, for long enough.
std::string ViolationsWithPretence(const std::function<void(RealWorld&, const std::string&)>& pretend) {
  return AllViolations("close an image", [&](FaultKind& kind) {
    kind.begin = pretend;
    kind.end = [](RealWorld&, const std::string&) {};
    kind.recovers = std::chrono::seconds(12);
  });
}

TEST(RealFaultRules, NoticeAnAgentThatIsReadyWhileKubeletRefuses) {
  EXPECT_NE(ViolationsWithPretence([](RealWorld& world, const std::string& image) {
              world.PretendRefused(image);
            }).find("ready, and kubelet refuses"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeAnAgentThatIsReadyWithoutAnImage) {
  EXPECT_NE(ViolationsWithPretence([](RealWorld& world, const std::string&) {
              world.PretendListed("open.example.test/of-nobody:v1");
            }).find("ready, and open.example.test/of-nobody:v1 is not there"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeANodeThatIsNotReadyAnyMore) {
  const auto close_once_ready = [](RealWorld& world, const std::string& image) {
    if (world.node().Get("/readyz").status == 200) world.CloseRecord(image);
  };
  EXPECT_NE(AllViolations(
                "close an image",
                [&](FaultKind& kind) {
                  kind.begin = [](RealWorld&, const std::string&) {};
                  kind.period = std::chrono::milliseconds(500);
                  kind.tick = close_once_ready;
                  kind.leaves_ready = true;
                },
                std::chrono::seconds(12))
                .find("ready no more"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeANodeWhoseLabelStaysWrong) {
  EXPECT_NE(
      AllViolations("is absent", [](FaultKind& kind) { kind.end = [](RealWorld&, const std::string&) {}; })
          .find("the Node does not say that it is ready"),
      std::string::npos);
}

struct Denial {
  const char* part;
  const char* notice;
};

// Root without a capability may open what its owner allows, and no more.
TEST(RealFaultRules, NoticeWhatTheAgentMayNotOpen) {
  for (const auto& [part, notice] :
       {Denial{"runtime", "does not come, and its reason is "},
        Denial{"records", "fails for RecordUnreadable, which nothing has caused"},
        Denial{"plugin", "fails for AccessDenied, which nothing has caused"}}) {
    std::vector<FaultKind> kinds = FaultKinds();
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&, of = std::string_view(part)](const auto& one) {
          return one.manner == std::string_view("permission denied") && one.part == of;
        });
    ASSERT_NE(kind, kinds.end());
    kind->reasons.clear();
    kind->shows = std::chrono::seconds(2);
    // An agent that has opened nothing pulls it again.
    kind->begin = [begin = kind->begin](RealWorld& world, const std::string& image) {
      begin(world, image);
      world.Remove(image);
      world.KillAgent();
    };
    // Long enough for looks that a busy machine puts off.
    const PlannedFault fault{.kind = static_cast<std::size_t>(kind - kinds.begin()),
                             .from = std::chrono::seconds(4),
                             .to = std::chrono::seconds(16)};
    std::string all;
    for (const std::string& violation : Violations({.seed = 0, .faults = {fault}}, kinds).violations)
      all += violation + "\n";
    EXPECT_NE(all.find(notice), std::string::npos) << part << ":\n" << all;
  }
}

TEST(RealFaultRules, NoticeBytesThatAreFetchedTwice) {
  const auto remove = [](RealWorld& world, const std::string&) {
    EXPECT_TRUE(
        rig::Eventually(std::chrono::seconds(30), [&] { return world.node().Get("/readyz").status == 200; }));
    world.RemoveEveryName();
  };
  EXPECT_NE(AllViolations("loses an image", [&](FaultKind& kind) { kind.end = remove; }).find(" would do"),
            std::string::npos);
}

}  // namespace
}  // namespace prefetch::tests::real_faults
