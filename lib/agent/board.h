// Board: where the loop puts its newest Snapshot and everybody else finds it.
#pragma once

#include <memory>

#include "agent/status_document.h"
#include "base/call.h"
#include "base/mutex.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

// Owned by the Agent. The loop publishes; any thread reads, and delays no other: the lock covers the exchange
// of a pointer.
class Board {
 public:
  void Publish(plan::SnapshotPtr snapshot) PREFETCH_EXCLUDES(mutex_) {
    auto documents = std::make_shared<StatusDocuments>(snapshot);
    {
      base::Lock lock(mutex_);
      snapshot_.swap(snapshot);
      documents_.swap(documents);
    }
    // The old one goes down after the lock.
    newer_.notify_all();
  }
  // Never null after the Agent's construction.
  plan::SnapshotPtr Latest() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return snapshot_;
  }
  // Of the newest Snapshot; null before the first.
  std::shared_ptr<StatusDocuments> Documents() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return documents_;
  }
  // One that was published after `known`, or whatever there is at the call's end.
  plan::SnapshotPtr LatestAfter(const base::Call& call, const plan::SnapshotPtr& known) const
      PREFETCH_EXCLUDES(mutex_) {
    std::stop_callback wake(call.stop, [this] {
      // Not between the other's look at the stop and its wait.
      { base::Lock lock(mutex_); }
      newer_.notify_all();
    });
    base::Lock lock(mutex_);
    while (snapshot_ == known && !call.Stopped()) {
      if (newer_.wait_until(mutex_, call.deadline) == std::cv_status::timeout) break;
    }
    return snapshot_;
  }
  // The loop turned at `now`.
  void Touch(base::TimePoint now) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    turned_at_ = now;
  }
  base::TimePoint TurnedAt() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return turned_at_;
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::Condition newer_;
  plan::SnapshotPtr snapshot_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<StatusDocuments> documents_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint turned_at_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
