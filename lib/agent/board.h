// Board: holds the newest Snapshot. The loop publishes, all other threads read. CachedStatusText: the status
// of one Snapshot as JSON, as of the second in which it is served.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "plan/snapshot.h"
#include "status/status_json.h"

namespace prefetch::agent {

// Any thread may call. The text is written when a client asks for it and shared by all that ask in the same
// second: a Snapshot can stand for days, but its document states the time and ages of facts.
class CachedStatusText {
 public:
  using Text = std::shared_ptr<const std::string>;
  using Writer = std::function<std::string(const plan::Snapshot&, base::WallTime)>;

  CachedStatusText(plan::SnapshotPtr snapshot, Writer writer)
      : snapshot_(std::move(snapshot)), writer_(std::move(writer)) {}

  // Returns the text for the second of `now`, or null if nobody has asked for it yet. Never waits for a
  // writer.
  Text Cached(base::WallTime now) const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return SecondOf(now) == second_ ? text_ : nullptr;
  }
  // Returns the text for the second of `now`; writes it first if it is missing, which takes tens of
  // milliseconds for thousands of entries. Other callers wait meanwhile. The text does not keep the Snapshot
  // alive, so that a client that reads slowly holds no more memory than what it reads.
  Text Write(base::WallTime now) PREFETCH_EXCLUDES(writing_) PREFETCH_EXCLUDES(mutex_) {
    base::Lock turn(writing_);
    if (Text text = Cached(now)) return text;
    auto text = std::make_shared<const std::string>(writer_(*snapshot_, now));
    base::Lock lock(mutex_);
    second_ = SecondOf(now);
    text_ = text;
    return text;
  }

 private:
  using Second = std::chrono::sys_seconds;
  static Second SecondOf(base::WallTime time) { return std::chrono::floor<std::chrono::seconds>(time); }

  const plan::SnapshotPtr snapshot_;
  const Writer writer_;
  base::Mutex writing_;
  mutable base::Mutex mutex_;
  Second second_ PREFETCH_GUARDED_BY(mutex_);
  Text text_ PREFETCH_GUARDED_BY(mutex_);
};

// The Board has them for its newest Snapshot.
struct CachedStatusTexts {
  explicit CachedStatusTexts(const plan::SnapshotPtr& snapshot)
      : full(snapshot, [](const auto& shown, auto time) { return status::StatusJson(shown, time); }),
        public_view(snapshot,
                    [](const auto& shown, auto time) { return status::PublicStatusJson(shown, time); }) {}

  CachedStatusText full, public_view;
};

// Owned by the Agent. The loop publishes; any thread reads, and delays no other: the lock covers the exchange
// of a pointer.
class Board {
 public:
  void Publish(plan::SnapshotPtr snapshot) PREFETCH_EXCLUDES(mutex_) {
    auto documents = std::make_shared<CachedStatusTexts>(snapshot);
    {
      base::Lock lock(mutex_);
      snapshot_.swap(snapshot);
      documents_.swap(documents);
    }
    // The old Snapshot is destroyed after the lock is released.
    newer_.notify_all();
  }
  // Never null after the Agent's construction.
  plan::SnapshotPtr Latest() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return snapshot_;
  }
  // Returns the documents of the newest Snapshot; null before the first.
  std::shared_ptr<CachedStatusTexts> Documents() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return documents_;
  }
  // Blocks until a Snapshot was published after `known`, and returns it; at the call's end, returns the
  // latest one.
  plan::SnapshotPtr LatestAfter(const base::Call& call, const plan::SnapshotPtr& known) const
      PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    base::WaitFor(newer_, mutex_, call, [&]() PREFETCH_REQUIRES(mutex_) { return snapshot_ != known; });
    return snapshot_;
  }
  // The loop turned at `now`.
  void RecordTurn(base::TimePoint now) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    last_turn_at_ = now;
  }
  base::TimePoint LastTurnAt() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return last_turn_at_;
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::Condition newer_;
  plan::SnapshotPtr snapshot_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<CachedStatusTexts> documents_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint last_turn_at_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
