#include "agent/pinning.h"

#include <algorithm>
#include <utility>

#include "base/enum_name.h"
#include "base/log.h"
#include "image/pull_error.h"

namespace prefetch::agent {
namespace {

// Time between two tries of one name, between two tries of a runtime that fails, and between two questions
// about a pin that the runtime does not report: another client may have removed the label.
constexpr std::chrono::minutes kAgain{1};
// Time in which the runtime reports a new label. A pull under the name has removed it, or another client.
constexpr std::chrono::seconds kReportTime{5};
// Maximum time of a job: polls of the runtime and of kubelet share its threads.
constexpr std::chrono::seconds kJobTime{30};

// Returns true for errors of the runtime as a whole: the next name would fail in the same way.
bool IsOfRuntime(image::ErrorClass error_class) {
  using enum image::ErrorClass;
  return base::IsOneOf(error_class, {kRuntimeDown, kTimeout, kCancelled, kRuntimeUnsupported});
}

}  // namespace

// Runs on a worker. The list of pins is read in a job of its own, because each decision needs the pins that
// containerd really has.
PinsChanged ChangePins(const base::Call& call, cri::ContentService& content, const std::string& owner,
                       const PinChanges& work) {
  PinsChanged done;
  // Returns whether the runtime itself has failed: the calls that are left then wait with it.
  auto failed = [&](const std::string& name, const cri::CallError& error) {
    const bool all = IsOfRuntime(error.error_class);
    (all ? done.runtime_error : done.errors[name]) = error.message;
    return all;
  };
  if (work.list) {
    if (auto names = content.ListPins(call, owner)) {
      done.found = *std::move(names);
    } else {
      done.unsupported = names.error().error_class == image::ErrorClass::kRuntimeUnsupported;
      done.runtime_error = names.error().message;
      return done;
    }
  }
  for (const std::string& name : work.pin) {
    auto pinned = content.Pin(call, name, owner);
    if (!pinned) {
      if (failed(name, pinned.error())) return done;
    } else if (*pinned == cri::PinResult::kPinned) {
      done.pinned.push_back(name);
    } else {
      done.errors[name] = *pinned == cri::PinResult::kAbsent
                              ? "containerd has no image of this name"
                              : "another client of containerd has pinned this name";
    }
  }
  for (const std::string& name : work.unpin) {
    auto unpinned = content.Unpin(call, name, owner);
    if (unpinned) {
      (*unpinned ? done.unpinned : done.had_none).push_back(name);
    } else if (failed(name, unpinned.error())) {
      return done;
    }
  }
  return done;
}

PinsChanged UnpinAll(const base::Call& call, cri::ContentService& content) {
  const std::string of_all;
  PinsChanged listed = ChangePins(call, content, of_all, {.list = true});
  if (!listed.found) return listed;
  return ChangePins(call, content, of_all, {.unpin = {listed.found->begin(), listed.found->end()}});
}

// The runtime may be another process or version, so what was learnt about it no longer counts.
void Pinning::Reconnected() {
  loop_.Check();
  supported_ = true;
  listed_ = settled_ = false;
  runtime_error_.clear();
  errors_.clear();
  retry_at_ = {};
}

std::vector<plan::DesiredPin> Pinning::DesiredPins() const {
  std::vector<plan::DesiredPin> desired;
  for (const Entry& entry : entries_.listed()) {
    // While the Node's labels are unknown, pins stay as they are.
    if (!entry.desired->pin || entry.selection > plan::Selection::kLabelsUnknown) continue;
    plan::DesiredPin candidate{.name = entry.name()};
    if (entry.applies() && plan::IsUsable(entry.observed)) {
      candidate.id = entry.observed.local->id;
      candidate.size_bytes = entry.observed.local->size_bytes;
      candidate.reported = entry.observed.local->pinned;
    }
    desired.push_back(std::move(candidate));
  }
  return desired;
}

// Alternates between two jobs: read the pins that containerd has, then change those that differ from the
// desired ones. After a failure, and after a pull, it begins with reading again.
void Pinning::StartIfDue(base::Workers& workers, const plan::DiskSpace& disk, const plan::Limits& limits,
                         bool may_unpin) {
  loop_.Check();
  if (off_ || running_ || !supported_ || !runtime_.up() || loop_.now() < retry_at_) return;
  if (std::exchange(stale_, false)) listed_ = false;
  PinChanges work;
  if (!listed_ || loop_.now() >= check_at_) {
    work.list = true;
    check_at_ = base::TimePoint::max();
  } else {
    const std::vector<plan::DesiredPin> desired = DesiredPins();
    plan::PinDecision decision = plan::DecidePins(desired, ours_, disk, limits);
    for (const auto& [name, why] : decision.refused) {
      if (!refused_.contains(name)) base::Warn("image not pinned", {{"image", name}, {"error", why}});
    }
    // The words name sizes of a disk that moves by the byte: a Snapshot for each would be too many.
    const bool same =
        std::equal(refused_.begin(), refused_.end(), decision.refused.begin(), decision.refused.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first; });
    loop_.ChangedIf(!same);
    refused_ = std::move(decision.refused);
    const bool unreported = std::ranges::any_of(desired, [this](const plan::DesiredPin& candidate) {
      return !candidate.id.empty() && !candidate.reported && ours_.contains(candidate.name);
    });
    if (!unreported) {
      check_at_ = base::TimePoint::max();
      checked_ = false;
    } else if (check_at_ == base::TimePoint::max()) {
      check_at_ = loop_.now() + (checked_ ? base::Duration(kAgain) : kReportTime);
      checked_ = true;
    }
    work.pin = std::move(decision.pin);
    if (may_unpin) work.unpin = std::move(decision.unpin);
    DropBackedOff(work);
    settled_ = work.pin.empty() && work.unpin.empty();
    if (settled_) return;
  }
  running_ = true;
  loop_.Submit(
      workers, "PinsChanged",
      [this, call = loop_.JobCall(), work = std::move(work)] {
        return ChangePins(call.Within(kJobTime), content_, owner_, work);
      },
      [this](const PinsChanged& done) { Apply(done); });
}

