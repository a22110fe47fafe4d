#include "plan/node_gate.h"

#include <algorithm>

#include "base/label_syntax.h"
#include "base/text.h"

namespace prefetch::plan {
namespace {

// The API server refuses events with longer messages. Conditions keep to the same limit.
constexpr std::size_t kLongestMessage = 1024;
constexpr std::size_t kShortHash = 13;  // "sha256:" and six digits

// Returns true if waiting longer would change nothing: every required entry is ready, or its next
// try is not worth waiting for.
bool OnlyFailuresAreLeft(const Snapshot& snapshot) {
  if (snapshot.readiness.reason != Reason::kImagesNotReady) return false;
  return std::all_of(snapshot.images.begin(), snapshot.images.end(), [](const ImageState& image) {
    return !image.applies || !image.desired->required || image.ready ||
           KeepsFailing(image.settled, image.phase);
  });
}

ConditionStatus StatusFor(const Readiness& readiness) {
  if (readiness.ready) return ConditionStatus::kTrue;
  // Without a runtime, nobody knows whether the images are there. "False" would claim that they are missing.
  bool not_known = IsUnknown(readiness.reason) || readiness.reason == Reason::kRuntimeDown;
  return not_known ? ConditionStatus::kUnknown : ConditionStatus::kFalse;
}

std::string MessageFor(const Snapshot& snapshot) {
  const Readiness& readiness = snapshot.readiness;
  std::string counts = std::to_string(readiness.required_ready) + " of " +
                       std::to_string(readiness.required) + " required images ready";
  std::string hash = snapshot.list.hash.substr(0, kShortHash);
  // A message about an invalid list has many lines; a condition has one.
  std::string why = readiness.message.substr(0, readiness.message.find('\n'));
  return base::Truncate(counts + " (list " + (hash.empty() ? "none" : hash) + "): " + why, kLongestMessage);
}

std::string Known(const std::string& digest) {
  return digest.empty() ? "an unknown digest" : digest;
}

bool IsWorthAnEvent(Reason reason) {
  using enum Reason;
  return base::IsOneOf(reason, {kAccessDenied, kNotFound, kTagMissing, kEvictedByKubelet, kRecordedForOthers,
                                kRecordedForNobody, kRecordedUnderOtherName, kTouchIneffective});
}

}  // namespace

bool IsStartupTaint(std::string_view key, std::string_view other) {
  return key == base::kStartupTaintKey || (!other.empty() && key == other);
}

DesiredGate DesiredGateFor(const Snapshot& snapshot, const GateOptions& options, base::Duration running_for,
                           TaintHistory taint) {
  const Readiness& readiness = snapshot.readiness;
  DesiredGate desired;
  desired.label = readiness.ready ? "ready" : "notready";
  if (readiness.ready) {
    desired.result = "succeeded";
  } else if (OnlyFailuresAreLeft(snapshot)) {
    desired.result = "failed";
  }
  desired.condition = {StatusFor(readiness), std::string(base::EnumName(readiness.reason)),
                       MessageFor(snapshot)};
  bool time_is_over = running_for >= options.timeout;
  // A node must not stay without pods for ever because of an image that cannot come.
  desired.may_remove_taint = readiness.ready || OnlyFailuresAreLeft(snapshot) || time_is_over;
  // The time limit is for the start alone: once the taint has gone for a good reason (kGone), a node that
  // becomes unready later has given nothing up.
  bool gives_up = taint == TaintHistory::kGivenUp || (taint == TaintHistory::kNotKnown && time_is_over);
  desired.gave_up = options.taint && gives_up && !readiness.ready;
  if (desired.gave_up) desired.condition.reason = "GaveUp";
  return desired;
}

// Writes differences only: each write to a Node costs the API server, and goes to all watchers.
GateUpdates WritesFor(const DesiredGate& desired, const ObservedGate& seen, const GateOptions& options) {
  GateUpdates writes;
  if (options.label && seen.label != desired.label) writes.label = desired.label;
  writes.result = !options.result_label.empty() && seen.result != desired.result;
  if (options.condition && seen.condition != desired.condition) writes.condition = desired.condition;
  writes.remove_taint = options.taint && seen.tainted && desired.may_remove_taint;
  return writes;
}

std::vector<GateEvent> ChangesFor(const Snapshot& snapshot, base::WallTime now) {
  std::vector<GateEvent> changes;
  for (const ImageState& image : snapshot.images) {
    if (!image.applies || !image.registry || !image.registry->changed_at) continue;
    // A clock that was set back puts a change into the future. Such a change counts as just as old, in both
    // directions.
    auto age = now - *image.registry->changed_at;
    if (age > kChangeEventWindow || age < -kChangeEventWindow) continue;
    changes.push_back({image.desired->reference.written(), "ImageReplaced",
                       "the tag had changed: " + Known(image.registry->changed_from) + " was replaced by " +
                           Known(image.digest)});
  }
  return changes;
}

std::vector<GateEvent> EventsFor(const Snapshot& snapshot, std::size_t most) {
  std::vector<GateEvent> events;
  for (const ImageState& image : snapshot.images) {
    if (events.size() == most) break;
    if (!image.applies || !image.desired->required || image.ready || !IsWorthAnEvent(image.reason)) continue;
    events.push_back({image.desired->reference.written(), std::string(base::EnumName(image.reason)),
                      base::Truncate(image.message, kLongestMessage)});
  }
  return events;
}

}  // namespace prefetch::plan
