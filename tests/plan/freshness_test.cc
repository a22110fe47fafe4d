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
TEST_ROWS(Times, NextCheckTest, {"FirstWithinTheInterval", RegistryStory(Keeps()), minutes(30), minutes(30)},
          {"FirstSoonWhereReadinessWaits", RegistryStory(Always()), seconds(5), seconds(5)},
          {"AfterAnAnswer", RegistryStory(Keeps()).Same("a", kStart), minutes(60), minutes(60)},
          {"MissingIsConfirmedSoon", RegistryStory(Keeps()).Missing(kStart), seconds(60), seconds(75)},
          {"MissingForSureCanWait", RegistryStory(Keeps()).Missing(kStart).Missing(minutes(2)), minutes(62),
           minutes(62)},
          {"DeniedIsNotHammered", RegistryStory(Keeps()).Denied(kStart), minutes(5), minutes(6)},
          {"DeniedAgain", RegistryStory(Keeps()).Denied(kStart).Denied(minutes(5)), minutes(15), minutes(17)},
          {"SilentIsAskedAgainSoon", RegistryStory(Keeps()).Unreachable(kStart), seconds(60), seconds(75)},
          {"SilentAgain", RegistryStory(Keeps()).Unreachable(kStart).Unreachable(seconds(70)), seconds(190),
           seconds(220)},
          {"RetryAfterCounts",
           RegistryStory(Keeps()).Said({.kind = image::RegistryAnswerKind::kRateLimited,
                                        .retry_after = std::chrono::minutes(20)},
                                       kStart),
           minutes(20), minutes(20)},
          {"NotAskedCanWait", RegistryStory(Keeps()).NotAsked(kStart), minutes(60), minutes(60)},
          {"NotAskedAndUrgent", RegistryStory(Fails()).NotAsked(kStart), seconds(60), seconds(75)},
          {"NewCredentialsAreTriedNow", RegistryStory(Keeps()).Same("a", kStart).NewCredentials(minutes(1)),
           minutes(1), minutes(1)},
          {"APullIsACheck", RegistryStory(Keeps()).Moved("b", kStart).Pulled("b", minutes(5)), minutes(65),
           minutes(65)},
          {"AfterALagTheRegistryIsAskedOnceMore",
           RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(5)), minutes(6), minutes(7)});

// Failed checks do not change whether the last answer is for a pull secret's owner alone.
TEST(Freshness, SilenceTakesNoWordBackAndLendsNone) {
  const DesiredImage desired = Keeps();
  const Local local{.digest = "a"};
  const base::TimePoint now{hours(1)};
  for (bool restricted : {false, true}) {
    const image::RegistryAnswer same{
        .kind = image::RegistryAnswerKind::kSame, .digest = "a", .restricted = restricted};
    Freshness past = AfterAnswer({}, desired, local, same, {now, {}}, 0.5);
    EXPECT_EQ(past.restricted, restricted);
    const image::RegistryAnswer trouble{.kind = image::RegistryAnswerKind::kUnreachable,
                                        .restricted = !restricted};
    EXPECT_EQ(AfterSkippedCheck(past, desired, trouble, {now + minutes(1), {}}, 0.5).restricted, restricted);
    past = AfterAnswer(past, desired, local, trouble, {now + minutes(1), {}}, 0.5);
    EXPECT_EQ(past.restricted, restricted);
    EXPECT_EQ(ViewOf(desired, &local, past, {}, now + minutes(1), {}).restricted, restricted);
    past = AfterAnswer(past, desired, local, {.kind = same.kind, .digest = "a", .restricted = !restricted},
                       {now + hours(1), {}}, 0.5);
    EXPECT_EQ(past.restricted, !restricted) << "the newest word counts";
  }
}

TEST(NextCheck, JitterIsATenthToEitherSide) {
  DesiredImage desired = Keeps();
  Local local{.digest = "a"};
  image::RegistryAnswer same{.kind = image::RegistryAnswerKind::kSame, .digest = "a"};
  base::TimePoint now{hours(5)};
  EXPECT_EQ(AfterAnswer({}, desired, local, same, {now, {}}, 0).next_check, now + minutes(54));
  EXPECT_LE(AfterAnswer({}, desired, local, same, {now, {}}, 0.999).next_check, now + minutes(66));
}