// A name that has failed waits for its own time, and stops no other one.
void Pinning::DropBackedOff(PinChanges& work) {
  if (errors_.empty()) return;
  std::set<std::string> due(work.pin.begin(), work.pin.end());
  due.insert(work.unpin.begin(), work.unpin.end());
  loop_.ChangedIf(std::erase_if(errors_, [&due](const auto& error) { return !due.contains(error.first); }) >
                  0);
  auto waits = [this](const std::string& name) {
    auto error = errors_.find(name);
    return error != errors_.end() && loop_.now() < error->second.retry_at;
  };
  std::erase_if(work.pin, waits);
  std::erase_if(work.unpin, waits);
}

void Pinning::Apply(const PinsChanged& done) {
  running_ = false;
  if (done.unsupported) supported_ = false;
  if (done.found) {
    listed_ = true;
    loop_.ChangedIf(ours_ != *done.found);
    ours_ = *done.found;
  }
  for (const std::string& name : done.pinned) {
    errors_.erase(name);
    if (ours_.insert(name).second) base::Info("image pinned", {{"image", name}});
  }
  for (const std::string& name : done.unpinned) {
    errors_.erase(name);
    if (ours_.erase(name) > 0) base::Info("image unpinned", {{"image", name}});
  }
  for (const std::string& name : done.had_none) {
    errors_.erase(name);
    ours_.erase(name);
  }
  loop_.ChangedIf(!done.pinned.empty() || !done.unpinned.empty());
  const bool failed = !done.runtime_error.empty() || !done.errors.empty();
  if (failed) listed_ = false;  // a call may have had its effect without an answer
  if (!done.runtime_error.empty()) {
    retry_at_ = loop_.now() + kAgain;
    if (runtime_error_.empty() && !done.unsupported)
      base::Warn("pins not changed", {{"error", done.runtime_error}});
  }
  loop_.ChangedIf(runtime_error_ != done.runtime_error);
  runtime_error_ = done.runtime_error;
  for (const auto& [name, error] : done.errors) {
    Failure& failure = errors_[name];
    if (failure.error.empty()) base::Warn("image not pinned", {{"image", name}, {"error", error}});
    loop_.ChangedIf(failure.error != error);
    failure = {error, loop_.now() + kAgain};
  }
}

void Pinning::Pulled(const std::string& name) {
  loop_.Check();
  if (running_ || ours_.contains(name)) stale_ = true;
}

void Pinning::End() {
  if (!IsSettled()) loop_.Changed();
  ended_ = true;
}

base::TimePoint Pinning::NextTurn() const {
  loop_.Check();
  base::TimePoint next = check_at_;
  for (const auto& [name, failure] : errors_) {
    // Work that is due starts in each turn, unless something holds it that wakes the loop by itself.
    if (failure.retry_at > loop_.now()) next = std::min(next, failure.retry_at);
  }
  if (retry_at_ > loop_.now()) next = retry_at_;
  return next > loop_.now() ? next : base::TimePoint::max();
}

// --once waits for this. A runtime that cannot pin, or that fails, must not keep the process from ending.
bool Pinning::IsSettled() const {
  loop_.Check();
  return off_ || !supported_ || !runtime_error_.empty() || (settled_ && !running_);
}

std::string Pinning::ProblemOf(const Entry& entry) const {
  if (!entry.desired->pin || !entry.applies() || !plan::IsUsable(entry.observed) ||
      entry.observed.local->pinned)
    return "";
  if (off_) return "the agent runs with --unpin";
  if (auto refused = refused_.find(entry.name()); refused != refused_.end()) return refused->second;
  const plan::RuntimeStatus& runtime = runtime_.status();
  if (!supported_ && runtime.name == "containerd")
    return "containerd does not offer its own API for images here: the agent cannot pin it";
  if (!supported_)
    return "this runtime pins images by its configuration: name it in pinned_images of crio.conf";
  if (auto error = errors_.find(entry.name()); error != errors_.end()) return error->second.error;
  if (!ours_.contains(entry.name())) {
    if (!runtime_error_.empty()) return runtime_error_;
    return ended_ ? "the agent ended before the runtime answered" : "";
  }
  if (!plan::ReportsPins(runtime.version)) {
    return "containerd " + runtime.version + " does not report its label: it needs 1.6.25, 1.7.10 or later";
  }
  return "";
}

}  // namespace prefetch::agent
