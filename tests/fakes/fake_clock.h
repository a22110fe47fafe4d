// FakeClock: time that moves only when a test moves it.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace prefetch::tests {

// Starts at a fixed moment, the same in every run. Any thread may read it; one thread moves it.
class FakeClock final : public base::Clock {
 public:
  base::TimePoint Now() const override { return base::TimePoint(base::Duration(now_.load())); }
  base::WallTime Wall() const override {
    return base::WallTime(std::chrono::seconds(1785578400)) +  // 2026-08-01T10:00:00Z
           std::chrono::duration_cast<base::WallTime::duration>(base::Duration(now_.load() + step_.load()) -
                                                                kStart);
  }

  // Moves time, then calls the listeners, in the order in which they registered.
  void Advance(base::Duration by) {
    now_ += by.count();
    for (const auto& listener : listeners_) listener();
  }
  // The time of day is set, as people and NTP do; monotonic time goes on as before.
  void StepWall(base::Duration by) { step_ += by.count(); }
  // To `time`, or not at all if that has passed.
  void AdvanceTo(base::TimePoint time) {
    if (time > Now()) Advance(time - Now());
  }

  // `listener` is called after each Advance, on its thread. Before time moves for the first time; whoever
  // listens outlives the last Advance.
  void OnAdvance(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }

 private:
  static constexpr base::Duration kStart = std::chrono::hours(1000);
  std::atomic<base::Duration::rep> now_{kStart.count()};
  std::atomic<base::Duration::rep> step_{0};
  std::vector<std::function<void()>> listeners_;
};

}  // namespace prefetch::tests
