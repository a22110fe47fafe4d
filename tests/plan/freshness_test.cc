// When a registry is asked again, and what is remembered of what it said.
#include "plan/freshness.h"

#include <gtest/gtest.h>

#include "plan/image_readiness.h"
#include "plan/refresh_rows.h"
#include "rows.h"

namespace prefetch::plan::freshness_test {
namespace {

struct NextCase {
  std::string name;
  RegistryStory story;
  base::Duration least, most;
};

TEST_TABLE(NextCheckTest, Row, NextCase) {
  EXPECT_GE(row.story.NextCheck(), row.least);
  EXPECT_LE(row.story.NextCheck(), row.most);
}

// Random is 0.5 in a story: the middle of each jitter.
TEST_ROWS(Times, NextCheckTest, {"FirstWithinTheInterval", Keeps(), 30min, 30min},
          {"FirstSoonWhereReadinessWaits", Always(), 5s, 5s}, {"AfterAnAnswer", Keeps().Same(), 60min, 60min},
          {"MissingIsConfirmedSoon", Keeps().Missing(), 60s, 75s},
          {"MissingForSureCanWait", Keeps().Missing().Missing(2min), 62min, 62min},
          {"DeniedIsNotHammered", Keeps().Denied(), 5min, 6min},
          {"DeniedAgain", Keeps().Denied().Denied(5min), 15min, 17min},
          {"SilentIsAskedAgainSoon", Keeps().Unreachable(), 60s, 75s},
          {"SilentAgain", Keeps().Unreachable().Unreachable(70s), 190s, 220s},
          {"RetryAfterCounts",
           Keeps().Said({.kind = image::RegistryAnswerKind::kRateLimited, .retry_after = 20min}, {}), 20min,
           20min},
          {"NotAskedCanWait", Keeps().NotAsked(), 60min, 60min},
          {"NotAskedAndUrgent", Fails().NotAsked(), 60s, 75s},
          {"NewCredentialsAreTriedNow", Keeps().Same().NewCredentials(1min), 1min, 1min},
          {"APullIsACheck", Keeps().Moved().Pulled("b", 5min), 65min, 65min},
          {"AfterALagTheRegistryIsAskedOnceMore", Keeps().Moved().Pulled("a", 5min), 6min, 7min});

// Failed checks do not change whether the last answer is for a pull secret's owner alone.
TEST(Freshness, SilenceTakesNoWordBackAndLendsNone) {
  const DesiredImage desired = Keeps().want;
  const Local local{.digest = "a"};
  const base::TimePoint now{1h};
  for (bool restricted : {false, true}) {
    const image::RegistryAnswer same{
        .kind = image::RegistryAnswerKind::kSame, .digest = "a", .restricted = restricted};
    Freshness past = AfterAnswer({}, desired, local, same, {now, {}}, 0.5);
    EXPECT_EQ(past.restricted, restricted);
    const image::RegistryAnswer trouble{.kind = image::RegistryAnswerKind::kUnreachable,
                                        .restricted = !restricted};
    EXPECT_EQ(AfterSkippedCheck(past, desired, trouble, {now + 1min, {}}, 0.5).restricted, restricted);
    past = AfterAnswer(past, desired, local, trouble, {now + 1min, {}}, 0.5);
    EXPECT_EQ(past.restricted, restricted);
    EXPECT_EQ(ViewOf(desired, &local, past, {}, now + 1min, {}).restricted, restricted);
    past = AfterAnswer(past, desired, local, {.kind = same.kind, .digest = "a", .restricted = !restricted},
                       {now + 1h, {}}, 0.5);
    EXPECT_EQ(past.restricted, !restricted) << "the newest word counts";
  }
}

TEST(NextCheck, JitterIsATenthToEitherSide) {
  DesiredImage desired = Keeps().want;
  Local local{.digest = "a"};
  image::RegistryAnswer same{.kind = image::RegistryAnswerKind::kSame, .digest = "a"};
  base::TimePoint now{5h};
  EXPECT_EQ(AfterAnswer({}, desired, local, same, {now, {}}, 0).next_check, now + 54min);
  EXPECT_LE(AfterAnswer({}, desired, local, same, {now, {}}, 0.999).next_check, now + 66min);
}

TEST(NextCheck, ADemandThatChangesIsMetWithinItsInterval) {
  RegistryStory story = Keeps();
  story.Same();
  DesiredImage sooner = Keeps().want;
  sooner.refresh_interval = 10min;
  base::TimePoint now = story.past.named.at + 1min;
  EXPECT_EQ(AfterDesiredChanged(story.past, sooner, now, 0.5).next_check, now + 5min);
  EXPECT_EQ(AfterDesiredChanged(story.past, sooner, now, 0.5).confirmed_at, story.past.confirmed_at);
}

TEST(IsAnother, AnImportedImageIsComparedByItsId) {
  Local imported{.id = "i", .digest = ""};
  EXPECT_FALSE(IsDifferentImage(imported, {.id = "i", .digest = "a"}));
  EXPECT_TRUE(IsDifferentImage(imported, {.id = "j", .digest = "a"}));
  // The same content under an index that was published anew.
  EXPECT_TRUE(IsDifferentImage({.id = "i", .digest = "a"}, {.id = "i", .digest = "b"}));
  EXPECT_FALSE(IsDifferentImage({.id = "i", .digest = "a"}, {.id = "i", .digest = "a"}));
}

TEST(Lag, BacksOffUpToSixHours) {
  RegistryStory story = Keeps();
  story.Moved();
  base::Duration at{};
  base::Duration longest{};
  for (int i = 0; i < 10; i++) {
    story.Pulled("a", at);
    EXPECT_EQ(story.past.lags, i + 1);
    base::Duration wait = story.past.lag_until - story.past.next_check;
    EXPECT_GE(wait, longest);
    if (i == 1) {
      EXPECT_GE(wait, 18min) << "twice the first";
    }
    longest = wait;
    at += 10h;
  }
  EXPECT_LE(longest, 8h);
  EXPECT_GE(longest, 6h);
}

TEST(NextRefreshChange, IsWhenTimeAloneChangesTheDecision) {
  RegistryStory story = WithMaxAge(Fails(), 24h);
  story.Same();
  base::TimePoint start = story.past.named.at;
  EXPECT_EQ(NextRefreshChange(Fails().want, story.past, start), start + 2h);
  story.Unreachable(1h).Unreachable(1h + 30s);
  EXPECT_EQ(NextRefreshChange(Fails().want, story.past, start + 1h + 30s), start + 61min);
  // Never answered: its age counts from the start.
  RegistryStory silent = WithMaxAge(Fails(), 24h);
  EXPECT_EQ(NextRefreshChange(silent.want, silent.past, start), start + 24h);
  // New credentials: what the registry said to the old ones counts no more, and the age begins anew.
  silent.past.invalidated_at = start + 1h;
  EXPECT_EQ(NextRefreshChange(silent.want, silent.past, start + 2h), start + 25h);
  silent.past.lag_until = start + 3h;
  EXPECT_EQ(NextRefreshChange(silent.want, silent.past, start + 2h), start + 3h);
}

TEST(TooOld, ADenialThatIsOverEndsNoAge) {
  RegistryStory story = With(WithMaxAge(Keeps(), 1h), [](auto& d) { d.on_stale = OnFailure::kNotReady; });
  story.Denied().Same("a", 10min).NewCredentials(12min);
  story.ServerError(13min).ServerError(15min);
  EXPECT_TRUE(story.Decided(16min).ready);
  EXPECT_EQ(story.Decided(73min).reason, Reason::kStale);
}

// An image that another client brings is as current as the answer that named it, not as later silence.
TEST(AfterReplacedByOthers, IsConfirmedWhenTheRegistryNamedIt) {
  RegistryStory story = Keeps();
  story.Moved("b", 1min).ServerError(70min).Replaced("b", 71min);
  EXPECT_EQ(story.past.confirmed_at, RegistryStory::At(1min));
}

TEST(AfterReplacedByOthers, GivesNothingBackThatALaterAnswerOrNewCredentialsHaveTaken) {
  RegistryStory denied = Keeps();
  denied.Moved("b", 1min).Denied(2min).Replaced("b", 3min);
  EXPECT_FALSE(denied.past.confirmed_at);
  EXPECT_EQ(denied.past.age_from, base::TimePoint::min());
  RegistryStory doubted = Keeps();
  doubted.Moved("b", 1min).NewCredentials(2min).Replaced("b", 3min);
  EXPECT_TRUE(doubted.past.invalidated_at);
}

TEST(AfterSkippedCheck, WasNoQuestion) {
  RegistryStory story = Keeps();
  story.Same();
  story.past.answered_wall = base::WallTime(5h);
  story.NotAsked(70min);
  EXPECT_EQ(story.past.answered_wall, base::WallTime(5h));
}

TEST(Digests, OfTheSameRepositoryAllCount) {
  Local local{.digest = "a", .other_digests = {"b"}};
  EXPECT_TRUE(HasDigest(local, "a"));
  EXPECT_TRUE(HasDigest(local, "b"));
  EXPECT_FALSE(HasDigest(local, "c"));
  EXPECT_FALSE(HasDigest(local, ""));
}

TEST(AfterPulled, AnotherImageIsAChangeWithItsTime) {
  const AnswerTime when{.at = base::TimePoint(1h), .wall = base::WallTime(2h)};
  const Freshness after = AfterPulled({}, Keeps().want, Local{.id = "i", .digest = "a"},
                                      Local{.id = "j", .digest = "b"}, when, 0);
  EXPECT_EQ(after.changed_from, "a");
  EXPECT_EQ(after.changed_wall, when.wall);
}

// Digests have no order: of two images nobody can say which one is newer. Versions of kubelet have one.
TEST(Words, NoImageIsEverCalledNewer) {
  for (const ReasonRow& row : kReasons) {
    if (row.reason == Reason::kKubeletNewer) continue;
    EXPECT_EQ(base::EnumName(row.reason).find("ewer"), std::string_view::npos) << base::EnumName(row.reason);
  }
}

}  // namespace
}  // namespace prefetch::plan::freshness_test
