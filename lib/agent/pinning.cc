#include "agent/pinning.h"

#include <algorithm>

#include "base/log.h"
#include "image/pull_error.h"

namespace prefetch::agent {
namespace {

// Time between two tries after an error, and between two questions about a pin that the runtime does not
// report: another client may have removed the label.
constexpr std::chrono::minutes kAgain{1};
// Time in which the runtime reports a new label. A pull under the name has removed it, or another client.
constexpr std::chrono::seconds kReportTime{5};

}  // namespace

PinsChanged ChangePins(const base::Call& call, cri::ContentService& content, const std::string& owner,
                       const PinChanges& work) {
  PinsChanged done;
  auto failed = [&](const std::string& name, const cri::CallError& error) {
    done.unsupported = done.unsupported || error.error_class == image::ErrorClass::kRuntimeUnsupported;
    done.errors[name] = error.message;
  };
  if (work.list) {
    if (auto names = content.ListPins(call, owner)) {
      done.found = *std::move(names);
    } else {
      failed("", names.error());
    }
  }
  for (const std::string& name : work.pin) {
    auto pinned = content.Pin(call, name, owner);
    if (!pinned) {
      failed(name, pinned.error());
    } else if (*pinned) {
      done.pinned.push_back(name);
    } else {
      done.errors[name] = "containerd has no image of this name";
    }
  }
  for (const std::string& name : work.unpin) {
    auto unpinned = content.Unpin(call, name, owner);
    if (unpinned) done.unpinned.push_back(name);
    if (!unpinned) failed(name, unpinned.error());
  }
  return done;
}

void Pinning::Reconnected() {
  loop_.Check();
  supported_ = true;
  listed_ = settled_ = false;
  errors_.clear();
  again_at_ = {};
}

std::vector<plan::PinWish> Pinning::Wishes() const {
  std::vector<plan::PinWish> wishes;
  for (const Entry& entry : entries_.listed()) {
    // While the Node's labels are unknown, pins stay as they are.
    if (!entry.want->pin || entry.selection > plan::Selection::kLabelsUnknown) continue;
    plan::PinWish wish{.name = entry.name()};
    if (entry.applies() && plan::IsUsable(entry.seen)) {
      wish.id = entry.seen.local->id;
      wish.size_bytes = entry.seen.local->size_bytes;
      wish.reported = entry.seen.local->pinned;
    }
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

void Pinning::StartIfDue(Workers& workers, const plan::DiskSpace& disk, const plan::Limits& limits,
                         bool may_unpin) {
  loop_.Check();
  if (running_ || !supported_ || !runtime_.up() || loop_.now() < again_at_) return;
  PinChanges work;
  if (!listed_ || loop_.now() >= check_at_) {
    work.list = true;
    check_at_ = base::TimePoint::max();
  } else {
    const std::vector<plan::PinWish> wishes = Wishes();
    plan::PinDecision decision = plan::DecidePins(wishes, ours_, disk, limits);
    for (const auto& [name, why] : decision.refused) {
      if (!refused_.contains(name)) base::Warn("image not pinned", {{"image", name}, {"error", why}});
    }
    // The words name sizes of a disk that moves by the byte: a Snapshot for each would be too many.
    const bool same =
        std::equal(refused_.begin(), refused_.end(), decision.refused.begin(), decision.refused.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first; });
    loop_.ChangedIf(!same);
    refused_ = std::move(decision.refused);
    const bool unreported = std::any_of(wishes.begin(), wishes.end(), [this](const plan::PinWish& wish) {
      return !wish.id.empty() && !wish.reported && ours_.contains(wish.name);
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
    settled_ = work.pin.empty() && work.unpin.empty();
    if (settled_) return;
  }
  running_ = true;
  base::Call call{.stop = loop_.stopping()};
  loop_.Submit(workers, [call, &content = content_, owner = owner_, work = std::move(work)]() -> Event {
    return ChangePins(call, content, owner, work);
  });
}

void Pinning::Absorb(const PinsChanged& event) {
  loop_.Check();
  running_ = false;
  if (event.unsupported) supported_ = false;
  if (event.found) {
    listed_ = true;
    loop_.ChangedIf(ours_ != *event.found);
    ours_ = *event.found;
  }
  for (const std::string& name : event.pinned) {
    if (ours_.insert(name).second) base::Info("image pinned", {{"image", name}});
  }
  for (const std::string& name : event.unpinned) {
    if (ours_.erase(name) > 0) base::Info("image unpinned", {{"image", name}});
  }
  if (!event.errors.empty()) again_at_ = loop_.now() + kAgain;
  if (!event.unsupported) {
    for (const auto& [name, error] : event.errors) {
      if (!errors_.contains(name)) base::Warn("image not pinned", {{"image", name}, {"error", error}});
    }
  }
  if (errors_ != event.errors) loop_.Changed();
  errors_ = event.errors;
  loop_.ChangedIf(!event.pinned.empty() || !event.unpinned.empty());
}

base::TimePoint Pinning::NextTurn() const {
  loop_.Check();
  const base::TimePoint next = again_at_ > loop_.now() ? again_at_ : check_at_;
  // Work that is due starts in each turn, unless something holds it that wakes the loop by itself.
  return next > loop_.now() ? next : base::TimePoint::max();
}

bool Pinning::IsSettled() const {
  loop_.Check();
  return !supported_ || !errors_.empty() || (settled_ && !running_);
}

std::string Pinning::ProblemOf(const Entry& entry) const {
  if (!entry.want->pin || !entry.applies() || !plan::IsUsable(entry.seen) || entry.seen.local->pinned)
    return "";
  if (auto refused = refused_.find(entry.name()); refused != refused_.end()) return refused->second;
  if (!supported_)
    return "this runtime pins images by its configuration: name it in pinned_images of crio.conf";
  for (const std::string& of : {std::string(), entry.name()}) {
    if (auto error = errors_.find(of); error != errors_.end()) return error->second;
  }
  const plan::RuntimeStatus& runtime = runtime_.status();
  if (ours_.contains(entry.name()) && !plan::ReportsPins(runtime.version)) {
    return "containerd " + runtime.version + " does not report its label: it needs 1.6.25, 1.7.10 or later";
  }
  return "";
}

}  // namespace prefetch::agent
