// StatusDocument: the status of one Snapshot as JSON, written once, when the first client asks, and then
// shared. StatusDocuments: the one for strangers, and the one in full.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "plan/snapshot.h"

namespace prefetch::agent {

// Any thread may call.
class StatusDocument {
 public:
  using Text = std::shared_ptr<const std::string>;
  using Writer = std::function<std::string(const plan::Snapshot&)>;

  explicit StatusDocument(plan::SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {}

  // The text, if it has been written.
  Text Written() const { return written_.load() ? text_ : nullptr; }
  // Writes it at the first call; calls meanwhile wait. Tens of milliseconds for thousands of entries. The
  // text does not keep the Snapshot alive: a client that reads slowly must hold no more than what it
  // reads.
  Text Write(const Writer& writer) {
    std::call_once(once_, [&] {
      text_ = std::make_shared<const std::string>(writer(*snapshot_));
      written_ = true;
    });
    return text_;
  }

 private:
  const plan::SnapshotPtr snapshot_;
  std::once_flag once_;
  Text text_;  // set once, before written_
  std::atomic<bool> written_ = false;
};

// The Board has them for its newest Snapshot.
struct StatusDocuments {
  explicit StatusDocuments(const plan::SnapshotPtr& snapshot) : full(snapshot), open(snapshot) {}

  StatusDocument full, open;
};

}  // namespace prefetch::agent