TEST(NextCheck, ADemandThatChangesIsMetWithinItsInterval) {
  RegistryStory story(Keeps());
  story.Same("a", kStart);
  DesiredImage sooner = Keeps();
  sooner.refresh_interval = minutes(10);
  base::TimePoint now = story.past.named.at + minutes(1);
  EXPECT_EQ(AfterDesiredChanged(story.past, sooner, now, 0.5).next_check, now + minutes(5));
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
  RegistryStory story(Keeps());
  story.Moved("b", kStart);
  base::Duration at{};
  base::Duration longest{};
  for (int i = 0; i < 10; i++) {
    story.Pulled("a", at);
    EXPECT_EQ(story.past.lags, i + 1);
    base::Duration wait = story.past.lag_until - story.past.next_check;
    EXPECT_GE(wait, longest);
    if (i == 1) {
      EXPECT_GE(wait, minutes(18)) << "twice the first";
    }
    longest = wait;
    at += hours(10);
  }
  EXPECT_LE(longest, hours(8));
  EXPECT_GE(longest, hours(6));
}

TEST(NextRefreshChange, IsWhenTimeAloneChangesTheDecision) {
  RegistryStory story(WithMaxAge(Fails(), hours(24)));
  story.Same("a", kStart);
  base::TimePoint start = story.past.named.at;
  EXPECT_EQ(NextRefreshChange(Fails(), story.past, start), start + hours(2));
  story.Unreachable(hours(1)).Unreachable(hours(1) + seconds(30));
  EXPECT_EQ(NextRefreshChange(Fails(), story.past, start + hours(1) + seconds(30)), start + minutes(61));
  // Never answered: its age counts from the start.
  RegistryStory silent(WithMaxAge(Fails(), hours(24)));
  EXPECT_EQ(NextRefreshChange(WithMaxAge(Fails(), hours(24)), silent.past, start), start + hours(24));
  // New credentials: what the registry said to the old ones counts no more, and the age begins anew.
  silent.past.invalidated_at = start + hours(1);
  EXPECT_EQ(NextRefreshChange(WithMaxAge(Fails(), hours(24)), silent.past, start + hours(2)),
            start + hours(25));
  silent.past.lag_until = start + hours(3);
  EXPECT_EQ(NextRefreshChange(WithMaxAge(Fails(), hours(24)), silent.past, start + hours(2)),
            start + hours(3));
}

TEST(TooOld, ADenialThatIsOverEndsNoAge) {
  DesiredImage desired = WithMaxAge(Keeps(), hours(1));
  desired.on_stale = OnFailure::kNotReady;
  RegistryStory story(desired);
  story.Denied(kStart).Same("a", minutes(10)).NewCredentials(minutes(12));
  story.ServerError(minutes(13)).ServerError(minutes(15));
  EXPECT_TRUE(story.Decided(minutes(16)).ready);
  EXPECT_EQ(story.Decided(minutes(73)).reason, Reason::kStale);
}

// An image that another client brings is as current as the answer that named it, not as later silence.
TEST(AfterReplacedByOthers, IsConfirmedWhenTheRegistryNamedIt) {
  RegistryStory story(Keeps());
  story.Moved("b", minutes(1)).ServerError(minutes(70)).Replaced("b", minutes(71));
  EXPECT_EQ(story.past.confirmed_at, RegistryStory::At(minutes(1)));
}

TEST(AfterReplacedByOthers, GivesNothingBackThatALaterAnswerOrNewCredentialsHaveTaken) {
  RegistryStory denied(Keeps());
  denied.Moved("b", minutes(1)).Denied(minutes(2)).Replaced("b", minutes(3));
  EXPECT_FALSE(denied.past.confirmed_at);
  EXPECT_EQ(denied.past.age_from, base::TimePoint::min());
  RegistryStory doubted(Keeps());
  doubted.Moved("b", minutes(1)).NewCredentials(minutes(2)).Replaced("b", minutes(3));
  EXPECT_TRUE(doubted.past.invalidated_at);
}

TEST(AfterSkippedCheck, WasNoQuestion) {
  RegistryStory story(Keeps());
  story.Same("a", kStart);
  story.past.answered_wall = base::WallTime(hours(5));
  story.NotAsked(minutes(70));
  EXPECT_EQ(story.past.answered_wall, base::WallTime(hours(5)));
}

TEST(Digests, OfTheSameRepositoryAllCount) {
  Local local{.digest = "a", .other_digests = {"b"}};
  EXPECT_TRUE(HasDigest(local, "a"));
  EXPECT_TRUE(HasDigest(local, "b"));
  EXPECT_FALSE(HasDigest(local, "c"));
  EXPECT_FALSE(HasDigest(local, ""));
}

TEST(AfterPulled, AnotherImageIsAChangeWithItsTime) {
  const AnswerTime when{.at = base::TimePoint(hours(1)), .wall = base::WallTime(hours(2))};
  const Freshness after =
      AfterPulled({}, Keeps(), Local{.id = "i", .digest = "a"}, Local{.id = "j", .digest = "b"}, when, 0);
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
