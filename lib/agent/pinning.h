// Pinning: the loop's own part of pins: which names the runtime is asked to pin, and what came of it
// (plan/pins.h). It acts on containerd alone; other runtimes pin by their configuration.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/entries.h"
#include "agent/loop.h"
#include "agent/runtime_view.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/workers.h"
#include "cri/content_service.h"
#include "plan/pins.h"
#include "pulling/change_pins.h"

namespace prefetch::agent {

// No lock: the loop's thread alone uses it, which Loop::Check checks. The arguments outlive it.
class Pinning {
 public:
  // `off`: sets no pins.
  Pinning(std::string owner, bool off, cri::ContentService& content, Loop& loop, const Entries& entries,
          const RuntimeView& runtime)
      : owner_(std::move(owner)),
        off_(off),
        content_(content),
        loop_(loop),
        entries_(entries),
        runtime_(runtime) {}

  // The runtime may be another process, or another version.
  void Reconnected();
  // Call it once a turn, after the decisions, when there is a list. `may_unpin`: all sources of the list are
  // in force, so a missing entry was taken off.
  void StartIfDue(base::Workers& workers, const plan::DiskSpace& disk, const plan::Limits& limits,
                  bool may_unpin);
  // A pull of the name has ended: it may have removed the label.
  void Pulled(const std::string& name);
  // No more jobs will be absorbed. Pins that are due are problems from now on.
  void End();
  base::TimePoint NextTurn() const;
  // Returns true if each pin is set, or ProblemOf says why it is not: --once may end.
  bool IsSettled() const;

  // Returns why an entry with `pin: true` is not pinned; empty if it is, need not be, or will be in a moment.
  std::string ProblemOf(const Entry& entry) const;

 private:
  struct Failure {
    std::string error;
    base::TimePoint retry_at;
  };

  std::vector<plan::DesiredPin> DesiredPins() const;
  void DropBackedOff(pulling::PinChanges& work);
  void Apply(const pulling::PinsChanged& done);

  const std::string owner_;
  const bool off_;
  cri::ContentService& content_;
  Loop& loop_;
  const Entries& entries_;
  const RuntimeView& runtime_;
  bool supported_ = true;
  bool listed_ = false;  // `ours_` is what the runtime has
  bool running_ = false;
  bool stale_ = false;  // what a job finds may be older than a pull
  bool settled_ = false;
  bool ended_ = false;
  std::set<std::string> ours_;
  std::map<std::string, std::string> refused_;
  std::map<std::string, Failure> errors_;  // by name
  std::string runtime_error_;              // of the newest job; empty: the runtime answered
  base::TimePoint retry_at_;               // the end of the pause after a runtime error
  base::TimePoint check_at_ = base::TimePoint::max();
  bool checked_ = false;
};

}  // namespace prefetch::agent
