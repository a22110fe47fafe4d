#include "base/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/timed_reader.h"
#include "no_more_threads.h"

namespace prefetch::base::workers_test {
namespace {

// Records the jobs that ran, and has a door behind which jobs wait.
class Story {
 public:
  void Note(int job) {
    std::lock_guard lock(mutex_);
    done_.push_back(job);
    changed_.notify_all();
  }
  // Within a minute.
  bool WaitAtTheDoor() {
    std::unique_lock lock(mutex_);
    inside_++;
    changed_.notify_all();
    const bool opened = changed_.wait_for(lock, std::chrono::minutes(1), [&] { return open_; });
    inside_--;
    return opened;
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Within a minute.
  bool Inside(int jobs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return inside_ == jobs; });
  }
  bool Done(std::size_t jobs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return done_.size() == jobs; });
  }
  std::vector<int> done() {
    std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> done_;
  int inside_ = 0;
  bool open_ = false;
};

TEST(ParallelFor, EachIndexOnceOnThatManyThreads) {
  Story story;
  std::thread loop([&] {
    ParallelFor(3, 4, [&](std::size_t i) {
      EXPECT_TRUE(story.WaitAtTheDoor());
      story.Note(static_cast<int>(i));
    });
  });
  EXPECT_TRUE(story.Inside(3));
  story.Open();
  loop.join();
  std::vector<int> done = story.done();
  std::sort(done.begin(), done.end());
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3}));
}

TEST(ParallelFor, WithoutMoreThreadsTheCallersDoesAll) {
  std::vector<std::size_t> done;
  const tests::NoMoreThreads none;
  ParallelFor(3, 4, [&](std::size_t i) { done.push_back(i); });
  EXPECT_EQ(done, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(TimedReader, WithoutAThreadNothingRunsAndTheNextTryMay) {
  TimedReader reader;
  bool ran = false;
  {
    const tests::NoMoreThreads none;
    EXPECT_FALSE(reader.Run([&] { ran = true; }, std::chrono::minutes(1)));
    EXPECT_FALSE(reader.Hangs(Duration::zero()));
  }
  EXPECT_FALSE(ran);
  EXPECT_TRUE(reader.Run([&] { ran = true; }, std::chrono::minutes(1)));
  EXPECT_TRUE(ran);
}

TEST(Workers, OneThreadRunsJobsInTheirOrder) {
  Story story;
  Workers workers(1);
  for (int i = 0; i < 3; i++) workers.Submit([&story, i] { story.Note(i); });
  EXPECT_TRUE(story.Done(3));
  EXPECT_EQ(story.done(), (std::vector<int>{0, 1, 2}));
}

TEST(Workers, AsManyAtOnceAsThereAreThreads) {
  Story story;
  Workers workers(2);
  for (int i = 0; i < 3; i++) {
    workers.Submit([&story, i] {
      story.WaitAtTheDoor();
      story.Note(i);
    });
  }
  EXPECT_TRUE(story.Inside(2));
  EXPECT_TRUE(story.done().empty());
  story.Open();
  EXPECT_TRUE(story.Done(3));
}

TEST(Workers, ThreadsAreMadeForWorkAndUsedAgain) {
  Story story;
  std::set<std::thread::id> threads;
  Workers workers(8);
  for (std::size_t i = 1; i <= 20; i++) {
    workers.Submit([&] {
      threads.insert(std::this_thread::get_id());
      story.Note(0);
    });
    ASSERT_TRUE(story.Done(i));
  }
  // A thread that has told of its work is idle a moment later.
  EXPECT_LE(threads.size(), 8U);
  for (int i = 0; i < 8; i++) workers.Submit([&story] { story.WaitAtTheDoor(); });
  EXPECT_TRUE(story.Inside(8));
  story.Open();
}

TEST(Workers, TheEndDropsWhatWaitsAndWaitsForWhatRuns) {
  Story story;
  {
    Workers workers(1);
    workers.Submit([&story] { story.Note(story.WaitAtTheDoor() ? 1 : 0); });
    EXPECT_TRUE(story.Inside(1));
    // The door opens when this job is dropped.
    std::shared_ptr<Story> key(&story, [](Story* told) { told->Open(); });
    workers.Submit([key = std::move(key)] { key->Note(2); });
  }
  EXPECT_EQ(story.done(), std::vector<int>{1});
}

}  // namespace
}  // namespace prefetch::base::workers_test
