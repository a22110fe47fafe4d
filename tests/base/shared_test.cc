#include "base/shared.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace prefetch::base::shared_test {
namespace {

using Names = std::vector<std::string>;

TEST(Shared, ADefaultOneStandsForADefaultValue) {
  Shared<Names> none;
  EXPECT_EQ(*none, Names());
  EXPECT_EQ(none, Shared<Names>(Names()));
  EXPECT_EQ(&*none, &*Shared<Names>()) << "and holds none of its own";
}

TEST(Shared, IsWhatItWasMadeFrom) {
  Shared<Names> names = Names{"a", "b"};
  const Names& plain = names;
  EXPECT_EQ(plain, (Names{"a", "b"}));
  EXPECT_EQ(names->size(), 2U);
  EXPECT_TRUE(names == plain && plain == names);
  EXPECT_EQ(names, Shared<Names>(Names{"a", "b"}));
  EXPECT_FALSE(names == Shared<Names>(Names{"a"}));
}

TEST(Shared, CopiesAreOneObjectUntilOneChanges) {
  Shared<Names> first = Names{"a"};
  Shared<Names> second = first;
  EXPECT_EQ(&*first, &*second);
  second.Change([](Names& names) { names.push_back("b"); });
  EXPECT_EQ(*first, (Names{"a"}));
  EXPECT_EQ(*second, (Names{"a", "b"}));
  second = {};
  EXPECT_EQ(*second, Names());
}

TEST(Shared, PartOfALargerObjectKeepsThatAlive) {
  auto whole = std::make_shared<const std::vector<Names>>(std::vector<Names>{{"a"}, {"b"}});
  std::weak_ptr<const std::vector<Names>> watch = whole;
  Shared<Names> part(std::shared_ptr<const Names>(whole, &(*whole)[1]));
  whole.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(*part, Names{"b"});
  part = {};
  EXPECT_TRUE(watch.expired());
}

TEST(OneThread, EndsTheProgramWhenAnotherThreadComes) {
  ThreadChecker thread;
  thread.Check();
  thread.Check();
  EXPECT_DEATH(std::thread([&] { thread.Check(); }).join(), "");
}

TEST(OneThread, BelongsToNobodyAfterReleaseNorAsACopy) {
  ThreadChecker thread;
  thread.Check();
  ThreadChecker copy = thread;
  thread.Release();
  std::thread([&] {
    thread.Check();
    copy.Check();
  }).join();
  EXPECT_DEATH(thread.Check(), "");
}

TEST(OneAtATime, EndsTheProgramWhenTwoThreadsMeet) {
  SequenceChecker object;
  EXPECT_DEATH(
      {
        const SequenceChecker::Use use(object);
        std::thread([&] { const SequenceChecker::Use other(object); }).join();
      },
      "");
}

TEST(OneAtATime, ThreadsMayFollowOneAnotherAndUsesMayNest) {
  SequenceChecker object;
  for (int i = 0; i < 2; i++) {
    std::thread([&] {
      const SequenceChecker::Use use(object);
      const SequenceChecker::Use nested(object);
    }).join();
  }
  const SequenceChecker::Use use(object);
  const SequenceChecker copy = object;
  std::thread([&] { const SequenceChecker::Use other(copy); }).join();
}

}  // namespace
}  // namespace prefetch::base::shared_test
