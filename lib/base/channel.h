// Channel: a queue from many threads to one. Workers report to the loop through it.
// FairQueue: a queue that serves several parties in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/find_with_default.h"
#include "base/mutex.h"

namespace prefetch::base {

// Any thread may Push; one thread pops. Unbounded: its producers are bounded (one job, one event).
template <typename T>
class Channel {
 public:
  void Push(T value) PREFETCH_EXCLUDES(mutex_) {
    {
      Lock lock(mutex_);
      queue_.push_back(std::move(value));
    }
    condition_.notify_one();
  }

  std::optional<T> TryPop() PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return Take();
  }

  // The next value, or nullopt once `deadline` has passed.
  std::optional<T> PopUntil(TimePoint deadline) PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    while (queue_.empty()) {
      if (WaitUntil(condition_, mutex_, deadline) == std::cv_status::timeout) break;
    }
    return Take();
  }

 private:
  std::optional<T> Take() PREFETCH_REQUIRES(mutex_) {
    if (queue_.empty()) return std::nullopt;
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    return value;
  }

  Mutex mutex_;
  Condition condition_;
  std::deque<T> queue_ PREFETCH_GUARDED_BY(mutex_);
};

// Items of several parties, which share a few workers fairly. The next item is the oldest of the party that
// has the fewest items at work. Not thread-safe.
template <typename T>
class FairQueue {
 public:
  struct Item {
    std::string party;
    T value;
  };

  // `most`: items that wait, of all parties; above zero.
  explicit FairQueue(std::size_t most) : most_(most) {}

  // Returns the item for which there is no room any more: the newest of the party that has most of them, and
  // nullopt if there is room.
  std::optional<Item> Add(std::string party, T value) {
    waiting_.push_back({std::move(party), std::move(value)});
    if (waiting_.size() <= most_) return std::nullopt;
    std::map<std::string_view, std::size_t> counts;
    for (const Item& item : waiting_) counts[item.party]++;
    const std::string_view largest =
        std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    auto newest = std::find_if(waiting_.rbegin(), waiting_.rend(),
                               [&](const Item& item) { return item.party == largest; });
    Item dropped = std::move(*newest);
    waiting_.erase(std::prev(newest.base()));
    return dropped;
  }
  // Takes the next item to work; Done ends that. nullopt: none waits.
  std::optional<Item> Take() {
    auto next = std::min_element(waiting_.begin(), waiting_.end(), [&](const Item& a, const Item& b) {
      return InProgress(a.party) < InProgress(b.party);
    });
    if (next == waiting_.end()) return std::nullopt;
    Item item = std::move(*next);
    waiting_.erase(next);
    in_progress_[item.party]++;
    return item;
  }
  void Done(const std::string& party) {
    if (auto found = in_progress_.find(party); --found->second == 0) in_progress_.erase(found);
  }

 private:
  std::size_t InProgress(const std::string& party) const { return FindWithDefault(in_progress_, party); }

  const std::size_t most_;
  std::list<Item> waiting_;                         // the oldest first
  std::map<std::string, std::size_t> in_progress_;  // by party
};

}  // namespace prefetch::base
