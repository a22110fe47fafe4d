// Pinning: the loop's own part of pins: which names the runtime is asked to pin, and what came of it
// (plan/pins.h). It acts on containerd alone; other runtimes pin by their configuration.
// ChangePins: one round of calls about pins to containerd.
#pragma once

#include <map>
#include <optional>
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

namespace prefetch::agent {

// The calls of one job.
struct PinChanges {
  bool list = false;
  std::vector<std::string> pin, unpin;
};

// The runtime has pinned or unpinned images, or said which are pinned: what was asked of it.
struct PinsChanged {
  std::optional<std::set<std::string>> found;  // the names that this agent has pinned, if it was asked
  std::vector<std::string> pinned, unpinned;
  std::vector<std::string> had_none;          // names that were to be unpinned, and had no pin of this agent
  std::map<std::string, std::string> errors;  // by name
  // The runtime itself has failed: what is not named above was not tried. Empty: it has not.
  std::string runtime_error;
  bool unsupported = false;
};

// Lists, sets and removes pins, in this order. A failure of one name is in `errors`. After a failure of the
// runtime itself, it makes no further call. Blocks.
PinsChanged ChangePins(const base::Call& call, cri::ContentService& content, const std::string& owner,
                       const PinChanges& work);
// Takes the pins of all agents off. Labels do not tell an agent that has gone from one that runs beside this
// one, and a running agent sets its pins again within a minute.
PinsChanged UnpinAll(const base::Call& call, cri::ContentService& content);

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
  void DropBackedOff(PinChanges& work);
  void Apply(const PinsChanged& done);

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
