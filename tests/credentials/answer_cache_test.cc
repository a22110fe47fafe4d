#include "credentials/plugin_answers.h"

#include <gtest/gtest.h>

namespace prefetch::credentials::answer_cache_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

const base::TimePoint kStart = base::TimePoint(hours(100));

AnswerCache::Answer Named(const std::string& user) {
  return std::make_shared<const KeyIndex>(std::vector<KeyedAuth>{{"r.io", {user, base::Secret("p")}}});
}

std::string UserOf(const AnswerCache::Answer& answer) {
  return answer ? MatchAll({answer.get()}, Target("r.io/x"))[0].entry->auth.username : "";
}

TEST(AnswerCache, ImageBeforeRegistryBeforeGlobal) {
  AnswerCache cache{image::KubeletVersion()};
  cache.Put({"r.io/a", ""}, CacheKeyType::kGlobal, hours(3), Named("global"), kStart);
  EXPECT_EQ(UserOf(cache.Find({"r.io/a", ""}, kStart)), "global");
  cache.Put({"r.io/a", ""}, CacheKeyType::kRegistry, hours(2), Named("registry"), kStart);
  EXPECT_EQ(UserOf(cache.Find({"r.io/a", ""}, kStart)), "registry");
  cache.Put({"r.io/a", ""}, CacheKeyType::kImage, hours(1), Named("image"), kStart);
  EXPECT_EQ(UserOf(cache.Find({"r.io/a", ""}, kStart)), "image");
  // A dead one gives way to the next.
  EXPECT_EQ(UserOf(cache.Find({"r.io/a", ""}, kStart + minutes(61))), "registry");
  EXPECT_EQ(UserOf(cache.Find({"r.io/a", ""}, kStart + minutes(121))), "global");
  EXPECT_EQ(cache.Find({"r.io/a", ""}, kStart + minutes(181)), nullptr);
}

TEST(AnswerCache, ZeroAndNegativeAreNotKeptAndCenturiesAre) {
  AnswerCache cache{image::KubeletVersion()};
  cache.Put({"r.io/a", ""}, CacheKeyType::kImage, nanoseconds(0), Named("u"), kStart);
  cache.Put({"r.io/a", ""}, CacheKeyType::kImage, seconds(-5), Named("u"), kStart);
  EXPECT_EQ(cache.size(), 0U);
  cache.Put({"r.io/a", ""}, CacheKeyType::kImage, nanoseconds::max(), Named("u"), kStart);
  EXPECT_NE(cache.Find({"r.io/a", ""}, kStart + hours(100'000)), nullptr);
}

TEST(AnswerCache, AnAnswerForOneAccountIsNobodyElses) {
  for (CacheKeyType type : {CacheKeyType::kImage, CacheKeyType::kRegistry, CacheKeyType::kGlobal}) {
    AnswerCache cache{image::KubeletVersion()};
    cache.Put({"r.io/a", "account"}, type, minutes(1), Named("u"), kStart);
    EXPECT_NE(cache.Find({"r.io/a", "account"}, kStart), nullptr);
    EXPECT_EQ(cache.Find({"r.io/a", ""}, kStart), nullptr);
    EXPECT_EQ(cache.Find({"r.io/a", "other"}, kStart), nullptr);
  }
}

// A pod may name any number of images.
TEST(AnswerCache, OfTooManyTheOneThatExpiresFirstGoes) {
  AnswerCache cache{image::KubeletVersion()};
  cache.Put({"r.io/short", ""}, CacheKeyType::kImage, seconds(10), Named("u"), kStart);
  for (std::size_t i = 0; i < AnswerCache::kMaxAnswers; i++) {
    cache.Put({"r.io/" + std::to_string(i), ""}, CacheKeyType::kImage, hours(12), Named("u"), kStart);
  }
  EXPECT_EQ(cache.size(), AnswerCache::kMaxAnswers);
  EXPECT_EQ(cache.Find({"r.io/short", ""}, kStart), nullptr);
  cache.Put({"r.io/0", ""}, CacheKeyType::kImage, hours(13), Named("u"), kStart);
  EXPECT_EQ(cache.size(), AnswerCache::kMaxAnswers);
  EXPECT_NE(cache.Find({"r.io/1", ""}, kStart), nullptr);
}

TEST(AnswerCache, SweepsTheDeadEveryQuarterOfAnHour) {
  AnswerCache cache{image::KubeletVersion()};
  EXPECT_EQ(cache.Find({"other.io/x", ""}, kStart), nullptr);
  for (int i = 0; i < 10; i++) {
    cache.Put({"r.io/" + std::to_string(i), ""}, CacheKeyType::kImage, seconds(1), Named("u"), kStart);
  }
  EXPECT_EQ(cache.Find({"other.io/x", ""}, kStart + minutes(14)), nullptr);
  EXPECT_EQ(cache.size(), 10U);
  EXPECT_EQ(cache.Find({"other.io/x", ""}, kStart + minutes(15)), nullptr);
  EXPECT_EQ(cache.size(), 0U);
  // The next quarter of an hour begins there.
  cache.Put({"r.io/late", ""}, CacheKeyType::kImage, seconds(1), Named("u"), kStart + minutes(15));
  EXPECT_EQ(cache.Find({"other.io/x", ""}, kStart + minutes(29)), nullptr);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.Find({"other.io/x", ""}, kStart + minutes(30)), nullptr);
  EXPECT_EQ(cache.size(), 0U);
}

}  // namespace
}  // namespace prefetch::credentials::answer_cache_test
