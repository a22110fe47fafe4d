#include <gtest/gtest.h>

#include "screen/status_table.h"
#include "status/documents.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::registry_json_test {
namespace {

plan::RegistryView Stale() {
  return {.answer = image::RegistryAnswerKind::kUnreachable,
          .detail = "Dns",
          .message = "the registry does not answer: no such host",
          .digest = "sha256:aa",
          .answered_by = "ghcr.io",
          .checked_at = sample::At(-60),
          .confirmed_at = sample::At(-7200),
          .next_check_at = sample::At(600),
          .fresh = false,
          .agrees = true,
          .reason = plan::Reason::kUnreachable,
          .silent = 3,
          .changed_from = "sha256:99",
          .changed_at = sample::At(-9000)};
}

plan::Snapshot WithRegistry() {
  plan::Snapshot snapshot = sample::Node({sample::Ready("ghcr.io/acme/a:v1", 1)});
  snapshot.images[0].desired.Change(
      [](plan::DesiredImage& desired) { desired.refresh = plan::Refresh::kIfDigestChanged; });
  snapshot.images[0].registry = std::make_shared<const plan::RegistryView>(Stale());
  snapshot.registries = {{.name = "ghcr.io",
                          .entries = 1,
                          .checks_per_hour = 0.5,
                          .requests_per_second = 5,
                          .requests_left = 9.4,
                          .requests = 12,
                          .unreachable_since = sample::At(-180),
                          .trouble = "Unreachable",
                          .message = "no such host",
                          .held_until = sample::At(60),
                          .allowance = image::PullAllowance{100, 76, std::chrono::seconds(21'600)}}};
  return snapshot;
}

TEST(RegistryJson, AllOfOneImage) {
  std::string json = status::StatusJson(WithRegistry());
  EXPECT_NE(json.find(R"("registry":{"answer":"Unreachable","detail":"Dns","digest":"sha256:aa",)"
                      R"("checkedAt":"2026-08-01T09:59:00Z","fresh":false,"reason":"Unreachable",)"
                      R"("message":"the registry does not answer: no such host","agrees":true,)"
                      R"("answeredBy":"ghcr.io","confirmedAt":"2026-08-01T08:00:00Z","ageSeconds":7200,)"
                      R"("nextCheckAt":"2026-08-01T10:10:00Z","silentChecks":3,"changedFrom":"sha256:99",)"
                      R"("changedAt":"2026-08-01T07:30:00Z"},"registryReason":null)"),
            std::string::npos)
      << json;
}

TEST(RegistryJson, HowRegistriesAreAskedAndWhoSaysSo) {
  plan::Snapshot snapshot = WithRegistry();
  EXPECT_NE(status::StatusJson(snapshot).find(R"("up":true,"error":null,"registries":null})"),
            std::string::npos);
  snapshot.runtime.access = image::RegistryAccess{.config_path = "/etc/containerd/certs.d",
                                                  .config_path_source = "declared",
                                                  .by_pull = {"docker.io"},
                                                  .by_pull_source = "runtime",
                                                  .notes = {"containerd tells otherwise"}};
  EXPECT_NE(
      status::StatusJson(snapshot).find(
          R"("registries":{"configPath":"/etc/containerd/certs.d","configPathSource":"declared",)"
          R"("byPull":["docker.io"],"byPullSource":"runtime","notes":["containerd tells otherwise"]}})"),
      std::string::npos);
}

TEST(RegistryWords, ManyRegistriesThatAreAwayAreAFewLines) {
  plan::Snapshot snapshot = WithRegistry();
  snapshot.registries.resize(30, snapshot.registries[0]);
  std::string table = StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {.width = 160});
  std::size_t lines = 0;
  for (auto at = table.find("has not answered"); at != std::string::npos;
       at = table.find("has not answered", at + 1)) {
    lines++;
  }
  EXPECT_EQ(lines, 5U) << table;
  EXPECT_NE(table.find("! 25 more registries do not answer\n"), std::string::npos) << table;
}

TEST(RegistryJson, TheBudgetOfEachRegistry) {
  std::string json = status::StatusJson(WithRegistry());
  EXPECT_NE(
      json.find(
          R"("registries":[{"name":"ghcr.io","entries":1,"checksPerHour":1,"requestsPerSecond":5,)"
          R"("requestsLeft":9,"requests":12,"trouble":"Unreachable","message":"no such host",)"
          R"("unreachableSince":"2026-08-01T09:57:00Z","unreachableForSeconds":180,)"
          R"("heldUntil":"2026-08-01T10:01:00Z","pullsLeft":76,"pullsAllowed":100,"updatesWait":false}])"),
      std::string::npos)
      << json;
}

TEST(RegistryJson, ATimeOfDayThatWasSetBackMakesNoAge) {
  plan::Snapshot snapshot = WithRegistry();
  snapshot.time = sample::At(-100'000);
  EXPECT_NE(status::StatusJson(snapshot).find(R"("ageSeconds":0)"), std::string::npos);
}

TEST(RegistryJson, IsReadBack) {
  auto document = status::ParseStatusDocument(status::StatusJson(WithRegistry()));
  ASSERT_TRUE(document) << document.error().message();
  const std::optional<status::StatusRegistry>& registry = document->images[0].registry;
  ASSERT_TRUE(registry);
  EXPECT_EQ(registry->answer.text(), "Unreachable");
  EXPECT_EQ(registry->reason.text(), "Unreachable");
  EXPECT_FALSE(registry->fresh);
  EXPECT_TRUE(registry->agrees);
  EXPECT_EQ(registry->confirmed_at, sample::At(-7200));
}

struct WhyCase {
  std::string name;
  std::string image;
  plan::Refresh refresh;
  bool applies;
  std::string why;
};

class NotAsked : public testing::TestWithParam<WhyCase> {};

TEST_P(NotAsked, SaysWhy) {
  plan::Snapshot snapshot = sample::Node({sample::Ready(GetParam().image, 1)});
  snapshot.images[0].desired.Change(
      [](plan::DesiredImage& desired) { desired.refresh = GetParam().refresh; });
  snapshot.images[0].applies = GetParam().applies;
  std::string json = status::StatusJson(snapshot);
  EXPECT_NE(json.find(R"("registry":null,"registryReason":"not asked: )" + GetParam().why), std::string::npos)
      << json;
}

INSTANTIATE_TEST_SUITE_P(
    Images, NotAsked,
    testing::Values(
        WhyCase{"Default", "a:v1", plan::Refresh::kIfNotPresent, true, "refresh is IfNotPresent"},
        WhyCase{"Digest", "a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                plan::Refresh::kIfNotPresent, true, "a digest always names the same content"},
        WhyCase{"TurnedOff", "a:v1", plan::Refresh::kIfDigestChanged, true, "this agent asks no registry"},
        WhyCase{"OtherPlatform", "a:v1", plan::Refresh::kIfDigestChanged, false,
                "the entry is for other platforms"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::screen::registry_json_test
